"""Ports for what is stored: documents and their chunks, and the backlog of missing vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol
from uuid import UUID

from ragcorp.domain.documents import (
    Chunk,
    ChunkDraft,
    Document,
    DocumentAttributes,
    IngestStatus,
    ParsedText,
    SourceFile,
)
from ragcorp.domain.embeddings import EmbeddingModel, Vector
from ragcorp.domain.filters import Filters
from ragcorp.domain.principal import Principal
from ragcorp.domain.retrieval import RankedList
from ragcorp.domain.search.lexical import QueryTerm
from ragcorp.domain.search.requests import QuerySyntax
from ragcorp.domain.structure.entities import DocumentStructure


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentWrite:
    """A document ready to be stored. ``index_hashes[i]`` is the SHA-256 of what is embedded for ``chunks[i]``.

    ``structure`` has its entities; none where nothing extracts them.
    """

    external_id: str
    attributes: DocumentAttributes
    parsed: ParsedText
    source: SourceFile
    content_hash: bytes
    chunker: str
    chunks: tuple[ChunkDraft, ...]
    index_hashes: tuple[bytes, ...]
    structure: DocumentStructure = field(default_factory=DocumentStructure)


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteOutcome:
    """What a write did. ``pending`` counts the chunks that still lack a vector of the active model."""

    document_id: UUID
    status: IngestStatus
    chunks: int
    pending: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilarChunks:
    """The nearest chunks, and the share in [0, 1] of the workspace's chunks that have a vector."""

    ranked_list: RankedList
    seen: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LexicalChunks:
    """What the words of a query found.

    ``ranked_list`` is the sparse ranking; ``identifiers`` are the chunks that hold a code or name of the query exactly;
    ``all_words`` those that hold every word. ``terms`` are what was looked for, over ``chunks`` chunks of
    ``average_length`` lexemes. ``cut``: a budget ended the ranking early.
    """

    ranked_list: RankedList
    identifiers: RankedList
    all_words: RankedList
    terms: tuple[QueryTerm, ...] = ()
    chunks: int = 0
    average_length: float = 0.0
    cut: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LexemeCounts:
    """A chunk's length in lexeme occurrences, and how often (tf) it holds each lexeme in question that it holds."""

    length: int
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class VisibleFrequencies:
    """How many chunks a principal may read, and how many of them hold each lexeme (``counted_up_to`` at most).

    ``everything``: nothing of its workspace is hidden from it.
    """

    chunks: int
    everything: bool
    frequencies: Mapping[str, int]
    counted_up_to: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentSelection:
    """Which documents: those whose ``external_id`` starts with ``prefix`` and that meet ``filters``."""

    prefix: str = ""
    filters: Filters = ()
    deleted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentPage:
    """A page of documents in the order of ``external_id``; ``next_after`` is None at the end."""

    documents: tuple[Document, ...]
    next_after: str | None


class DocumentRepository(Protocol):
    """Finds chunks of one workspace at a time. Outages are a StorageUnavailableError."""

    async def find_similar_chunks(
        self, embedding: Vector, *, principal: Principal, filters: Filters = (), limit: int
    ) -> SimilarChunks:
        """Return up to ``limit`` chunks by cosine similarity in [-1, 1], best first, ties by chunk id.

        A filter that leaves at least ``limit`` chunks with vectors always yields ``limit``.
        """
        ...

    async def find_chunks_full_text(
        self,
        query: str,
        *,
        principal: Principal,
        filters: Filters = (),
        limit: int,
        syntax: QuerySyntax = QuerySyntax.PLAIN,
    ) -> LexicalChunks:
        """Return up to ``limit`` chunks a list that hold words of ``query``, each list by its score, then chunk id.

        The ranking is BM25, or ``ts_rank_cd`` where it is configured or the syntax is websearch. A misspelt word stands
        for the nearest one in a chunk that the principal may read. A query without
        content words yields empty lists.
        """
        ...

    async def get_chunks(self, chunk_ids: Sequence[str], *, principal: Principal) -> dict[str, Chunk]:
        """Return those of the chunks that (still) exist and that the principal may read."""
        ...

    async def find_chunk_ids(
        self, positions: Sequence[tuple[UUID, int]], *, principal: Principal
    ) -> dict[tuple[UUID, int], str]:
        """Return the ids of the chunks at these (document id, chunk index), where there are such."""
        ...


class ChunkScoring(Protocol):
    """Scores any chunks for a query, found by it or not. Outages are a StorageUnavailableError."""

    async def admitted_chunks(self, query: str, chunk_ids: Sequence[str], *, principal: Principal) -> frozenset[str]:
        """Return those of the chunks that the operators of a query in websearch syntax admit."""
        ...

    async def half_centred_similarities(
        self, embedding: Vector, chunk_ids: Sequence[str], *, principal: Principal
    ) -> dict[str, float]:
        """Return cos(q - m/2, p - m/2) in [-1, 1] of each chunk with a vector p; m is the workspace's mean vector."""
        ...

    async def count_lexemes(
        self, lexemes: Sequence[str], chunk_ids: Sequence[str], *, principal: Principal
    ) -> dict[str, LexemeCounts]:
        """Return how often each of the chunks holds each of the lexemes."""
        ...

    async def visible_frequencies(self, lexemes: Sequence[str], *, principal: Principal) -> VisibleFrequencies:
        """Return what the principal may know of the lexemes' frequencies. For explanations; bounded, one statement."""
        ...


class DocumentStore(Protocol):
    """Documents of one workspace at a time: written, read and deleted. Outages are a StorageUnavailableError."""

    async def find_unchanged(
        self, hashes: Mapping[str, bytes], *, chunker: str, principal: Principal
    ) -> dict[str, WriteOutcome]:
        """Return, of documents given as content hash by external_id, those that are stored just so."""
        ...

    async def save_many(self, writes: Sequence[DocumentWrite], *, principal: Principal) -> list[WriteOutcome]:
        """Create the documents or swap their chunks, all in one transaction; an equal document is left as it is.

        Raises ConflictError if one of them exists and the principal may not read it.
        """
        ...

    async def replace(self, write: DocumentWrite, *, expected: bytes, principal: Principal) -> WriteOutcome:
        """Swap a document's chunks as ``save_many`` does, if it is still what the caller has read.

        Raises ConflictError unless it exists, is not deleted and has the content hash ``expected``.
        """
        ...

    async def restore(self, write: DocumentWrite, *, principal: Principal) -> WriteOutcome:
        """Bring a soft-deleted document back with its chunks.

        Raises NotFoundError unless it is still deleted and still has the content hash of ``write``.
        """
        ...

    async def get(self, external_id: str, *, principal: Principal, deleted: bool = False) -> Document:
        """Raises NotFoundError."""
        ...

    async def get_source(self, external_id: str, *, principal: Principal) -> SourceFile:
        """Return the original as it was sent. Raises NotFoundError."""
        ...

    async def get_deleted(self, external_id: str, *, principal: Principal) -> tuple[Document, ParsedText, SourceFile]:
        """Return a soft-deleted document with all that is needed to index it again. Raises NotFoundError."""
        ...

    async def list_page(
        self, selection: DocumentSelection, *, principal: Principal, limit: int, after: str | None = None
    ) -> DocumentPage: ...

    async def soft_delete(self, selection: DocumentSelection, *, principal: Principal) -> int:
        """Hide all of the selection; return how many.

        Their chunks leave every index in the same transaction; text and original stay until a purge.
        """
        ...

    async def soft_delete_one(self, external_id: str, *, principal: Principal) -> None:
        """Hide one document. Raises NotFoundError."""
        ...

    async def purge_deleted(self, *, older_than_days: float, principal: Principal | None) -> int:
        """Remove soft-deleted documents for good; return how many. Without a principal, those of every workspace."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingChunk:
    """A chunk, or an item of another collection, that waits for its vector.

    ``chunk_id`` is the item's own in its backlog; ``index_hash`` is the SHA-256 of ``index_text``.
    """

    chunk_id: int
    workspace: str
    index_text: str
    index_hash: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class BacklogCounts:
    """What waits for a vector: all of it, and what failed too often to be tried again by itself."""

    pending: int
    failed: int


class EmbeddingBacklog(Protocol):
    """The durable list of chunks, or of one kind of item, without a vector.

    Work is leased, so that a dead worker's share comes back.
    """

    async def claim(
        self,
        *,
        limit: int,
        lease_seconds: float,
        document_id: UUID | None = None,
        workspace: str | None = None,
        model: EmbeddingModel | None = None,
    ) -> list[PendingChunk]:
        """Lease up to ``limit``; none if ``model`` is not the active one, whose vectors these wait for."""
        ...

    async def complete(self, vectors: Mapping[PendingChunk, Vector], *, model: EmbeddingModel) -> None:
        """Store the vectors, keep them in the cache, and take the chunks off the list if ``model`` is the active one.

        A chunk that was deleted, or has another text than was claimed, is passed over.
        """
        ...

    async def fail(
        self, chunks: Sequence[PendingChunk], *, reason: str, retry_in_seconds: float, max_attempts: int
    ) -> None:
        """Put the chunks off, twice as long each time; after ``max_attempts`` they wait for ``enqueue_missing``.

        One whose text is another by now is left as it is.
        """
        ...

    async def release(self, chunk_ids: Sequence[int]) -> None:
        """Give a lease back unused."""
        ...

    async def enqueue_missing(self) -> int:
        """List every chunk without a vector of the active model, failed ones included; return how many were added."""
        ...

    async def counts(self, *, document_id: UUID | None = None, workspace: str | None = None) -> BacklogCounts: ...

"""Ports of documents and their chunks (search, scoring, storage), and of the embedding backlog."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol
from uuid import UUID

from ragcorp.domain.documents import Chunk, ChunkDraft, Document, DocumentAttributes, Page, ParsedText, SourceFile
from ragcorp.domain.embeddings import BacklogCounts, EmbeddingModel, Vector
from ragcorp.domain.filters import Filters
from ragcorp.domain.ingestion import IngestRequest, IngestResult
from ragcorp.domain.principal import Principal
from ragcorp.domain.retrieval import RankedList
from ragcorp.domain.search.lexical import QueryTerm
from ragcorp.domain.search.requests import QuerySyntax
from ragcorp.domain.structure.entities import DocumentStructure


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentWrite:
    """A document ready to be stored. ``index_hashes[i]`` is the SHA-256 of the text embedded for ``chunks[i]``.

    ``parts``: the documents made of the files inside its file; they have no parts themselves. ``failed``: the other
    files inside it. Where one is stored already, from the same bytes, it is kept and takes these attributes.
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
    parts: tuple["DocumentWrite", ...] = ()
    failed: tuple[IngestRequest, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilarChunks:
    """The nearest chunks, and the share in [0, 1] of the workspace's chunks that have a vector."""

    ranked_list: RankedList
    seen: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LexicalChunks:
    """The chunks that a query's words match.

    ``ranked_list`` is the sparse ranking; ``identifiers`` ranks the chunks with an exact code or name of the query,
    ``all_words`` those with every word. ``terms`` are the query's terms; the workspace has ``chunks`` chunks of
    ``average_length`` lexemes on average. ``cut``: a budget ended the ranking early.
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
    """A chunk's length in lexeme occurrences, and the tf of each given lexeme that occurs in it."""

    length: int
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class VisibleFrequencies:
    """Counts of readable chunks, in all and by lexeme (to ``counted_up_to``); ``everything``: all are readable."""

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


class DocumentRepository(Protocol):
    """Finds chunks of one workspace at a time. Outages are a StorageUnavailableError."""

    async def find_similar_chunks(
        self, embedding: Vector, *, principal: Principal, filters: Filters = (), limit: int
    ) -> SimilarChunks:
        """Return the ``limit`` nearest chunks that pass the filters, by cosine in [-1, 1], ties by chunk id."""

    async def find_chunks_full_text(
        self,
        query: str,
        *,
        principal: Principal,
        filters: Filters = (),
        limit: int,
        syntax: QuerySyntax = QuerySyntax.PLAIN,
    ) -> LexicalChunks:
        """Return lists of up to ``limit`` chunks that match words of ``query``, each by score, then chunk id.

        The ranking is BM25, or ``ts_rank_cd`` if configured or for websearch syntax. A misspelt word is replaced by the
        nearest one in a chunk that the principal may read. A query without content words yields empty lists.
        """

    async def get_chunks(self, chunk_ids: Sequence[str], *, principal: Principal) -> dict[str, Chunk]:
        """Return the chunks that exist and that the principal may read."""

    async def find_chunk_ids(
        self, positions: Sequence[tuple[UUID, int]], *, principal: Principal
    ) -> dict[tuple[UUID, int], str]:
        """Return the ids of the readable chunks at these (document id, chunk index)."""


class HybridChunks(Protocol):
    """Finds chunks by vector and by words in one round trip. Outages are a StorageUnavailableError."""

    async def find_chunks_both_ways(
        self,
        query: str,
        embedding: Vector,
        *,
        principal: Principal,
        filters: Filters = (),
        nearest: int,
        matching: int,
        syntax: QuerySyntax = QuerySyntax.PLAIN,
    ) -> tuple[SimilarChunks, LexicalChunks]:
        """Return what ``find_similar_chunks`` (up to ``nearest``) and ``find_chunks_full_text`` (``matching``) do."""


class ChunkScoring(Protocol):
    """Scores any chunks for a query, found by it or not. Outages are a StorageUnavailableError."""

    async def admitted_chunks(self, query: str, chunk_ids: Sequence[str], *, principal: Principal) -> frozenset[str]:
        """Return the given chunks that match the operators of a query in websearch syntax."""

    async def half_centred_similarities(
        self, embedding: Vector, chunk_ids: Sequence[str], *, principal: Principal
    ) -> dict[str, float]:
        """Return cos(q - m/2, p - m/2) in [-1, 1] of each chunk with a vector p; m is the workspace's mean vector."""

    async def count_lexemes(
        self, lexemes: Sequence[str], chunk_ids: Sequence[str], *, principal: Principal
    ) -> dict[str, LexemeCounts]:
        """Return each chunk's length and its counts of the lexemes."""

    async def visible_frequencies(self, lexemes: Sequence[str], *, principal: Principal) -> VisibleFrequencies:
        """Return the lexemes' frequencies over readable chunks. For explanations; bounded, one statement."""


class DocumentStore(Protocol):
    """Documents of one workspace at a time: written, read and deleted. Outages are a StorageUnavailableError."""

    async def find_unchanged(
        self, hashes: Mapping[str, bytes], *, chunker: str, principal: Principal
    ) -> dict[str, IngestResult]:
        """Return the documents, given as content hash by external_id, that are stored unchanged."""

    async def save_many(self, writes: Sequence[DocumentWrite], *, principal: Principal) -> list[IngestResult]:
        """Create or replace documents and their parts in one transaction; parts that are gone are deleted.

        Raises ConflictError for a document that the principal may not read, for one that is part of another, and for
        a part whose name another document has.
        """

    async def replace(self, write: DocumentWrite, *, expected: bytes, principal: Principal) -> IngestResult:
        """Replace a document. Raises ConflictError unless it exists with the content hash ``expected``."""

    async def restore(self, write: DocumentWrite, *, principal: Principal) -> IngestResult:
        """Restore a soft-deleted document with chunks. Raises NotFoundError unless it still has that content hash."""

    async def get(self, external_id: str, *, principal: Principal, deleted: bool = False) -> Document:
        """Raises NotFoundError."""

    async def get_source(self, external_id: str, *, principal: Principal) -> SourceFile:
        """Return the original file. Raises NotFoundError."""

    async def get_deleted(self, external_id: str, *, principal: Principal) -> tuple[Document, ParsedText, SourceFile]:
        """Return a soft-deleted document with its text and original.

        Raises NotFoundError, and ConflictError for a part of a deleted document.
        """

    async def get_deleted_parts(
        self, document: Document, *, principal: Principal
    ) -> list[tuple[Document, ParsedText, SourceFile]]:
        """Return the parts that were deleted together with a document."""

    async def list_page(
        self, selection: DocumentSelection, *, principal: Principal, limit: int, after: str | None = None
    ) -> Page[Document, str]:
        """Return documents in the order of ``external_id``, from above the name ``after``."""

    async def soft_delete(self, selection: DocumentSelection, *, principal: Principal) -> int:
        """Hide documents with their parts and remove their chunks from all indexes, in one transaction.

        Returns how many, parts included.
        """

    async def soft_delete_one(self, external_id: str, *, principal: Principal) -> None:
        """Hide one document. Raises NotFoundError."""

    async def purge_deleted(self, *, older_than_days: float, principal: Principal | None) -> int:
        """Delete soft-deleted documents for good; return their number. Without a principal, in every workspace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingChunk:
    """Text of a chunk, item or entity without a vector: the id of its row, and the SHA-256 of the text."""

    chunk_id: int
    workspace: str
    index_text: str
    index_hash: bytes

    @property
    def key(self) -> tuple[str, bytes]:
        """Workspace and hash: equal texts of a workspace have one vector."""
        return self.workspace, self.index_hash


class EmbeddingBacklog(Protocol):
    """The durable queue of texts of one kind without a vector. Work is leased: a dead worker's share comes back."""

    async def claim(
        self,
        *,
        limit: int,
        lease_seconds: float,
        document_id: UUID | None = None,
        workspace: str | None = None,
        model: EmbeddingModel | None = None,
    ) -> list[PendingChunk]:
        """Lease up to ``limit`` texts; none if ``model`` is not the active model."""

    async def complete(self, vectors: Mapping[PendingChunk, Vector], *, model: EmbeddingModel) -> None:
        """Store vectors, and dequeue texts if ``model`` is active. Skips deleted and changed rows."""

    async def fail(
        self, chunks: Sequence[PendingChunk], *, reason: str, retry_in_seconds: float, max_attempts: int
    ) -> None:
        """Delay the texts, doubling each time, up to ``max_attempts``. Skips changed rows."""

    async def release(self, chunk_ids: Sequence[int]) -> None:
        """Return a lease unused."""

    async def enqueue_missing(self) -> int:
        """Enqueue every text without a vector of the active model, failed ones included; return the number added."""

    async def counts(self, *, document_id: UUID | None = None, workspace: str | None = None) -> BacklogCounts: ...

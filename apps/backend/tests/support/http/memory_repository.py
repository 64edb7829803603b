"""The ports DocumentRepository, ChunkScoring and DocumentStore in memory, with faults to order."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID, uuid4

from ragcorp.application.files.filter_evaluation import meets
from ragcorp.domain.documents import Chunk, Document, IngestStatus, ParsedText, SourceFile
from ragcorp.domain.embeddings import Vector
from ragcorp.domain.exceptions import ConflictError, NotFoundError
from ragcorp.domain.filters import FILTER_FIELDS, METADATA, Filters
from ragcorp.domain.ingestion import IngestResult
from ragcorp.domain.ports.storage import (
    DocumentPage,
    DocumentSelection,
    DocumentWrite,
    LexemeCounts,
    LexicalChunks,
    SimilarChunks,
    VisibleFrequencies,
)
from ragcorp.domain.principal import Principal
from ragcorp.domain.retrieval import Hit, RankedList, ScoreType
from ragcorp.domain.search.requests import QuerySyntax


@dataclass(slots=True)
class Stored:
    write: DocumentWrite
    id: UUID
    created_at: datetime
    deleted_at: datetime | None = None


@dataclass
class Fault:
    """What the next calls meet: a delay in seconds, then an error."""

    error: Exception | None = None
    delay: float = 0.0

    async def strike(self) -> None:
        if self.delay:
            await asyncio.sleep(self.delay)
        if self.error is not None:
            raise self.error


class InMemoryRepository:
    def __init__(self) -> None:
        self.fault = Fault()
        self.documents: dict[str, Stored] = {}
        self.queries: list[str] = []

    def chunks(self, filters: Filters) -> list[Chunk]:
        return [
            chunk
            for external_id in sorted(self.documents)
            if self.documents[external_id].deleted_at is None and self._matches(self.documents[external_id], filters)
            for chunk in _chunks_of(self.documents[external_id])
        ]

    def _matches(self, stored: Stored, filters: Filters) -> bool:
        return meets(filters, _fields(stored))

    def _found(self, query: str, filters: Filters, limit: int) -> tuple[Hit, ...]:
        self.queries.append(query)
        words = set(query.lower().split())
        scored = [(len(words & set(chunk.content.lower().split())), chunk.id) for chunk in self.chunks(filters)]
        best = sorted((pair for pair in scored if pair[0]), key=lambda pair: (-pair[0], pair[1]))[:limit]
        return tuple(Hit(chunk_id=chunk_id, score=float(score)) for score, chunk_id in best)

    async def find_similar_chunks(
        self, embedding: Vector, *, principal: Principal, filters: Filters = (), limit: int
    ) -> SimilarChunks:
        await self.fault.strike()
        hits = tuple(Hit(chunk_id=chunk.id, score=0.5) for chunk in self.chunks(filters)[:limit])
        ranked = RankedList(source="dense", score_type=ScoreType.COSINE_SIMILARITY, hits=hits)
        return SimilarChunks(ranked_list=ranked, seen=1.0)

    async def find_chunks_full_text(
        self,
        query: str,
        *,
        principal: Principal,
        filters: Filters = (),
        limit: int,
        syntax: QuerySyntax = QuerySyntax.PLAIN,
    ) -> LexicalChunks:
        await self.fault.strike()
        hits = self._found(query, filters, limit)
        return LexicalChunks(
            ranked_list=RankedList(source="full_text", score_type=ScoreType.TS_RANK_CD, hits=hits),
            identifiers=RankedList(source="identifiers", score_type=ScoreType.IDENTIFIER_MATCH),
            all_words=RankedList(source="all_words", score_type=ScoreType.TS_RANK_CD),
        )

    async def admitted_chunks(self, query: str, chunk_ids: Sequence[str], *, principal: Principal) -> frozenset[str]:
        await self.fault.strike()
        return frozenset(chunk_ids)

    async def half_centred_similarities(
        self, embedding: Vector, chunk_ids: Sequence[str], *, principal: Principal
    ) -> dict[str, float]:
        await self.fault.strike()
        return dict.fromkeys(chunk_ids, 0.5)

    async def count_lexemes(
        self, lexemes: Sequence[str], chunk_ids: Sequence[str], *, principal: Principal
    ) -> dict[str, LexemeCounts]:
        await self.fault.strike()
        return {chunk_id: LexemeCounts(length=1, counts={}) for chunk_id in chunk_ids}

    async def visible_frequencies(self, lexemes: Sequence[str], *, principal: Principal) -> VisibleFrequencies:
        await self.fault.strike()
        chunks = len(self.chunks(()))
        return VisibleFrequencies(chunks=chunks, everything=True, frequencies={}, counted_up_to=chunks)

    async def get_chunks(self, chunk_ids: Sequence[str], *, principal: Principal) -> dict[str, Chunk]:
        return {chunk.id: chunk for chunk in self.chunks(()) if chunk.id in chunk_ids}

    async def find_chunk_ids(
        self, positions: Sequence[tuple[UUID, int]], *, principal: Principal
    ) -> dict[tuple[UUID, int], str]:
        known = {(chunk.document_id, chunk.chunk_index): chunk.id for chunk in self.chunks(())}
        return {position: known[position] for position in positions if position in known}

    async def find_unchanged(
        self, hashes: Mapping[str, bytes], *, chunker: str, principal: Principal
    ) -> dict[str, IngestResult]:
        await self.fault.strike()
        return {
            name: _outcome(self.documents[name], IngestStatus.UNCHANGED)
            for name, content_hash in hashes.items()
            if name in self.documents
            and self.documents[name].deleted_at is None
            and self.documents[name].write.content_hash == content_hash
        }

    async def save_many(self, writes: Sequence[DocumentWrite], *, principal: Principal) -> list[IngestResult]:
        await self.fault.strike()
        outcomes = []
        for write in writes:
            known = self.documents.get(write.external_id)
            stored = Stored(
                write=write,
                id=known.id if known else uuid4(),
                created_at=known.created_at if known else datetime.now(UTC),
            )
            self.documents[write.external_id] = stored
            status = IngestStatus.UPDATED if known else IngestStatus.CREATED
            outcomes.append(_outcome(stored, status))
        return outcomes

    async def replace(self, write: DocumentWrite, *, expected: bytes, principal: Principal) -> IngestResult:
        stored = self.documents.get(write.external_id)
        if stored is None or stored.deleted_at is not None or stored.write.content_hash != expected:
            raise ConflictError("The document was written or deleted meanwhile.", field="external_id")
        (outcome,) = await self.save_many([write], principal=principal)
        return outcome

    async def restore(self, write: DocumentWrite, *, principal: Principal) -> IngestResult:
        stored = self._one(write.external_id, deleted=True)
        if stored.write.content_hash != write.content_hash:
            raise NotFoundError("There is no such document.", field="external_id")
        (outcome,) = await self.save_many([write], principal=principal)
        return outcome

    def _one(self, external_id: str, *, deleted: bool = False) -> Stored:
        stored = self.documents.get(external_id)
        if stored is None or (stored.deleted_at is not None) is not deleted:
            raise NotFoundError("There is no such document.", field="external_id")
        return stored

    async def get(self, external_id: str, *, principal: Principal, deleted: bool = False) -> Document:
        await self.fault.strike()
        return _document(self._one(external_id, deleted=deleted))

    async def get_source(self, external_id: str, *, principal: Principal) -> SourceFile:
        await self.fault.strike()
        return self._one(external_id).write.source

    async def get_deleted(self, external_id: str, *, principal: Principal) -> tuple[Document, ParsedText, SourceFile]:
        await self.fault.strike()
        stored = self._one(external_id, deleted=True)
        return _document(stored), stored.write.parsed, stored.write.source

    def _selected(self, selection: DocumentSelection) -> list[Stored]:
        return [
            stored
            for name, stored in sorted(self.documents.items())
            if name.startswith(selection.prefix)
            and (stored.deleted_at is not None) is selection.deleted
            and self._matches(stored, selection.filters)
        ]

    async def list_page(
        self, selection: DocumentSelection, *, principal: Principal, limit: int, after: str | None = None
    ) -> DocumentPage:
        await self.fault.strike()
        left = [s for s in self._selected(selection) if after is None or s.write.external_id > after]
        page = tuple(_document(stored) for stored in left[:limit])
        return DocumentPage(documents=page, next_after=page[-1].external_id if len(left) > limit else None)

    async def soft_delete(self, selection: DocumentSelection, *, principal: Principal) -> int:
        await self.fault.strike()
        selected = self._selected(selection)
        for stored in selected:
            stored.deleted_at = datetime.now(UTC)
        return len(selected)

    async def soft_delete_one(self, external_id: str, *, principal: Principal) -> None:
        await self.fault.strike()
        self._one(external_id).deleted_at = datetime.now(UTC)

    async def purge_deleted(self, *, older_than_days: float, principal: Principal | None) -> int:
        return 0


def _chunks_of(stored: Stored) -> list[Chunk]:
    write = stored.write
    return [
        Chunk(
            id=f"{write.external_id}#{draft.chunk_index}",
            document_id=stored.id,
            external_id=write.external_id,
            chunk_index=draft.chunk_index,
            content=draft.content,
            heading_path=draft.heading_path,
            title=write.attributes.title,
            language=write.attributes.language,
            path=write.attributes.path,
            metadata=write.attributes.metadata,
            line_start=draft.line_start,
            line_end=draft.line_end,
            page_start=draft.page_start,
            page_end=draft.page_end,
        )
        for draft in write.chunks
    ]


def _fields(stored: Stored) -> dict[str, object]:
    attributes = stored.write.attributes
    described = {name: getattr(attributes, name) for name in FILTER_FIELDS if hasattr(attributes, name)}
    own = {"external_id": stored.write.external_id, "document_id": stored.id, "collection": "artifact_chunks"}
    return {**described, **own, METADATA: attributes.metadata}


def _outcome(stored: Stored, status: IngestStatus) -> IngestResult:
    chunks = len(stored.write.chunks)
    return IngestResult(
        external_id=stored.write.external_id, document_id=stored.id, status=status, chunks=chunks, pending=chunks
    )


def _document(stored: Stored) -> Document:
    write = stored.write
    return Document(
        id=stored.id,
        external_id=write.external_id,
        attributes=write.attributes,
        content_hash=write.content_hash.hex(),
        media_type=write.source.media_type,
        filename=write.source.filename,
        size_bytes=len(write.source.content),
        chunks=len(write.chunks),
        pending=len(write.chunks),
        created_at=stored.created_at,
        updated_at=stored.created_at,
        deleted_at=stored.deleted_at,
    )

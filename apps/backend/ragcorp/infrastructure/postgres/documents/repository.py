"""The port DocumentRepository over PostgreSQL."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import Row
from sqlalchemy.ext.asyncio import AsyncConnection as CoreConnection

from ragcorp.domain.documents import Chunk, Document, ParsedText, SourceFile
from ragcorp.domain.embeddings import Vector
from ragcorp.domain.exceptions import NotFoundError
from ragcorp.domain.filters import Condition, Filters
from ragcorp.domain.ports.storage import (
    DocumentPage,
    DocumentSelection,
    DocumentWrite,
    LexemeCounts,
    LexicalChunks,
    SimilarChunks,
    VisibleFrequencies,
    WriteOutcome,
)
from ragcorp.domain.principal import Principal
from ragcorp.domain.search.requests import QuerySyntax
from ragcorp.infrastructure.postgres.connections.database import EVERY_WORKSPACE, Database, Result
from ragcorp.infrastructure.postgres.dense.channels import ChunkChannels
from ragcorp.infrastructure.postgres.documents import reads
from ragcorp.infrastructure.postgres.documents.writes import find_unchanged, save_documents
from ragcorp.infrastructure.postgres.lexical.channel import LexicalChannel
from ragcorp.infrastructure.postgres.workspaces.statistics_keeper import StatisticsKeeper


class PostgresDocumentRepository:
    """Documents, originals and chunks in the tables of the same names."""

    def __init__(
        self,
        *,
        database: Database,
        channels: ChunkChannels,
        lexical: LexicalChannel,
        statistics: StatisticsKeeper | None = None,
    ) -> None:
        self._database = database
        self._channels = channels
        self._lexical = lexical
        self._statistics = statistics

    async def find_similar_chunks(
        self, embedding: Vector, *, principal: Principal, filters: Filters = (), limit: int
    ) -> SimilarChunks:
        return await self._channels.similar(embedding, principal=principal, filters=filters, limit=limit)

    async def find_chunks_full_text(
        self,
        query: str,
        *,
        principal: Principal,
        filters: Filters = (),
        limit: int,
        syntax: QuerySyntax = QuerySyntax.PLAIN,
    ) -> LexicalChunks:
        return await self._lexical.find(query, principal=principal, filters=filters, limit=limit, syntax=syntax)

    async def admitted_chunks(self, query: str, chunk_ids: Sequence[str], *, principal: Principal) -> frozenset[str]:
        return await self._lexical.admitted(query, chunk_ids, principal=principal)

    async def half_centred_similarities(
        self, embedding: Vector, chunk_ids: Sequence[str], *, principal: Principal
    ) -> dict[str, float]:
        return await self._channels.half_centred(embedding, chunk_ids, principal=principal)

    async def count_lexemes(
        self, lexemes: Sequence[str], chunk_ids: Sequence[str], *, principal: Principal
    ) -> dict[str, LexemeCounts]:
        return await self._lexical.counts(lexemes, chunk_ids, principal=principal)

    async def visible_frequencies(self, lexemes: Sequence[str], *, principal: Principal) -> VisibleFrequencies:
        return await self._lexical.visible_frequencies(lexemes, principal=principal)

    async def get_chunks(self, chunk_ids: Sequence[str], *, principal: Principal) -> dict[str, Chunk]:
        return await self._channels.chunks(chunk_ids, principal=principal)

    async def find_chunk_ids(
        self, positions: Sequence[tuple[UUID, int]], *, principal: Principal
    ) -> dict[tuple[UUID, int], str]:
        return await self._channels.chunk_ids(positions, principal=principal)

    async def find_unchanged(
        self, hashes: Mapping[str, bytes], *, chunker: str, principal: Principal
    ) -> dict[str, WriteOutcome]:
        async def work() -> dict[str, WriteOutcome]:
            async with self._database.autocommit(principal.workspace) as connection:
                return await find_unchanged(connection, hashes, chunker=chunker, principal=principal)

        return await self._database.read(work)

    async def save_many(self, writes: Sequence[DocumentWrite], *, principal: Principal) -> list[WriteOutcome]:
        async with self._database.driver_transaction(principal.workspace) as connection:
            outcomes = await save_documents(connection, writes, principal=principal)
        self._changed(principal)
        return outcomes

    async def replace(self, write: DocumentWrite, *, expected: bytes, principal: Principal) -> WriteOutcome:
        async with self._database.driver_transaction(principal.workspace) as connection:
            (outcome,) = await save_documents(connection, [write], principal=principal, expected=expected)
        self._changed(principal)
        return outcome

    async def restore(self, write: DocumentWrite, *, principal: Principal) -> WriteOutcome:
        async with self._database.driver_transaction(principal.workspace) as connection:
            (outcome,) = await save_documents(connection, [write], principal=principal, restoring=True)
        self._changed(principal)
        return outcome

    async def get(self, external_id: str, *, principal: Principal, deleted: bool = False) -> Document:
        query = reads.document_query(deleted=deleted)
        return reads.document(await self._read(lambda c: reads.find_one(c, query, external_id, principal), principal))

    async def get_source(self, external_id: str, *, principal: Principal) -> SourceFile:
        return reads.source(
            await self._read(lambda c: reads.find_one(c, reads.source_query(), external_id, principal), principal)
        )

    async def get_deleted(self, external_id: str, *, principal: Principal) -> tuple[Document, ParsedText, SourceFile]:
        async def both(connection: CoreConnection) -> tuple[Row[Any], bytes | None]:
            query = reads.document_query(deleted=True, with_text=True)
            row = await reads.find_one(connection, query, external_id, principal)
            return row, (await connection.execute(reads.original(row.id))).scalar_one_or_none()

        row, content = await self._read(both, principal)
        if content is None:  # purged between the two statements
            raise NotFoundError("There is no such document.", field="external_id")
        document = reads.document(row)
        original = SourceFile(content=bytes(content), media_type=document.media_type, filename=document.filename)
        return document, reads.parsed(row), original

    async def list_page(
        self, selection: DocumentSelection, *, principal: Principal, limit: int, after: str | None = None
    ) -> DocumentPage:
        return await self._read(
            lambda c: reads.list_documents(c, selection, principal=principal, limit=limit, after=after), principal
        )

    async def soft_delete(self, selection: DocumentSelection, *, principal: Principal) -> int:
        async with self._database.transaction(principal.workspace) as connection:
            hidden = await reads.hide(connection, selection, principal=principal)
        self._changed(principal)
        return hidden

    async def soft_delete_one(self, external_id: str, *, principal: Principal) -> None:
        exactly = DocumentSelection(filters=(Condition(name="external_id", values=(external_id,)),))
        if not await self.soft_delete(exactly, principal=principal):
            raise NotFoundError("There is no such document.", field="external_id")

    async def purge_deleted(self, *, older_than_days: float, principal: Principal | None) -> int:
        async with self._database.transaction(principal.workspace if principal else EVERY_WORKSPACE) as connection:
            return await reads.purge(connection, older_than_days=older_than_days, principal=principal)

    def _changed(self, principal: Principal) -> None:
        if self._statistics is not None:
            self._statistics.touch(principal.workspace)

    async def _read(self, query: Callable[[CoreConnection], Awaitable[Result]], principal: Principal) -> Result:
        async def work() -> Result:
            async with self._database.transaction(principal.workspace) as connection:
                return await query(connection)

        return await self._database.read(work)

"""The port DocumentStore over PostgreSQL."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from sqlalchemy import Row
from sqlalchemy.ext.asyncio import AsyncConnection as CoreConnection

from ragcorp.domain.documents import Document, IngestStatus, ParsedText, SourceFile
from ragcorp.domain.exceptions import NotFoundError
from ragcorp.domain.filters import Condition
from ragcorp.domain.ports.storage import (
    DocumentPage,
    DocumentSelection,
    DocumentWrite,
    WriteOutcome,
)
from ragcorp.domain.principal import Principal
from ragcorp.infrastructure.postgres.connections.database import EVERY_WORKSPACE, Database, Result
from ragcorp.infrastructure.postgres.documents import reads
from ragcorp.infrastructure.postgres.documents.writes import save_documents
from ragcorp.infrastructure.postgres.visibility.predicates import visibility
from ragcorp.infrastructure.postgres.workspaces.statistics_keeper import StatisticsKeeper

FIND_UNCHANGED = """
    SELECT d.external_id, d.id, d.chunk_count,
           (SELECT count(*) FROM embedding_backlog b WHERE b.document_id = d.id)
    FROM unnest(%(external_ids)s::text[], %(hashes)s::bytea[]) AS sent (external_id, content_hash)
    JOIN documents d
      ON d.workspace = %(workspace)s AND d.external_id = sent.external_id AND d.content_hash = sent.content_hash
    WHERE d.deleted_at IS NULL AND d.chunker = %(chunker)s AND {visible}
"""


class PostgresDocumentStore:
    """Documents, originals and chunks in the tables of the same names."""

    def __init__(self, *, database: Database, statistics: StatisticsKeeper | None = None) -> None:
        self._database = database
        self._statistics = statistics

    async def find_unchanged(
        self, hashes: Mapping[str, bytes], *, chunker: str, principal: Principal
    ) -> dict[str, WriteOutcome]:
        visible = visibility(principal, alias="d")
        rows = await self._database.fetch(
            FIND_UNCHANGED.format(visible=visible.sql),
            visible.values | {"external_ids": list(hashes), "hashes": list(hashes.values()), "chunker": chunker},
            workspace=principal.workspace,
        )
        return {
            external_id: WriteOutcome(
                document_id=document_id, status=IngestStatus.UNCHANGED, chunks=chunk_count, pending=pending
            )
            for external_id, document_id, chunk_count, pending in rows
        }

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

"""The port DocumentStore over PostgreSQL."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

from psycopg.rows import TupleRow

from ragcorp.domain.documents import Document, IngestStatus, Page, ParsedText, SourceFile
from ragcorp.domain.exceptions import ConflictError, NotFoundError
from ragcorp.domain.filters import Condition
from ragcorp.domain.ingestion import IngestResult
from ragcorp.domain.ports.storage import DocumentSelection, DocumentWrite
from ragcorp.domain.principal import Principal
from ragcorp.infrastructure.postgres.connections.database import EVERY_WORKSPACE, Database, DriverConnection
from ragcorp.infrastructure.postgres.documents import reads
from ragcorp.infrastructure.postgres.documents.unread import read_unread
from ragcorp.infrastructure.postgres.documents.writes import restore_documents, save_documents
from ragcorp.infrastructure.postgres.visibility.predicates import Predicate, visibility
from ragcorp.infrastructure.postgres.workspaces.statistics_keeper import StatisticsKeeper

FIND_UNCHANGED = """
    SELECT d.external_id, d.id, d.chunk_count,
           (SELECT count(*) FROM embedding_backlog b
            WHERE b.document_id IN (SELECT p.id FROM documents p WHERE d.id IN (p.id, p.part_of))),
           d.unread, (SELECT count(*) FROM documents p WHERE p.part_of = d.id AND p.deleted_at IS NULL)
    FROM unnest(%(external_ids)s::text[], %(hashes)s::bytea[]) AS sent (external_id, content_hash)
    JOIN documents d
      ON d.workspace = %(workspace)s AND d.external_id = sent.external_id AND d.content_hash = sent.content_hash
    WHERE d.deleted_at IS NULL AND d.chunker = %(chunker)s AND {condition}
"""


class PostgresDocumentStore:
    """Documents, originals and chunks in the tables of the same names."""

    def __init__(self, *, database: Database, statistics: StatisticsKeeper | None = None) -> None:
        self._database = database
        self._statistics = statistics

    async def find_unchanged(
        self, hashes: Mapping[str, bytes], *, chunker: str, principal: Principal
    ) -> dict[str, IngestResult]:
        statement = visibility(principal, alias="d").bind(
            FIND_UNCHANGED, external_ids=list(hashes), hashes=list(hashes.values()), chunker=chunker
        )
        rows = await self._database.fetch(*statement, workspace=principal.workspace)
        return {
            external_id: IngestResult(
                external_id=external_id,
                document_id=document_id,
                status=IngestStatus.UNCHANGED,
                chunks=chunk_count,
                pending=pending,
                unread=read_unread(unread),
                parts=parts,
            )
            for external_id, document_id, chunk_count, pending, unread, parts in rows
        }

    async def save_many(self, writes: Sequence[DocumentWrite], *, principal: Principal) -> list[IngestResult]:
        async with self._saving(principal) as connection:
            return await save_documents(connection, writes, principal=principal)

    async def replace(self, write: DocumentWrite, *, expected: bytes, principal: Principal) -> IngestResult:
        async with self._saving(principal) as connection:
            (outcome,) = await save_documents(connection, [write], principal=principal, expected=expected)
        return outcome

    async def restore(self, write: DocumentWrite, *, principal: Principal) -> IngestResult:
        async with self._saving(principal) as connection:
            (outcome,) = await restore_documents(connection, [write], principal=principal)
        return outcome

    @asynccontextmanager
    async def _saving(self, principal: Principal) -> AsyncIterator[DriverConnection]:
        async with self._database.transaction(principal.workspace) as connection:
            yield connection
        self._changed(principal)

    async def get(self, external_id: str, *, principal: Principal, deleted: bool = False) -> Document:
        selected = reads.by_external_id(external_id, principal=principal, deleted=deleted)
        parts, *row = await self._read_one(reads.ONE, selected, principal)
        return replace(reads.document(tuple(row)), parts=tuple(parts))

    async def get_source(self, external_id: str, *, principal: Principal) -> SourceFile:
        selected = reads.by_external_id(external_id, principal=principal)
        content, media_type, filename = await self._read_one(reads.SOURCE, selected, principal)
        return SourceFile(content=bytes(content), media_type=media_type, filename=filename)

    async def get_deleted(self, external_id: str, *, principal: Principal) -> tuple[Document, ParsedText, SourceFile]:
        selected = reads.by_external_id(external_id, principal=principal, deleted=True)
        document, parsed, original = _with_source(await self._read_one(reads.WITH_SOURCE, selected, principal))
        if document.part_of is not None and await self._is_deleted(document.part_of, principal):
            raise ConflictError(
                f"It is part of the deleted document {document.part_of}.",
                field="external_id",
                remedy="Restore that document: its parts come back with it.",
            )
        return document, parsed, original

    async def get_deleted_parts(
        self, document: Document, *, principal: Principal
    ) -> list[tuple[Document, ParsedText, SourceFile]]:
        statement = visibility(principal, alias="d").bind(
            reads.PARTS_WITH_SOURCE, id=document.id, deleted_at=document.deleted_at
        )
        return list(map(_with_source, await self._database.fetch(*statement, workspace=principal.workspace)))

    async def list_page(
        self, selection: DocumentSelection, *, principal: Principal, limit: int, after: str | None = None
    ) -> Page[Document, str]:
        selected = reads.matching(selection, principal=principal, after=after)
        rows = await self._database.fetch(*selected.bind(reads.LIST, limit=limit + 1), workspace=principal.workspace)
        page = tuple(reads.document(row) for row in rows[:limit])
        return Page(items=page, next_after=page[-1].external_id if len(rows) > limit else None)

    async def soft_delete(self, selection: DocumentSelection, *, principal: Principal) -> int:
        async with self._saving(principal) as connection:
            return await reads.hide(connection, selection, principal=principal)

    async def soft_delete_one(self, external_id: str, *, principal: Principal) -> None:
        exactly = DocumentSelection(filters=(Condition(name="external_id", values=(external_id,)),))
        if not await self.soft_delete(exactly, principal=principal):
            raise NotFoundError("There is no such document.", field="external_id")

    async def purge_deleted(self, *, older_than_days: float, principal: Principal | None) -> int:
        workspace = principal.workspace if principal else EVERY_WORKSPACE
        async with self._database.transaction(workspace) as connection:
            return await reads.purge(connection, older_than_days=older_than_days, principal=principal)

    async def _is_deleted(self, external_id: str, principal: Principal) -> bool:
        selected = reads.by_external_id(external_id, principal=principal, deleted=True)
        statement = selected.bind(reads.LIST, limit=1)
        return bool(await self._database.fetch(*statement, workspace=principal.workspace))

    async def _read_one(self, statement: str, selected: Predicate, principal: Principal) -> TupleRow:
        rows = await self._database.fetch(*selected.bind(statement, limit=1), workspace=principal.workspace)
        if not rows:
            raise NotFoundError(
                "There is no such document.", field="external_id", remedy="List the documents to see which there are."
            )
        return rows[0]

    def _changed(self, principal: Principal) -> None:
        if self._statistics is not None:
            self._statistics.touch(principal.workspace)


def _with_source(row: TupleRow) -> tuple[Document, ParsedText, SourceFile]:
    text, page_starts, confidences, content, *columns = row
    document = reads.document(tuple(columns))
    return (
        document,
        ParsedText(
            text=text,
            title=document.attributes.title or None,
            page_starts=tuple(page_starts),
            unread=document.unread,
            recognized={int(page): confidence for page, confidence in (confidences or {}).items()},
        ),
        SourceFile(content=bytes(content), media_type=document.media_type, filename=document.filename),
    )

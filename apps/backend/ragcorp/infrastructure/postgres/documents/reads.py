"""Reads and deletions of documents, in SQLAlchemy Core."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Row, Select, and_, delete, func, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from ragcorp.domain.documents import Document, DocumentAttributes, ParsedText, SourceFile, VisibilityScope
from ragcorp.domain.exceptions import NotFoundError
from ragcorp.domain.ports.storage import DocumentPage, DocumentSelection
from ragcorp.domain.principal import Principal, Sensitivity
from ragcorp.infrastructure.postgres.tables.documents import chunks, document_sources, documents, embedding_backlog
from ragcorp.infrastructure.postgres.tables.structure import structured_documents
from ragcorp.infrastructure.postgres.visibility.core import matches, readable

_PENDING = (
    select(func.count())
    .select_from(embedding_backlog)
    .where(embedding_backlog.c.document_id == documents.c.id)
    .scalar_subquery()
    .label("pending")
)
_LISTED = [column for column in documents.c if column.name not in ("text", "page_starts")]

FORGET_PASSAGES = """
    DELETE FROM embedding_cache WHERE (workspace, content_hash, model_id) IN (
        SELECT e.workspace, e.content_hash, e.model_id FROM embedding_cache e
        WHERE e.workspace = ANY(:workspaces) AND NOT EXISTS (
            SELECT FROM chunks c WHERE c.workspace = e.workspace AND c.content_hash = e.content_hash)
        AND NOT EXISTS (
            SELECT FROM structural_entities s WHERE s.workspace = e.workspace AND s.content_hash = e.content_hash)
        FOR UPDATE OF e SKIP LOCKED)
"""
"""What no passage and no entity has any more: which were those of a purged document is not known by then. So a
document that is deleted and not purged yet is embedded anew where it is restored."""


def _selected(selection: DocumentSelection, principal: Principal) -> Any:
    clauses: list[ColumnElement[bool]] = [readable(documents, principal), matches(selection.filters)]
    clauses.append(documents.c.deleted_at.is_not(None) if selection.deleted else documents.c.deleted_at.is_(None))
    if selection.prefix:
        clauses.append(documents.c.external_id.startswith(selection.prefix, autoescape=True))
    return and_(*clauses)


async def find_one(connection: AsyncConnection, query: Select[Any], external_id: str, principal: Principal) -> Row[Any]:
    """Return the one row of ``query`` over documents. Raises NotFoundError."""
    found = await connection.execute(
        query.where(readable(documents, principal), documents.c.external_id == external_id)
    )
    row: Row[Any] | None = found.one_or_none()
    if row is None:
        raise NotFoundError(
            "There is no such document.",
            field="external_id",
            remedy="List the documents to see which there are.",
        )
    return row


def document_query(*, deleted: bool, with_text: bool = False) -> Select[Any]:
    columns = [*documents.c] if with_text else _LISTED
    state = documents.c.deleted_at.is_not(None) if deleted else documents.c.deleted_at.is_(None)
    return select(*columns, _PENDING).where(state)


def source_query() -> Select[Any]:
    return (
        select(document_sources.c.content, documents.c.media_type, documents.c.filename)
        .join_from(documents, document_sources)
        .where(documents.c.deleted_at.is_(None))
    )


def original(document_id: UUID) -> Select[Any]:
    return select(document_sources.c.content).where(document_sources.c.document_id == document_id)


async def list_documents(
    connection: AsyncConnection, selection: DocumentSelection, *, principal: Principal, limit: int, after: str | None
) -> DocumentPage:
    query: Select[Any] = (
        select(*_LISTED, _PENDING)
        .where(_selected(selection, principal))
        .order_by(documents.c.external_id)
        .limit(limit + 1)
    )
    if after is not None:
        query = query.where(documents.c.external_id > after)
    rows: Sequence[Row[Any]] = (await connection.execute(query)).all()
    page = tuple(document(row) for row in rows[:limit])
    return DocumentPage(documents=page, next_after=page[-1].external_id if len(rows) > limit else None)


async def hide(connection: AsyncConnection, selection: DocumentSelection, *, principal: Principal) -> int:
    """Mark the selection deleted and take its chunks and entities out of every index; return how many."""
    # locked in the order of external_id, as saves do it: neither waits for the other in a circle
    locked = (
        select(documents.c.id)
        .where(_selected(selection, principal))
        .order_by(documents.c.external_id)
        .with_for_update()
        .cte("locked")
    )
    hidden = await connection.execute(
        update(documents)
        .where(documents.c.id.in_(select(locked.c.id)))
        .values(deleted_at=func.now(), chunk_count=0)
        .returning(documents.c.id)
    )
    ids = hidden.scalars().all()
    # a statement of its own: its snapshot has the chunks of a save that the lock waited for
    await connection.execute(delete(chunks).where(chunks.c.document_id.in_(ids)))
    # with them their entities
    await connection.execute(delete(structured_documents).where(structured_documents.c.document_id.in_(ids)))
    return len(ids)


async def purge(connection: AsyncConnection, *, older_than_days: float, principal: Principal | None) -> int:
    age = text("make_interval(secs => :seconds)").bindparams(seconds=older_than_days * 86_400.0)
    old_enough = documents.c.deleted_at <= func.now() - age
    condition = old_enough if principal is None else and_(old_enough, readable(documents, principal))
    purged = (await connection.execute(delete(documents).where(condition).returning(documents.c.workspace))).scalars()
    workspaces = purged.all()
    if workspaces:
        await connection.execute(text(FORGET_PASSAGES), {"workspaces": sorted(set(workspaces))})
    return len(workspaces)


def parsed(row: Row[Any]) -> ParsedText:
    return ParsedText(text=row.text, title=row.title or None, page_starts=tuple(row.page_starts))


def source(row: Row[Any]) -> SourceFile:
    return SourceFile(content=bytes(row.content), media_type=row.media_type, filename=row.filename)


def document(row: Row[Any]) -> Document:
    return Document(
        id=row.id,
        external_id=row.external_id,
        attributes=DocumentAttributes(
            title=row.title,
            language=row.language,
            artifact_type=row.artifact_type,
            sensitivity=Sensitivity(row.sensitivity),
            visibility_scope=VisibilityScope(row.visibility_scope),
            owner=row.owner,
            occurred_at=row.occurred_at,
            path=row.path,
            metadata=row.metadata,
        ),
        content_hash=bytes(row.content_hash).hex(),
        media_type=row.media_type,
        filename=row.filename,
        size_bytes=row.size_bytes,
        chunks=row.chunk_count,
        pending=row.pending,
        created_at=row.created_at,
        updated_at=row.updated_at,
        deleted_at=row.deleted_at,
    )

"""The SQL that reads and deletes documents, and the mapping of their rows."""

from uuid import UUID

from psycopg.rows import TupleRow

from ragcorp.domain.documents import Document
from ragcorp.domain.ports.storage import DocumentSelection
from ragcorp.domain.principal import Principal
from ragcorp.domain.recognition import RecognitionCounts
from ragcorp.infrastructure.postgres.connections.database import DriverConnection
from ragcorp.infrastructure.postgres.documents.unread import read_unread
from ragcorp.infrastructure.postgres.tables.attributes import attribute_columns, read_attributes
from ragcorp.infrastructure.postgres.visibility.predicates import DOCUMENTS, Predicate, filtered, named, visibility

COLUMNS = f"""
    d.id, d.external_id, d.title, d.path, d.content_hash, d.media_type, d.filename, d.size_bytes, d.chunk_count,
    (SELECT count(*) FROM embedding_backlog b WHERE b.document_id = d.id), d.created_at, d.updated_at, d.deleted_at,
    d.unread, (SELECT whole.external_id FROM documents whole WHERE whole.id = d.part_of),
    (SELECT ARRAY[count(*), count(s.text) FILTER (WHERE NOT s.failed), count(*) FILTER (WHERE s.failed)]
     FROM scanned_pages s WHERE s.document_id = d.id),
    {attribute_columns("d")}"""
"""The select list over documents d that ``document`` reads."""

LIST = f"SELECT {COLUMNS} FROM documents d WHERE {{condition}} ORDER BY d.external_id LIMIT %(limit)s"

ONE = f"""
    SELECT ARRAY(SELECT p.external_id FROM documents p
                 WHERE p.part_of = d.id AND p.deleted_at IS NOT DISTINCT FROM d.deleted_at ORDER BY p.external_id),
           {COLUMNS}
    FROM documents d WHERE {{condition}}
"""
"""With the names of its parts: whoever may read a document may read them."""

SOURCE = """
    SELECT s.content, d.media_type, d.filename FROM documents d JOIN document_sources s ON s.document_id = d.id
    WHERE {condition}
"""

CONFIDENCES = """
    (SELECT jsonb_object_agg(s.page, s.confidence) FROM scanned_pages s
     WHERE s.document_id = d.id AND s.indexed AND s.text <> '' AND NOT s.failed)"""
"""Of the recognised pages that the text of documents d has."""

WITH_SOURCE = f"""
    SELECT d.text, d.page_starts, {CONFIDENCES}, s.content, {COLUMNS}
    FROM documents d JOIN document_sources s ON s.document_id = d.id
    WHERE {{condition}}
"""

PARTS_WITH_SOURCE = f"""
    SELECT d.text, d.page_starts, {CONFIDENCES}, s.content, {COLUMNS}
    FROM documents d JOIN document_sources s ON s.document_id = d.id
    WHERE d.part_of = %(id)s AND d.deleted_at = %(deleted_at)s AND {{condition}}
    ORDER BY d.external_id
"""
"""The parts that were deleted together with a document, in its transaction."""

LOCK_WITH_PARTS = """
    WITH matched AS MATERIALIZED (SELECT d.id FROM documents d WHERE {condition})
    SELECT d.id FROM documents d
    WHERE d.id IN (
        SELECT id FROM matched UNION ALL SELECT p.id FROM documents p JOIN matched ON p.part_of = matched.id)
    ORDER BY d.external_id FOR UPDATE
"""
"""Locks in the order of external_id, as saves do: neither deadlocks with the other."""

HIDE = """
    UPDATE documents d SET deleted_at = now(), chunk_count = 0 WHERE d.id = ANY(%(locked)s) AND {condition}
    RETURNING d.id
"""
"""Only what is locked: to lock what was written meanwhile would break the order."""

HIDE_PARTS = """
    UPDATE documents SET deleted_at = now(), chunk_count = 0 WHERE part_of = ANY(%(ids)s) AND deleted_at IS NULL
    RETURNING id
"""

DELETE_CONTENTS = (
    "DELETE FROM chunks WHERE document_id = ANY(%(ids)s)",
    "DELETE FROM structured_documents WHERE document_id = ANY(%(ids)s)",  # cascades to their entities
)
"""Separate statements, as HIDE_PARTS: their snapshots include what a save wrote that the lock waited for."""

PURGE = """
    DELETE FROM documents d WHERE d.deleted_at <= now() - make_interval(secs => %(seconds)s) AND {condition}
    RETURNING d.workspace
"""

FORGET_PASSAGES = """
    DELETE FROM embedding_cache WHERE (workspace, content_hash, model_id) IN (
        SELECT e.workspace, e.content_hash, e.model_id FROM embedding_cache e
        WHERE e.workspace = ANY(%(workspaces)s) AND NOT EXISTS (
            SELECT FROM chunks c WHERE c.workspace = e.workspace AND c.content_hash = e.content_hash)
        AND NOT EXISTS (
            SELECT FROM structural_entities s WHERE s.workspace = e.workspace AND s.content_hash = e.content_hash)
        FOR UPDATE OF e SKIP LOCKED)
"""
"""Deletes cached vectors of texts that no passage and no entity has any more: by now it is not known which texts the
purged documents had. So a deleted document that is restored later is embedded anew."""


def by_external_id(external_id: str, *, principal: Principal, deleted: bool = False) -> Predicate:
    """Return the condition that selects a readable document by name."""
    exactly = Predicate.of("d.external_id = %(external_id)s", external_id=external_id)
    return _readable(principal, deleted=deleted) & exactly


def matching(selection: DocumentSelection, *, principal: Principal, after: str | None = None) -> Predicate:
    """Return the condition that selects readable documents, after the name ``after``."""
    return (
        _readable(principal, deleted=selection.deleted)
        & filtered(selection.filters, table=DOCUMENTS, alias="d")
        & named("d", prefix=selection.prefix, after=after)
    )


async def lock_with_parts(connection: DriverConnection, matched: Predicate) -> list[UUID]:
    """Lock documents d and their parts; return their ids."""
    locked = await connection.execute(*matched.bind(LOCK_WITH_PARTS))
    return [row[0] for row in await locked.fetchall()]


async def hide(connection: DriverConnection, selection: DocumentSelection, *, principal: Principal) -> int:
    """Mark the selection and its parts deleted, and take their chunks and entities out of every index.

    Returns how many documents.
    """
    matched = matching(selection, principal=principal)
    locked = await lock_with_parts(connection, matched)
    hidden = await connection.execute(*matched.bind(HIDE, locked=locked))
    ids = [row[0] for row in await hidden.fetchall()]
    parts = await connection.execute(HIDE_PARTS, {"ids": ids})
    ids += [row[0] for row in await parts.fetchall()]
    for statement in DELETE_CONTENTS:
        await connection.execute(statement, {"ids": ids})
    return len(ids)


async def purge(connection: DriverConnection, *, older_than_days: float, principal: Principal | None) -> int:
    readable = Predicate() if principal is None else visibility(principal, alias="d")
    purged = await connection.execute(*readable.bind(PURGE, seconds=older_than_days * 86_400.0))
    workspaces = [row[0] for row in await purged.fetchall()]
    if workspaces:
        await connection.execute(FORGET_PASSAGES, {"workspaces": sorted(set(workspaces))})
    return len(workspaces)


def document(row: TupleRow) -> Document:
    """Return the document of a row of ``COLUMNS``."""
    (
        id_, external_id, title, path, content_hash, media_type, filename, size_bytes, chunk_count, pending,
        created_at, updated_at, deleted_at, unread, part_of, scanned, *attributes,
    ) = row  # fmt: skip
    return Document(
        id=id_,
        external_id=external_id,
        attributes=read_attributes(attributes, title=title, path=path),
        content_hash=bytes(content_hash).hex(),
        media_type=media_type,
        filename=filename,
        size_bytes=size_bytes,
        chunks=chunk_count,
        pending=pending,
        created_at=created_at,
        updated_at=updated_at,
        deleted_at=deleted_at,
        unread=read_unread(unread),
        part_of=part_of,
        recognition=RecognitionCounts(pages=scanned[0], done=scanned[1], failed=scanned[2]) if scanned[0] else None,
    )


def _readable(principal: Principal, *, deleted: bool) -> Predicate:
    return visibility(principal, alias="d") & Predicate.of(f"d.deleted_at IS {'NOT ' if deleted else ''}NULL")

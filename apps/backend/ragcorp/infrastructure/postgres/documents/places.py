"""Locks the documents of a batch, creates the new ones, and checks which document may have which name."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any
from uuid import UUID, uuid4

from psycopg.types.json import Jsonb

from ragcorp.domain.documents import UnreadPart
from ragcorp.domain.exceptions import ConflictError
from ragcorp.domain.ports.storage import DocumentWrite
from ragcorp.domain.principal import Principal
from ragcorp.infrastructure.postgres.connections.database import DriverConnection
from ragcorp.infrastructure.postgres.documents.unread import read_unread, unread_values
from ragcorp.infrastructure.postgres.tables.attributes import attribute_values
from ragcorp.infrastructure.postgres.visibility.predicates import visibility

FIND_NAMES = """
    SELECT external_id FROM documents WHERE workspace = %(workspace)s AND external_id = ANY(%(external_ids)s)
    UNION
    SELECT p.external_id FROM documents p JOIN documents d ON d.id = p.part_of
    WHERE d.workspace = %(workspace)s AND d.external_id = ANY(%(external_ids)s)
"""
"""With the parts of the documents: some are no longer among them."""

LOCK_EXISTING = """
    SELECT d.external_id, d.id, d.content_hash, d.chunker, d.deleted_at IS NOT NULL, d.chunk_count, d.part_of,
           d.unread, ({condition}) IS TRUE
    FROM documents d
    WHERE d.workspace = %(workspace)s AND d.external_id = ANY(%(external_ids)s)
    ORDER BY d.external_id
    FOR UPDATE
"""

COLUMNS = (
    "title", "path", "text", "page_starts", "metadata", "language", "artifact_type", "sensitivity", "visibility_scope",
    "owner", "occurred_at", "content_hash", "chunker", "chunk_count", "media_type", "filename", "size_bytes",
    "unread", "part_of",
)  # fmt: skip

INSERT_DOCUMENT = f"""
    INSERT INTO documents (id, workspace, external_id, {", ".join(COLUMNS)})
    VALUES (%(id)s, %(workspace)s, %(external_id)s, {", ".join(f"%({name})s" for name in COLUMNS)})
    ON CONFLICT (workspace, external_id) DO UPDATE SET external_id = excluded.external_id WHERE false
    RETURNING external_id
"""
"""Locks a document that another transaction has just created, and returns no row for it."""


@dataclass(frozen=True, slots=True)
class Existing:
    """A stored document. ``part_of``: the id of the one whose file holds its file."""

    document_id: UUID
    content_hash: bytes
    chunker: str
    deleted: bool
    chunk_count: int
    part_of: UUID | None
    unread: tuple[UnreadPart, ...]


async def lock_or_create(
    connection: DriverConnection,
    by_id: Mapping[str, DocumentWrite],
    parts: Mapping[str, str],
    *,
    principal: Principal,
    with_places: bool,
) -> tuple[dict[str, Existing], dict[str, UUID]]:
    """Lock each existing document and insert each new one, in the order of external_id; lock their old parts too.

    ``parts`` maps each part to the document that it is part of, which comes before it in that order; ``with_places``
    raises ConflictError for an existing document that is part of another one, or of none, at present. An insert waits
    for a concurrent insert of the same name, so it has to follow the order too. A first query without locks finds the
    runs of existing documents, each of which is locked by one statement, and the runs of new ones, which are inserted
    in one round trip.
    """
    existing: dict[str, Existing] = {}
    created: dict[str, UUID] = {}

    def container(external_id: str) -> UUID | None:
        name = parts.get(external_id)
        return None if name is None else created[name] if name in created else existing[name].document_id

    names = {"workspace": principal.workspace, "external_ids": list(by_id)}
    stored = {row[0] for row in await (await connection.execute(FIND_NAMES, names)).fetchall()}
    for is_stored, run in groupby(sorted(stored.union(by_id)), key=stored.__contains__):
        external_ids = list(run)
        if is_stored:
            existing |= await _lock(connection, external_ids, principal=principal)
        new = [external_id for external_id in external_ids if external_id in by_id and external_id not in existing]
        # the parts of a new document need to know whether it was created
        for _, together in groupby(new, key=lambda external_id: external_id in parts):
            rows = {
                external_id: document_row(
                    by_id[external_id], uuid4(), principal.workspace, part_of=container(external_id)
                )
                for external_id in together
            }
            inserted = await _insert(connection, list(rows.values()))
            created |= {external_id: row["id"] for external_id, row in rows.items() if external_id in inserted}
            if len(inserted) < len(rows):
                existing |= await _lock(
                    connection, [name for name in rows if name not in inserted], principal=principal
                )
            if not existing.keys() | created.keys() >= rows.keys():
                raise ConflictError("Another write got in the way.", remedy="Try again.")
    existing = {external_id: stored for external_id, stored in existing.items() if external_id in by_id}
    for external_id, document in existing.items():
        if with_places and not document.deleted and document.part_of != container(external_id):
            raise _taken(external_id, is_part=external_id in parts)
    return existing, created


async def _insert(connection: DriverConnection, rows: Sequence[Mapping[str, object]]) -> set[str]:
    """Insert documents in one round trip; return the names of those that were not there yet."""
    cursor = connection.cursor()
    await cursor.executemany(INSERT_DOCUMENT, rows, returning=True)
    return {external_id async for result in cursor.results() for (external_id,) in await result.fetchall()}


async def _lock(
    connection: DriverConnection, external_ids: Sequence[str], *, principal: Principal
) -> dict[str, Existing]:
    readable = visibility(principal, alias="d")
    cursor = await connection.execute(*readable.bind(LOCK_EXISTING, external_ids=list(external_ids)))
    existing = {}
    for (
        external_id,
        document_id,
        content_hash,
        chunker,
        deleted,
        chunk_count,
        part_of,
        unread,
        may_read,
    ) in await cursor.fetchall():
        if not may_read:
            raise ConflictError(
                "The external_id is taken by a document that you may not replace.",
                field="external_id",
                remedy="Choose another external_id.",
            )
        existing[external_id] = Existing(
            document_id, bytes(content_hash), chunker, deleted, chunk_count, part_of, read_unread(unread)
        )
    return existing


def document_row(write: DocumentWrite, document_id: UUID, workspace: str, *, part_of: UUID | None) -> dict[str, Any]:
    return attribute_values(write.attributes) | {
        "id": document_id,
        "title": write.attributes.title,
        "workspace": workspace,
        "external_id": write.external_id,
        "path": write.attributes.path,
        "text": write.parsed.text,
        "page_starts": list(write.parsed.page_starts),
        "metadata": Jsonb(dict(write.attributes.metadata)),
        "content_hash": write.content_hash,
        "chunker": write.chunker,
        "chunk_count": len(write.chunks),
        "media_type": write.source.media_type,
        "filename": write.source.filename,
        "size_bytes": len(write.source.content),
        "unread": Jsonb(unread_values(write.parsed.unread)),
        "part_of": part_of,
    }


def _taken(external_id: str, *, is_part: bool) -> ConflictError:
    if is_part:
        return ConflictError(
            f"A file inside the file would be stored as {external_id}, which is another document.",
            field="external_id",
            remedy="Delete that document, or choose another external_id for this one.",
        )
    return ConflictError(
        "The document comes from a file inside the file of another document.",
        field="external_id",
        remedy="Replace that document, or choose another external_id.",
    )

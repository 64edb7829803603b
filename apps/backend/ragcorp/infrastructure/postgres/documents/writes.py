"""Writes batches of documents: one transaction, set-based statements, chunks and entities as arrays."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from uuid import UUID, uuid4

from psycopg.types.json import Jsonb

from ragcorp.domain.documents import IngestStatus
from ragcorp.domain.exceptions import ConflictError, NotFoundError
from ragcorp.domain.ingestion import IngestResult
from ragcorp.domain.ports.storage import DocumentWrite
from ragcorp.domain.principal import Principal
from ragcorp.infrastructure.postgres.connections.array_insert import insert_rows
from ragcorp.infrastructure.postgres.connections.database import DriverConnection
from ragcorp.infrastructure.postgres.documents.scanned_pages import INDEX_AGAIN, enqueue_scans
from ragcorp.infrastructure.postgres.documents.unread import unread_values
from ragcorp.infrastructure.postgres.embeddings.document_vectors import refresh_document_vectors
from ragcorp.infrastructure.postgres.embeddings.new_texts import reserve_ids, reuse_or_enqueue
from ragcorp.infrastructure.postgres.structure.writes import StoredStructure, write_structures
from ragcorp.infrastructure.postgres.tables.attributes import attribute_values
from ragcorp.infrastructure.postgres.tables.embedded import CHUNKS
from ragcorp.infrastructure.postgres.visibility.predicates import visibility

FIND_NAMES = """
    SELECT external_id FROM documents WHERE workspace = %(workspace)s AND external_id = ANY(%(external_ids)s)
"""

LOCK_EXISTING = """
    SELECT d.external_id, d.id, d.content_hash, d.chunker, d.deleted_at IS NOT NULL, d.chunk_count,
           ({condition}) IS TRUE
    FROM documents d
    WHERE d.workspace = %(workspace)s AND d.external_id = ANY(%(external_ids)s)
    ORDER BY d.external_id
    FOR UPDATE
"""

COLUMNS = (
    "title", "path", "text", "page_starts", "metadata", "language", "artifact_type", "sensitivity", "visibility_scope",
    "owner", "occurred_at", "content_hash", "chunker", "chunk_count", "media_type", "filename", "size_bytes",
    "unread",
)  # fmt: skip

INSERT_DOCUMENT = f"""
    INSERT INTO documents (id, workspace, external_id, {", ".join(COLUMNS)})
    VALUES (%(id)s, %(workspace)s, %(external_id)s, {", ".join(f"%({name})s" for name in COLUMNS)})
    ON CONFLICT (workspace, external_id) DO NOTHING
    RETURNING id
"""

UPDATE_DOCUMENT = f"""
    UPDATE documents SET {", ".join(f"{name} = %({name})s" for name in COLUMNS)}, updated_at = now(), deleted_at = NULL
    WHERE id = %(id)s
"""

DELETE_CHUNKS = "DELETE FROM chunks WHERE document_id = ANY(%(document_ids)s)"

PUT_SOURCE = """
    INSERT INTO document_sources (document_id, content) VALUES (%(id)s, %(content)s)
    ON CONFLICT (document_id) DO UPDATE SET content = excluded.content
"""

CHUNK_COLUMNS = {
    "id": "int8", "document_id": "uuid", "workspace": "text", "chunk_index": "int4", "title": "text",
    "heading_path": "text[]", "content": "text", "language": "text", "artifact_type": "text", "sensitivity": "int2",
    "visibility_scope": "text", "owner": "text", "occurred_at": "timestamptz", "line_start": "int4",
    "line_end": "int4", "page_start": "int4", "page_end": "int4", "token_count": "int4", "content_hash": "bytea",
    "recognition_confidence": "float4",
}  # fmt: skip

COUNT_PENDING = """
    SELECT document_id, count(*) FROM embedding_backlog WHERE document_id = ANY(%(document_ids)s) GROUP BY document_id
"""


@dataclass(frozen=True, slots=True)
class _Existing:
    document_id: UUID
    content_hash: bytes
    chunker: str
    deleted: bool
    chunk_count: int


async def save_documents(
    connection: DriverConnection,
    writes: Sequence[DocumentWrite],
    *,
    principal: Principal,
    restoring: bool = False,
    recognized: bool = False,
    expected: bytes | None = None,
) -> list[IngestResult]:
    """Create or swap the documents inside the connection's transaction; outcomes in the order of ``writes``.

    Rows are locked in the order of external_id, so that parallel batches never deadlock. Raises ConflictError for an
    existing document that the principal may not read. With ``restoring``, raises NotFoundError unless each document is
    still deleted and unchanged, so that a restore never undoes a newer write; with ``expected``, ConflictError unless
    each has this content hash and is not deleted. ``recognized``: unchanged documents are written too, with the text of
    scanned pages.
    """
    by_id = {write.external_id: write for write in writes}
    if len(by_id) != len(writes):
        raise ConflictError("A batch names a document twice.", field="external_id", remedy="Send each document once.")
    existing, created = await _lock_or_create(connection, by_id, principal=principal)
    for write in writes:
        stored = existing.get(write.external_id)
        if restoring and (stored is None or not stored.deleted or stored.content_hash != write.content_hash):
            raise NotFoundError(
                "There is no longer a deleted document of that name.",
                field="external_id",
                remedy="It was written, restored or purged meanwhile: read it again.",
            )
        if expected is not None and (stored is None or stored.deleted or stored.content_hash != expected):
            raise ConflictError(
                "The document was written or deleted meanwhile.",
                field="external_id",
                remedy="Read it again and repeat the change on the new version.",
            )
    changed = {
        external_id: stored
        for external_id, stored in existing.items()
        if stored.deleted
        or recognized
        or (stored.content_hash, stored.chunker) != (by_id[external_id].content_hash, by_id[external_id].chunker)
    }
    if changed:
        await connection.execute(DELETE_CHUNKS, {"document_ids": [stored.document_id for stored in changed.values()]})
        for external_id, stored in changed.items():
            await connection.execute(
                UPDATE_DOCUMENT, _document_row(by_id[external_id], stored.document_id, principal.workspace)
            )
    written = created | {external_id: stored.document_id for external_id, stored in changed.items()}
    if written:
        await _write_contents(
            connection, {document_id: by_id[name] for name, document_id in written.items()}, principal
        )
    replaced = [stored.document_id for stored in changed.values()]
    if restoring:
        await connection.execute(INDEX_AGAIN, {"document_ids": replaced})
    elif not recognized:
        await enqueue_scans(
            connection,
            {document_id: by_id[name] for name, document_id in written.items()},
            replaced=replaced,
            workspace=principal.workspace,
        )
    pending = await _pending(connection, [*written.values(), *(stored.document_id for stored in existing.values())])

    outcomes = []
    for write in writes:
        if write.external_id in created or write.external_id in changed:
            document_id, chunk_count = written[write.external_id], len(write.chunks)
            # to readers a document that was deleted is new
            is_new = write.external_id in created or changed[write.external_id].deleted
            status = IngestStatus.CREATED if is_new else IngestStatus.UPDATED
        else:
            stored = existing[write.external_id]
            document_id, chunk_count, status = stored.document_id, stored.chunk_count, IngestStatus.UNCHANGED
        outcomes.append(
            IngestResult(
                external_id=write.external_id,
                document_id=document_id,
                status=status,
                chunks=chunk_count,
                pending=pending.get(document_id, 0),
                unread=write.parsed.unread,
            )
        )
    return outcomes


async def _lock_or_create(
    connection: DriverConnection, by_id: Mapping[str, DocumentWrite], *, principal: Principal
) -> tuple[dict[str, _Existing], dict[str, UUID]]:
    """Lock each existing document and insert each new one, in the order of external_id.

    An insert waits for a concurrent insert of the same name, so it has to follow that order too. A first query without
    locks finds the runs of existing documents, each of which is locked by one statement.
    """
    existing: dict[str, _Existing] = {}
    created: dict[str, UUID] = {}
    names = {"workspace": principal.workspace, "external_ids": sorted(by_id)}
    stored = {row[0] for row in await (await connection.execute(FIND_NAMES, names)).fetchall()}
    for is_stored, run in groupby(sorted(by_id), key=stored.__contains__):
        external_ids = list(run)
        if is_stored:
            existing |= await _lock_existing(connection, external_ids, principal=principal)
        for external_id in external_ids:
            if external_id in existing:
                continue
            document_id = uuid4()
            row = _document_row(by_id[external_id], document_id, principal.workspace)
            if await (await connection.execute(INSERT_DOCUMENT, row)).fetchone():
                created[external_id] = document_id
                continue
            existing |= await _lock_existing(connection, [external_id], principal=principal)
            if external_id not in existing:
                raise ConflictError("Another write got in the way.", remedy="Try again.")
    return existing, created


async def _lock_existing(
    connection: DriverConnection, external_ids: Sequence[str], *, principal: Principal
) -> dict[str, _Existing]:
    readable = visibility(principal, alias="d")
    cursor = await connection.execute(*readable.bind(LOCK_EXISTING, external_ids=list(external_ids)))
    existing = {}
    for external_id, document_id, content_hash, chunker, deleted, chunk_count, may_read in await cursor.fetchall():
        if not may_read:
            raise ConflictError(
                "The external_id is taken by a document that you may not replace.",
                field="external_id",
                remedy="Choose another external_id.",
            )
        existing[external_id] = _Existing(document_id, bytes(content_hash), chunker, deleted, chunk_count)
    return existing


def _document_row(write: DocumentWrite, document_id: UUID, workspace: str) -> dict[str, object]:
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
    }


async def _write_contents(
    connection: DriverConnection, writes: dict[UUID, DocumentWrite], principal: Principal
) -> None:
    cursor = connection.cursor()
    await cursor.executemany(
        PUT_SOURCE, [{"id": document_id, "content": write.source.content} for document_id, write in writes.items()]
    )
    total = sum(len(write.chunks) for write in writes.values())
    chunk_ids = await reserve_ids(cursor, CHUNKS, count=total)
    rows: list[tuple[object, ...]] = []
    for document_id, write in writes.items():
        attributes = write.attributes
        rows += [
            (
                next(chunk_ids), document_id, principal.workspace, chunk.chunk_index, attributes.title,
                list(chunk.heading_path), chunk.content, attributes.language, attributes.artifact_type,
                int(attributes.sensitivity), str(attributes.visibility_scope), attributes.owner, attributes.occurred_at,
                chunk.line_start, chunk.line_end, chunk.page_start, chunk.page_end, chunk.token_count,
                index_hash, chunk.recognition_confidence,
            )
            for chunk, index_hash in zip(write.chunks, write.index_hashes, strict=True)
        ]  # fmt: skip
    await insert_rows(cursor, "chunks", CHUNK_COLUMNS, rows)
    await reuse_or_enqueue(cursor, CHUNKS, list(writes))
    await refresh_document_vectors(connection, list(writes))
    await write_structures(
        connection,
        [
            StoredStructure(
                document_id=document_id,
                workspace=principal.workspace,
                external_id=write.external_id,
                path=write.attributes.path or write.external_id,
                title=write.attributes.title,
                artifact_hash=write.content_hash,
                structure=write.structure,
            )
            for document_id, write in writes.items()
        ],
    )


async def _pending(connection: DriverConnection, document_ids: Sequence[UUID]) -> dict[UUID, int]:
    cursor = await connection.execute(COUNT_PENDING, {"document_ids": list(document_ids)})
    return dict(await cursor.fetchall())

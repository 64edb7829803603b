"""Writes batches of documents: one transaction, set-based statements, chunks and entities as arrays."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from uuid import UUID

from ragcorp.domain.documents import IngestStatus, UnreadPart
from ragcorp.domain.exceptions import ConflictError, NotFoundError
from ragcorp.domain.ingestion import IngestResult
from ragcorp.domain.ports.storage import DocumentWrite
from ragcorp.domain.principal import Principal
from ragcorp.domain.unread import without_read_pages
from ragcorp.infrastructure.postgres.connections.array_insert import insert_rows
from ragcorp.infrastructure.postgres.connections.database import DriverConnection
from ragcorp.infrastructure.postgres.documents.failed_parts import keep_failed
from ragcorp.infrastructure.postgres.documents.places import COLUMNS, document_row, lock_or_create
from ragcorp.infrastructure.postgres.documents.scanned_pages import enqueue_scans
from ragcorp.infrastructure.postgres.embeddings.document_vectors import refresh_document_vectors
from ragcorp.infrastructure.postgres.embeddings.new_texts import reserve_ids, reuse_or_enqueue
from ragcorp.infrastructure.postgres.structure.writes import StoredStructure, write_structures
from ragcorp.infrastructure.postgres.tables.embedded import CHUNKS

STATEMENT_ROWS = 1000
"""Chunks per statement: all those of a large document would exceed the statement timeout."""

UPDATE_DOCUMENT = f"""
    UPDATE documents SET {", ".join(f"{name} = %({name})s" for name in COLUMNS)}, updated_at = now(), deleted_at = NULL
    WHERE id = %(id)s
"""

DELETE_OLD_PARTS = """
    DELETE FROM documents
    WHERE part_of = ANY(%(document_ids)s) AND NOT external_id = ANY(%(external_ids)s) AND NOT id = ANY(%(kept)s)
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


async def save_documents(
    connection: DriverConnection,
    writes: Sequence[DocumentWrite],
    *,
    principal: Principal,
    restoring: bool = False,
    recognized: bool = False,
    expected: bytes | None = None,
) -> list[IngestResult]:
    """Create or swap the documents and their parts inside the connection's transaction; delete parts that are gone.

    Returns outcomes in the order of ``writes``. Rows are locked in the order of external_id, so that parallel batches
    never deadlock. Raises ConflictError for an existing document that the principal may not read, or that is part of
    another one. With ``restoring``, raises NotFoundError unless each document is still deleted and unchanged, so that a
    restore never undoes a newer write; with ``expected``, ConflictError unless each has this content hash and is not
    deleted. With ``recognized``, documents and parts are stored with the text of their scanned pages, though unchanged.
    """
    parts = {part.external_id: write.external_id for write in writes for part in write.parts}
    by_id = {written.external_id: written for write in writes for written in (write, *write.parts)}
    if len(by_id) != len(writes) + sum(len(write.parts) for write in writes):
        raise ConflictError("A batch names a document twice.", field="external_id", remedy="Send each document once.")
    existing, created = await lock_or_create(
        connection, by_id, parts, principal=principal, restoring=restoring or recognized
    )
    for write in by_id.values():
        stored = existing.get(write.external_id)
        if restoring and (stored is None or not stored.deleted or stored.content_hash != write.content_hash):
            raise NotFoundError(
                "There is no longer a deleted document of that name.",
                field="external_id",
                remedy="It was written, restored or purged meanwhile: read it again.",
            )
    for write in writes:
        stored = existing.get(write.external_id)
        if expected is not None and (stored is None or stored.deleted or stored.content_hash != expected):
            raise ConflictError(
                "The document was written or deleted meanwhile.",
                field="external_id",
                remedy="Read it again and repeat the change on the new version.",
            )
    ids = created | {external_id: stored.document_id for external_id, stored in existing.items()}
    kept: dict[str, list[UUID]] = {}
    if existing and not (restoring or recognized):
        for write in writes:
            kept[write.external_id] = await keep_failed(connection, write, ids[write.external_id])
        await connection.execute(
            DELETE_OLD_PARTS,
            {
                "document_ids": [ids[write.external_id] for write in writes],
                "external_ids": list(parts),
                "kept": list(chain.from_iterable(kept.values())),
            },
        )
    changed = {
        external_id: stored
        for external_id, stored in existing.items()
        if stored.deleted
        or recognized
        or (stored.content_hash, stored.chunker) != (by_id[external_id].content_hash, by_id[external_id].chunker)
    }
    for external_id, stored in existing.items():
        if external_id in parts and external_id not in changed and by_id[external_id].parsed.scanned:
            _take_out_read_pages(by_id, by_id[external_id], stored.unread)
    if changed:
        await connection.execute(DELETE_CHUNKS, {"document_ids": [stored.document_id for stored in changed.values()]})
        for external_id, stored in changed.items():
            part_of = stored.part_of if restoring or recognized else ids.get(parts.get(external_id, ""))
            row = document_row(by_id[external_id], stored.document_id, principal.workspace, part_of=part_of)
            await connection.execute(UPDATE_DOCUMENT, row)
    written = created | {external_id: stored.document_id for external_id, stored in changed.items()}
    if written:
        await _write_contents(
            connection, {document_id: by_id[name] for name, document_id in written.items()}, principal
        )
    replaced = [stored.document_id for stored in changed.values()]
    if not (restoring or recognized):
        await enqueue_scans(
            connection,
            {document_id: by_id[name] for name, document_id in written.items()},
            replaced=replaced,
            workspace=principal.workspace,
        )
    pending = await _pending(connection, [*ids.values(), *chain.from_iterable(kept.values())])

    outcomes = []
    for write in writes:
        kept_parts = kept.get(write.external_id, [])
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
                pending=sum(
                    pending.get(part_id, 0)
                    for part_id in (*(ids[part.external_id] for part in (write, *write.parts)), *kept_parts)
                ),
                unread=by_id[write.external_id].parsed.unread,
                parts=len(write.parts) + len(kept_parts),
            )
        )
    return outcomes


def _take_out_read_pages(by_id: dict[str, DocumentWrite], part: DocumentWrite, left: tuple[UnreadPart, ...]) -> None:
    """Take the pages of an unchanged part that were recognised out of what the files around it lack."""
    for external_id, write in by_id.items():
        if part.external_id.startswith(f"{external_id}/"):
            name = part.external_id.removeprefix(f"{external_id}/")
            unread = without_read_pages(write.parsed.unread, name=name, before=part.parsed.unread, after=left)
            by_id[external_id] = replace(write, parsed=replace(write.parsed, unread=unread))


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

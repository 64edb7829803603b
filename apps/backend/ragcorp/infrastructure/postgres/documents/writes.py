"""Writes batches of documents: one transaction, few round trips, chunks and entities in sets.

``save_documents`` stores what was read from files; ``restore_documents`` and ``save_recognized`` index again what is
stored.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from types import MappingProxyType
from uuid import UUID

from psycopg import AsyncCursor
from psycopg.rows import TupleRow

from ragcorp.domain.documents import IngestStatus, UnreadPart
from ragcorp.domain.exceptions import ConflictError, NotFoundError
from ragcorp.domain.ingestion import IngestResult
from ragcorp.domain.ports.storage import DocumentWrite
from ragcorp.domain.principal import Principal
from ragcorp.domain.unread import without_read_pages
from ragcorp.infrastructure.postgres.connections.database import DriverConnection
from ragcorp.infrastructure.postgres.connections.insert_rows import insert_rows
from ragcorp.infrastructure.postgres.documents.failed_parts import keep_failed
from ragcorp.infrastructure.postgres.documents.places import COLUMNS, Existing, document_row, lock_or_create
from ragcorp.infrastructure.postgres.documents.scanned_pages import enqueue_scans
from ragcorp.infrastructure.postgres.embeddings.document_vectors import refresh_document_vectors
from ragcorp.infrastructure.postgres.embeddings.new_texts import reuse_or_enqueue
from ragcorp.infrastructure.postgres.structure.writes import StoredStructure, write_structures
from ragcorp.infrastructure.postgres.tables.embedded import CHUNKS

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
    "document_id": "uuid", "workspace": "text", "chunk_index": "int4", "title": "text",
    "heading_path": "text[]", "content": "text", "language": "text", "artifact_type": "text", "sensitivity": "int2",
    "visibility_scope": "text", "owner": "text", "occurred_at": "timestamptz", "line_start": "int4",
    "line_end": "int4", "page_start": "int4", "page_end": "int4", "token_count": "int4", "content_hash": "bytea",
    "recognition_confidence": "float4",
}  # fmt: skip

COUNT_PENDING = """
    SELECT document_id, count(*) FROM embedding_backlog WHERE document_id = ANY(%(document_ids)s) GROUP BY document_id
"""


@dataclass(frozen=True, slots=True)
class _Locked:
    """The documents of a batch and their parts by external_id: ``existing`` ones locked, the others ``created``.

    ``parts`` maps each part to the document that it is part of.
    """

    writes: Sequence[DocumentWrite]
    by_id: dict[str, DocumentWrite]
    parts: Mapping[str, str]
    existing: Mapping[str, Existing]
    created: Mapping[str, UUID]

    @property
    def ids(self) -> dict[str, UUID]:
        return {**self.created, **{name: stored.document_id for name, stored in self.existing.items()}}


async def save_documents(
    connection: DriverConnection,
    writes: Sequence[DocumentWrite],
    *,
    principal: Principal,
    expected: bytes | None = None,
) -> list[IngestResult]:
    """Create or swap the documents and their parts inside the connection's transaction; delete parts that are gone.

    Returns outcomes in the order of ``writes``. Rows are locked in the order of external_id, so that parallel batches
    never deadlock. Raises ConflictError for an existing document that the principal may not read, or that is part of
    another one; with ``expected`` also unless each has this content hash and is not deleted.
    """
    batch = await _lock(connection, writes, principal=principal, with_places=True)
    if expected is not None:
        _require_unchanged(batch, expected)
    ids = batch.ids
    kept = await _delete_old_parts(connection, batch, ids) if batch.existing else {}
    changed = {
        external_id: stored
        for external_id, stored in batch.existing.items()
        if stored.deleted
        or (stored.content_hash, stored.chunker)
        != (batch.by_id[external_id].content_hash, batch.by_id[external_id].chunker)
    }
    for external_id, stored in batch.existing.items():
        if external_id in batch.parts and external_id not in changed and batch.by_id[external_id].parsed.scanned:
            _take_out_read_pages(batch.by_id, batch.by_id[external_id], stored.unread)
    async with connection.pipeline():
        places = {external_id: ids.get(batch.parts.get(external_id, "")) for external_id in changed}
        written = await _write(connection, batch, changed, places=places, principal=principal)
        replaced = [stored.document_id for stored in changed.values()]
        await enqueue_scans(connection, written, replaced=replaced, workspace=principal.workspace)
        pending = await _pending(connection, [*ids.values(), *chain.from_iterable(kept.values())])
    return await _outcomes(batch, changed, pending, kept=kept)


async def restore_documents(
    connection: DriverConnection, writes: Sequence[DocumentWrite], *, principal: Principal
) -> list[IngestResult]:
    """Index deleted documents and their parts again.

    Raises NotFoundError unless each is still deleted and unchanged, so that a restore never undoes a newer write.
    """
    batch = await _lock(connection, writes, principal=principal, with_places=False)
    for external_id, write in batch.by_id.items():
        stored = batch.existing.get(external_id)
        if stored is None or not stored.deleted or stored.content_hash != write.content_hash:
            raise NotFoundError(
                "There is no longer a deleted document of that name.",
                field="external_id",
                remedy="It was written, restored or purged meanwhile: read it again.",
            )
    return await _write_again(connection, batch, principal=principal)


async def save_recognized(
    connection: DriverConnection, write: DocumentWrite, *, principal: Principal, expected: bytes
) -> None:
    """Index a document, whose content hash is ``expected``, again with the text of its scanned pages.

    Raises ConflictError if it was written or deleted meanwhile.
    """
    batch = await _lock(connection, [write], principal=principal, with_places=False)
    _require_unchanged(batch, expected)
    await _write_again(connection, batch, principal=principal)


async def _lock(
    connection: DriverConnection, writes: Sequence[DocumentWrite], *, principal: Principal, with_places: bool
) -> _Locked:
    """Lock or create the documents; ``with_places`` requires that existing ones are parts of what they are now."""
    parts = {part.external_id: write.external_id for write in writes for part in write.parts}
    by_id = {written.external_id: written for write in writes for written in (write, *write.parts)}
    if len(by_id) != len(writes) + sum(len(write.parts) for write in writes):
        raise ConflictError("A batch names a document twice.", field="external_id", remedy="Send each document once.")
    existing, created = await lock_or_create(connection, by_id, parts, principal=principal, with_places=with_places)
    return _Locked(writes, by_id, parts, existing, created)


def _require_unchanged(batch: _Locked, expected: bytes) -> None:
    for write in batch.writes:
        stored = batch.existing.get(write.external_id)
        if stored is None or stored.deleted or stored.content_hash != expected:
            raise ConflictError(
                "The document was written or deleted meanwhile.",
                field="external_id",
                remedy="Read it again and repeat the change on the new version.",
            )


async def _delete_old_parts(
    connection: DriverConnection, batch: _Locked, ids: Mapping[str, UUID]
) -> dict[str, list[UUID]]:
    """Delete the stored parts that are gone; return those that are kept because they could not be read again."""
    kept = {write.external_id: await keep_failed(connection, write, ids[write.external_id]) for write in batch.writes}
    await connection.execute(
        DELETE_OLD_PARTS,
        {
            "document_ids": [ids[write.external_id] for write in batch.writes],
            "external_ids": list(batch.parts),
            "kept": list(chain.from_iterable(kept.values())),
        },
    )
    return kept


async def _write_again(connection: DriverConnection, batch: _Locked, *, principal: Principal) -> list[IngestResult]:
    """Write all of a batch, each part in the place that it has."""
    async with connection.pipeline():
        places = {external_id: stored.part_of for external_id, stored in batch.existing.items()}
        await _write(connection, batch, batch.existing, places=places, principal=principal)
        pending = await _pending(connection, list(batch.ids.values()))
    return await _outcomes(batch, batch.existing, pending)


async def _write(
    connection: DriverConnection,
    batch: _Locked,
    changed: Mapping[str, Existing],
    *,
    places: Mapping[str, UUID | None],
    principal: Principal,
) -> dict[UUID, DocumentWrite]:
    """Swap the ``changed`` documents, fill them and the created ones, and return them by id.

    ``places`` are the ids of the documents that the changed ones are part of.
    """
    if changed:
        await connection.execute(DELETE_CHUNKS, {"document_ids": [stored.document_id for stored in changed.values()]})
        rows = [
            document_row(batch.by_id[name], stored.document_id, principal.workspace, part_of=places[name])
            for name, stored in changed.items()
        ]
        await connection.cursor().executemany(UPDATE_DOCUMENT, rows)
    ids = {**batch.created, **{name: stored.document_id for name, stored in changed.items()}}
    written = {document_id: batch.by_id[name] for name, document_id in ids.items()}
    if written:
        await _write_contents(connection, written, principal)
    return written


async def _outcomes(
    batch: _Locked,
    changed: Mapping[str, Existing],
    pending_counts: AsyncCursor[TupleRow],
    *,
    kept: Mapping[str, list[UUID]] = MappingProxyType({}),
) -> list[IngestResult]:
    """Return the results of the documents, those of their parts and of ``kept`` parts included."""
    pending: dict[UUID, int] = dict(await pending_counts.fetchall())
    ids = batch.ids
    outcomes = []
    for write in batch.writes:
        kept_parts = kept.get(write.external_id, [])
        stored = batch.existing.get(write.external_id)
        chunk_count = len(write.chunks)
        if stored is None or (write.external_id in changed and stored.deleted):
            status = IngestStatus.CREATED  # to readers a document that was deleted is new
        elif write.external_id in changed:
            status = IngestStatus.UPDATED
        else:
            status, chunk_count = IngestStatus.UNCHANGED, stored.chunk_count
        counted = (*(ids[part.external_id] for part in (write, *write.parts)), *kept_parts)
        outcomes.append(
            IngestResult(
                external_id=write.external_id,
                document_id=ids[write.external_id],
                status=status,
                chunks=chunk_count,
                pending=sum(pending.get(document_id, 0) for document_id in counted),
                unread=batch.by_id[write.external_id].parsed.unread,
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
    connection: DriverConnection, writes: Mapping[UUID, DocumentWrite], principal: Principal
) -> None:
    cursor = connection.cursor()
    await cursor.executemany(
        PUT_SOURCE, [{"id": document_id, "content": write.source.content} for document_id, write in writes.items()]
    )
    rows: list[tuple[object, ...]] = []
    for document_id, write in writes.items():
        attributes = write.attributes
        rows += [
            (
                document_id, principal.workspace, chunk.chunk_index, attributes.title, chunk.heading_path,
                chunk.content, attributes.language, attributes.artifact_type, int(attributes.sensitivity),
                str(attributes.visibility_scope), attributes.owner, attributes.occurred_at, chunk.line_start,
                chunk.line_end, chunk.page_start, chunk.page_end, chunk.token_count, index_hash,
                chunk.recognition_confidence,
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


async def _pending(connection: DriverConnection, document_ids: Sequence[UUID]) -> AsyncCursor[TupleRow]:
    return await connection.execute(COUNT_PENDING, {"document_ids": list(document_ids)})

"""Keeps the scanned pages of documents in step with their files, inside the transaction that saves these."""

import hashlib
from collections.abc import Collection, Mapping
from uuid import UUID

from ragcorp.domain.ports.storage import DocumentWrite
from ragcorp.infrastructure.postgres.connections.database import DriverConnection

FORGET = """
    DELETE FROM scanned_pages s
    WHERE s.document_id = ANY(%(document_ids)s) AND NOT EXISTS (
        SELECT FROM unnest(%(ids)s::uuid[], %(hashes)s::bytea[], %(pages)s::integer[]) AS kept (id, source_hash, page)
        WHERE (kept.id, kept.source_hash, kept.page) = (s.document_id, s.source_hash, s.page))
"""

ENQUEUE = """
    INSERT INTO scanned_pages (document_id, page, workspace, source_hash)
    SELECT id, page, %(workspace)s, source_hash
    FROM unnest(%(ids)s::uuid[], %(hashes)s::bytea[], %(pages)s::integer[]) AS given (id, source_hash, page)
    ON CONFLICT (document_id, page) DO UPDATE SET indexed = false
"""

INDEXED = """
    UPDATE scanned_pages SET indexed = true, attempts = 0 WHERE document_id = %(document_id)s AND page = ANY(%(pages)s)
"""


async def enqueue_scans(
    connection: DriverConnection, writes: Mapping[UUID, DocumentWrite], *, replaced: Collection[UUID], workspace: str
) -> None:
    """Enqueue the scanned pages. Of ``replaced`` documents, text that was recognised in the same file is kept."""
    rows = [
        (document_id, source_hash, page)
        for document_id, write in writes.items()
        if write.parsed.scanned
        for source_hash in (hashlib.sha256(write.source.content).digest(),)
        for page in write.parsed.scanned
    ]
    ids, hashes, pages = (list(column) for column in zip(*rows, strict=True)) if rows else ([], [], [])
    values = {"ids": ids, "hashes": hashes, "pages": pages, "workspace": workspace}
    if replaced:
        await connection.execute(FORGET, values | {"document_ids": list(replaced)})
    if rows:
        await connection.execute(ENQUEUE, values)

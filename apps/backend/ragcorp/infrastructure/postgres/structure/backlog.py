"""The port StructureBacklog over PostgreSQL: documents whose entities are missing or out of date."""

from collections.abc import Mapping
from uuid import UUID

from psycopg.rows import TupleRow

from ragcorp.domain.documents import ParsedText
from ragcorp.domain.ports.structure import UnstructuredDocument
from ragcorp.domain.structure.entities import DocumentStructure
from ragcorp.domain.structure.fingerprint import StructureFingerprint
from ragcorp.infrastructure.postgres.connections.database import EVERY_WORKSPACE, Database, DriverConnection
from ragcorp.infrastructure.postgres.structure.writes import StoredStructure, write_structures

FINGERPRINTS = """
    WITH RECURSIVE stored (fingerprint) AS (
        (SELECT fingerprint FROM structured_documents ORDER BY fingerprint LIMIT 1)
        UNION ALL
        SELECT (SELECT s.fingerprint FROM structured_documents s
                WHERE s.fingerprint > stored.fingerprint ORDER BY s.fingerprint LIMIT 1)
        FROM stored WHERE stored.fingerprint IS NOT NULL)
    SELECT fingerprint FROM stored WHERE fingerprint IS NOT NULL
"""
"""A loose index scan: fingerprints are few, documents many."""

REPLACED = """
    (s.fingerprint = ANY(%(replaced)s::text[])
     OR NOT s.is_code AND s.fingerprint = ANY(%(replaced_without_symbols)s::text[]))
"""

FIND = f"""
    SELECT d.id, d.content_hash, coalesce(d.path, d.external_id), d.title, d.filename, d.text, d.page_starts
    FROM documents d
    WHERE d.id > %(after)s AND d.deleted_at IS NULL
      AND (SELECT {REPLACED} FROM structured_documents s WHERE s.document_id = d.id) IS NOT FALSE
    ORDER BY d.id
    LIMIT %(limit)s
"""
"""A subquery, not a join: whatever the estimates, the plan walks the key and stops at the last row returned."""

COUNT = f"""
    SELECT count(*)
    FROM documents d LEFT JOIN structured_documents s ON s.document_id = d.id
    WHERE d.deleted_at IS NULL AND (s.document_id IS NULL OR {REPLACED})
"""

LOCK = """
    SELECT d.id, d.workspace, d.external_id, coalesce(d.path, d.external_id), d.title, d.content_hash
    FROM documents d
    JOIN unnest(%(document_ids)s::uuid[], %(hashes)s::bytea[]) AS read (id, content_hash) USING (id, content_hash)
    WHERE d.deleted_at IS NULL
    ORDER BY d.workspace, d.external_id
    FOR NO KEY UPDATE OF d
"""
"""Locks the documents that are unchanged, in the order in which saves and deletions lock."""

STORED = """
    SELECT document_id, fingerprint, is_code FROM structured_documents WHERE document_id = ANY(%(document_ids)s)
"""

BEFORE_ALL = UUID(int=0)


class PostgresStructureBacklog:
    """Documents of every workspace, by id. Saved entities replace the stored ones, as in a save of the document."""

    def __init__(self, *, database: Database) -> None:
        self._database = database

    async def outdated(self, fingerprint: str, *, after: UUID | None = None, limit: int) -> list[UnstructuredDocument]:
        async def work() -> list[TupleRow]:
            async with self._database.autocommit(EVERY_WORKSPACE) as connection:
                replaced = await _replaced(connection, fingerprint)
                cursor = await connection.execute(FIND, replaced | {"after": after or BEFORE_ALL, "limit": limit})
                return await cursor.fetchall()

        return [
            UnstructuredDocument(
                document_id=document_id,
                content_hash=bytes(content_hash),
                path=path,
                filename=filename,
                parsed=ParsedText(text=text, title=title or None, page_starts=tuple(page_starts)),
            )
            for document_id, content_hash, path, title, filename, text, page_starts in await self._database.read(work)
        ]

    async def save(self, structures: Mapping[UUID, tuple[bytes, DocumentStructure]]) -> frozenset[UUID]:
        read = {"document_ids": list(structures), "hashes": [content_hash for content_hash, _ in structures.values()]}
        async with self._database.transaction(EVERY_WORKSPACE) as connection:
            locked = await (await connection.execute(LOCK, read)).fetchall()
            # after the lock: the writer that held it may have stored newer entities
            stored = await (await connection.execute(STORED, read)).fetchall()
            kept = {
                document_id
                for document_id, fingerprint, is_code in stored
                if not _replaces(structures[document_id][1].fingerprint, fingerprint, has_symbols=is_code)
            }
            due = [row for row in locked if row[0] not in kept]
            await write_structures(
                connection,
                [
                    StoredStructure(
                        document_id=document_id,
                        workspace=workspace,
                        external_id=external_id,
                        path=path,
                        title=title,
                        artifact_hash=bytes(content_hash),
                        structure=structures[document_id][1],
                    )
                    for document_id, workspace, external_id, path, title, content_hash in due
                ],
            )
        return frozenset(row[0] for row in due)

    async def count(self, fingerprint: str) -> int:
        async def work() -> TupleRow | None:
            async with self._database.autocommit(EVERY_WORKSPACE) as connection:
                replaced = await _replaced(connection, fingerprint)
                return await (await connection.execute(COUNT, replaced)).fetchone()

        row = await self._database.read(work)
        return row[0] if row else 0


async def _replaced(connection: DriverConnection, fingerprint: str) -> dict[str, object]:
    """Return the stored fingerprints that this one replaces: always, and for documents without symbols."""
    stored = [row[0] for row in await (await connection.execute(FINGERPRINTS)).fetchall()]
    return {
        "replaced": [older for older in stored if _replaces(fingerprint, older, has_symbols=True)],
        "replaced_without_symbols": [older for older in stored if _replaces(fingerprint, older, has_symbols=False)],
    }


def _replaces(fingerprint: str, stored: str, *, has_symbols: bool) -> bool:
    return StructureFingerprint.read(fingerprint).replaces(StructureFingerprint.read(stored), has_symbols=has_symbols)

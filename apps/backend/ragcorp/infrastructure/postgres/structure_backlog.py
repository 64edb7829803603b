"""The port StructureBacklog over PostgreSQL: documents whose entities are missing, or another extractor's."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from psycopg.rows import TupleRow

from ragcorp.domain.documents import ParsedText
from ragcorp.domain.ports.structure import UnstructuredDocument
from ragcorp.domain.structure import DocumentStructure
from ragcorp.infrastructure.postgres.database import Database
from ragcorp.infrastructure.postgres.structure_writes import StoredStructure, write_structures

OUTDATED = """
    FROM documents d LEFT JOIN structured_documents s ON s.document_id = d.id
    WHERE d.deleted_at IS NULL AND s.fingerprint IS DISTINCT FROM %(fingerprint)s
"""

FIND = f"""
    SELECT d.id, d.content_hash, coalesce(d.path, d.external_id), d.title, d.filename, d.text, d.page_starts
    {OUTDATED}
    ORDER BY d.id
    LIMIT %(limit)s
"""

COUNT = f"SELECT count(*) {OUTDATED}"

LOCK = """
    SELECT d.id, d.workspace, d.external_id, coalesce(d.path, d.external_id), d.content_hash
    FROM documents d
    JOIN unnest(%(document_ids)s::uuid[], %(hashes)s::bytea[]) AS read (id, content_hash) USING (id, content_hash)
    WHERE d.deleted_at IS NULL
    ORDER BY d.workspace, d.external_id
    FOR NO KEY UPDATE OF d
"""
"""Those that are still what was read, locked in the order in which saves and deletions lock."""


class PostgresStructureBacklog:
    """Documents of every workspace. What is saved replaces the entities as a save of the document does."""

    def __init__(self, *, database: Database) -> None:
        self._database = database

    async def outdated(self, fingerprint: str, *, limit: int) -> list[UnstructuredDocument]:
        async def work() -> list[TupleRow]:
            async with self._database.autocommit() as connection:
                cursor = await connection.execute(FIND, {"fingerprint": fingerprint, "limit": limit})
                return await cursor.fetchall()

        return [
            UnstructuredDocument(
                document_id=document_id,
                content_hash=bytes(content_hash),
                path=path,
                title=title,
                filename=filename,
                parsed=ParsedText(text=text, title=title or None, page_starts=tuple(page_starts)),
            )
            for document_id, content_hash, path, title, filename, text, page_starts in await self._database.read(work)
        ]

    async def save(self, structures: Mapping[UUID, tuple[bytes, DocumentStructure]]) -> int:
        read = {
            "document_ids": list(structures),
            "hashes": [content_hash for content_hash, _ in structures.values()],
        }
        async with self._database.driver_transaction() as connection:
            locked = await (await connection.execute(LOCK, read)).fetchall()
            await write_structures(
                connection,
                [
                    StoredStructure(
                        document_id=document_id,
                        workspace=workspace,
                        external_id=external_id,
                        path=path,
                        artifact_hash=bytes(content_hash),
                        structure=structures[document_id][1],
                    )
                    for document_id, workspace, external_id, path, content_hash in locked
                ],
            )
        return len(locked)

    async def count(self, fingerprint: str) -> int:
        async def work() -> TupleRow | None:
            async with self._database.autocommit() as connection:
                return await (await connection.execute(COUNT, {"fingerprint": fingerprint})).fetchone()

        row = await self._database.read(work)
        return row[0] if row else 0

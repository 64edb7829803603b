"""The port RecognitionBacklog over PostgreSQL."""

import hashlib
from uuid import UUID

from psycopg.types.json import Jsonb

from ragcorp.domain.documents import SourceFile
from ragcorp.domain.exceptions import ConflictError
from ragcorp.domain.ports.recognition import RecognizedDocument, ScannedPage
from ragcorp.domain.ports.storage import DocumentWrite
from ragcorp.domain.principal import Principal
from ragcorp.domain.recognition import RecognitionCounts, RecognizedPage
from ragcorp.domain.unread import without_read_pages
from ragcorp.infrastructure.postgres.connections.database import EVERY_WORKSPACE, Database
from ragcorp.infrastructure.postgres.documents import reads
from ragcorp.infrastructure.postgres.documents.scanned_pages import INDEXED
from ragcorp.infrastructure.postgres.documents.unread import read_unread, unread_values
from ragcorp.infrastructure.postgres.documents.writes import save_recognized
from ragcorp.infrastructure.postgres.workspaces.statistics_keeper import StatisticsKeeper

IN_WORKSPACE = "(%(workspace)s::text IS NULL OR s.workspace = %(workspace)s)"

CLAIM = f"""
    WITH due AS (
        SELECT s.document_id, s.page FROM scanned_pages s
        WHERE s.text IS NULL AND NOT s.failed AND s.available_at <= clock_timestamp() AND {IN_WORKSPACE}
          AND (SELECT d.deleted_at IS NULL FROM documents d WHERE d.id = s.document_id)
        ORDER BY (s.page - 1) / 25, s.available_at, s.document_id, s.page
        LIMIT 1
        FOR UPDATE SKIP LOCKED)
    UPDATE scanned_pages s
    SET available_at = clock_timestamp() + make_interval(secs => %(lease_seconds)s), attempts = attempts + 1
    FROM due WHERE (s.document_id, s.page) = (due.document_id, due.page)
    RETURNING s.document_id, s.page, s.source_hash, s.attempts
"""
"""The first 25 pages of every document come first, so that a long one does not hold up the others."""

SOURCE = """
    SELECT o.content, d.media_type, d.filename FROM documents d JOIN document_sources o ON o.document_id = d.id
    WHERE d.id = %(document_id)s AND d.deleted_at IS NULL
"""

ONE_PAGE = "(document_id, page, source_hash) = (%(document_id)s, %(page)s, %(source_hash)s)"

COMPLETE = f"""
    UPDATE scanned_pages
    SET text = %(text)s, confidence = %(confidence)s, indexed = %(text)s = '', failed = false, reason = NULL,
        attempts = 0, available_at = clock_timestamp()
    WHERE {ONE_PAGE}
"""

FAIL = f"""
    UPDATE scanned_pages
    SET reason = %(reason)s, failed = attempts >= %(max_attempts)s,
        available_at = clock_timestamp() + make_interval(secs => %(delay)s * power(2, least(attempts, 10)))
    WHERE {ONE_PAGE} AND text IS NULL
"""

RELEASE = f"""
    UPDATE scanned_pages SET available_at = clock_timestamp(), attempts = greatest(attempts - 1, 0)
    WHERE {ONE_PAGE} AND text IS NULL
"""

RECOGNIZED = f"""
    SELECT s.document_id
    FROM scanned_pages s
    WHERE s.text <> '' AND NOT s.indexed AND NOT s.failed AND s.available_at <= clock_timestamp() AND {IN_WORKSPACE}
      AND (SELECT d.deleted_at IS NULL FROM documents d WHERE d.id = s.document_id)
    GROUP BY s.document_id
    HAVING count(*) >= greatest(%(batch)s, (
        SELECT count(*) FROM scanned_pages i WHERE i.document_id = s.document_id AND i.indexed AND i.text <> ''))
      OR NOT EXISTS (
        SELECT FROM scanned_pages w WHERE w.document_id = s.document_id AND w.text IS NULL AND NOT w.failed)
    ORDER BY s.document_id
    LIMIT 1
"""
"""A batch is at least as large as what is indexed, so that each page is indexed twice on average, however long the
document is."""

DOCUMENT = f"""
    SELECT d.workspace, o.content, {reads.COLUMNS}
    FROM documents d JOIN document_sources o ON o.document_id = d.id
    WHERE d.id = %(document_id)s AND d.deleted_at IS NULL
"""

PAGES = """
    SELECT page, text, confidence, source_hash FROM scanned_pages
    WHERE document_id = %(document_id)s AND text <> '' AND NOT failed
    ORDER BY page
"""

NEWER = """
    SELECT FROM scanned_pages
    WHERE document_id = %(document_id)s AND indexed AND text <> '' AND NOT failed AND page <> ALL(%(pages)s)
    LIMIT 1
"""
"""A page that another worker indexed meanwhile: passages without it must not replace those with it."""

LOCK_CONTAINERS = """
    SELECT c.id, substr(d.external_id, length(c.external_id) + 2), c.unread
    FROM documents d
    JOIN documents c ON d.part_of IN (c.id, c.part_of) AND starts_with(d.external_id, c.external_id || '/')
    WHERE d.id = %(document_id)s
    ORDER BY c.external_id
    FOR NO KEY UPDATE OF c
"""
"""The documents whose files hold this one's, with its name below theirs. Their names come before its name, in the order
in which saves lock."""

SET_UNREAD = "UPDATE documents SET unread = %(unread)s WHERE id = %(document_id)s"

REFUSE = """
    UPDATE scanned_pages
    SET reason = %(reason)s, attempts = attempts + 1, failed = attempts + 1 >= %(max_attempts)s,
        available_at = clock_timestamp() + make_interval(secs => %(delay)s * power(2, least(attempts + 1, 10)))
    WHERE document_id = %(document_id)s AND page = ANY(%(pages)s) AND NOT indexed
"""

RETRY = f"""
    UPDATE scanned_pages s SET failed = false, attempts = 0, available_at = clock_timestamp()
    WHERE s.failed AND {IN_WORKSPACE}
"""

COUNTS = f"""
    SELECT count(*), count(s.text) FILTER (WHERE NOT s.failed), count(*) FILTER (WHERE s.failed)
    FROM scanned_pages s
    WHERE {IN_WORKSPACE} AND (SELECT d.deleted_at IS NULL FROM documents d WHERE d.id = s.document_id)
"""


class PostgresRecognitionBacklog:
    """The table ``scanned_pages``. A page whose ``text`` is null waits; leases move ``available_at`` on."""

    def __init__(self, *, database: Database, statistics: StatisticsKeeper | None = None) -> None:
        self._database = database
        self._statistics = statistics

    async def claim(self, *, lease_seconds: float, workspace: str | None = None) -> ScannedPage | None:
        async with self._database.autocommit(EVERY_WORKSPACE) as connection:
            cursor = await connection.execute(CLAIM, {"lease_seconds": lease_seconds, "workspace": workspace})
            row = await cursor.fetchone()
        if row is None:
            return None
        document_id, page, source_hash, attempts = row
        return ScannedPage(document_id=document_id, page=page, source_hash=bytes(source_hash), attempts=attempts)

    async def source(self, page: ScannedPage) -> SourceFile | None:
        values = {"document_id": page.document_id}
        rows = await self._database.fetch(SOURCE, values, workspace=EVERY_WORKSPACE)
        if not rows:
            return None
        ((content, media_type, filename),) = rows
        file = SourceFile(content=bytes(content), media_type=media_type, filename=filename)
        return file if _hash(file) == page.source_hash else None

    async def complete(self, page: ScannedPage, recognized: RecognizedPage) -> None:
        text = recognized.text.replace("\x00", " ").strip()
        await self._execute(COMPLETE, page, text=text, confidence=recognized.confidence)

    async def fail(self, page: ScannedPage, *, reason: str, retry_in_seconds: float, max_attempts: int) -> None:
        await self._execute(FAIL, page, reason=reason, delay=retry_in_seconds, max_attempts=max_attempts)

    async def release(self, page: ScannedPage) -> None:
        await self._execute(RELEASE, page)

    async def recognized(self, *, batch: int, workspace: str | None = None) -> RecognizedDocument | None:
        values = {"batch": batch, "workspace": workspace}
        for (document_id,) in await self._database.fetch(RECOGNIZED, values, workspace=EVERY_WORKSPACE):
            return await self._document(document_id)
        return None

    async def save(self, write: DocumentWrite, done: RecognizedDocument) -> None:
        document = done.document
        owner = document.attributes.owner
        principal = Principal(
            workspace=done.workspace, subject=owner or "recognition", groups=frozenset(filter(None, (owner,)))
        )
        pages = [page.page for page in done.pages]
        async with self._database.transaction(done.workspace) as connection:
            locked = await connection.execute(LOCK_CONTAINERS, {"document_id": document.id})
            containers = await locked.fetchall()
            await save_recognized(connection, write, principal=principal, expected=bytes.fromhex(document.content_hash))
            newer = await connection.execute(NEWER, {"document_id": document.id, "pages": pages})
            if await newer.fetchone() is not None:
                raise ConflictError(
                    "Another worker indexed more pages of the document.",
                    field="pages",
                    remedy="Index it again with all its recognised pages.",
                )
            await connection.execute(INDEXED, {"document_id": document.id, "pages": pages})
            for container_id, name, unread in containers:
                left = without_read_pages(
                    read_unread(unread), name=name, before=document.unread, after=write.parsed.unread
                )
                values = {"document_id": container_id, "unread": Jsonb(unread_values(left))}
                await connection.execute(SET_UNREAD, values)
        if self._statistics is not None:
            self._statistics.touch(done.workspace)

    async def refuse(
        self, done: RecognizedDocument, *, reason: str, retry_in_seconds: float, max_attempts: int
    ) -> None:
        values = {
            "document_id": done.document.id,
            "pages": [page.page for page in done.pages],
            "reason": reason,
            "delay": retry_in_seconds,
            "max_attempts": max_attempts,
        }
        async with self._database.transaction(EVERY_WORKSPACE) as connection:
            await connection.execute(REFUSE, values)

    async def retry_failed(self, *, workspace: str | None = None) -> int:
        async with self._database.transaction(EVERY_WORKSPACE) as connection:
            return (await connection.execute(RETRY, {"workspace": workspace})).rowcount

    async def counts(self, *, workspace: str | None = None) -> RecognitionCounts:
        rows = await self._database.fetch(COUNTS, {"workspace": workspace}, workspace=EVERY_WORKSPACE)
        ((pages, done, failed),) = rows
        return RecognitionCounts(pages=pages, done=done, failed=failed)

    async def _document(self, document_id: UUID) -> RecognizedDocument | None:
        """Return a document with its pages; a page of another version of its file is left out."""
        values = {"document_id": document_id}
        rows = await self._database.fetch(DOCUMENT, values, workspace=EVERY_WORKSPACE)
        if not rows:
            return None
        workspace, content, *row = rows[0]
        document = reads.document(tuple(row))
        file = SourceFile(content=bytes(content), media_type=document.media_type, filename=document.filename)
        pages = await self._database.fetch(PAGES, values, workspace=EVERY_WORKSPACE)
        return RecognizedDocument(
            document=document,
            workspace=workspace,
            source=file,
            pages=tuple(
                RecognizedPage(page=page, text=text, confidence=confidence)
                for page, text, confidence, source_hash in pages
                if bytes(source_hash) == _hash(file)
            ),
        )

    async def _execute(self, statement: str, page: ScannedPage, **values: object) -> None:
        values |= {"document_id": page.document_id, "page": page.page, "source_hash": page.source_hash}
        async with self._database.transaction(EVERY_WORKSPACE) as connection:
            await connection.execute(statement, values)


def _hash(file: SourceFile) -> bytes:
    return hashlib.sha256(file.content).digest()

"""Ports of text recognition (OCR): the engine, and the durable queue of scanned pages."""

from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from ragcorp.domain.documents import Document, SourceFile
from ragcorp.domain.ports.storage import DocumentWrite
from ragcorp.domain.recognition import RecognitionCounts, RecognizedPage


@dataclass(frozen=True, slots=True, kw_only=True)
class ScannedPage:
    """A page (from 1) to recognise, of the file with this SHA-256; ``attempts`` counts this one."""

    document_id: UUID
    page: int
    source_hash: bytes
    attempts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RecognizedDocument:
    """A document whose recognised ``pages`` its passages lack in part."""

    document: Document
    workspace: str
    source: SourceFile
    pages: tuple[RecognizedPage, ...]


class TextRecognizer(Protocol):
    """Reads the text in the picture of a page."""

    async def recognize(self, file: SourceFile, page: int) -> RecognizedPage:
        """Return the text of page ``page`` (from 1). Raises UnreadableDocumentError, also for reached limits."""


class RecognitionBacklog(Protocol):
    """The scanned pages of all documents. Pages are leased: those of a dead worker come back."""

    async def claim(self, *, lease_seconds: float, workspace: str | None = None) -> ScannedPage | None:
        """Lease the page that waits longest. It counts as an attempt, so that one that ends its worker is bounded."""

    async def source(self, page: ScannedPage) -> SourceFile | None:
        """Return the file of a page; None if the document has another by now, or none."""

    async def complete(self, page: ScannedPage, recognized: RecognizedPage) -> None:
        """Store the text. Skips a page whose document has another file by now."""

    async def fail(self, page: ScannedPage, *, reason: str, retry_in_seconds: float, max_attempts: int) -> None:
        """Delay the page, doubling each time, up to ``max_attempts``."""

    async def release(self, page: ScannedPage) -> None:
        """Return a lease unused."""

    async def recognized(self, *, batch: int, workspace: str | None = None) -> RecognizedDocument | None:
        """Return a document to index: with new pages.

        They are at least ``batch`` and as many as were indexed before, or any number once no page waits.
        """

    async def save(self, write: DocumentWrite, done: RecognizedDocument) -> None:
        """Replace text and passages of a document. Raises ConflictError if it was written or deleted meanwhile.

        Also raises it if another worker indexed a page that ``done`` lacks.
        """

    async def refuse(
        self, done: RecognizedDocument, *, reason: str, retry_in_seconds: float, max_attempts: int
    ) -> None:
        """Delay the new pages of a document that cannot be indexed, as ``fail`` does."""

    async def retry_failed(self, *, workspace: str | None = None) -> int:
        """Let failed pages wait again; return their number."""

    async def counts(self, *, workspace: str | None = None) -> RecognitionCounts: ...

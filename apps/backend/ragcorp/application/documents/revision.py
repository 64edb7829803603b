"""Reads a document with its text, and replaces it if it has not changed since."""

from dataclasses import dataclass

from ragcorp.application.documents.preparation import DocumentPreparation, as_requested
from ragcorp.domain.documents import Document, DocumentAttributes, SourceFile
from ragcorp.domain.exceptions import ConflictError
from ragcorp.domain.ingestion import IngestRequest, IngestResult
from ragcorp.domain.ports.storage import DocumentStore
from ragcorp.domain.ports.use_cases import DocumentIngestion
from ragcorp.domain.principal import Principal

EDITABLE = frozenset({"text/markdown", "text/plain"})
"""Media types whose text is the original itself, not derived from it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadDocument:
    """A document as it was read. ``requested`` are its attributes as ingestion would be given them again."""

    document: Document
    source: SourceFile
    text: str
    requested: DocumentAttributes


class DocumentRevision:
    """Revises one document at a time."""

    def __init__(self, *, store: DocumentStore, preparation: DocumentPreparation, ingest: DocumentIngestion) -> None:
        self._store = store
        self._preparation = preparation
        self._ingest = ingest

    async def read(self, external_id: str, *, principal: Principal) -> ReadDocument:
        """Raises NotFoundError."""
        # the hash is read before the original: what is written in between makes the write fail, not pass unseen
        document = await self._store.get(external_id, principal=principal)
        source = await self._store.get_source(external_id, principal=principal)
        parsed = await self._preparation.read(source)
        return ReadDocument(
            document=document, source=source, text=parsed.text, requested=as_requested(document, parsed)
        )

    async def write(
        self,
        read: ReadDocument,
        *,
        principal: Principal,
        text: str | None = None,
        attributes: DocumentAttributes | None = None,
    ) -> IngestResult:
        """Ingest the document again with another text, other attributes, or both.

        Raises ConflictError if it was written since it was read, or if its text comes from a file of another kind.
        """
        source = read.source
        if text is not None and text != read.text:
            require_editable(read.document)
            source = SourceFile.of_text(text, media_type=source.media_type, filename=source.filename)
        request = IngestRequest(
            external_id=read.document.external_id, file=source, attributes=attributes or read.requested
        )
        expected = bytes.fromhex(read.document.content_hash)
        return await self._ingest.ingest(request, principal=principal, expected=expected)


def require_editable(document: Document) -> None:
    """Raise ConflictError for a document whose text comes from a file that is not text itself."""
    if document.media_type not in EDITABLE:
        raise ConflictError(
            f"The text of this artifact comes from a file of type {document.media_type}.",
            field="text",
            limit=", ".join(sorted(EDITABLE)),
            remedy="Replace the file.",
        )

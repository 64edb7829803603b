"""Use case: change a document's attributes, text or both."""

from dataclasses import dataclass

from ragcorp.application.documents.preparation import DocumentPreparation, as_requested
from ragcorp.application.validation.attribute_checks import require_external_id, require_text
from ragcorp.application.validation.item_changes import AttributeChange
from ragcorp.domain.documents import Document, DocumentAttributes, SourceFile
from ragcorp.domain.exceptions import ConflictError
from ragcorp.domain.ingestion import IngestRequest, IngestResult
from ragcorp.domain.ports.storage import DocumentStore
from ragcorp.domain.ports.use_cases import DocumentIngestion
from ragcorp.domain.principal import Principal
from ragcorp.domain.text.checks import require_utf8

EDITABLE = frozenset({"text/markdown", "text/plain"})
"""Media types whose text is the original itself, not derived from it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadDocument:
    """A document as it was read. ``requested`` are its attributes as ingestion would be given them again."""

    document: Document
    source: SourceFile
    text: str
    requested: DocumentAttributes


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviseDocument:
    """Ingests a changed document again; unchanged passages get their vectors from the cache."""

    store: DocumentStore
    preparation: DocumentPreparation
    ingest: DocumentIngestion

    async def revise(
        self, external_id: str, change: AttributeChange, *, principal: Principal, text: str | None = None
    ) -> IngestResult:
        """Raises NotFoundError, InvalidInputError, or ConflictError: a concurrent write, or not a text file."""
        require_external_id(external_id)
        read = await self.read(external_id, principal=principal)
        if text is not None:
            require_utf8(text, field="text")
            text = text.replace("\x00", " ")
            require_text(text)
        return await self.write(read, principal=principal, text=text, attributes=change.apply(read.requested))

    async def read(self, external_id: str, *, principal: Principal) -> ReadDocument:
        """Raises NotFoundError."""
        # the hash is read before the original: a write in between makes this write fail instead of being lost
        document = await self.store.get(external_id, principal=principal)
        source = await self.store.get_source(external_id, principal=principal)
        parsed = await self.preparation.read(source)
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
        """Ingest a new text, new attributes, or both. Raises ConflictError after another write or for a file."""
        source = read.source
        if text is not None and text != read.text:
            require_editable(read.document)
            source = SourceFile.of_text(text, media_type=source.media_type, filename=source.filename)
        request = IngestRequest(
            external_id=read.document.external_id, file=source, attributes=attributes or read.requested
        )
        expected = bytes.fromhex(read.document.content_hash)
        return await self.ingest.ingest(request, principal=principal, expected=expected)


def require_editable(document: Document) -> None:
    """Raise ConflictError for a document whose text comes from a file that is not text itself."""
    if document.media_type not in EDITABLE:
        raise ConflictError(
            f"The text of this artifact comes from a file of type {document.media_type}.",
            field="text",
            limit=", ".join(sorted(EDITABLE)),
            remedy="Replace the file.",
        )

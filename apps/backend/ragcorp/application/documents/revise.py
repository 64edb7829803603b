"""Use case: change a document's attributes, text or both."""

from ragcorp.application.documents.revision import DocumentRevision
from ragcorp.application.validation.attribute_checks import require_external_id, require_text
from ragcorp.application.validation.item_changes import AttributeChange
from ragcorp.domain.ingestion import IngestResult
from ragcorp.domain.principal import Principal
from ragcorp.domain.text.checks import require_utf8


class ReviseDocument:
    """Ingests a changed document again; unchanged passages get their vectors from the cache."""

    def __init__(self, *, revision: DocumentRevision) -> None:
        self._revision = revision

    async def revise(
        self, external_id: str, change: AttributeChange, *, principal: Principal, text: str | None = None
    ) -> IngestResult:
        """Raises NotFoundError, InvalidInputError, or ConflictError: a concurrent write, or not a text file."""
        require_external_id(external_id)
        read = await self._revision.read(external_id, principal=principal)
        if text is not None:
            require_utf8(text, field="text")
            text = text.replace("\x00", " ")
            require_text(text)
        return await self._revision.write(read, principal=principal, text=text, attributes=change.apply(read.requested))

"""Use case: restore a deleted document."""

from dataclasses import dataclass, replace

from ragcorp.application.documents.preparation import DocumentPreparation
from ragcorp.application.validation.attribute_checks import require_external_id
from ragcorp.domain.documents import Document, ParsedText, SourceFile
from ragcorp.domain.ingestion import IngestRequest, IngestResult
from ragcorp.domain.ports.storage import DocumentStore, DocumentWrite
from ragcorp.domain.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreDocument:
    """Indexes the kept text again, and those of the parts that went with it; known vectors come from the cache."""

    store: DocumentStore
    preparation: DocumentPreparation

    async def restore(self, external_id: str, *, principal: Principal) -> IngestResult:
        """Raises NotFoundError if no deleted document has that name, or if it was written again since.

        Also raises ConflictError for a part of a deleted document.
        """
        require_external_id(external_id)
        document, parsed, original = await self.store.get_deleted(external_id, principal=principal)
        write = await self._indexed(document, parsed, original)
        parts = [
            await self._indexed(*part) for part in await self.store.get_deleted_parts(document, principal=principal)
        ]
        return await self.store.restore(replace(write, parts=tuple(parts)), principal=principal)

    async def _indexed(self, document: Document, parsed: ParsedText, original: SourceFile) -> DocumentWrite:
        return await self.preparation.index(
            IngestRequest(external_id=document.external_id, file=original, attributes=document.attributes),
            parsed,
            content_hash=bytes.fromhex(document.content_hash),
        )

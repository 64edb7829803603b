"""Use case: restore a deleted document."""

from dataclasses import dataclass

from ragcorp.application.documents.preparation import DocumentPreparation
from ragcorp.application.validation.attribute_checks import require_external_id
from ragcorp.domain.ingestion import IngestRequest, IngestResult
from ragcorp.domain.ports.storage import DocumentStore
from ragcorp.domain.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreDocument:
    """Indexes the kept text again; known vectors come from the cache."""

    store: DocumentStore
    preparation: DocumentPreparation

    async def restore(self, external_id: str, *, principal: Principal) -> IngestResult:
        """Raises NotFoundError if no deleted document has that name, or if it was written again since."""
        require_external_id(external_id)
        document, parsed, original = await self.store.get_deleted(external_id, principal=principal)
        write = await self.preparation.index(
            IngestRequest(external_id=external_id, file=original, attributes=document.attributes),
            parsed,
            content_hash=bytes.fromhex(document.content_hash),
        )
        return await self.store.restore(write, principal=principal)

"""Use case: restore a deleted document."""

from ragcorp.application.documents.preparation import DocumentPreparation
from ragcorp.application.validation.attribute_checks import require_external_id
from ragcorp.domain.ingestion import IngestRequest, IngestResult
from ragcorp.domain.ports.storage import DocumentStore
from ragcorp.domain.principal import Principal


class RestoreDocument:
    """Indexes the kept text again; known vectors come from the cache."""

    def __init__(self, *, store: DocumentStore, preparation: DocumentPreparation) -> None:
        self._store = store
        self._preparation = preparation

    async def restore(self, external_id: str, *, principal: Principal) -> IngestResult:
        """Raises NotFoundError if no deleted document has that name, or if it was written again since."""
        require_external_id(external_id)
        document, parsed, original = await self._store.get_deleted(external_id, principal=principal)
        write = await self._preparation.index(
            IngestRequest(external_id=external_id, file=original, attributes=document.attributes),
            parsed,
            content_hash=bytes.fromhex(document.content_hash),
        )
        return await self._store.restore(write, principal=principal)

"""Use case: soft-delete documents and purge deleted ones."""

from dataclasses import dataclass

from ragcorp.application.validation.attribute_checks import require_external_id, require_selection
from ragcorp.domain.collections import Collection
from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.ports.storage import DocumentSelection, DocumentStore
from ragcorp.domain.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteDocument:
    """Hides documents from every index at once; they can be restored until they are purged."""

    store: DocumentStore

    async def delete(self, external_id: str, *, principal: Principal) -> None:
        """Raises NotFoundError or InvalidInputError."""
        require_external_id(external_id)
        await self.store.soft_delete_one(external_id, principal=principal)

    async def delete_selection(self, selection: DocumentSelection, *, principal: Principal) -> int:
        """Return how many were deleted. Raises InvalidInputError for an empty selection or an impossible prefix."""
        require_selection(selection.prefix, selection.filters, collection=Collection.ARTIFACTS)
        return await self.store.soft_delete(selection, principal=principal)

    async def purge(self, *, older_than_days: float, principal: Principal) -> int:
        """Purge documents that were deleted ``older_than_days`` ago or earlier; return how many."""
        if not 0 <= older_than_days <= 36_500:
            raise InvalidInputError.out_of_range("older_than_days", "0 to 36500")
        return await self.store.purge_deleted(older_than_days=older_than_days, principal=principal)

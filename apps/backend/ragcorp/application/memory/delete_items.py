"""Use case: delete items of memory or history for good."""

from dataclasses import dataclass

from ragcorp.application.validation.attribute_checks import require_external_id, require_selection
from ragcorp.domain.collections import Collection, ItemSelection
from ragcorp.domain.ports.collections import ItemRepository
from ragcorp.domain.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteItems:
    """Removes items with their vectors; they cannot be restored."""

    collection: Collection
    repository: ItemRepository

    async def delete(self, external_id: str, *, principal: Principal) -> None:
        """Raises NotFoundError or InvalidInputError."""
        require_external_id(external_id)
        await self.repository.delete_one(external_id, principal=principal)

    async def delete_selection(self, selection: ItemSelection, *, principal: Principal) -> int:
        """Return how many were deleted. Raises InvalidInputError for an empty selection or an impossible prefix."""
        require_selection(selection.prefix, selection.filters, collection=self.collection)
        return await self.repository.delete(selection, principal=principal)

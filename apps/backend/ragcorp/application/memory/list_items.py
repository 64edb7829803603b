"""Use case: list items of memory or history, and read one."""

from dataclasses import dataclass

from ragcorp.application.validation.attribute_checks import require_external_id
from ragcorp.application.validation.list_cursor import next_cursor, position, require_page_size
from ragcorp.domain.collections import Item, ItemSelection
from ragcorp.domain.ports.collections import ItemRepository
from ragcorp.domain.principal import Principal
from ragcorp.domain.text.checks import require_storable


@dataclass(frozen=True, slots=True, kw_only=True)
class ListItems:
    """Pages through items in the order of ``external_id``; a page is stable under writes elsewhere."""

    repository: ItemRepository

    async def list(
        self, selection: ItemSelection, *, principal: Principal, limit: int = 50, cursor: str | None = None
    ) -> tuple[tuple[Item, ...], str | None]:
        """Return a page and the cursor of the next one. Raises InvalidInputError for a bad limit, prefix or cursor."""
        require_page_size(limit)
        require_storable(selection.prefix, field="prefix")
        page = await self.repository.list_page(selection, principal=principal, limit=limit, after=position(cursor))
        return page.items, next_cursor(page)

    async def get(self, external_id: str, *, principal: Principal) -> Item:
        """Raises NotFoundError or InvalidInputError."""
        require_external_id(external_id)
        return await self.repository.get(external_id, principal=principal)

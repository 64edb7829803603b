"""Use case: list entities and facts of the knowledge graph, and read one."""

from dataclasses import dataclass

from ragcorp.application.validation.attribute_checks import require_external_id
from ragcorp.application.validation.list_cursor import next_cursor, position, require_page_size
from ragcorp.domain.graph import MAX_ENTITY_NAME, MAX_GRAPH_NAME, Entity, Fact, GraphSelection
from ragcorp.domain.ports.graph import GraphRepository
from ragcorp.domain.principal import Principal
from ragcorp.domain.text.checks import require_length, require_storable


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadGraph:
    """Pages in the order of ``external_id``; a page is stable under writes elsewhere."""

    repository: GraphRepository

    async def entities(
        self, selection: GraphSelection, *, principal: Principal, limit: int = 50, cursor: str | None = None
    ) -> tuple[tuple[Entity, ...], str | None]:
        """Return a page and the cursor of the next one. Raises InvalidInputError for an impossible selection."""
        _check(selection, limit)
        page = await self.repository.list_entities(selection, principal=principal, limit=limit, after=position(cursor))
        return page.items, next_cursor(page)

    async def facts(
        self, selection: GraphSelection, *, principal: Principal, limit: int = 50, cursor: str | None = None
    ) -> tuple[tuple[Fact, ...], str | None]:
        """Return a page and the cursor of the next one. Raises InvalidInputError for an impossible selection."""
        _check(selection, limit)
        page = await self.repository.list_facts(selection, principal=principal, limit=limit, after=position(cursor))
        return page.items, next_cursor(page)

    async def entity(self, external_id: str, *, principal: Principal) -> Entity:
        """Raises NotFoundError or InvalidInputError."""
        require_external_id(external_id)
        return await self.repository.get_entity(external_id, principal=principal)

    async def fact(self, external_id: str, *, principal: Principal) -> Fact:
        """Raises NotFoundError or InvalidInputError."""
        require_external_id(external_id)
        return await self.repository.get_fact(external_id, principal=principal)


def _check(selection: GraphSelection, limit: int) -> None:
    require_page_size(limit)
    require_storable(selection.prefix, field="prefix")
    for field, value, longest in (
        ("name", selection.name, MAX_ENTITY_NAME),
        ("entity", selection.entity, MAX_GRAPH_NAME),
    ):
        if value is not None:
            require_storable(value, field=field)
            require_length(value, field=field, limit=longest, minimum=1)

"""Use case: remove an entity or a fact from the knowledge graph."""

from dataclasses import dataclass

from ragcorp.application.validation.attribute_checks import require_external_id
from ragcorp.domain.ports.graph import GraphRepository
from ragcorp.domain.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteFromGraph:
    """Removes an entity with its facts, and a fact with the entities that only it names."""

    repository: GraphRepository

    async def entity(self, external_id: str, *, principal: Principal) -> None:
        """Raises NotFoundError, or InvalidInputError."""
        require_external_id(external_id)
        await self.repository.delete_entity(external_id, principal=principal)

    async def fact(self, external_id: str, *, principal: Principal) -> None:
        """Raises NotFoundError, or InvalidInputError."""
        require_external_id(external_id)
        await self.repository.delete_fact(external_id, principal=principal)

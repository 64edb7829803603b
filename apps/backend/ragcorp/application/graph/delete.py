"""Use case: remove an entity or a fact from the knowledge graph."""

from ragcorp.application.validation.attribute_checks import require_external_id
from ragcorp.domain.ports.graph import GraphRepository
from ragcorp.domain.principal import Principal


class DeleteFromGraph:
    """Removes an entity with its facts, and a fact with the entities that only it names."""

    def __init__(self, *, repository: GraphRepository) -> None:
        self._repository = repository

    async def entity(self, external_id: str, *, principal: Principal) -> None:
        """Raises NotFoundError, or InvalidInputError."""
        require_external_id(external_id)
        await self._repository.delete_entity(external_id, principal=principal)

    async def fact(self, external_id: str, *, principal: Principal) -> None:
        """Raises NotFoundError, or InvalidInputError."""
        require_external_id(external_id)
        await self._repository.delete_fact(external_id, principal=principal)

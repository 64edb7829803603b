"""Use case: add and replace entities of the knowledge graph."""

from __future__ import annotations

from collections.abc import Sequence

from ragcorp.application.validation.attribute_checks import MAX_METADATA_BYTES
from ragcorp.application.validation.graph_drafts import checked_entity
from ragcorp.domain.exceptions import RagcorpError
from ragcorp.domain.graph import EntityDraft, GraphFailure, GraphOutcome
from ragcorp.domain.ports.graph import GraphRepository
from ragcorp.domain.principal import Principal


class SaveEntities:
    """Stores entities; an equal one is left as it is. Vectors follow."""

    def __init__(self, *, repository: GraphRepository, max_metadata_bytes: int = MAX_METADATA_BYTES) -> None:
        self._repository = repository
        self._max_metadata_bytes = max_metadata_bytes

    async def save(self, draft: EntityDraft, *, principal: Principal) -> GraphOutcome:
        """Raises InvalidInputError, or ConflictError where an entity that the principal may not read has the name."""
        (outcome,) = await self.save_many([draft], principal=principal)
        if isinstance(outcome, GraphFailure):
            raise outcome.error
        return outcome

    async def save_many(
        self, drafts: Sequence[EntityDraft], *, principal: Principal
    ) -> list[GraphOutcome | GraphFailure]:
        """Store a batch in one transaction; bad drafts are reported in their place and stop no other."""
        outcomes: list[GraphOutcome | GraphFailure | None] = [None] * len(drafts)
        checked: dict[int, EntityDraft] = {}
        for place, draft in enumerate(drafts):
            try:
                checked[place] = checked_entity(draft, principal=principal, max_metadata_bytes=self._max_metadata_bytes)
            except RagcorpError as error:
                outcomes[place] = GraphFailure(error=error)
        if checked:
            saved = await self._repository.save_entities(list(checked.values()), principal=principal)
            for place, outcome in zip(checked, saved, strict=True):
                outcomes[place] = outcome
        return [outcome for outcome in outcomes if outcome is not None]

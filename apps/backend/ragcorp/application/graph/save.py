"""Use case: add and replace entities or facts of the knowledge graph."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Generic

from ragcorp.application.validation.attribute_checks import MAX_METADATA_BYTES
from ragcorp.application.validation.graph_drafts import Draft, checked
from ragcorp.domain.documents import SaveOutcome, WriteFailure, WriteOutcome
from ragcorp.domain.exceptions import RagcorpError
from ragcorp.domain.principal import Principal

SaveMany = Callable[..., Awaitable[Sequence[SaveOutcome]]]
"""A method of the port GraphRepository: ``save_entities`` or ``save_facts``."""


class SaveDrafts(Generic[Draft]):
    """Stores entities, or facts with the entities that they name; equal ones stay unchanged. Vectors follow."""

    def __init__(self, *, save: SaveMany, max_metadata_bytes: int = MAX_METADATA_BYTES) -> None:
        self._save = save
        self._max_metadata_bytes = max_metadata_bytes

    async def save(self, draft: Draft, *, principal: Principal) -> WriteOutcome:
        """Raises InvalidInputError, or ConflictError if something that the principal may not read has the name."""
        (outcome,) = await self.save_many([draft], principal=principal)
        if isinstance(outcome, WriteFailure):
            raise outcome.error
        return outcome

    async def save_many(self, drafts: Sequence[Draft], *, principal: Principal) -> list[SaveOutcome]:
        """Store a batch in one transaction; bad drafts are reported in their place and do not stop the others."""
        outcomes: list[SaveOutcome | None] = [None] * len(drafts)
        ready: dict[int, Draft] = {}
        for place, draft in enumerate(drafts):
            try:
                ready[place] = checked(draft, principal=principal, max_metadata_bytes=self._max_metadata_bytes)
            except RagcorpError as error:
                outcomes[place] = WriteFailure(error=error)
        if ready:
            saved = await self._save(list(ready.values()), principal=principal)
            for place, outcome in zip(ready, saved, strict=True):
                outcomes[place] = outcome
        return [outcome for outcome in outcomes if outcome is not None]

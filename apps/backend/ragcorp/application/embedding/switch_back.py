"""Use case: activate a previous model whose vectors still exist."""

from dataclasses import dataclass

from ragcorp.application.upkeep.task_progress import Progress, no_progress
from ragcorp.domain.embeddings import EmbeddingModel
from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.ports.embeddings import ModelState, Reembedding


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchBack:
    """Needs no embedder: workers of that model embed the texts that were written since."""

    store: Reembedding

    async def switch_back(
        self, *, name: str | None = None, dimensions: int | None = None, progress: Progress = no_progress
    ) -> ModelState:
        """Activate the named or only inactive model with vectors. Raises InvalidInputError unless exactly one fits."""
        async with self.store.exclusively():
            model = (await self._chosen(name, dimensions)).model
            await self.store.refresh(model, rejected={})
            with progress("Checking indexes", "indexes") as report:
                await self.store.build_indexes(model, report=report)
            await self.store.refresh(model, rejected={})
            await self.store.activate(model, rejected={})
            return await self._state(model)

    async def _chosen(self, name: str | None, dimensions: int | None) -> ModelState:
        matching = [
            state
            for state in await self.store.models()
            if not state.active
            and state.vectors
            and name in (None, state.model.name)
            and dimensions in (None, state.model.dimensions)
        ]
        if len(matching) != 1:
            raise InvalidInputError(
                "There are no vectors of such a model that is not active."
                if not matching
                else "There are vectors of several models that are not active.",
                field="--model",
                remedy="`ragcorp reembed --status` lists them; name one with --model and --dimensions.",
            )
        return matching[0]

    async def _state(self, model: EmbeddingModel) -> ModelState:
        return next(state for state in await self.store.models() if state.model == model)

"""Use case: remove the vectors of an inactive model."""

from dataclasses import dataclass

from ragcorp.application.upkeep.task_progress import Progress, no_progress
from ragcorp.domain.embeddings import EmbeddingModel
from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.ports.embeddings import Reembedding

AT_ONCE = 5000


@dataclass(frozen=True, slots=True, kw_only=True)
class DropVectors:
    """Removes an inactive model's indexes, then its vectors, some at a time."""

    store: Reembedding

    async def drop(
        self, *, name: str, dimensions: int | None = None, progress: Progress = no_progress
    ) -> tuple[EmbeddingModel, int]:
        """Return the model and the number of removed vectors. Raises InvalidInputError unless one model fits."""
        async with self.store.exclusively():
            matching = [
                state
                for state in await self.store.models()
                if state.model.name == name and dimensions in (None, state.model.dimensions)
            ]
            inactive = [state for state in matching if not state.active]
            if len(inactive) != 1:
                raise _none_fits(active=bool(matching) and not inactive, several=len(inactive) > 1)
            model, gone = inactive[0].model, 0
            await self.store.drop_indexes(model)
            with progress("Removing vectors", "vectors") as report:
                while removed := await self.store.delete_vectors(model, limit=AT_ONCE):
                    gone += removed
                    report(gone, max(gone, inactive[0].vectors))
            return model, gone


def _none_fits(*, active: bool, several: bool) -> InvalidInputError:
    if active:
        return InvalidInputError(
            "The active model's vectors are not dropped: searches use them.",
            field="--drop",
            remedy="Switch to another model first.",
        )
    return InvalidInputError(
        "There are vectors of that model in several widths." if several else "There are no vectors of that model.",
        field="--drop",
        remedy="`ragcorp reembed --status` lists them; --dimensions tells widths apart.",
    )

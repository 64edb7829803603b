"""Use case: estimate the weights of linear fusion for the embedding model in use, and keep them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ragcorp.application.task_progress import Progress, no_progress
from ragcorp.domain.exceptions import ConfigurationError
from ragcorp.domain.ports.models import Embedder, EmbeddingModel
from ragcorp.domain.ports.workspaces import Workspaces
from ragcorp.domain.principal import Principal
from ragcorp.evaluation.calibration import Calibration, calibrate
from ragcorp.evaluation.sets import EvaluationQuery

MAX_QUERIES = 500
MAX_PASSAGES = 1000


class CalibrationStore(Protocol):
    """Keeps the weights with the embedding model."""

    async def store_calibration(self, calibration: Calibration, *, model: EmbeddingModel) -> None: ...


class CalibrateFusion:
    """Compares queries with the workspace's vectors. Without a ``store`` nothing is kept."""

    def __init__(self, *, embedder: Embedder, workspaces: Workspaces, store: CalibrationStore | None) -> None:
        self._embedder = embedder
        self._workspaces = workspaces
        self._store = store

    async def execute(
        self, queries: Sequence[EvaluationQuery], *, principal: Principal, progress: Progress = no_progress
    ) -> Calibration:
        """Return the estimate from up to 500 queries (evenly spaced) and 1,000 passages; store it if it is sound.

        Raises ConfigurationError where no model is configured, InvalidInputError for too few passages.
        """
        if not self._embedder.model.dimensions:
            raise ConfigurationError(
                "A calibration needs an embedding model.",
                field="EMBEDDING_PROVIDER",
                remedy="Set EMBEDDING_PROVIDER to local or openai.",
            )
        sample = queries[:: -(-len(queries) // MAX_QUERIES)]
        vectors = []
        with progress("Making query vectors", "queries") as report:
            for done, query in enumerate(sample, start=1):
                vectors.append(await self._embedder.embed_query(query.text))
                report(done, len(sample))
        calibration = calibrate(vectors, await self._workspaces.vectors(principal.workspace, limit=MAX_PASSAGES))
        if self._store is not None and calibration.is_sound:
            await self._store.store_calibration(calibration, model=self._embedder.model)
        return calibration

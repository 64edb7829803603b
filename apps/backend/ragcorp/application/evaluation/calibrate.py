"""Use case: estimate the fusion weights and distance threshold of the embedding model in use, and store them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from ragcorp.application.upkeep.task_progress import Progress, no_progress
from ragcorp.domain.embeddings import EmbeddingModel
from ragcorp.domain.exceptions import ConfigurationError
from ragcorp.domain.ports.models import Embedder
from ragcorp.domain.ports.use_cases import ChunkSearch
from ragcorp.domain.ports.workspaces import Workspaces
from ragcorp.domain.principal import Principal
from ragcorp.domain.retrieval import ScoreType
from ragcorp.domain.search.requests import SearchMode, SearchRequest
from ragcorp.evaluation.calibration import Calibration, calibrate, distance_threshold
from ragcorp.evaluation.sets import EvaluationQuery, EvaluationSet, relevant

MAX_QUERIES = 500
MAX_PASSAGES = 1000
NEAREST = 10
"""Nearest passages per query whose relevant ones determine the distance threshold."""


class CalibrationStore(Protocol):
    """Keeps weights and distance with the embedding model."""

    async def store_calibration(self, calibration: Calibration, *, model: EmbeddingModel) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrateFusion:
    """Compares queries with the workspace's vectors. Without a ``store`` nothing is kept."""

    embedder: Embedder
    search: ChunkSearch
    workspaces: Workspaces
    store: CalibrationStore | None

    async def calibrate(
        self, evaluation_set: EvaluationSet, *, principal: Principal, progress: Progress = no_progress
    ) -> Calibration:
        """Estimate from a sample; store a sound result. Raises ConfigurationError or InvalidInputError."""
        if not self.embedder.model.dimensions:
            raise ConfigurationError(
                "A calibration needs an embedding model.",
                field="EMBEDDING_PROVIDER",
                remedy="Set EMBEDDING_PROVIDER to local or openai.",
            )
        queries = evaluation_set.queries
        sample = queries[:: -(-len(queries) // MAX_QUERIES)]
        vectors = []
        with progress("Making query vectors", "queries") as report:
            for done, query in enumerate(sample, start=1):
                vectors.append(await self.embedder.embed_query(query.text))
                report(done, len(sample))
        calibration = replace(
            calibrate(vectors, await self.workspaces.vectors(principal.workspace, limit=MAX_PASSAGES)),
            distance_threshold=distance_threshold(await self._distances(sample, evaluation_set, principal, progress)),
        )
        if self.store is not None and calibration.is_reliable:
            await self.store.store_calibration(calibration, model=self.embedder.model)
        return calibration

    async def _distances(
        self,
        queries: Sequence[EvaluationQuery],
        evaluation_set: EvaluationSet,
        principal: Principal,
        progress: Progress,
    ) -> list[float]:
        """Return the cosine distances of the relevant passages among the ten nearest of each query."""
        distances: list[float] = []
        with progress("Measuring distances", "queries") as report:
            for done, query in enumerate(queries, start=1):
                request = SearchRequest(query=query.text, limit=NEAREST, mode=SearchMode.DENSE, rerank=False)
                wanted = relevant(evaluation_set.qrels[query.id])
                distances += [
                    1 - part.score
                    for hit in (await self.search.search(request, principal=principal)).hits
                    for part in hit.sources
                    if hit.chunk.external_id in wanted and part.score_type == ScoreType.COSINE_SIMILARITY
                ]
                report(done, len(queries))
        return distances

"""Use case: search every query of an evaluation set in several ways."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ragcorp.application.evaluation.profile import EvaluatedProfile
from ragcorp.application.upkeep.task_progress import Progress, no_progress
from ragcorp.domain.documents import Chunk
from ragcorp.domain.files.values import FILES
from ragcorp.domain.ports.models import Embedder
from ragcorp.domain.ports.use_cases import ChunkSearch
from ragcorp.domain.principal import Principal
from ragcorp.domain.search.requests import SearchMode, SearchResponse
from ragcorp.domain.search.sources import FULL_TEXT, GREP
from ragcorp.evaluation.report import Measured
from ragcorp.evaluation.runs import RankedDocument, Ranking, Run, best_passages
from ragcorp.evaluation.sets import EvaluationQuery, EvaluationSet

DEPTH = 100
"""Passages of a ranking."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluateRetrieval:
    """Makes one run per profile. ``embedder`` caches query vectors; ``clock`` returns seconds."""

    search: ChunkSearch
    embedder: Embedder
    clock: Callable[[], float]

    async def evaluate(
        self,
        evaluation_set: EvaluationSet,
        profiles: Sequence[EvaluatedProfile],
        *,
        principal: Principal,
        depth: int = DEPTH,
        progress: Progress = no_progress,
    ) -> tuple[Measured, ...]:
        """Return a run per profile, ``depth`` passages a query. Latencies exclude making query vectors."""
        queries = evaluation_set.queries
        if self.embedder.model.dimensions and any(profile.mode is not SearchMode.SPARSE for profile in profiles):
            with progress("Making query vectors", "queries") as report:
                for done, query in enumerate(queries, start=1):
                    await self.embedder.embed_query(query.text)
                    report(done, len(queries))
        return tuple([await self._run(queries, profile, principal, depth, progress) for profile in profiles])

    async def _run(
        self,
        queries: Sequence[EvaluationQuery],
        profile: EvaluatedProfile,
        principal: Principal,
        depth: int,
        progress: Progress,
    ) -> Measured:
        rankings: dict[str, Ranking] = {}
        latencies: dict[str, float] = {}
        empty: set[str] = set()
        degraded: Counter[str] = Counter()
        with progress(f"Searching {profile.name}", "queries") as report:
            for done, query in enumerate(queries, start=1):
                started = self.clock()
                response = await self.search.search(profile.request(query.text, limit=depth), principal=principal)
                latencies[query.id] = (self.clock() - started) * 1000
                rankings[query.id] = best_passages(
                    RankedDocument(_document(hit.chunk), hit.score) for hit in response.hits
                )
                if _is_lexically_empty(response):
                    empty.add(query.id)
                degraded.update(f"{source.source}:{source.reason}" for source in response.degraded)
                report(done, len(queries))
        return Measured(
            run=Run(name=profile.name, rankings=rankings),
            empty=frozenset(empty),
            latencies_ms=latencies,
            degraded=degraded,
        )


def _document(chunk: Chunk) -> str:
    """Return the passage's document, or the path of a file below its root."""
    return chunk.external_id.partition("/")[2] if chunk.collection == FILES else chunk.external_id


def _is_lexically_empty(response: SearchResponse) -> bool:
    """Return whether the lexical sources found nothing; without lexical sources, whether no source did."""
    sparse = [report for report in response.reports if report.source in (FULL_TEXT, GREP)]
    return not any(report.hits for report in sparse or response.reports)

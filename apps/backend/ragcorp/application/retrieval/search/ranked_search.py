"""Runs a plan: sources, fusion, steps, page, explanation and highlights."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC

from ragcorp.application.retrieval.profiles.profile import RetrievalProfile
from ragcorp.application.retrieval.search import page_cursor
from ragcorp.application.retrieval.search.explanation import explain_hits, explanation
from ragcorp.application.retrieval.search.fan_out import SourceFanOut
from ragcorp.application.retrieval.search.highlights import Highlighter
from ragcorp.application.retrieval.search.list_fusion import ListFusion
from ragcorp.application.retrieval.search.page_cursor import Position
from ragcorp.application.retrieval.search.plan import QueryPlan
from ragcorp.application.retrieval.search.result_page import PageReader
from ragcorp.application.retrieval.search.source_retrieval import SourceRetrieval
from ragcorp.application.retrieval.search.step_pipeline import RERANK, StepPipeline
from ragcorp.domain.collections import FACETS
from ragcorp.domain.ports.collections import CandidateStore
from ragcorp.domain.ports.sources import FusionService
from ragcorp.domain.ports.storage import DocumentRepository
from ragcorp.domain.retrieval import FusedHit, SourceReport
from ragcorp.domain.search.candidates import Candidate
from ragcorp.domain.search.requests import FusionMethod, SearchResponse


class RankedSearch:
    """Queries the plan's sources, fuses their lists, applies its steps, and reads the content of one page."""

    def __init__(
        self,
        *,
        fan_out: SourceFanOut,
        repository: DocumentRepository,
        store: CandidateStore,
        fusions: Mapping[FusionMethod, FusionService],
        profiles: Mapping[str, RetrievalProfile],
        pipeline: StepPipeline | None = None,
        highlighter: Highlighter | None = None,
    ) -> None:
        self._retrieval = SourceRetrieval(fan_out=fan_out, repository=repository, store=store)
        self._fusion = ListFusion(
            fusions=fusions, modes={profile.sources: profile.mode for profile in reversed(list(profiles.values()))}
        )
        self._pipeline = pipeline or StepPipeline(store=store)
        self._pages = PageReader(repository=repository, store=store)
        self._highlighter = highlighter

    async def run(self, plan: QueryPlan) -> SearchResponse:
        """Return a page. Raises InvalidInputError, ForbiddenError, AllSourcesFailedError or StorageUnavailableError."""
        request = plan.request
        results = await self._retrieval.retrieve(plan)
        ranking = await self._fusion.rank(plan, results)
        steps = await self._pipeline.apply(ranking)
        ranked: Sequence[FusedHit | Candidate] = ranking.hits if steps.candidates is None else steps.candidates
        window = ranked[: plan.profile.rank_window_size]
        page = await self._pages.read(window, ranking)
        hits = page.hits
        taken = (*steps.steps, *page.steps)
        explained = None
        if request.explain:
            hits = await explain_hits(hits, results, ranking, steps.orders)
            explained = explanation(ranking, results, window=len(window), steps=taken)
        marks: tuple[SourceReport, ...] = ()
        if request.highlight and self._highlighter is not None:
            hits, marks = await self._highlighter.mark(hits, results, plan)
        reranked = any(step.step == RERANK and step.skipped is None for step in steps.steps)
        following = Position(offset=page.end, moment=plan.moment, reranked=reranked)
        return SearchResponse(
            mode_used=ranking.mode_used,
            hits=hits,
            reports=(*(result.report for result in results), *steps.reports, *page.reports, *marks),
            next_cursor=page_cursor.encode(following, request) if page.end < len(window) else None,
            explanation=explained,
            steps=taken,
            facets=_facets(window) if request.facets else None,
        )


def _facets(window: Sequence[FusedHit | Candidate]) -> dict[str, dict[str, int]] | None:
    """Count the window by facet, or return None where it could not be described; undated candidates have no month."""
    candidates = [item for item in window if isinstance(item, Candidate)]
    if len(candidates) < len(window):
        return None
    counts = {name: Counter[str]() for name in FACETS}
    for candidate in candidates:
        described = candidate.description
        counts["collection"][described.collection] += 1
        counts["artifact_type"][described.kind] += 1
        counts["language"][described.language] += 1
        if described.occurred_at is not None:
            counts["month"][f"{described.occurred_at.astimezone(UTC):%Y-%m}"] += 1
    return {name: dict(sorted(counted.items())) for name, counted in counts.items()}

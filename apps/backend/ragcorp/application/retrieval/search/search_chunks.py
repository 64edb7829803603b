"""Use case: search the passages of every collection."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from ragcorp.application.resilience.time_bound import TimeBound
from ragcorp.application.retrieval.profiles.profile import RetrievalProfile
from ragcorp.application.retrieval.search import page_cursor
from ragcorp.application.retrieval.search.explanation import explain_hits, explanation
from ragcorp.application.retrieval.search.fan_out import SourceFanOut
from ragcorp.application.retrieval.search.highlighter import Highlighter
from ragcorp.application.retrieval.search.list_fusion import ListFusion, Ranking, usable_results
from ragcorp.application.retrieval.search.page_cursor import Position
from ragcorp.application.retrieval.search.result_page import PageReader
from ragcorp.application.retrieval.search.source_retrieval import SourceRetrieval
from ragcorp.application.retrieval.search.step_pipeline import RERANK, PipelineResult, StepPipeline
from ragcorp.application.retrieval.search.step_ranks import with_ranks
from ragcorp.domain.collections import FACETS
from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.files.values import MAX_GREP_QUERY
from ragcorp.domain.filters import MAX_FILTER_CONDITIONS, require_filters
from ragcorp.domain.keys import ForbiddenError, Scope
from ragcorp.domain.ports.collections import CandidateStore
from ragcorp.domain.ports.sources import FusionService
from ragcorp.domain.ports.storage import DocumentRepository
from ragcorp.domain.principal import Principal
from ragcorp.domain.retrieval import FusedHit, SourceReport
from ragcorp.domain.search.candidates import Candidate
from ragcorp.domain.search.requests import FusionMethod, SearchMode, SearchRequest, SearchResponse
from ragcorp.domain.search.sources import GREP, OWN_SOURCES
from ragcorp.domain.text.checks import is_blank, require_length, require_storable

logger = logging.getLogger(__name__)

KEYWORDS_PROFILE = "files"
"""How a request with exact keywords is answered that names neither mode nor profile."""

READING_SECONDS = 0.5
"""What the contents of a page have at least, where the sources took all of a search's time."""


def current_hour() -> datetime:
    """Return the hour that it is: ages and look-backs are counted in hours, so that a question has one answer."""
    return datetime.now(UTC).replace(minute=0, second=0, microsecond=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchLimits:
    """What a search may ask for, and how long it may take (seconds)."""

    max_query_characters: int = 2000
    max_filter_conditions: int = MAX_FILTER_CONDITIONS
    max_limit: int = 50
    total_timeout_seconds: float = 4.0


class SearchChunks:
    """Asks the profile's sources, fuses their lists, takes its steps, and fetches the content of what is returned."""

    def __init__(
        self,
        *,
        fan_out: SourceFanOut,
        repository: DocumentRepository,
        fusions: Mapping[FusionMethod, FusionService],
        profiles: Mapping[str, RetrievalProfile],
        default_mode: SearchMode,
        default_method: FusionMethod = FusionMethod.RRF,
        limits: SearchLimits,
        store: CandidateStore,
        pipeline: StepPipeline | None = None,
        highlighter: Highlighter | None = None,
        now: Callable[[], datetime] = current_hour,
    ) -> None:
        self._retrieval = SourceRetrieval(fan_out=fan_out, repository=repository, store=store)
        self._fusion = ListFusion(
            fusions=fusions, modes={profile.sources: profile.mode for profile in reversed(list(profiles.values()))}
        )
        self._profiles = dict(profiles)
        self._default_mode = default_mode
        self._default_method = default_method
        self._limits = limits
        self._pipeline = pipeline or StepPipeline(store=store)
        self._pages = PageReader(repository=repository, store=store, time_bound=TimeBound())
        self._highlighter = highlighter
        self._now = now
        self._warned = False

    async def search(self, request: SearchRequest, *, principal: Principal) -> SearchResponse:
        """Return a page of the ranking: ``limit`` results, or the whole window if that is smaller.

        Raises InvalidInputError for a request out of its limits, ForbiddenError for one that asks for files by a
        principal that may not read them, AllSourcesFailedError if no source replied, and StorageUnavailableError if
        the contents cannot be read.
        """
        self._check(request)
        profile = self._profile(request)
        _require_scope(profile, request, principal)
        clock = asyncio.get_running_loop().time
        position = page_cursor.decode(request, window=profile.rank_window_size, now=self._now())
        now = position.moment or self._now()
        if position.reranked is False:
            profile = replace(profile, steps=replace(profile.steps, rerank=False))
        deadline = clock() + self._limits.total_timeout_seconds
        results = await self._retrieval.retrieve(profile, request, principal=principal, now=now, deadline=deadline)
        ranking = await self._fusion.rank(profile, results, deadline=deadline)
        steps = await self._steps(ranking, request, principal=principal, now=now, deadline=deadline)
        ranked: Sequence[FusedHit | Candidate] = (
            ranking.hits if steps is None or steps.candidates is None else steps.candidates
        )
        window = ranked[: profile.rank_window_size]
        page = await self._pages.read(
            window,
            ranking,
            offset=position.offset,
            limit=request.limit,
            neighbours=profile.steps.neighbours,
            principal=principal,
            deadline=max(deadline, clock() + READING_SECONDS),
        )
        hits = page.hits
        if request.explain:
            linear = ranking.profile.method is FusionMethod.LINEAR
            hits = await explain_hits(hits, usable_results(results), linear=linear)
            hits = with_ranks(hits, steps.orders if steps else ())
        marks: tuple[SourceReport, ...] = ()
        if request.highlight and self._highlighter is not None:
            marked = await self._highlighter.mark(hits, results, query=request.query, deadline=deadline)
            hits, marks = marked.hits, marked.reports
        taken = (*(steps.steps if steps else ()), *page.steps)
        following = Position(offset=page.end, moment=now, reranked=_reranked(steps))
        return SearchResponse(
            mode_used=ranking.mode_used,
            hits=hits,
            reports=(*(result.report for result in results), *(steps.reports if steps else ()), *page.reports, *marks),
            next_cursor=page_cursor.encode(following, request) if page.end < len(window) else None,
            explanation=(
                explanation(
                    ranking.profile,
                    results,
                    weights=ranking.weights,
                    thresholds=ranking.thresholds,
                    window=len(window),
                    steps=taken,
                )
                if request.explain
                else None
            ),
            steps=taken,
            facets=_facets(window) if request.facets else None,
        )

    def _check(self, request: SearchRequest) -> None:
        if is_blank(request.query):
            raise InvalidInputError("query is empty.", field="query", remedy="Ask for something.")
        require_length(request.query, field="query", limit=self._limits.max_query_characters)
        require_filters(request.filters, conditions=self._limits.max_filter_conditions)
        require_storable(request.query, field="query")
        if request.exact_keywords is not None:
            require_length(request.exact_keywords, field="exact_keywords", limit=MAX_GREP_QUERY)
            require_storable(request.exact_keywords, field="exact_keywords")
        if not 1 <= request.limit <= self._limits.max_limit:
            raise InvalidInputError(
                "limit is out of range.",
                field="limit",
                limit=f"1 to {self._limits.max_limit}",
                remedy="Ask for fewer results and follow next_cursor.",
            )

    def _profile(self, request: SearchRequest) -> RetrievalProfile:
        if request.by_keywords:
            return self._named(KEYWORDS_PROFILE).overridden_by(request)
        profile = self._chosen(request)
        if request.has_keywords and OWN_SOURCES.issuperset(profile.sources) and GREP not in profile.sources:
            raise InvalidInputError(
                "exact_keywords are looked for in files, which this search does not ask.",
                field="exact_keywords",
                limit="profiles files and grep",
                remedy="Name one of those, leave out mode and profile, or leave out the keywords.",
            )
        return profile

    def _chosen(self, request: SearchRequest) -> RetrievalProfile:
        if request.profile is not None:
            return self._named(request.profile).overridden_by(request)
        mode = self._default_mode if request.mode is SearchMode.AUTO else request.mode
        if mode is not SearchMode.HYBRID:
            return self._profiles[mode.value].overridden_by(request)
        method = request.method or self._default_method
        if not self._fusion.knows(method):
            if not self._warned:
                logger.warning("hybrid search is on but no fusion service is wired: searching dense only")
                self._warned = True
            return self._profiles["dense"].overridden_by(request)
        return self._profiles["linear" if method is FusionMethod.LINEAR else "hybrid"].overridden_by(request)

    def _named(self, name: str) -> RetrievalProfile:
        profile = self._profiles.get(name)
        if profile is None or (self._fusion.knows_any and not self._fusion.knows(profile.method)):
            raise InvalidInputError(
                "profile is not a known one.",
                field="profile",
                limit=", ".join(sorted(self._profiles)),
                remedy="Name one of them, or leave it out.",
            )
        return profile

    async def _steps(
        self, ranking: Ranking, request: SearchRequest, *, principal: Principal, now: datetime, deadline: float
    ) -> PipelineResult | None:
        if not self._pipeline.wanted(ranking, facets=request.facets):
            return None
        return await self._pipeline.apply(
            ranking,
            query=request.query,
            principal=principal,
            now=now,
            deadline=deadline,
            explain=request.explain,
        )


def _require_scope(profile: RetrievalProfile, request: SearchRequest, principal: Principal) -> None:
    """Raise ForbiddenError where files are what the request is for, and they are kept from the principal.

    Of a profile that asks them beside others, the others answer.
    """
    if principal.may_read_files or GREP not in profile.sources:
        return
    named = request.has_keywords or request.profile in (KEYWORDS_PROFILE, GREP)
    if named or request.require_all or set(profile.sources) == {GREP}:
        raise ForbiddenError(Scope.TOOLS)


def _reranked(steps: PipelineResult | None) -> bool:
    return steps is not None and any(step.step == RERANK and step.skipped is None for step in steps.steps)


def _facets(window: Sequence[FusedHit | Candidate]) -> dict[str, dict[str, int]] | None:
    """Count what was found, by facet, if it could be described; a candidate without a date is in no month."""
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

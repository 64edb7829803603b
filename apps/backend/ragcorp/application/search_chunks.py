"""Use case: search the passages of every collection."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from ragcorp.application import page_cursor, reranking
from ragcorp.application.artifact_deduplication import collections_of
from ragcorp.application.list_fusion import ListFusion, Ranking, usable_results
from ragcorp.application.neighbour_expansion import expanded
from ragcorp.application.retrieval_profile import OWN_LISTS, RetrievalProfile
from ragcorp.application.search_explanation import explain_hits, explanation
from ragcorp.application.source_fan_out import FILTERED, OPERATORS, SourceFanOut
from ragcorp.application.step_pipeline import PipelineResult, StepPipeline
from ragcorp.application.visibility_policy import readable_passage
from ragcorp.domain.candidates import Candidate
from ragcorp.domain.collections import FACETS
from ragcorp.domain.documents import Chunk
from ragcorp.domain.exceptions import AllSourcesFailedError, InvalidInputError
from ragcorp.domain.ports.collections import CandidateStore
from ragcorp.domain.ports.sources import FusionService, SourceQuery, SourceResult
from ragcorp.domain.ports.storage import DocumentRepository
from ragcorp.domain.principal import Principal
from ragcorp.domain.retrieval import CHUNK_COLLECTION, FusedHit, Hit, HitKey, RankedList, ScoreType, SourceOutcome
from ragcorp.domain.search import FusionMethod, SearchHit, SearchMode, SearchRequest, SearchResponse
from ragcorp.domain.text import is_blank, require_length, require_storable

logger = logging.getLogger(__name__)


def current_hour() -> datetime:
    """Return the hour that it is: ages and look-backs are counted in hours, so that a question has one answer."""
    return datetime.now(UTC).replace(minute=0, second=0, microsecond=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchLimits:
    """What a search may ask for, and how long it may take (seconds)."""

    max_query_characters: int = 2000
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
        now: Callable[[], datetime] = current_hour,
    ) -> None:
        self._fan_out = fan_out
        self._repository = repository
        self._fusion = ListFusion(
            fusions=fusions, modes={profile.sources: profile.mode for profile in reversed(list(profiles.values()))}
        )
        self._profiles = dict(profiles)
        self._default_mode = default_mode
        self._default_method = default_method
        self._limits = limits
        self._store = store
        self._pipeline = pipeline or StepPipeline(store=store)
        self._now = now
        self._warned = False

    async def execute(self, request: SearchRequest, *, principal: Principal) -> SearchResponse:
        """Return a page of the ranking: ``limit`` results, or the whole window if that is smaller.

        Raises InvalidInputError for a request out of its limits and AllSourcesFailedError if no source replied.
        """
        self._check(request)
        profile = self._profile(request)
        offset = page_cursor.decode(request, window=profile.rank_window_size)
        now = self._now()
        deadline = asyncio.get_running_loop().time() + self._limits.total_timeout_seconds
        results = await self._retrieve(profile, request, principal=principal, now=now, deadline=deadline)
        _require_answers(results, request)
        ranking = await self._fusion.rank(profile, results, deadline=deadline)
        steps = await self._steps(ranking, request, principal=principal, now=now, deadline=deadline)
        window = steps.candidates[: profile.rank_window_size] if steps else ranking.hits[: profile.rank_window_size]
        hits, end = await self._page(window, offset, request.limit, principal, ranking)
        hits = await self._with_neighbours(hits, profile.steps.neighbours, principal)
        if request.explain:
            linear = ranking.profile.method is FusionMethod.LINEAR
            hits = await explain_hits(hits, usable_results(results), linear=linear)
        reports = tuple(result.report for result in results) + (steps.reports if steps else ())
        return SearchResponse(
            mode_used=ranking.mode_used,
            hits=hits,
            reports=reports,
            next_cursor=page_cursor.encode(end, request) if end < len(window) else None,
            explanation=(
                explanation(
                    ranking.profile,
                    results,
                    weights=ranking.weights,
                    thresholds=ranking.thresholds,
                    window=len(window),
                    steps=steps.steps if steps else (),
                )
                if request.explain
                else None
            ),
            steps=steps.steps if steps else (),
            facets=_facets(steps.candidates[: profile.rank_window_size]) if steps and request.facets else None,
        )

    def _check(self, request: SearchRequest) -> None:
        if is_blank(request.query):
            raise InvalidInputError("query is empty.", field="query", remedy="Ask for something.")
        require_length(request.query, field="query", limit=self._limits.max_query_characters)
        require_storable(request.query, field="query")
        if not 1 <= request.limit <= self._limits.max_limit:
            raise InvalidInputError(
                "limit is out of range.",
                field="limit",
                limit=f"1 to {self._limits.max_limit}",
                remedy="Ask for fewer results and follow next_cursor.",
            )

    def _profile(self, request: SearchRequest) -> RetrievalProfile:
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

    async def _retrieve(
        self, profile: RetrievalProfile, request: SearchRequest, *, principal: Principal, now: datetime, deadline: float
    ) -> list[SourceResult]:
        def query_of(source: str) -> SourceQuery:
            hours = profile.lookback_hours.get(source)
            return SourceQuery(
                text=request.query,
                principal=principal,
                filters=request.filters,
                limit=profile.pool(source),
                syntax=request.syntax,
                explain=request.explain,
                now=now,
                since=None if hours is None else now - timedelta(hours=hours),
            )

        results = await self._fan_out.ask(profile.sources, query_of, deadline=deadline, identify=self._identified)
        if profile.stand_in and results[0].report.reason is not None:
            results += await self._fan_out.ask(
                [profile.stand_in], query_of, deadline=deadline, identify=self._identified
            )
        return results

    async def _identified(self, ranked: RankedList, principal: Principal) -> RankedList:
        """Give hits that are named by document and position their chunk ids, so that one chunk has one identity.

        A position where no chunk is (any more) is left out, as is the second name of a chunk, and of a source of the
        user's own what the principal may not read: it must not even be counted.
        """
        positions = [
            (hit.document_id, hit.chunk_index)
            for hit in ranked.hits
            if hit.chunk_id is None and hit.document_id is not None and hit.chunk_index is not None
        ]
        if positions:
            known = await self._repository.find_chunk_ids(positions, principal=principal)
            hits: dict[HitKey, Hit] = {}
            for hit in ranked.hits:
                chunk_id = hit.chunk_id or known.get((hit.document_id, hit.chunk_index))  # type: ignore[arg-type]
                if hit.item_id is not None:
                    hits.setdefault(hit.key, hit)
                elif chunk_id is not None:
                    named = replace(hit, chunk_id=chunk_id)
                    hits.setdefault(named.key, named)
            ranked = replace(ranked, hits=tuple(hits.values()))
        if ranked.source in OWN_LISTS or not ranked.hits:
            return ranked
        described = await self._store.describe([hit.key for hit in ranked.hits], principal=principal)
        return replace(ranked, hits=tuple(hit for hit in ranked.hits if hit.key in described))

    async def _steps(
        self, ranking: Ranking, request: SearchRequest, *, principal: Principal, now: datetime, deadline: float
    ) -> PipelineResult | None:
        if not self._pipeline.wanted(ranking, facets=request.facets):
            return None
        return await self._pipeline.apply(ranking, query=request.query, principal=principal, now=now, deadline=deadline)

    async def _page(
        self, window: Sequence[FusedHit | Candidate], offset: int, limit: int, principal: Principal, ranking: Ranking
    ) -> tuple[tuple[SearchHit, ...], int]:
        """Fetch ``limit`` results from ``offset`` on, passing over passages that were replaced meanwhile."""
        hits: list[SearchHit] = []
        end = offset
        while len(hits) < limit and end < len(window):
            batch = window[end : end + limit - len(hits)]
            passages = await self._passages([_fused(item).hit.key for item in batch], principal)
            for rank, item in enumerate(batch, start=end + 1):
                passage = passages.get(_fused(item).hit.key)
                if passage is not None and readable_passage(principal, passage):
                    hits.append(_hit(rank, item, passage, ranking))
            end += len(batch)
        return tuple(hits), end

    async def _passages(self, keys: Sequence[HitKey], principal: Principal) -> Mapping[HitKey, Chunk]:
        if any(collection for _, collection, _ in keys):
            return await self._store.read(keys, principal=principal)
        chunks = await self._repository.get_chunks([key[0] for key in keys], principal=principal)
        return {chunk.key: chunk for chunk in chunks.values()}

    async def _with_neighbours(
        self, hits: tuple[SearchHit, ...], distance: int, principal: Principal
    ) -> tuple[SearchHit, ...]:
        centres = [
            (hit.chunk.document_id, hit.chunk.chunk_index) for hit in hits if hit.chunk.collection == CHUNK_COLLECTION
        ]
        if not distance or not centres:
            return hits
        neighbours = await self._store.neighbours(centres, distance=distance, principal=principal)
        return tuple(replace(hit, chunk=expanded(hit.chunk, neighbours, distance=distance)) for hit in hits)


def _require_answers(results: Sequence[SourceResult], request: SearchRequest) -> None:
    """Raise AllSourcesFailedError where no source replied, or one did not that the request requires.

    Raises InvalidInputError where the filters leave no source to ask.
    """
    reports = [result.report for result in results]
    if all(
        report.outcome is SourceOutcome.SKIPPED and (report.reason or FILTERED).startswith((FILTERED, OPERATORS))
        for report in reports
    ):
        by_syntax = any((report.reason or "").startswith(OPERATORS) for report in reports)
        raise InvalidInputError(
            f"No source of this search can apply the {'operators' if by_syntax else 'filters'}.",
            field="syntax" if by_syntax else "filters",
            remedy=(
                "Use syntax plain, or a profile that searches chunks."
                if by_syntax
                else "Name a profile whose collections have these fields, or leave the filter out."
            ),
        )
    degraded = [result for result in results if result.report.reason is not None]
    if not any(result.answer is not None for result in results) or (request.require_all and degraded):
        reasons = sorted({f"{result.report.source}:{result.report.reason}" for result in degraded})
        message = "A source did not do its part, and require_all takes no answer without it."
        raise AllSourcesFailedError(
            message if request.require_all else "No retrieval source could answer.",
            reason=",".join(reasons),
            remedy="Try again shortly; `ragcorp doctor` explains what is down.",
        )


def _fused(item: FusedHit | Candidate) -> FusedHit:
    return item.fused if isinstance(item, Candidate) else item


def _hit(rank: int, item: FusedHit | Candidate, passage: Chunk, ranking: Ranking) -> SearchHit:
    if not isinstance(item, Candidate):
        return SearchHit(
            rank=rank,
            score=item.score,
            score_type=ranking.score_type,
            chunk=passage,
            sources=item.contributions,
            collections=(passage.collection,),
        )
    return SearchHit(
        rank=rank,
        score=item.score,
        score_type=_score_type(item, ranking),
        chunk=passage,
        sources=item.fused.contributions,
        collections=collections_of(item),
        steps=item.notes,
    )


def _score_type(candidate: Candidate, ranking: Ranking) -> str:
    if reranking.STEP in candidate.notes:
        return ScoreType.RELEVANCE
    return ScoreType.DECAYED if ranking.profile.steps.decay is not None else ranking.score_type


def _facets(candidates: Sequence[Candidate]) -> dict[str, dict[str, int]]:
    """Count what was found, by facet; a candidate without a date is in no month."""
    counts = {name: Counter[str]() for name in FACETS}
    for candidate in candidates:
        described = candidate.description
        counts["collection"][described.collection] += 1
        counts["artifact_type"][described.kind] += 1
        counts["language"][described.language] += 1
        if described.occurred_at is not None:
            counts["month"][f"{described.occurred_at.astimezone(UTC):%Y-%m}"] += 1
    return {name: dict(sorted(counted.items())) for name, counted in counts.items()}

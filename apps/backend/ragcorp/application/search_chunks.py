"""Use case: search the chunks."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ragcorp.application import page_cursor
from ragcorp.application.retrieval_profile import RetrievalProfile
from ragcorp.application.source_fan_out import SourceFanOut
from ragcorp.application.thresholds import Threshold, above_thresholds
from ragcorp.domain.exceptions import AllSourcesFailedError, InvalidInputError
from ragcorp.domain.ports.sources import FusionService, SourceQuery
from ragcorp.domain.ports.storage import DocumentRepository
from ragcorp.domain.principal import Principal
from ragcorp.domain.retrieval import Contribution, FusedHit, Hit, RankedList, ScoreType, SourceReport, SourceResult
from ragcorp.domain.search import SearchHit, SearchMode, SearchRequest, SearchResponse
from ragcorp.domain.text import is_blank, require_length, require_storable

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchLimits:
    """What a search may ask for, and how long it may take (seconds)."""

    max_query_characters: int = 2000
    max_limit: int = 50
    total_timeout_seconds: float = 4.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ranking:
    """The ranking, the mode that was used after all, the kind of score, and the weights, if lists were fused."""

    mode_used: SearchMode
    hits: Sequence[FusedHit]
    score_type: str
    weights: Mapping[str, float] | None = None


class SearchChunks:
    """Asks the profile's sources, fuses their lists and fetches the content of what is returned, and of that only."""

    def __init__(
        self,
        *,
        fan_out: SourceFanOut,
        repository: DocumentRepository,
        fusion: FusionService | None,
        profiles: Mapping[SearchMode, RetrievalProfile],
        default_mode: SearchMode,
        limits: SearchLimits,
    ) -> None:
        self._fan_out = fan_out
        self._repository = repository
        self._fusion = fusion
        self._profiles = dict(profiles)
        self._default_mode = default_mode
        self._limits = limits
        self._warned = False

    async def execute(self, request: SearchRequest, *, principal: Principal) -> SearchResponse:
        """Return a page of the ranking: ``limit`` results, or the whole window if that is smaller.

        Raises InvalidInputError for a request out of its limits and AllSourcesFailedError if no source replied.
        """
        self._check(request)
        profile = self._profile(request)
        offset = page_cursor.decode(request, window=profile.rank_window_size)
        query = SourceQuery(
            text=request.query, principal=principal, filters=request.filters, limit=profile.rank_window_size
        )
        deadline = asyncio.get_running_loop().time() + self._limits.total_timeout_seconds
        results = await self._retrieve(profile, query, deadline)
        reports = tuple(result.report for result in results)
        lists = _usable(results)
        if not lists:
            raise AllSourcesFailedError(
                "No retrieval source could answer.",
                reason=",".join(sorted({f"{report.source}:{report.reason}" for report in reports})),
                remedy="Try again shortly; `ragcorp doctor` explains what is down.",
            )
        thresholds: Sequence[Threshold] = ()
        if len(lists) > 1 and all(report.reason is None for report in reports):
            # where a source is out or could not see everything, each bit of evidence of the others counts
            kinds = {(ranked.source, ranked.score_type) for ranked in lists}
            thresholds = [each for each in profile.thresholds if (each.source, each.score_type) in kinds]
            lists = above_thresholds(lists, thresholds)
        seen = {result.report.source: result.seen for result in results}
        ranking = self._rank(profile, lists, seen)
        window = ranking.hits[: profile.rank_window_size]
        hits, end = await self._page(window, offset, request.limit, principal, ranking.score_type)
        return SearchResponse(
            mode_used=ranking.mode_used,
            hits=hits,
            reports=reports,
            next_cursor=page_cursor.encode(end, request) if end < len(window) else None,
            explanation=_explanation(profile, ranking, thresholds, reports, len(window)) if request.explain else None,
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
        mode = self._default_mode if request.mode is SearchMode.AUTO else request.mode
        if mode is SearchMode.HYBRID and self._fusion is None:
            if not self._warned:
                logger.warning("hybrid search is on but no fusion service is wired: searching dense only")
                self._warned = True
            mode = SearchMode.DENSE
        return self._profiles[mode].overridden_by(request)

    async def _retrieve(self, profile: RetrievalProfile, query: SourceQuery, deadline: float) -> list[SourceResult]:
        results = await self._fan_out.ask(profile.sources, query, deadline=deadline, identify=self._identified)
        if profile.stand_in and results[0].report.reason is not None:
            results += await self._fan_out.ask([profile.stand_in], query, deadline=deadline, identify=self._identified)
        return results

    async def _identified(self, ranked: RankedList, principal: Principal) -> RankedList:
        """Give hits that are named by document and position their chunk ids, so that one chunk has one identity.

        A position where no chunk is (any more) is left out, as is the second name of a chunk.
        """
        positions = [
            (hit.document_id, hit.chunk_index)
            for hit in ranked.hits
            if hit.chunk_id is None and hit.document_id is not None and hit.chunk_index is not None
        ]
        if not positions:
            return ranked
        known = await self._repository.find_chunk_ids(positions, principal=principal)
        hits: dict[str, Hit] = {}
        for hit in ranked.hits:
            chunk_id = hit.chunk_id or known.get((hit.document_id, hit.chunk_index))  # type: ignore[arg-type]
            if chunk_id is not None:
                hits.setdefault(chunk_id, replace(hit, chunk_id=chunk_id))
        return replace(ranked, hits=tuple(hits.values()))

    def _rank(self, profile: RetrievalProfile, lists: Sequence[RankedList], seen: Mapping[str, float]) -> _Ranking:
        """Make one ranking of the lists.

        A list that saw only a share of the evidence (vectors pending) weighs so much less: a first rank among a
        few embedded chunks says little.
        """
        if self._fusion is None:
            lists = [next((ranked for ranked in lists if ranked.hits), lists[0])]
        if self._fusion is None or len(lists) == 1:
            mode = next(
                (mode for mode, known in self._profiles.items() if known.sources == (lists[0].source,)), profile.mode
            )
            return _Ranking(mode_used=mode, hits=_as_ranked(lists[0]), score_type=lists[0].score_type)
        weights = {ranked.source: profile.weights.get(ranked.source, 1.0) * seen[ranked.source] for ranked in lists}
        fused = self._fusion.fuse(lists, weights=weights, k=profile.rank_constant)
        return _Ranking(mode_used=SearchMode.HYBRID, hits=fused, score_type=ScoreType.RRF, weights=weights)

    async def _page(
        self, window: Sequence[FusedHit], offset: int, limit: int, principal: Principal, score_type: str
    ) -> tuple[tuple[SearchHit, ...], int]:
        """Fetch ``limit`` results from ``offset`` on, passing over chunks that were replaced meanwhile."""
        hits: list[SearchHit] = []
        end = offset
        while len(hits) < limit and end < len(window):
            batch = window[end : end + limit - len(hits)]
            chunks = await self._repository.get_chunks([item.hit.key[0] for item in batch], principal=principal)
            for rank, item in enumerate(batch, start=end + 1):
                chunk = chunks.get(item.hit.key[0])
                if chunk is not None:
                    hits.append(
                        SearchHit(
                            rank=rank,
                            score=item.score,
                            score_type=score_type,
                            chunk=chunk,
                            sources=item.contributions,
                        )
                    )
            end += len(batch)
        return tuple(hits), end


def _usable(results: Sequence[SourceResult]) -> list[RankedList]:
    """Return the lists to fuse. A source that could see nothing yet gives none, as long as another replied."""
    lists = [result.ranked_list for result in results if result.ranked_list is not None]
    seeing = [
        result.ranked_list
        for result in results
        if result.ranked_list is not None and (result.ranked_list.hits or result.report.reason is None)
    ]
    return seeing or lists


def _as_ranked(ranked: RankedList) -> tuple[FusedHit, ...]:
    """A single list keeps its source's scores and order."""
    return tuple(
        FusedHit(
            hit=hit,
            score=hit.score,
            contributions=(
                Contribution(
                    source=ranked.source,
                    rank=rank,
                    score=hit.score,
                    score_type=ranked.score_type,
                    weight=1.0,
                    value=hit.score,
                ),
            ),
        )
        for rank, hit in enumerate(ranked.hits, start=1)
    )


def _explanation(
    profile: RetrievalProfile,
    ranking: _Ranking,
    thresholds: Sequence[Threshold],
    reports: Sequence[SourceReport],
    window: int,
) -> Mapping[str, object]:
    """Say how the ranking came about, with the weights and thresholds that were applied and no others."""
    fused = ranking.weights is not None
    return {
        "profile": profile.name,
        "formula": "score = sum of weight / (rank_constant + rank)" if fused else "score = the source's own score",
        "rank_constant": profile.rank_constant if fused else None,
        "weights": dict(ranking.weights or {}),
        "thresholds": [
            {"source": threshold.source, "score_type": threshold.score_type, "minimum": threshold.minimum}
            for threshold in thresholds
        ],
        "rank_window_size": profile.rank_window_size,
        "window": window,
        "sources": [
            {
                "source": report.source,
                "outcome": report.outcome.value,
                "reason": report.reason,
                "hits": report.hits,
                "elapsed_ms": report.elapsed_ms,
            }
            for report in reports
        ],
    }

"""Use case: search the chunks."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ragcorp.application import page_cursor
from ragcorp.application.candidate_scoring import can_score_all, complete
from ragcorp.application.retrieval_profile import DENSE, FULL_TEXT, IDENTIFIERS, RetrievalProfile
from ragcorp.application.search_explanation import explain_hits, explanation
from ragcorp.application.source_fan_out import SourceFanOut
from ragcorp.application.thresholds import Threshold, above_thresholds, applicable
from ragcorp.domain.exceptions import AllSourcesFailedError, InvalidInputError, SourceUnavailableError
from ragcorp.domain.ports.sources import FusionService, SourceQuery, SourceResult
from ragcorp.domain.ports.storage import DocumentRepository
from ragcorp.domain.principal import Principal
from ragcorp.domain.retrieval import Contribution, FusedHit, Hit, RankedList, ScoreType
from ragcorp.domain.search import FusionMethod, SearchHit, SearchMode, SearchRequest, SearchResponse
from ragcorp.domain.text import is_blank, require_length, require_storable

logger = logging.getLogger(__name__)

SCORE_TYPE = {FusionMethod.RRF: ScoreType.RRF, FusionMethod.LINEAR: ScoreType.LINEAR}


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchLimits:
    """What a search may ask for, and how long it may take (seconds)."""

    max_query_characters: int = 2000
    max_limit: int = 50
    total_timeout_seconds: float = 4.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ranking:
    """The ranking, the mode that was used after all, the kind of score, and how lists were fused, if they were."""

    mode_used: SearchMode
    hits: Sequence[FusedHit]
    score_type: str
    profile: RetrievalProfile
    weights: Mapping[str, float] | None = None
    thresholds: Sequence[Threshold] = ()


class SearchChunks:
    """Asks the profile's sources, fuses their lists and fetches the content of what is returned, and of that only."""

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
    ) -> None:
        self._fan_out = fan_out
        self._repository = repository
        self._fusions = dict(fusions)
        self._profiles = dict(profiles)
        self._default_mode = default_mode
        self._default_method = default_method
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
            text=request.query,
            principal=principal,
            filters=request.filters,
            limit=profile.rank_window_size,
            syntax=request.syntax,
        )
        deadline = asyncio.get_running_loop().time() + self._limits.total_timeout_seconds
        results = await self._retrieve(profile, query, deadline)
        usable = _usable(results)
        if not usable:
            reasons = sorted({f"{result.report.source}:{result.report.reason}" for result in results})
            raise AllSourcesFailedError(
                "No retrieval source could answer.",
                reason=",".join(reasons),
                remedy="Try again shortly; `ragcorp doctor` explains what is down.",
            )
        ranking = await self._rank(profile, usable, results, deadline)
        window = ranking.hits[: profile.rank_window_size]
        hits, end = await self._page(window, offset, request.limit, principal, ranking.score_type)
        if request.explain:
            hits = await explain_hits(hits, usable, linear=ranking.profile.method is FusionMethod.LINEAR)
        return SearchResponse(
            mode_used=ranking.mode_used,
            hits=hits,
            reports=tuple(result.report for result in results),
            next_cursor=page_cursor.encode(end, request) if end < len(window) else None,
            explanation=(
                explanation(
                    ranking.profile,
                    results,
                    weights=ranking.weights,
                    thresholds=ranking.thresholds,
                    window=len(window),
                )
                if request.explain
                else None
            ),
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
        if method not in self._fusions:
            if not self._warned:
                logger.warning("hybrid search is on but no fusion service is wired: searching dense only")
                self._warned = True
            return self._profiles["dense"].overridden_by(request)
        return self._profiles["linear" if method is FusionMethod.LINEAR else "hybrid"].overridden_by(request)

    def _named(self, name: str) -> RetrievalProfile:
        profile = self._profiles.get(name)
        if profile is None or (self._fusions and profile.method not in self._fusions):
            raise InvalidInputError(
                "profile is not a known one.",
                field="profile",
                limit=", ".join(sorted(self._profiles)),
                remedy="Name one of them, or leave it out.",
            )
        return profile

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

    async def _rank(
        self,
        profile: RetrievalProfile,
        usable: Sequence[SourceResult],
        results: Sequence[SourceResult],
        deadline: float,
    ) -> _Ranking:
        """Make one ranking of the lists.

        A list that saw only a share of the evidence (vectors pending) weighs so much less: a first rank among a
        few embedded chunks says little.
        """
        lists = _lists(usable)
        if len(usable) > 1:  # alone, a source has met its own conditions
            lists = await _admitted(lists, usable)
        if FusionMethod.RRF not in self._fusions:
            lists = [next((ranked for ranked in lists if ranked.hits), lists[0])]
        if len(lists) == 1:
            (ranked,) = lists
            return _Ranking(
                mode_used=self._mode_of(usable, profile),
                hits=_as_ranked(ranked),
                score_type=ranked.score_type,
                profile=profile,
            )
        if profile.method is FusionMethod.LINEAR:
            completed = await self._completed(results, lists, deadline)
            if completed is None and profile.fallback is not None:
                return await self._rank(profile.fallback, usable, results, deadline)
            lists = completed or lists
        # where a source is out or could not see everything, each bit of evidence of the others counts
        healthy = all(result.report.reason is None for result in results)
        thresholds = applicable(lists, profile.thresholds) if healthy else []
        lists = above_thresholds(lists, thresholds)
        weights = _weights(profile, usable, lists)
        fused = self._fusions[profile.method].fuse(lists, weights=weights, k=profile.rank_constant)
        return _Ranking(
            mode_used=self._mode_of(usable, profile),
            hits=fused,
            score_type=SCORE_TYPE[profile.method],
            profile=profile,
            weights=weights,
            thresholds=thresholds,
        )

    def _mode_of(self, usable: Sequence[SourceResult], profile: RetrievalProfile) -> SearchMode:
        """Return the mode that asks just the sources that were usable; of several, hybrid."""
        if len(usable) > 1:
            return SearchMode.HYBRID
        alone = (usable[0].report.source,)
        return next((known.mode for known in self._profiles.values() if known.sources == alone), profile.mode)

    async def _completed(
        self, results: Sequence[SourceResult], lists: Sequence[RankedList], deadline: float
    ) -> list[RankedList] | None:
        """Return the lists with every candidate's exact scores, or None where a score cannot be had."""
        if not can_score_all(results, (DENSE, FULL_TEXT)):
            return None
        try:
            async with asyncio.timeout_at(deadline):
                return await complete(results, lists)
        except (TimeoutError, SourceUnavailableError):
            logger.warning("candidates could not be scored: fusing by rank", exc_info=True)
            return None

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


def _usable(results: Sequence[SourceResult]) -> list[SourceResult]:
    """Return the results to fuse. A source that could see nothing yet gives none, as long as another replied."""
    answered = [result for result in results if result.answer is not None]
    seeing = [result for result in answered if result.report.hits or result.report.reason is None]
    return seeing or answered


def _lists(usable: Sequence[SourceResult]) -> list[RankedList]:
    """Return the lists to fuse. Where one source alone replied, its main list is the ranking, but for identifiers."""
    answers = [result.answer for result in usable if result.answer is not None]
    if len(answers) == 1:
        (answer,) = answers
        named = any(ranked.source == IDENTIFIERS and ranked.hits for ranked in answer.further)
        return list(answer.lists) if named else [answer.ranked_list]
    return [ranked for answer in answers for ranked in answer.lists]


async def _admitted(lists: list[RankedList], usable: Sequence[SourceResult]) -> list[RankedList]:
    """Return the lists without what the query's operators exclude."""
    for result in usable:
        if result.answer is not None and result.answer.admits is not None:
            chunk_ids = list(dict.fromkeys(hit.key[0] for ranked in lists for hit in ranked.hits))
            admitted = await result.answer.admits(chunk_ids)
            lists = [
                replace(ranked, hits=tuple(hit for hit in ranked.hits if hit.key[0] in admitted)) for ranked in lists
            ]
    return lists


def _weights(
    profile: RetrievalProfile, usable: Sequence[SourceResult], lists: Sequence[RankedList]
) -> dict[str, float]:
    """Return the weight of each list: the profile's, times what its source says of it on this query.

    Only a fusion of scores emphasises: multiplied, the ranks of one list would decide alone.
    """
    emphasised = profile.method is FusionMethod.LINEAR
    factors = {
        ranked.source: result.answer.seen
        * (
            result.answer.emphasis.get(ranked.source, 1.0)
            if emphasised and ranked.source not in profile.chosen_weights
            else 1.0
        )
        for result in usable
        if result.answer is not None
        for ranked in result.answer.lists
    }
    return {ranked.source: profile.weights.get(ranked.source, 1.0) * factors[ranked.source] for ranked in lists}


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

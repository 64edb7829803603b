"""Fuses the lists of the sources into one ranking."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ragcorp.application.retrieval.fusion.thresholds import Threshold, above_thresholds, applicable, distances_of
from ragcorp.application.retrieval.profiles.profile import RetrievalProfile
from ragcorp.application.retrieval.search.plan import QueryPlan
from ragcorp.domain.exceptions import SourceUnavailableError
from ragcorp.domain.ports.sources import CandidateScorer, FusionService, SourceResult
from ragcorp.domain.retrieval import Contribution, FusedHit, FusedHits, Hit, RankedList, ScoreType
from ragcorp.domain.search.requests import FusionMethod, SearchMode
from ragcorp.domain.search.sources import DENSE, FULL_TEXT, IDENTIFIERS
from ragcorp.tracing import Span

logger = logging.getLogger(__name__)

SCORE_TYPE = {FusionMethod.RRF: ScoreType.RRF, FusionMethod.LINEAR: ScoreType.LINEAR}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """The fused hits, and how they were fused; ``weights`` is None for one list. ``plan`` has the profile in effect."""

    plan: QueryPlan
    mode_used: SearchMode
    hits: Sequence[FusedHit]
    score_type: str
    weights: Mapping[str, float] | None = None
    thresholds: Sequence[Threshold] = ()


class ListFusion:
    """Fuses the lists of the usable results by the plan's profile. ``modes`` gives the mode of a set of sources."""

    def __init__(
        self, *, fusions: Mapping[FusionMethod, FusionService], modes: Mapping[tuple[str, ...], SearchMode]
    ) -> None:
        self._fusions = dict(fusions)
        self._modes = dict(modes)

    async def rank(self, plan: QueryPlan, results: Sequence[SourceResult]) -> Ranking:
        """Return one ranking. A list's weight is multiplied by the share of the evidence that it searched."""
        profile = plan.profile
        usable = usable_results(results)
        lists = _lists(usable)
        if len(usable) > 1:  # alone, a source has met its own conditions
            lists = await _admitted(lists, usable)
        distances = applicable(lists, distances_of(profile.thresholds))
        lists = above_thresholds(lists, distances)
        if FusionMethod.RRF not in self._fusions:
            lists = [next((ranked for ranked in lists if ranked.hits), lists[0])]
        if len(lists) == 1:
            (ranked,) = lists
            return Ranking(
                mode_used=self._mode_of(usable, profile),
                hits=_as_ranked(ranked),
                score_type=ranked.score_type,
                plan=plan,
                thresholds=distances,
            )
        if profile.method is FusionMethod.LINEAR:
            completed = await _completed(results, lists, plan.deadline)
            if completed is None and profile.fallback is not None:
                return await self.rank(replace(plan, profile=profile.fallback), results)
            lists = completed or lists
        # where a source failed, was incomplete or found nothing, weak evidence of the others counts
        healthy = all(result.report.reason is None for result in results) and sum(map(bool, map(len, lists))) > 1
        shares = [threshold for threshold in profile.thresholds if not threshold.is_distance]
        thresholds = applicable(lists, shares) if healthy else []
        lists = above_thresholds(lists, thresholds)
        weights = _weights(profile, usable, lists)
        with Span("fuse", lists=len(lists)):
            fused = self._fusions[profile.method].fuse(lists, weights=weights, k=profile.rank_constant)
        return Ranking(
            mode_used=self._mode_of(usable, profile),
            hits=fused,
            score_type=SCORE_TYPE[profile.method],
            plan=plan,
            weights=weights,
            thresholds=(*distances, *thresholds),
        )

    def _mode_of(self, usable: Sequence[SourceResult], profile: RetrievalProfile) -> SearchMode:
        """Return the mode of the only usable source; hybrid where several were usable."""
        if len(usable) > 1:
            return SearchMode.HYBRID
        return self._modes.get((usable[0].report.source,), profile.mode)


def usable_results(results: Sequence[SourceResult]) -> list[SourceResult]:
    """Return the results to fuse. One that is incomplete and empty is left out, as long as another replied."""
    answered = [result for result in results if result.answer is not None]
    seeing = [result for result in answered if result.report.hits or result.report.reason is None]
    return seeing or answered


def _lists(usable: Sequence[SourceResult]) -> list[RankedList]:
    """Return the lists to fuse. A single source gives its main list only, unless its identifiers matched."""
    answers = [result.answer for result in usable if result.answer is not None]
    if len(answers) == 1:
        (answer,) = answers
        named = any(ranked.source == IDENTIFIERS and ranked.hits for ranked in answer.further)
        return list(answer.lists) if named else [answer.ranked_list]
    return [ranked for answer in answers for ranked in answer.lists]


async def _admitted(lists: list[RankedList], usable: Sequence[SourceResult]) -> list[RankedList]:
    """Return the lists without hits that the query's operators exclude; operators apply to chunks only."""
    for result in usable:
        if result.answer is not None and result.answer.admits is not None:
            chunks = dict.fromkeys(hit.chunk_id for ranked in lists for hit in ranked.hits if hit.chunk_id is not None)
            admitted = await result.answer.admits(list(chunks))
            lists = [
                ranked.with_hits(tuple(hit for hit in ranked.hits if hit.chunk_id in admitted)) for ranked in lists
            ]
    return lists


def _weights(
    profile: RetrievalProfile, usable: Sequence[SourceResult], lists: Sequence[RankedList]
) -> dict[str, float]:
    """Return the lists' weights times the sources' factors; emphasis for linear fusion only: it would decide RRF."""
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


def _as_ranked(ranked: RankedList) -> FusedHits:
    """Return a single list with its scores and order unchanged."""

    def made(place: int) -> FusedHit:
        hit = ranked.hits[place]
        part = Contribution(
            source=ranked.source,
            rank=place + 1,
            score=hit.score,
            score_type=ranked.score_type,
            weight=1.0,
            value=hit.score,
        )
        return FusedHit(hit=hit, score=hit.score, contributions=(part,))

    return FusedHits(range(len(ranked)), made)


async def _completed(
    results: Sequence[SourceResult], lists: Sequence[RankedList], deadline: float
) -> list[RankedList] | None:
    """Return the lists with exact scores of all candidates, or None where a score is unavailable."""
    if not can_score_all(results, (DENSE, FULL_TEXT)):
        return None
    try:
        async with asyncio.timeout_at(deadline):
            return await complete(results, lists)
    except (TimeoutError, SourceUnavailableError):
        logger.warning("candidates could not be scored: fusing by rank", exc_info=True)
        return None


def can_score_all(results: Sequence[SourceResult], sources: Sequence[str]) -> bool:
    """Return whether each of ``sources`` is healthy and can score candidates that it did not list."""
    scoring = {
        result.report.source
        for result in results
        if result.report.reason is None and result.answer is not None and result.answer.scorer is not None
    }
    return scoring.issuperset(sources)


async def complete(results: Sequence[SourceResult], lists: Sequence[RankedList]) -> list[RankedList]:
    """Return ``lists``, with the main list of each scoring source replaced by one over all candidates."""
    candidates = {hit.chunk_id: hit for ranked in lists for hit in ranked.hits if hit.chunk_id is not None}
    scorers = {
        result.report.source: result.answer.scorer
        for result in results
        if result.answer is not None and result.answer.scorer is not None
    }
    scored = [ranked.source for ranked in lists if ranked.source in scorers]
    completed = await asyncio.gather(*(_scored(name, scorers[name], candidates) for name in scored))
    by_name = dict(zip(scored, completed, strict=True))
    return [by_name.get(ranked.source, ranked) for ranked in lists]


async def _scored(name: str, scorer: CandidateScorer, candidates: dict[str, Hit]) -> RankedList:
    scores = await scorer.scores(list(candidates))
    ranking = sorted((-score, chunk_id) for chunk_id, score in scores.items() if chunk_id in candidates)
    return RankedList(
        source=name,
        score_type=scorer.score_type,
        hits=tuple(Hit(chunk_id=chunk_id, score=-negated) for negated, chunk_id in ranking),
    )

"""Scores every candidate exactly by every source that can, for linear fusion."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from ragcorp.domain.ports.sources import CandidateScorer, SourceResult
from ragcorp.domain.retrieval import Hit, RankedList


def can_score_all(results: Sequence[SourceResult], sources: Sequence[str]) -> bool:
    """Return whether each of ``sources`` is healthy and can score candidates that it did not list."""
    scoring = {
        result.report.source
        for result in results
        if result.report.reason is None and result.answer is not None and result.answer.scorer is not None
    }
    return scoring.issuperset(sources)


async def complete(results: Sequence[SourceResult], lists: Sequence[RankedList]) -> list[RankedList]:
    """Return ``lists``, with the main list of each scoring source replaced by one over all candidates.

    Raises what the scorers raise.
    """
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

"""Explains a ranking, so that every score can be recomputed by hand."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ragcorp.application.retrieval.fusion.thresholds import Threshold
from ragcorp.application.retrieval.search.list_fusion import Ranking, usable_results
from ragcorp.application.retrieval.search.step_pipeline import StepOrder
from ragcorp.domain.ports.sources import SourceResult
from ragcorp.domain.retrieval import CHUNK_COLLECTION, HitKey
from ragcorp.domain.search.candidates import StepReport
from ragcorp.domain.search.lexical import K1, B, LexicalEvidence
from ragcorp.domain.search.requests import FusionMethod, SearchHit

FORMULAS = {
    FusionMethod.RRF: "score = sum of weight / (rank_constant + rank)",
    FusionMethod.LINEAR: "score = sum of weight * score; of weight / (rank_constant + rank) if scores are not absolute",
}


async def explain_hits(
    hits: Sequence[SearchHit], results: Sequence[SourceResult], ranking: Ranking, orders: Sequence[StepOrder]
) -> tuple[SearchHit, ...]:
    """Return the hits with the lexemes behind their lexical scores, and their ranks before and after each step."""
    linear = ranking.plan.profile.method is FusionMethod.LINEAR
    chunk_ids = [hit.chunk.id for hit in hits if hit.chunk.collection == CHUNK_COLLECTION]
    evidence: dict[str, Mapping[str, LexicalEvidence]] = {}
    for result in usable_results(results):
        if result.answer is None or result.answer.scorer is None or not chunk_ids:
            continue
        scorer = result.answer.scorer
        score_type = scorer.score_type if linear else result.answer.ranked_list.score_type
        evidence[result.report.source] = await scorer.evidence(chunk_ids, score_type=score_type)
    with_evidence = [
        replace(
            hit,
            evidence={
                part.source: evidence[part.source][hit.chunk.id]
                for part in hit.sources
                if hit.chunk.collection == CHUNK_COLLECTION and hit.chunk.id in evidence.get(part.source, {})
            },
        )
        for hit in hits
    ]
    return with_ranks(with_evidence, orders)


def explanation(
    ranking: Ranking, results: Sequence[SourceResult], *, window: int, steps: Sequence[StepReport]
) -> Mapping[str, object]:
    """Return profile, formula, weights and thresholds as applied, the steps, and the notes of the sources."""
    profile, weights = ranking.plan.profile, ranking.weights
    return {
        "profile": profile.name,
        "formula": "score = the source's own score" if weights is None else FORMULAS[profile.method],
        "rank_constant": None if weights is None else profile.rank_constant,
        "weights": dict(weights or {}),
        "thresholds": [
            {"source": threshold.source, "score_type": threshold.score_type, **_bound(threshold)}
            for threshold in ranking.thresholds
        ],
        "rank_window_size": profile.rank_window_size,
        "window": window,
        "bm25": {"k1": K1, "b": B},
        "pools": {source: profile.pool(source) for source in profile.sources},
        "lookback_hours": dict(profile.lookback_hours),
        "steps": [
            {
                "step": step.step,
                "before": step.before,
                "after": step.after,
                "removed": step.removed,
                "formula": step.formula,
                "parameters": dict(step.parameters),
                "skipped": step.skipped,
            }
            for step in steps
        ],
        "sources": [
            {
                "source": result.report.source,
                "outcome": result.report.outcome.value,
                "reason": result.report.reason,
                "hits": result.report.hits,
                "cut": result.report.cut,
                "elapsed_ms": result.report.elapsed_ms,
                **(result.answer.notes if result.answer else {}),
            }
            for result in results
        ],
    }


def _bound(threshold: Threshold) -> dict[str, float | None]:
    return {"below": threshold.below} if threshold.is_distance else {"minimum": threshold.minimum}


def with_ranks(hits: Sequence[SearchHit], orders: Sequence[StepOrder]) -> tuple[SearchHit, ...]:
    """Return the hits with ``rank_before`` and ``rank_after`` (from 1) in the notes of the steps."""
    ranks = [(order.step, _ranks(order.before), _ranks(order.after)) for order in orders]
    return tuple(replace(hit, steps=_noted(hit, ranks)) for hit in hits)


def _ranks(keys: Sequence[HitKey]) -> Mapping[HitKey, int]:
    return {key: rank for rank, key in enumerate(keys, start=1)}


def _noted(
    hit: SearchHit, ranks: Sequence[tuple[str, Mapping[HitKey, int], Mapping[HitKey, int]]]
) -> dict[str, Mapping[str, object]]:
    key = hit.chunk.key
    noted: dict[str, Mapping[str, object]] = {
        step: {**hit.steps.get(step, {}), "rank_before": before[key], "rank_after": after[key]}
        for step, before, after in ranks
    }
    return noted | {step: note for step, note in hit.steps.items() if step not in noted}

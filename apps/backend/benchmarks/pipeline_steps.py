"""The pure steps of a search, fusion to diversification, in CPU time: `python -m benchmarks.pipeline_steps`.

Budgets: 1 ms for 35 candidates, as many as the context engine fuses, and 5 ms for 500.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from ragcorp.application.retrieval.fusion.rank_fusion import RankFusionService
from ragcorp.application.retrieval.steps.deduplication import deduplicated
from ragcorp.application.retrieval.steps.diversification import Diversification
from ragcorp.application.retrieval.steps.temporal_decay import TemporalDecay
from ragcorp.application.retrieval.steps.visibility_policy import only_readable
from ragcorp.domain.documents import VisibilityScope
from ragcorp.domain.principal import Principal, Sensitivity
from ragcorp.domain.retrieval import Hit, HitKey, RankedList
from ragcorp.domain.search.candidates import Candidate, Description, Features

NOW = datetime(2026, 3, 1, tzinfo=UTC)
BUDGET_MS = {35: 1.0, 500: 5.0}
SOURCES = ("memory.full_text", "history.full_text", "memory.dense", "history.dense", "graph")
PRINCIPAL = Principal(subject="ana", groups=frozenset({"legal"}))
WORDS_A_PASSAGE = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Ranked lists that hold ``size`` passages between them, and what is known of these."""

    size: int
    lists: Sequence[RankedList]
    descriptions: dict[HitKey, Description]
    lexemes: Features
    cosines: Features


def make_case(size: int, *, seed: int) -> Case:
    """Each passage stands in one list or two; every third belongs to an artifact with two passages."""
    chance = random.Random(seed)
    passages = [(str(number), "history" if number % 2 else "memory") for number in range(size)]
    chance.shuffle(passages)
    held: dict[str, list[tuple[str, str]]] = {source: [] for source in SOURCES}
    for passage in passages:
        for source in chance.sample(SOURCES, chance.choice((1, 1, 2))):
            held[source].append(passage)
    lists = [
        RankedList(
            source=source,
            score_type="x",
            hits=tuple(
                Hit(item_id=name, collection=collection, score=1.0 / place)
                for place, (name, collection) in enumerate(results, start=1)
            ),
        )
        for source, results in held.items()
    ]
    keys = [(name, collection, 0) for name, collection in passages]
    descriptions = {}
    for number, key in enumerate(keys):
        moment = NOW - timedelta(days=chance.uniform(0, 200))
        descriptions[key] = Description(
            collection=key[1],
            kind=chance.choice(("turn", "fact", "person")),
            workspace="default",
            sensitivity=Sensitivity.NORMAL,
            visibility_scope=chance.choice((VisibilityScope.WORKSPACE, VisibilityScope.GROUP)),
            owner="legal",
            language="es",
            artifact=str(number // 6) if number % 3 == 0 else None,
            occurred_at=moment,
            ages_from=moment,
        )
    vocabulary = [f"palabra{number}" for number in range(2000)]
    lexemes = {key: frozenset(chance.choices(vocabulary, k=WORDS_A_PASSAGE)) for key in keys}
    ordered = sorted(keys)
    cosines = {
        (left, right): chance.uniform(0, 1) for place, left in enumerate(ordered) for right in ordered[place + 1 :]
    }
    return Case(
        size=size,
        lists=lists,
        descriptions=descriptions,
        lexemes=Features(lexemes=lexemes),
        cosines=Features(cosines=cosines),
    )


def timed(case: Case, features: Features) -> dict[str, float]:
    """Run the steps once; return the CPU milliseconds of each and of a bare sort of the same candidates."""
    spent: dict[str, float] = {}

    def taken(step: str, run: Callable[[], Sequence[Candidate]]) -> Sequence[Candidate]:
        started = time.process_time_ns()
        result = run()
        spent[step] = (time.process_time_ns() - started) / 1e6
        return result

    def fused() -> list[Candidate]:
        existing = case.descriptions
        return [
            Candidate(fused=item, score=item.score, description=existing[item.hit.key])
            for item in RankFusionService().fuse(case.lists)
        ]

    results = taken("fusion", fused)
    shuffled = random.Random(0).sample(results, len(results))
    taken("bare sort", lambda: sorted(shuffled, key=lambda each: (-each.score, each.key)))
    results = taken("decay", lambda: TemporalDecay().apply(results, now=NOW).candidates)
    results = taken("deduplication", lambda: deduplicated(results).candidates)
    results = taken("visibility", lambda: only_readable(results, principal=PRINCIPAL).candidates)
    taken("diversification", lambda: Diversification().apply(results, features).candidates)
    spent["all steps"] = sum(value for step, value in spent.items() if step != "bare sort")
    return spent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    arguments = parser.parse_args()
    for size, budget in BUDGET_MS.items():
        case = make_case(size, seed=7)
        for kind, features in (("lexemes", case.lexemes), ("cosines", case.cosines)):
            runs = [timed(case, features) for _ in range(arguments.rounds + 20)][20:]
            median = {step: statistics.median(run[step] for run in runs) for step in runs[0]}
            worst = sorted(run["all steps"] for run in runs)[int(len(runs) * 0.95)]
            hits = sum(len(ranked) for ranked in case.lists)
            print(f"\n{size} candidates from {hits} hits, similarity by {kind} (CPU ms, median of {len(runs)})")
            for step, value in median.items():
                print(f"  {step:<16} {value:7.3f}")
            kept = "within" if median["all steps"] < budget else "OVER"
            times = median["all steps"] / median["bare sort"]
            print(f"  {kept} the budget of {budget:g} ms (p95 {worst:.3f}); {times:.0f} times a bare sort")


if __name__ == "__main__":
    main()

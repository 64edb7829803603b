"""nDCG@10 with each part of retrieval on and off: `RAGCORP_EVAL_DIR=... python -m benchmarks.ablation corp-es faq-es`.

Runs in the embedded PostgreSQL of RAGCORP_DATA_DIR, or on DATABASE_URL, in throw-away workspaces, and prints a table in
Markdown. Vectors are kept on disk as `ragcorp eval` keeps them (--cache-dir).
"""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import psycopg

from ragcorp.application.evaluation.profile import EvaluatedProfile
from ragcorp.application.retrieval.profiles.profile import LINEAR_WEIGHTS, RRF_WEIGHTS, RetrievalProfile
from ragcorp.application.retrieval.profiles.standard import standard_profiles
from ragcorp.domain.search.requests import SearchMode
from ragcorp.domain.search.sources import ALL_WORDS, FULL_TEXT, IDENTIFIERS
from ragcorp.evaluation.bootstrap import Resampling
from ragcorp.evaluation.report import report
from ragcorp.evaluation.sets import EvaluationSet
from ragcorp.infrastructure.evaluation_sets.reading import read_set
from ragcorp.interface.cli.console.services import Evaluation, EvaluationOptions, Target
from ragcorp.main.commands.evaluation import open_evaluation
from ragcorp.main.opening.storage import open_storage
from ragcorp.main.settings.schema import load_settings

METRIC = "ndcg@10"
PLAIN_COSINE_WEIGHTS = {FULL_TEXT: 0.08, IDENTIFIERS: 0.04, ALL_WORDS: 0.0}
"""Plain e5 cosines spread less than half as far as half-centred ones."""

ZERO_MEANS = "UPDATE workspace_means SET mean_vector = mean_vector - mean_vector"
"""The half-centred cosine over a mean of zero is the plain one."""

NO_LEXICON = "DELETE FROM lexicon"


def profiles() -> dict[str, RetrievalProfile]:
    standard = standard_profiles()
    rrf, linear = standard["hybrid"], standard["linear"]
    return {
        "RRF": rrf,
        "RRF, no threshold on evidence": replace(rrf, thresholds=()),
        "RRF, no identifiers": replace(rrf, weights={**RRF_WEIGHTS, IDENTIFIERS: 0.0}),
        "RRF, no list of all words": replace(rrf, weights={**RRF_WEIGHTS, ALL_WORDS: 0.0}),
        "RRF of dense and BM25 alone": replace(rrf, thresholds=(), weights={IDENTIFIERS: 0.0, ALL_WORDS: 0.0}),
        "linear": linear,
        "linear, no identifiers": replace(linear, weights={**LINEAR_WEIGHTS, IDENTIFIERS: 0.0}),
        "linear, no share of evidence": replace(linear, weights={**LINEAR_WEIGHTS, FULL_TEXT: 0.0}),
        "linear, plain cosine": replace(linear, weights=PLAIN_COSINE_WEIGHTS),
        "dense": standard["dense"],
        "sparse": standard["sparse"],
    }


async def measure(evaluation: Evaluation, evaluation_set: EvaluationSet, names: Sequence[str]) -> dict[str, float]:
    runs = await evaluation.retrieve.evaluate(
        evaluation_set,
        [EvaluatedProfile(name=name, mode=SearchMode.HYBRID, profile=name) for name in names],
        principal=evaluation.session.principal,
        depth=20,
    )
    reports = report(evaluation_set, runs, resampling=Resampling(resamples=1, seed=7))
    return {name: item.summary.metrics[METRIC].value for name, item in reports.items()}


async def execute(statement: str) -> None:
    settings = load_settings()
    async with (
        open_storage(settings) as storage,
        await psycopg.AsyncConnection.connect(storage.owner_dsn, autocommit=True) as connection,
    ):
        await connection.execute(statement)


@contextmanager
def environment(values: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


async def ablate(evaluation_set: EvaluationSet, options: EvaluationOptions, *, every: int) -> dict[str, float]:
    """Return nDCG@10 by the name of what is on or off."""
    everything = profiles()
    result: dict[str, float] = {}

    async def over(
        passages: EvaluationSet,
        names: Sequence[str],
        suffix: str = "",
        prepare: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        async with open_evaluation(Target(), options, profiles=everything) as evaluation:
            principal = evaluation.session.principal
            await evaluation.load.load(passages, principal=principal, language="es")
            await evaluation.settle.settle(principal=principal)
            if prepare is not None:
                await prepare()
            values = await measure(evaluation, passages.every(every), names)
            result.update({f"{name}{suffix}": value for name, value in values.items()})

    await over(evaluation_set, [name for name in everything if name != "linear, plain cosine"])
    await over(evaluation_set, ["linear, plain cosine"], prepare=lambda: execute(ZERO_MEANS))
    await over(
        evaluation_set,
        ["sparse", "RRF", "linear"],
        ", no stand-ins for unknown words",
        prepare=lambda: execute(NO_LEXICON),
    )
    untitled = replace(evaluation_set, passages=[replace(passage, title="") for passage in evaluation_set.passages])
    await over(untitled, ["dense", "sparse", "RRF", "linear"], ", no titles")
    for operator in ("and", "or"):
        with environment({"SPARSE_RANKING": "ts_rank_cd", "SPARSE_OPERATOR": operator}):
            await over(evaluation_set, ["sparse", "RRF"], f", by ts_rank_cd, words joined by {operator}")
    return result


async def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("sets", nargs="+")
    arguments.add_argument("--every", type=int, default=1, help="use each n-th query only")
    arguments.add_argument("--cache-dir", type=Path)
    given = arguments.parse_args()
    options = EvaluationOptions(cache_dir=given.cache_dir)
    columns = {}
    for name in given.sets:
        evaluation_set = read_set(Path(os.environ["RAGCORP_EVAL_DIR"]) / name)
        columns[name] = await ablate(evaluation_set, options, every=given.every)
    print("| |", " | ".join(columns), "|")
    print("|---|" + "---|" * len(columns))
    for row in next(iter(columns.values())):
        print(f"| {row} |", " | ".join(f"{column[row]:.3f}".removeprefix("0") for column in columns.values()), "|")


if __name__ == "__main__":
    asyncio.run(main())

"""Quality of retrieval with the local model on the evaluation sets: floors, and linear fusion never below dense.

The normal run takes every second question of one set, every sixth of the long one, and the vectors stored next to this
file (support/models/stored_vectors.py makes them; missing ones are embedded). The soak run takes the whole sets and
makes the vectors again.
"""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from operator import mul
from pathlib import Path
from typing import Any

import pytest

from ragcorp.application.evaluation.profile import parse_profile
from ragcorp.evaluation.bootstrap import Resampling
from ragcorp.evaluation.perturbation import Variant, varied
from ragcorp.evaluation.report import RunReport, report
from ragcorp.evaluation.sets import EvaluationSet
from ragcorp.infrastructure.evaluation_sets.reading import read_set
from ragcorp.infrastructure.postgres.administration.migrations import migrate
from ragcorp.interface.cli.console.services import Evaluation, EvaluationOptions, Target
from ragcorp.main.commands.evaluation import open_evaluation
from ragcorp.main.settings.schema import LOCAL_MODEL
from support.models.stored_vectors import cached_vectors, fill_cache, stored_vectors

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(900)]

STORED = Path(__file__).with_name("floors_vectors.bin")
NDCG = "ndcg@10"
PROFILES = ("dense", "sparse", "hybrid", "linear")
TOLERANCE = 0.01
"""How far linear fusion may stay below dense alone."""

FLOORS = {
    "corp-es": {"hybrid": 0.925, "linear": 0.955},
    "faq-es": {},
    "xquad-es": {"sparse": 0.96, "hybrid": 0.97, "linear": 0.975},
}
KIND_FLOORS = {
    "hybrid": {"exact_id": 0.97, "question_id": 0.97, "id_variant": 0.88, "misspelt": 0.86, "stopword_heavy": 0.67},
    "linear": {"exact_id": 0.98, "question_id": 0.98, "id_variant": 0.93, "misspelt": 0.90, "stopword_heavy": 0.85},
}
SAMPLED = [("corp-es", 1), ("faq-es", 2), ("xquad-es", 6)]
WHOLE = [("faq-es", 1), ("xquad-es", 1)]


@pytest.fixture(scope="session")
def vectors_on_disk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("embeddings")
    fill_cache(folder, stored_vectors(STORED))
    return folder


@pytest.fixture(scope="session")
def new_vectors_on_disk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("new_embeddings")


@pytest.fixture
def open_set(
    eval_dir: Path,
    vectors_on_disk: Path,
    make_database: Callable[..., str],
    postgres_server: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[..., Any]:
    """Open an evaluation that holds the passages of a set, with their vectors."""
    name = make_database()
    owner = postgres_server.dsn(name, role="ragcorp_owner")
    migrate(owner, embedding_model=LOCAL_MODEL, superuser_dsn=postgres_server.dsn(name, role="postgres"))
    monkeypatch.setenv("DATABASE_URL", owner)

    @asynccontextmanager
    async def opened(
        set_name: str, every: int, cache: Path = vectors_on_disk
    ) -> AsyncIterator[tuple[Evaluation, EvaluationSet]]:
        async with open_evaluation(Target(), EvaluationOptions(cache_dir=cache)) as evaluation:
            evaluation_set = read_set(eval_dir / set_name).every(every)
            principal = evaluation.session.principal
            await evaluation.load.load(evaluation_set, principal=principal, language="es")
            await evaluation.settle.settle(principal=principal)
            yield evaluation, evaluation_set

    return opened


async def measured(
    evaluation: Evaluation, evaluation_set: EvaluationSet, profiles: Sequence[str]
) -> dict[str, RunReport]:
    runs = await evaluation.retrieve.evaluate(
        evaluation_set, [parse_profile(name) for name in profiles], principal=evaluation.session.principal, depth=20
    )
    assert not any(run.degraded for run in runs)
    return dict(report(evaluation_set, runs, resampling=Resampling(resamples=200, seed=7)))


def ndcg(item: RunReport) -> float:
    return item.summary.metrics[NDCG].value


async def holds(opened: Callable[..., Any], name: str, every: int, capsys: pytest.CaptureFixture[str]) -> None:
    async with opened(name, every) as (evaluation, evaluation_set):
        reports = await measured(evaluation, evaluation_set, PROFILES)
        lines = [f"{name} {profile} {ndcg(item):.4f}" for profile, item in reports.items()]
        different = {}
        for variant in Variant:
            changed = await measured(evaluation, varied(evaluation_set, variant, seed=7), ("dense", "linear"))
            different[variant] = ndcg(changed["linear"]) - ndcg(changed["dense"])
            lines.append(f"{name} {variant.value} linear - dense {different[variant]:+.4f}")
    with capsys.disabled():
        print("\n" + "\n".join(lines))
    for profile, floor in FLOORS[name].items():
        assert ndcg(reports[profile]) >= floor, profile
    for profile, floors in KIND_FLOORS.items():
        for kind, floor in floors.items():
            if kind in reports[profile].kinds:
                assert reports[profile].kinds[kind].metrics[NDCG].value >= floor, (profile, kind)
    assert ndcg(reports["linear"]) >= ndcg(reports["dense"]) - TOLERANCE
    assert all(item >= -TOLERANCE for item in different.values()), different
    if "english" in reports["linear"].kinds:
        english = {profile: reports[profile].kinds["english"].metrics[NDCG].value for profile in ("dense", "linear")}
        assert english["linear"] >= english["dense"] - TOLERANCE
    if name == "xquad-es":
        assert reports["sparse"].summary.empty < 0.01


@pytest.mark.parametrize(("name", "every"), SAMPLED)
async def test_floors(open_set: Callable[..., Any], name: str, every: int, capsys: pytest.CaptureFixture[str]) -> None:
    await holds(open_set, name, every, capsys)


@pytest.mark.soak
@pytest.mark.parametrize(("name", "every"), SAMPLED)
async def test_floors_with_vectors_made_anew(
    open_set: Callable[..., Any], name: str, every: int, new_vectors_on_disk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await holds(partial(open_set, cache=new_vectors_on_disk), name, every, capsys)
    stored = stored_vectors(STORED)
    existing = {key: vector for key, vector in cached_vectors(new_vectors_on_disk) if key in stored}
    assert min(sum(map(mul, vector, stored[key])) for key, vector in existing.items()) > 0.999


@pytest.mark.soak
@pytest.mark.parametrize(("name", "every"), WHOLE)
async def test_floors_on_the_whole_sets(
    open_set: Callable[..., Any], name: str, every: int, capsys: pytest.CaptureFixture[str]
) -> None:
    await holds(open_set, name, every, capsys)


async def test_an_uncovered_query_leaves_the_dense_order_as_it_is(open_set: Callable[..., Any]) -> None:
    """A question in words that no passage holds: linear fusion has nothing to add to dense."""
    async with open_set("faq-es", 1) as (evaluation, evaluation_set):
        question = dataclasses.replace(evaluation_set.queries[0], text="xyzzy qwrtp zzgrb")
        one = dataclasses.replace(evaluation_set, queries=(question,))
        runs = await evaluation.retrieve.evaluate(
            one, [parse_profile(name) for name in ("sparse", "linear")], principal=evaluation.session.principal
        )
    assert runs[0].run.rankings[question.id] == ()
    assert len(runs[1].run.rankings[question.id]) > 0

"""Extractive answers over ask-es with linear fusion: floors. The normal run is text only; the local model is soak."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest

from ragcorp.application.evaluation.answers import JudgedAnswer
from ragcorp.application.evaluation.profile import parse_profile
from ragcorp.evaluation.answers import AnswerShares, shares, shares_by_kind
from ragcorp.infrastructure.evaluation_sets.questions import read_questions
from ragcorp.infrastructure.postgres.administration.migrations import migrate
from ragcorp.interface.cli.console.services import EvaluationOptions, Target
from ragcorp.interface.cli.evaluation.answers import PASSAGES, PROFILE
from ragcorp.main.commands.evaluation import open_evaluation
from ragcorp.main.settings.schema import LOCAL_MODEL

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(900)]

FLOORS = {"right": 0.80, "cited": 0.88, "evidence": 0.85, "abstained_rightly": 0.70}
CEILINGS = {"abstained_wrongly": 0.12, "hedged": 0.10, "wrong_value": 0.06}


@pytest.fixture
def measured(
    eval_dir: Path,
    make_database: Callable[..., str],
    postgres_server: Any,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> Callable[[str], Any]:
    async def ask(provider: str) -> list[JudgedAnswer]:
        owner = postgres_server.dsn(make_database(), role="ragcorp_owner")
        await anyio.to_thread.run_sync(partial(migrate, owner, embedding_model=LOCAL_MODEL))
        monkeypatch.setenv("DATABASE_URL", owner)
        monkeypatch.setenv("EMBEDDING_PROVIDER", provider)
        folder = eval_dir / "ask-es"
        async with open_evaluation(Target(), EvaluationOptions(cache_dir=tmp_path, chunk_tokens=None)) as opened:
            principal = opened.session.principal
            totals = await opened.session.use_cases.ingest_folder.ingest(folder / "documents", principal=principal)
            assert (totals.created, totals.failures) == (24, ())
            await opened.settle.settle(principal=principal)
            return await opened.answers.evaluate(
                read_questions(folder),
                folder / "documents",
                request=parse_profile(PROFILE).request("", limit=PASSAGES),
                principal=principal,
            )

    return ask


def check(answers: list[JudgedAnswer]) -> AnswerShares:
    for item in answers:
        assert item.answer.abstained == (not item.answer.citations)
        assert len(item.answer.citations) <= 3
        assert item.answer.abstained or len(item.answer.text) <= 600
        assert all(citation.line_end - citation.line_start < 12 for citation in item.answer.citations)
    verdicts = [item.verdict for item in answers]
    result = shares(verdicts)
    lines = [f"{kind}: {item}" for kind, item in {**shares_by_kind(verdicts), "all": result}.items()]
    for name, floor in FLOORS.items():
        assert getattr(result, name) >= floor, (name, *lines)
    for name, ceiling in CEILINGS.items():
        assert getattr(result, name) <= ceiling, (name, *lines)
    return result


async def test_answers_from_text_alone(measured: Callable[[str], Any]) -> None:
    check(await measured("none"))


@pytest.mark.soak
async def test_answers_with_the_local_model(measured: Callable[[str], Any]) -> None:
    check(await measured("local"))

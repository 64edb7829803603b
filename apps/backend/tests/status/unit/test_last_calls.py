"""The last call of each model is noted, whichever way it was asked."""

from __future__ import annotations

import pytest

from ragcorp.application.answering.answer import AnswerLimits, AnswerQuery
from ragcorp.application.status.model_health import ModelHealth
from ragcorp.application.status.report import ANSWERER
from ragcorp.domain.answers import final_answer
from ragcorp.domain.exceptions import AnswererUnavailableError
from ragcorp.domain.principal import Principal
from ragcorp.domain.retrieval import SourceOutcome, SourceReport
from ragcorp.domain.search.requests import SearchRequest
from support.memory.conversations import NO_PAGES, FoundAlready, Says, Spanish, turn

pytestmark = pytest.mark.anyio


async def test_answers_are_observed() -> None:
    calls = ModelHealth()
    answerer = Says(error=AnswererUnavailableError("Out.", reason="timeout"))
    answers = AnswerQuery(
        search=FoundAlready((turn("El plazo es de 30 días."),)),
        answerer=answerer,
        languages=Spanish(),
        pages=NO_PAGES,
        limits=AnswerLimits(),
        observer=calls,
    )
    with pytest.raises(AnswererUnavailableError):
        await final_answer(answers.stream(SearchRequest(query="?"), principal=Principal()))
    assert calls.failed == {ANSWERER: "timeout"}
    answerer.error = None
    await final_answer(answers.stream(SearchRequest(query="?"), principal=Principal()))
    assert calls.failed == {}


def report(source: str, outcome: SourceOutcome, reason: str | None = None) -> SourceReport:
    return SourceReport(source=source, outcome=outcome, elapsed_ms=1.0, reason=reason)


def test_the_embedder_is_at_fault_where_the_database_has_answered() -> None:
    calls = ModelHealth()
    refused = report("dense", SourceOutcome.FAILED, "unauthorized")
    calls.reported([refused, report("full_text", SourceOutcome.FAILED, "unreachable")])
    assert calls.failed == {}
    calls.reported([refused, report("full_text", SourceOutcome.EMPTY)])
    calls.reported([report("dense", SourceOutcome.SKIPPED, "circuit_open"), report("full_text", SourceOutcome.OK)])
    assert calls.failed == {"dense": "unauthorized"}
    calls.reported([report("dense", SourceOutcome.OK)])
    assert calls.failed == {}

"""The last call of each model is noted, whichever way it was asked."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import pytest

from ragcorp.application.answering.converse import ConversationLimits, Converse
from ragcorp.application.status.degradation_messages import ANSWERER
from ragcorp.application.status.model_health import ModelHealth
from ragcorp.domain.answers import Answer, AskEvent
from ragcorp.domain.exceptions import AnswererUnavailableError
from ragcorp.domain.principal import Principal
from ragcorp.domain.retrieval import SourceOutcome, SourceReport
from ragcorp.domain.search.requests import SearchRequest

UNUSED: Any = None

pytestmark = pytest.mark.anyio


class OutAnswers:
    """The port QuestionAnswering, whose model is out."""

    async def answer(self, request: SearchRequest, *, principal: Principal) -> Answer:
        raise NotImplementedError

    async def stream(self, request: SearchRequest, *, principal: Principal) -> AsyncGenerator[AskEvent]:
        raise AnswererUnavailableError("Out.", reason="timeout")
        yield


async def test_a_whole_answer_is_noted_as_its_stream_is() -> None:
    calls = ModelHealth()
    with pytest.raises(AnswererUnavailableError):
        await Converse(
            answer=OutAnswers(), history=UNUSED, languages=UNUSED, limits=ConversationLimits(), observer=calls
        ).answer(SearchRequest(query="?"), principal=Principal())
    assert calls.failed == {ANSWERER: "timeout"}


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

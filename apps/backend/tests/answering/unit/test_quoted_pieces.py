"""Answers from pieces that name their passage and quote, and what is checked before an answer begins."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field

import pytest

from ragcorp.application.answering.answer import AnswerLimits, AnswerQuery
from ragcorp.domain.answers import (
    Answer,
    AnswerDelta,
    AnswerEvent,
    AnswerFinished,
    AnswerPrompt,
    QuotedPiece,
    final_answer,
)
from ragcorp.domain.exceptions import AnswererUnavailableError
from ragcorp.domain.keys import TooManyRequestsError
from ragcorp.domain.principal import Principal
from ragcorp.domain.search.requests import SearchRequest
from support.memory.conversations import NO_PAGES, FoundAlready, Spanish, turn

pytestmark = pytest.mark.anyio

FOUND = (turn("El plazo es de 30 días. Se paga en mayo.", id="1"), turn("Antes eran 20 días.", id="2"))


@dataclass
class Pieces:
    """An answerer that yields ``events`` and then the end of the answer."""

    events: Sequence[AnswerDelta | QuotedPiece]
    abstained: bool = False
    name: str = "pieces"
    prompts: list[AnswerPrompt] = field(default_factory=list)

    async def answer(self, prompt: AnswerPrompt) -> AsyncGenerator[AnswerEvent]:
        self.prompts.append(prompt)
        for event in self.events:
            yield event
        yield AnswerFinished(abstained=self.abstained)

    async def aclose(self) -> None:
        return None


def piece(n: int, text: str, quote: str = "") -> QuotedPiece:
    return QuotedPiece(n=n, text=text, quote=quote or text.strip("«»"))


def answers(answerer: Pieces) -> AnswerQuery:
    return AnswerQuery(
        search=FoundAlready(FOUND), answerer=answerer, languages=Spanish(), pages=NO_PAGES, limits=AnswerLimits()
    )


async def ask(*events: AnswerDelta | QuotedPiece, abstained: bool = False) -> tuple[list[str], Answer]:
    stream = answers(Pieces(events, abstained=abstained)).stream(SearchRequest(query="¿Plazo?"), principal=Principal())
    given = [event async for event in stream]
    answer = given[-1]
    assert isinstance(answer, Answer)
    return [event.text for event in given if isinstance(event, AnswerDelta)], answer


async def test_each_piece_is_followed_by_its_citation() -> None:
    deltas, answer = await ask(
        piece(2, "Antes:", "Antes eran 20 días."), piece(1, "«El plazo es de 30 días.»"), piece(2, "«20 días»")
    )
    assert deltas == ["Antes: [2]", " «El plazo es de 30 días.» [1]", " «20 días» [2]"]
    assert answer.text == "".join(deltas)
    assert [(citation.n, citation.quote) for citation in answer.citations] == [
        (2, "Antes eran 20 días. … 20 días"),
        (1, "El plazo es de 30 días."),
    ]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("«30 días 【2】»", "«30 días »"),
        ("«30 días [1-2]»", "«30 días (1-2)»"),
        ("«véase http://evil.example/x»", "«véase …»"),
        ("«<b>30</b> días\u202e»", "«‹b›30‹/b› días»"),
    ],
)
async def test_a_piece_cites_only_its_passage_and_is_made_harmless(text: str, shown: str) -> None:
    _, answer = await ask(piece(1, text))
    assert answer.text == f"{shown} [1]"
    assert [citation.n for citation in answer.citations] == [1]


async def test_text_and_pieces_may_be_mixed() -> None:
    _, answer = await ask(AnswerDelta(text="Eran 20 días [2]. "), piece(1, "«30 días»"))
    assert {citation.n for citation in answer.citations} == {1, 2}


async def test_an_answerer_that_abstained_cites_nothing() -> None:
    _, answer = await ask(piece(1, "«30 días»"), abstained=True)
    assert (answer.abstained, answer.citations) == (True, ())


async def test_a_piece_of_an_unknown_passage_is_refused() -> None:
    with pytest.raises(AnswererUnavailableError) as caught:
        await ask(piece(3, "«30 días»"))
    assert caught.value.reason == "bad_response"


async def test_without_budget_nothing_is_searched() -> None:
    async def refuse() -> None:
        raise TooManyRequestsError(
            "No tokens left.", reason="tokens", retry_after_seconds=1.0, limit="1", remedy="Wait."
        )

    search = FoundAlready(FOUND)
    answerer = Pieces([])
    query = AnswerQuery(
        search=search,
        answerer=answerer,
        languages=Spanish(),
        pages=NO_PAGES,
        limits=AnswerLimits(),
        require_budget=refuse,
    )
    with pytest.raises(TooManyRequestsError):
        await final_answer(query.stream(SearchRequest(query="¿Plazo?"), principal=Principal()))
    assert (search.requests, answerer.prompts) == ([], [])

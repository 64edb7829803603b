"""Questions, answered as they are written."""

from __future__ import annotations

import asyncio

import pytest

from ragcorp.domain.answers import AnswerDelta, Searched
from ragcorp.domain.exceptions import AnswererUnavailableError
from ragcorp.interface.tui.app import RagTui
from ragcorp.interface.tui.ask_screen import AskScreen
from ragcorp.interface.tui.search_screen import SearchScreen
from ragcorp.interface.tui.viewer_screen import ViewerScreen
from support.tui.driving import AnyPilot, pointed, put, rows, running, screen, sees, shown, status, until
from support.tui.scripted import Answering, Files, Step, answer, citation, passage, response, services

pytestmark = pytest.mark.anyio

TEXT = "# Contrato\n\nEl plazo de entrega es de 30 días.\nEl pago, a 60."
HIT = passage(1, "El plazo de entrega es de 30 días.\nEl pago, a 60.", path="docs/contrato.md", line_start=3)
OTHER = passage(2, "Otra cosa.", path=None, title="Recuerdo")
CITATIONS = (
    citation(1, HIT, line=3, quote="El plazo de entrega es de 30 días."),
    citation(2, HIT, line=4, quote="El pago, a 60."),
)
SEARCHED = Searched(response=response(HIT, OTHER))
ANSWER = answer("El plazo es de 30 días [1], y se paga a 60 [2].", citations=CITATIONS)


def app(*steps: Step, answering: Answering | None = None) -> RagTui:
    files = Files(texts={"docs/contrato.md": TEXT})
    return RagTui(services(answer=answering or Answering(steps=steps), read=files))


async def asked(pilot: AnyPilot, question: str = "¿Qué plazo hay?") -> None:
    await pilot.press("ctrl+a")
    await until(pilot, lambda: isinstance(pilot.app.screen, AskScreen) and pilot.app.focused is not None)
    put(pilot, question)
    await pilot.press("enter")


async def test_the_answer_is_written_as_it_comes_and_its_sources_open() -> None:
    gate = asyncio.Event()
    answering = Answering(steps=[SEARCHED, AnswerDelta(text="El plazo "), AnswerDelta(text="es"), gate, ANSWER])
    async with running(app(answering=answering)) as pilot:
        await asked(pilot)
        await until(pilot, lambda: "El plazo es" in screen(pilot))
        assert status(pilot).startswith("hybrid_search: 2 chunks, ")
        assert status(pilot).endswith("Answering …")
        gate.set()
        await until(pilot, lambda: "Answered from 2 sources" in status(pilot))
        await sees(pilot, "El plazo es de 30 días [1], y se paga a 60 [2].")
        sources = [
            "> [1] docs/contrato.md:3  «El plazo de entrega es de 30 días.»",
            "  [2] docs/contrato.md:4  «El pago, a 60.»",
        ]
        await until(pilot, lambda: rows(pilot) == sources)
        assert (answering.requests[0].query, answering.requests[0].profile) == ("¿Qué plazo hay?", "files")
        await pilot.press("down", "enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, ViewerScreen) and "lines 1-4" in status(pilot))
        await sees(pilot, "> 4 El pago, a 60.")
        await until(pilot, lambda: pointed(pilot) == [4])
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(pilot.app.screen, AskScreen))
        assert "Answered from 2 sources" in status(pilot)
        await pilot.press("ctrl+a")
        await until(pilot, lambda: isinstance(pilot.app.screen, SearchScreen))
        await pilot.press("ctrl+a")
        await until(pilot, lambda: "y se paga a 60 [2]" in screen(pilot))


async def test_escape_stops_the_stream() -> None:
    answering = Answering(steps=[SEARCHED, AnswerDelta(text="El plazo"), asyncio.Event(), ANSWER])
    async with running(app(answering=answering)) as pilot:
        await asked(pilot)
        await until(pilot, lambda: "El plazo" in shown(pilot))
        await pilot.press("escape")
        await asyncio.wait_for(answering.closed.wait(), 20)
        assert status(pilot) == "Stopped: the answer is not complete."
        await until(pilot, lambda: shown(pilot) == ["El plazo"])
        await until(pilot, lambda: rows(pilot) == [])


async def test_an_abstention_looks_like_one() -> None:
    async with running(app(SEARCHED, answer("Los documentos no lo dicen.", abstained=True))) as pilot:
        await asked(pilot)
        await until(pilot, lambda: status(pilot).startswith("No answer: the documents do not say"))
        await until(
            pilot, lambda: shown(pilot) == ["(No answer: the documents do not say.)", "", "Los documentos no lo dicen."]
        )
        await until(pilot, lambda: rows(pilot) == [])


async def test_an_answer_that_breaks_off_says_so_and_can_be_asked_again() -> None:
    cut = AnswererUnavailableError("The language model ended too early.", remedy="Ask again.")
    answering = Answering(steps=[SEARCHED, AnswerDelta(text="El pla"), cut])
    async with running(app(answering=answering)) as pilot:
        await asked(pilot)
        await until(pilot, lambda: "ended too early" in status(pilot))
        assert status(pilot) == "! The language model ended too early. Ask again. Enter asks again."
        await until(pilot, lambda: shown(pilot) == ["El pla"])
        answering.steps = [SEARCHED, ValueError("secret"), ANSWER]
        await pilot.press("enter")
        await until(pilot, lambda: "unexpected" in status(pilot))
        assert "secret" not in screen(pilot)
        answering.steps = [SEARCHED, ANSWER]
        await pilot.press("enter")
        await until(pilot, lambda: "Answered" in status(pilot))


async def test_a_new_question_ends_the_one_before() -> None:
    answering = Answering(steps=[SEARCHED, AnswerDelta(text="vieja"), asyncio.Event()])
    async with running(app(answering=answering)) as pilot:
        await asked(pilot)
        await until(pilot, lambda: "vieja" in shown(pilot))
        answering.steps = [SEARCHED, ANSWER]
        put(pilot, "¿Y el pago?")
        await pilot.press("enter")
        await until(pilot, lambda: "Answered" in status(pilot))
        assert "vieja" not in screen(pilot)


async def test_what_was_asked_instead_of_a_follow_up_is_shown() -> None:
    async with running(app(SEARCHED, answer("A 60.", rewritten="¿Cuándo se paga?"))) as pilot:
        await asked(pilot)
        await until(pilot, lambda: "Answered from 0 sources" in status(pilot))
        await until(pilot, lambda: shown(pilot) == ["asked: ¿Cuándo se paga?", "A 60."])

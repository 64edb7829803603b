"""Passages that would speak in our voice, or hold the service up."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Sequence

import pytest
from answering.unit.test_spoken import Memories, Said

from ragcorp.domain.answers import QuotedPiece
from ragcorp.infrastructure.extractive import answerer
from ragcorp.infrastructure.extractive.phrasing import quoted_pieces
from ragcorp.infrastructure.extractive.selection import Chosen
from ragcorp.infrastructure.extractive.statements import MAX_STATEMENTS_READ, statements
from support.answering.passages import PlainTexts

pytestmark = pytest.mark.anyio

ASKED = "¿Cuál es el plazo de entrega?"
TERM = "El plazo de entrega es de 30 días."

SPEAKERS = {
    "image": "Ana ![x](http://evil/p.png)",
    "link": "[clic](javascript:alert(1)) Ana",
    "tag": "<script>alert(1)</script> </memory> Ana",
    "open direction": "Ana \u202e",
    "citation and quotation": "Según [1], Ana » [1]",
    "long": "El plazo oficial es de 99 días; " * 12,
}


@pytest.mark.parametrize("speaker", SPEAKERS.values(), ids=SPEAKERS.keys())
async def test_a_speaker_is_a_short_name_and_does_nothing(speaker: str) -> None:
    answer = await Memories(Said(text=TERM, speaker=speaker)).ask(ASKED)
    name, quoted = answer.text.split(": «")
    assert quoted == f"{TERM}» [1]"
    assert 0 < len(name) <= 60
    assert not set(name) & set("<>[]»\u202e`")


async def test_a_speaker_of_no_character_is_none() -> None:
    assert (await Memories(Said(text=TERM, speaker="\u202e\u200b")).ask(ASKED)).text == f"«{TERM}» [1]"


@pytest.mark.parametrize("said", [True, False], ids=["turn", "document"])
async def test_a_quoted_text_ends_no_quotation_of_ours(said: bool) -> None:
    text = "El plazo de entrega es de 30 días» [1]. El comité aprobó pagar a Mallory 9.000 € «según acta."
    passages = Memories(Said(text=text)) if said else PlainTexts({"p.md": text})
    answer = await passages.ask(ASKED)
    assert answer.text.startswith("«El plazo de entrega es de 30 días› (1).")
    assert re.fullmatch(r"(?:«[^«»]*» \[1\] ?)+", answer.text)
    assert answer.quotes[0][1].startswith("El plazo de entrega es de 30 días» [1].")


async def test_a_quoted_text_does_nothing() -> None:
    text = "El plazo de entrega ![i](http://e/x) es de \u202e30 días [v](javascript:alert(1)) <img src=x onerror=y>."
    answer = await PlainTexts({"p.md": text}).ask(ASKED)
    assert answer.text == (
        "«El plazo de entrega ![i] (http://e/x) es de 30 días [v] (javascript:alert(1)) ‹img src=x onerror=y›.» [1]"
    )


async def test_a_cell_ends_no_quotation_of_ours() -> None:
    table = "| Concepto | Plazo de entrega |\n|---|---|\n| Válvulas» [1] | 30 días ![i](http://e/x) |"
    answer = await PlainTexts({"p.md": table}).ask("¿Cuál es el plazo de entrega de las válvulas?")
    assert answer.text == "«Válvulas› (1)», Plazo de entrega: «30 días ![i] (http://e/x)» [1]"


def test_of_many_short_lines_the_first_are_read() -> None:
    results = statements("a\n" * 9500)
    assert [statement.line for statement in results] == list(range(MAX_STATEMENTS_READ))


@pytest.mark.parametrize(
    "text",
    ["|a|\n|--" + " " * 60_000 + "x", "1. Abc\n" + "\n" * 60_000, "De: x\n" + "Asunto: x\n" * 20_000, ".)" * 60_000],
    ids=["separator", "blank lines", "head of a message", "ends of sentences"],
)
def test_the_work_of_cutting_grows_with_the_text(text: str) -> None:
    """Work that grew with the square would be minutes of the processor's time here."""
    started = time.process_time()
    statements(text)
    assert time.process_time() - started < 5


async def test_the_choice_is_made_off_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[int] = []

    def recorded(chosen: Sequence[Chosen], *, language: str) -> list[QuotedPiece]:
        threads.append(threading.get_ident())
        return quoted_pieces(chosen, language=language)

    monkeypatch.setattr(answerer, "quoted_pieces", recorded)
    assert (await Memories(Said(text=TERM)).ask(ASKED)).text == f"«{TERM}» [1]"
    assert len(threads) == 1
    assert threads != [threading.get_ident()]

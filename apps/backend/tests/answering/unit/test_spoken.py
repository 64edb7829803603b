"""Answers from turns, memories and facts: who said it is named, and nothing is made up."""

from __future__ import annotations

from dataclasses import dataclass, replace
from uuid import UUID

import pytest

from ragcorp.domain.answers import Passage
from ragcorp.infrastructure.extractive.versions import same_family
from support.answering.passages import PlainTexts

pytestmark = pytest.mark.anyio


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    text: str
    speaker: str | None = None
    collection: str = "history"
    entities: tuple[str, ...] = ()
    kind: str = ""


class Memories(PlainTexts):
    """Each passage an item; no document is behind it."""

    def __init__(self, *said: Said) -> None:
        super().__init__({str(number): item.text for number, item in enumerate(said)})
        self._said = said

    @property
    def passages(self) -> tuple[Passage, ...]:
        return tuple(
            replace(
                passage,
                chunk=replace(
                    passage.chunk,
                    document_id=UUID(int=passage.n),
                    collection=said.collection,
                    speaker=said.speaker,
                    entities=said.entities,
                    artifact_type=said.kind,
                    title="",
                    heading_path=(),
                    path=None,
                ),
            )
            for passage, said in zip(PlainTexts.passages.fget(self), self._said, strict=True)  # type: ignore[attr-defined]
        )


VACATION = "Le dije a Priya que podemos ir de vacaciones en marzo."
ASKED = "¿Qué le dije a Priya de las vacaciones?"


async def test_a_turn_answers_under_its_speakers_name() -> None:
    memories = Memories(
        Said(text=ASKED, speaker="user"),
        Said(text="Mañana tengo dentista a las diez.", speaker="Rajesh"),
        Said(text=VACATION, speaker="Rajesh"),
    )
    answer = await memories.ask(ASKED)
    assert answer.text == f"Rajesh: «{VACATION}» [3]"
    assert answer.quotes == ((3, VACATION),)


async def test_the_question_itself_is_no_answer() -> None:
    assert (await Memories(Said(text=ASKED, speaker="user")).ask(ASKED)).abstained


async def test_what_was_asked_without_its_mark_is_no_answer_either() -> None:
    asked = "vacaciones de Priya en marzo"
    said = Memories(Said(text=asked, speaker="user", kind="question"))
    assert (await said.ask(asked)).abstained
    assert (await Memories(Said(text=asked, speaker="user")).ask(asked)).text == f"user: «{asked}» [1]"


async def test_a_question_before_an_answer_is_not_quoted() -> None:
    turn = f"¿Y Priya? {VACATION}"
    answer = await Memories(Said(text=turn, speaker="Rajesh")).ask(ASKED)
    assert answer.text == f"Rajesh: «{VACATION}» [1]"


async def test_who_said_it_is_evidence() -> None:
    flights = "He mirado vuelos a Goa para el mes que viene."
    answer = await Memories(
        Said(text="He comprado dos maletas.", speaker="Priya"), Said(text=flights, speaker="Rajesh")
    ).ask("¿Qué ha mirado Rajesh para Goa?")
    assert answer.text == f"Rajesh: «{flights}» [2]"


async def test_a_memory_without_a_speaker_and_a_fact_are_quoted_as_they_stand() -> None:
    memory = "Priya prefiere viajar en tren."
    answer = await Memories(Said(text=memory, collection="memory")).ask("¿Cómo prefiere viajar Priya?")
    assert answer.text == f"«{memory}» [1]"
    fact = "Rajesh -> Priya: planning vacation to Goa in March"
    answer = await Memories(Said(text=fact, collection="graph", entities=("Rajesh", "Priya"))).ask(
        "What is Rajesh planning with Priya in March?", language="en"
    )
    assert answer.text == f"«{fact}» [1]"


async def test_what_nobody_said_is_not_answered() -> None:
    memories = Memories(Said(text=VACATION, speaker="Rajesh"), Said(text="Priya vive en Pune.", collection="memory"))
    for question in ("¿Cuánto cuesta el seguro del coche?", "¿Qué dijo Rajesh de la hipoteca?"):
        assert (await memories.ask(question)).abstained, question


def test_dated_turns_are_no_versions_of_one_another() -> None:
    documents = PlainTexts({"chat-2024-03-01": "Sí.", "chat-2025-03-01": "No."}).passages
    one, other = (passage.chunk for passage in documents)
    assert same_family(one, other)
    assert not same_family(replace(one, collection="history"), replace(other, collection="history"))

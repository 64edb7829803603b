"""Answers within a conversation: what is asked, what is stored, and what fails."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest

from ragcorp.application.answering.answer import ABSTENTIONS, AnswerLimits, AnswerQuery
from ragcorp.application.answering.conversations import AFTER, ConversationLimits, Conversations
from ragcorp.domain.answers import Answer, AnswerDelta, Searched, final_answer
from ragcorp.domain.collections import Item
from ragcorp.domain.documents import VisibilityScope
from ragcorp.domain.exceptions import (
    AnswererUnavailableError,
    ConflictError,
    InvalidInputError,
    StorageUnavailableError,
)
from ragcorp.domain.principal import Principal, Sensitivity
from ragcorp.domain.search.requests import SearchRequest
from support.hydration.shown import hydrated
from support.hydration.shown import turn as episode_turn
from support.memory.conversations import MOMENT, NO_PAGES, FoundAlready, InMemoryHistory, Says, Spanish, turn

pytestmark = pytest.mark.anyio

ME = Principal(subject="ana")
FIRST = "¿Cuál es el plazo del contrato CTR-2026-014?"
NEXT = "¿y cuándo vence?"
REWRITTEN = "¿y cuándo vence? CTR-2026-014"


@dataclass
class Rewrites:
    """A language model that rewrites to ``text``, after ``seconds`` or with ``error``."""

    text: str = "¿Cuándo vence el contrato CTR-2026-014?"
    seconds: float = 0.0
    error: Exception | None = None
    asked: list[tuple[str, list[str]]] = field(default_factory=list)
    name: str = "question_rewriter"

    async def rewrite(self, question: str, turns: Sequence[Item]) -> str:
        self.asked.append((question, [turn.text for turn in turns]))
        await asyncio.sleep(self.seconds)
        if self.error is not None:
            raise self.error
        return self.text

    async def aclose(self) -> None:
        return None


@dataclass
class World:
    search: FoundAlready = field(default_factory=lambda: FoundAlready((turn("El plazo es de 30 días.", "Luis"),)))
    answerer: Says = field(default_factory=Says)
    history: InMemoryHistory = field(default_factory=InMemoryHistory)
    rewriter: Rewrites | None = None
    limits: ConversationLimits = field(default_factory=ConversationLimits)
    stand_still: bool = False

    def __post_init__(self) -> None:
        clock: dict[str, Any] = {"now": lambda: MOMENT} if self.stand_still else {}
        self.use_case = AnswerQuery(
            search=self.search,
            answerer=self.answerer,
            languages=Spanish(),
            pages=NO_PAGES,
            limits=AnswerLimits(),
            conversations=Conversations(
                history=self.history, languages=Spanish(), rewriter=self.rewriter, limits=self.limits, **clock
            ),
        )

    async def ask(self, query: str, conversation: str | None = "c1", *, principal: Principal = ME) -> Answer:
        request = SearchRequest(query=query, conversation_id=conversation, profile="memory")
        return await final_answer(self.use_case.stream(request, principal=principal))


async def test_without_a_conversation_nothing_is_rewritten_or_stored() -> None:
    world = World()
    await world.ask(FIRST, None)
    answer = await world.ask(NEXT, None)
    assert (answer.rewritten_query, answer.degraded, world.history.items) == (None, (), [])
    assert world.search.requests[1].query == NEXT


async def test_question_and_answer_are_turns_of_the_session() -> None:
    world = World()
    answer = await world.ask(FIRST)
    assert answer.rewritten_query is None
    assert world.history.said("c1") == [("user", FIRST), ("assistant", "El plazo es de 30 días [1].")]
    asked, said = world.history.items
    assert (asked.attributes.metadata, said.attributes.metadata) == ({}, {"generated": True})
    for item in (asked, said):
        about = item.attributes
        assert (about.owner, about.visibility_scope) == ("ana", VisibilityScope.PRIVATE)
        assert about.language == "es"
    assert asked.attributes.occurred_at is not None
    assert said.attributes.occurred_at == asked.attributes.occurred_at + AFTER


@pytest.mark.parametrize(
    ("said", "kind"), [(FIRST, "question"), ("gracias", "question"), ("Mi contrato vence en junio.", "turn")]
)
async def test_what_was_asked_is_no_statement(said: str, kind: str) -> None:
    world = World()
    await world.ask(said)
    assert [item.attributes.artifact_type for item in world.history.items] == [kind, "answer"]
    world = World(search=FoundAlready())
    await world.ask(said)
    assert [item.attributes.artifact_type for item in world.history.items] == [kind, "abstention"]


async def test_a_follow_up_is_searched_and_answered_as_rewritten() -> None:
    world = World()
    await world.ask(FIRST)
    answer = await world.ask(NEXT)
    assert answer.rewritten_query == REWRITTEN
    assert world.search.requests[1].query == REWRITTEN
    assert world.search.requests[1].profile == "memory"
    assert world.answerer.prompts[1].question == REWRITTEN
    assert world.history.said("c1")[2] == ("user", NEXT)


async def test_a_chain_of_follow_ups_keeps_its_subject() -> None:
    world = World()
    for query in (FIRST, NEXT, "¿y la penalización?"):
        answer = await world.ask(query)
    assert answer.rewritten_query == "¿y la penalización? CTR-2026-014"


async def test_conversations_and_readers_are_kept_apart() -> None:
    world = World()
    await world.ask(FIRST)
    assert (await world.ask(NEXT, "c2")).rewritten_query is None
    assert (await world.ask(NEXT, principal=Principal(subject="bea"))).rewritten_query is None
    assert (await world.ask(NEXT)).rewritten_query == REWRITTEN


async def test_a_stream_tells_the_rewritten_question_first() -> None:
    world = World()
    await world.ask(FIRST)
    request = SearchRequest(query=NEXT, conversation_id="c1")
    events = [event async for event in world.use_case.stream(request, principal=ME)]
    assert list(dict.fromkeys(map(type, events))) == [Searched, AnswerDelta, Answer]
    assert events[0].rewritten_query == events[-1].rewritten_query == REWRITTEN  # type: ignore[union-attr]


async def test_an_abstention_is_a_turn_too() -> None:
    world = World(search=FoundAlready())
    assert (await world.ask(FIRST)).abstained
    assert world.history.said("c1")[1] == ("assistant", ABSTENTIONS["es"])


async def test_an_answer_of_before_is_no_evidence() -> None:
    before = turn("El plazo es de 90 días.", "assistant", metadata={"generated": True}, id="1")
    imported = turn("El plazo es de 30 días.", "assistant", id="2")
    document = turn("Generado.", id="3", collection="artifact_chunks", metadata={"generated": True})
    world = World(search=FoundAlready((before, imported, document)))
    await world.ask(FIRST)
    assert [(passage.n, passage.chunk.id) for passage in world.answerer.prompts[0].passages] == [(1, "2"), (2, "3")]


async def test_an_answer_is_held_as_closely_as_its_closest_passage() -> None:
    passages = (turn("a", sensitivity=Sensitivity.CONFIDENTIAL), turn("b", sensitivity=Sensitivity.PUBLIC))
    world = World(search=FoundAlready(passages))
    await world.ask(FIRST)
    assert [item.attributes.sensitivity for item in world.history.items] == [
        Sensitivity.NORMAL,
        Sensitivity.CONFIDENTIAL,
    ]


async def test_a_reader_of_public_things_reads_the_own_turns() -> None:
    world = World(search=FoundAlready())
    reader = Principal(subject="eva", clearance=Sensitivity.PUBLIC)
    await world.ask(FIRST, principal=reader)
    assert [item.attributes.sensitivity for item in world.history.items] == [Sensitivity.PUBLIC] * 2
    assert (await world.ask(NEXT, principal=reader)).rewritten_query == REWRITTEN


@pytest.mark.parametrize(
    ("error", "reason"),
    [(StorageUnavailableError("out", reason="unreachable"), "unreachable"), (ConflictError("taken"), "conflict")],
)
async def test_what_cannot_be_stored_fails_no_answer(error: Exception, reason: str) -> None:
    world = World()
    world.history.write_error = error
    answer = await world.ask(FIRST)
    assert answer.text == "El plazo es de 30 días [1]."
    assert [(report.source, report.reason) for report in answer.degraded] == [("history", reason)]
    assert world.history.items == []


async def test_an_answer_that_cannot_be_stored_is_named_too() -> None:
    world = World()
    request = SearchRequest(query=FIRST, conversation_id="c1")
    async for event in world.use_case.stream(request, principal=ME):
        if isinstance(event, AnswerDelta):
            world.history.write_error = StorageUnavailableError("out", reason="unreachable")
    assert isinstance(event, Answer)
    assert [(report.source, report.reason) for report in event.degraded] == [("history", "unreachable")]
    assert world.history.said("c1") == [("user", FIRST)]


async def test_what_cannot_be_read_is_not_rewritten() -> None:
    world = World()
    await world.ask(FIRST)
    world.history.read_error = StorageUnavailableError("out", reason="unreachable")
    answer = await world.ask(NEXT)
    assert answer.rewritten_query is None
    assert [(report.source, report.reason) for report in answer.degraded] == [("history", "unreachable")]
    assert world.history.said("c1")[2] == ("user", NEXT)


async def test_a_store_that_hangs_is_cut() -> None:
    world = World(limits=ConversationLimits(storage_timeout_seconds=0.05))
    world.history.hang = True
    started = time.monotonic()
    answer = await world.ask(FIRST)
    assert [(report.source, report.reason) for report in answer.degraded] == [("history", "timeout")]
    assert time.monotonic() - started < 2


async def test_an_error_of_ours_is_not_swallowed() -> None:
    world = World()
    world.history.write_error = RuntimeError("a mistake")
    with pytest.raises(RuntimeError):
        await world.ask(FIRST)


async def test_the_language_model_rewrites_where_there_is_one() -> None:
    rewriter = Rewrites()
    world = World(rewriter=rewriter)
    assert (await world.ask(FIRST)).rewritten_query is None
    assert not rewriter.asked
    assert (await world.ask(NEXT)).rewritten_query == rewriter.text
    assert rewriter.asked == [(NEXT, [FIRST, "El plazo es de 30 días [1]."])]
    assert world.search.requests[1].query == rewriter.text


@pytest.mark.parametrize("said", ["gracias", "Sí", "no", "hola", "a", "y"])
async def test_small_talk_is_not_rewritten(said: str) -> None:
    for rewriter in (None, Rewrites()):
        world = World(rewriter=rewriter)
        await world.ask(FIRST)
        assert (await world.ask(said)).rewritten_query is None
        assert world.search.requests[1].query == said
        assert rewriter is None or not rewriter.asked


async def test_a_model_that_changes_nothing_is_not_mentioned() -> None:
    world = World(rewriter=Rewrites(text=NEXT))
    await world.ask(FIRST)
    assert (await world.ask(NEXT)).rewritten_query is None


@pytest.mark.parametrize(
    ("rewriter", "reason"),
    [
        (Rewrites(error=AnswererUnavailableError("out", reason="unreachable")), "unreachable"),
        (Rewrites(seconds=30), "timeout"),
    ],
)
async def test_without_the_model_the_names_are_appended(rewriter: Rewrites, reason: str) -> None:
    world = World(rewriter=rewriter, limits=ConversationLimits(rewrite_timeout_seconds=0.05))
    await world.ask(FIRST)
    answer = await world.ask(NEXT)
    assert answer.rewritten_query == REWRITTEN
    assert [(report.source, report.reason) for report in answer.degraded] == [("question_rewriter", reason)]


async def test_a_rewritten_question_that_is_too_long_is_not_asked() -> None:
    world = World(rewriter=Rewrites(text="x" * 51), limits=ConversationLimits(max_query_characters=50))
    await world.ask(FIRST)
    assert (await world.ask(NEXT)).rewritten_query is None


async def test_a_question_whose_answer_breaks_off_stays_alone() -> None:
    world = World()
    world.answerer.error = AnswererUnavailableError("out", reason="cut")
    with pytest.raises(AnswererUnavailableError):
        await world.ask(FIRST)
    assert world.history.said("c1") == [("user", FIRST)]
    world.answerer.error = None
    assert (await world.ask(NEXT)).rewritten_query == REWRITTEN


async def test_a_question_that_is_refused_is_not_stored() -> None:
    world = World(search=FoundAlready(error=InvalidInputError("no")))
    with pytest.raises(InvalidInputError):
        await world.ask(FIRST)
    assert world.history.items == []


async def test_two_questions_at_once_keep_their_order_and_their_answers() -> None:
    """Also where the clock stands still, and the first answer comes last."""
    world = World(stand_still=True)
    world.answerer.seconds = 0.2
    first = asyncio.ensure_future(world.ask(FIRST))
    await asyncio.sleep(0.05)
    world.answerer.seconds = 0.0
    world.answerer.text = "Vence en mayo [1]."
    second = await world.ask(NEXT)
    assert second.rewritten_query == REWRITTEN
    assert not first.done()
    world.answerer.text = "El plazo es de 30 días [1]."
    await first
    assert world.history.said("c1") == [
        ("user", FIRST),
        ("assistant", "El plazo es de 30 días [1]."),
        ("user", NEXT),
        ("assistant", "Vence en mayo [1]."),
    ]
    times = [item.attributes.occurred_at for item in world.history.of("c1")]
    assert times == [MOMENT + n * timedelta(microseconds=1) for n in range(4)]


async def test_a_reader_who_goes_away_leaves_the_question() -> None:
    world = World()
    request = SearchRequest(query=FIRST, conversation_id="c1")
    async with aclosing(world.use_case.stream(request, principal=ME)) as events:
        async for event in events:
            if isinstance(event, AnswerDelta):
                break
    assert world.history.said("c1") == [("user", FIRST)]


@pytest.mark.parametrize("name", ["", "x" * 401, "a\x00b", "a\ud800", 5])
def test_a_conversation_needs_a_storable_name(name: Any) -> None:
    with pytest.raises(InvalidInputError) as caught:
        replace(SearchRequest(query="a"), conversation_id=name)
    assert caught.value.field == "conversation_id"


async def test_an_answer_is_held_as_closely_as_what_its_episode_shows() -> None:
    world = World(search=FoundAlready((turn("a", sensitivity=Sensitivity.PUBLIC),)))
    world.search.hydration = episode_turn(hydrated("auth.go::login", "func login() {}", line=1))
    request = SearchRequest(query=FIRST, conversation_id="c1", episode_id="e")
    await final_answer(world.use_case.stream(request, principal=ME))
    assert [item.attributes.sensitivity for item in world.history.items] == [
        Sensitivity.NORMAL,
        Sensitivity.CONFIDENTIAL,
    ]

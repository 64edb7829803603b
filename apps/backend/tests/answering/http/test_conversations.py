"""POST /ask with a conversation."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest
from pydantic import TypeAdapter

from ragcorp.application.answering.answer import AnswerLimits, AnswerQuery
from ragcorp.application.answering.conversations import ConversationLimits, Conversations
from ragcorp.domain.collections import MAX_ITEM_NAME
from ragcorp.domain.exceptions import StorageUnavailableError
from ragcorp.domain.principal import Principal
from ragcorp.interface.http.app import create_app
from ragcorp.interface.http.protocol.limits import HttpLimits
from ragcorp.interface.shapes.answers import AnswerBody
from support.http.fakes import Spanish, World
from support.memory.conversations import NO_PAGES

pytestmark = pytest.mark.anyio

FIRST = "¿Cuál es el plazo del contrato CTR-2026-014?"
NEXT = "¿y cuándo vence?"
REWRITTEN = "¿y cuándo vence? CTR-2026-014"


@pytest.fixture
async def talking(world: World, make_client: Callable[[Any], httpx.AsyncClient]) -> AsyncIterator[httpx.AsyncClient]:
    services = world.services()
    history: Any = world.history
    answer = AnswerQuery(
        search=services.use_cases.search,
        answerer=world.answerer,
        languages=Spanish(),
        pages=NO_PAGES,
        limits=AnswerLimits(),
        conversations=Conversations(history=history, languages=Spanish(), limits=ConversationLimits()),
    )
    async with make_client(create_app(world.services(answer=answer), HttpLimits())) as client:
        await client.put("/documents/a.md", json={"text": "El plazo del contrato CTR-2026-014 es de 30 días."})
        yield client


async def speakers(world: World, session: str) -> list[str | None]:
    history = (await world.storage.ports()).history
    return [turn.speaker for turn in await history.latest_of_conversation(session, principal=Principal(), limit=9)]


async def test_a_follow_up_is_answered_as_rewritten(talking: httpx.AsyncClient, world: World) -> None:
    first = (await talking.post("/ask", json={"query": FIRST, "conversation_id": "c1"})).json()
    assert first["rewritten_query"] is None
    second = (await talking.post("/ask", json={"query": NEXT, "conversation_id": "c1"})).json()
    TypeAdapter(AnswerBody).validate_python(second)
    assert set(second) == set(AnswerBody.__annotations__)
    assert second["rewritten_query"] == REWRITTEN
    assert second["citations"][0]["collection"] == "artifact_chunks"
    assert world.answerer.prompts[1].question == REWRITTEN
    assert await speakers(world, "c1") == ["user", "assistant", "user", "assistant"]


async def test_a_stream_tells_the_rewritten_question(talking: httpx.AsyncClient, world: World) -> None:
    await talking.post("/ask", json={"query": FIRST, "conversation_id": "c1"})
    answer = await talking.post("/ask", json={"query": NEXT, "conversation_id": "c1", "stream": True})
    events = dict(
        block.replace("\r", "").removeprefix("event: ").split("\ndata: ", 1)
        for block in answer.text.replace("\r\n", "\n").strip().split("\n\n")
    )
    assert json.loads(events["status"])["rewritten_query"] == REWRITTEN
    assert json.loads(events["final_answer"])["rewritten_query"] == REWRITTEN
    assert len(await world.turns()) == 4


async def test_a_history_that_is_out_is_named(talking: httpx.AsyncClient, world: World) -> None:
    world.history.fault.error = StorageUnavailableError("out", reason="unreachable")
    answer = await talking.post("/ask", json={"query": FIRST, "conversation_id": "c1"})
    assert answer.status_code == 200
    assert [(item["source"], item["reason"]) for item in answer.json()["degraded"]] == [("history", "unreachable")]
    assert not answer.json()["abstained"]


@pytest.mark.parametrize("name", ["", "x" * 401, "a\u0000b", 5, None])
async def test_a_conversation_has_a_name_or_none(talking: httpx.AsyncClient, name: Any) -> None:
    answer = await talking.post("/ask", json={"query": FIRST, "conversation_id": name})
    if name is None:
        assert answer.status_code == 200
        return
    assert answer.status_code == 422
    assert [error["field"] for error in answer.json()["errors"]] == ["conversation_id"]


async def test_a_conversation_is_named_as_a_session_is(talking: httpx.AsyncClient, world: World) -> None:
    longest = "x" * MAX_ITEM_NAME
    answer = await talking.post("/ask", json={"query": FIRST, "conversation_id": longest})
    assert answer.status_code == 200
    assert answer.json()["degraded"] == []
    assert await speakers(world, longest) == ["user", "assistant"]


async def test_a_search_has_no_conversation(talking: httpx.AsyncClient) -> None:
    answer = await talking.post("/search", json={"query": FIRST, "conversation_id": "c1"})
    assert answer.status_code == 422

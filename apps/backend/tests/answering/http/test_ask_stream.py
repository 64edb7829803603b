"""POST /ask with server-sent events, on sockets."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from pydantic import TypeAdapter

from ragcorp.domain.exceptions import AnswererUnavailableError, StorageUnavailableError
from ragcorp.interface.shapes.answers import AnswerBody
from ragcorp.interface.shapes.search import SearchResults
from support.fixtures.http import MakeApp, Serve
from support.http.events import Event, events_of
from support.http.fakes import World

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
async def stored(client: httpx.AsyncClient) -> None:
    for name in ("a.md", "b.md"):
        await client.put(f"/documents/{name}", json={"text": f"El plazo de {name} es de 30 días."})


async def ask(url: str, **fields: Any) -> tuple[httpx.Response, list[Event]]:
    async with httpx.AsyncClient(base_url=url) as client:
        answer = await client.post("/ask", json={"query": "¿plazo?", "stream": True, **fields})
    is_stream = answer.headers["content-type"].startswith("text/event-stream")
    return answer, events_of(answer.text) if is_stream else []


async def test_the_events_of_an_answer_come_in_order(world: World, make_app: MakeApp, serve: Serve) -> None:
    world.answerer.script = ["El plazo ", "es de 30 días [", "1] y [9] también [2]."]
    async with serve(make_app()) as url:
        answer, events = await ask(url)
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.headers["cache-control"] == "no-store"
    names = [name for name, _ in events]
    assert names[:2] == ["status", "search_results"]
    assert names[-3:] == ["citation", "citation", "final_answer"]
    assert set(names[2:-3]) == {"message"}
    by_name = dict(events)
    assert by_name["status"] == {
        "status": "answering", "tool": "search", "passages": 2, "chunks": 2, "files": 2, "characters": 62,
        "message": "search: 2 chunks, 62 characters",
    }  # fmt: skip
    TypeAdapter(SearchResults).validate_python(by_name["search_results"])
    final = by_name["final_answer"]
    TypeAdapter(AnswerBody).validate_python(final)
    assert final["answer"] == "El plazo es de 30 días [1] y también [2]."
    assert "".join(data["delta"] for name, data in events if name == "message") == final["answer"]
    assert [data for name, data in events if name == "citation"] == final["citations"]
    assert final["request_id"] == by_name["search_results"]["request_id"] == answer.headers["x-request-id"]


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (AnswererUnavailableError("out", reason="cut"), 503, "answerer_unavailable"),
        (AnswererUnavailableError("out", reason="timeout"), 504, "answerer_unavailable"),
        (RuntimeError("secret"), 500, "internal"),
    ],
)
async def test_a_cut_stream_ends_in_an_error(
    world: World, make_app: MakeApp, serve: Serve, error: Exception, status: int, code: str
) -> None:
    world.answerer.script = ["El plazo ", error]
    async with serve(make_app()) as url:
        answer, events = await ask(url)
    assert answer.status_code == 200
    name, data = events[-1]
    assert name == "error"
    assert (data["status"], data["code"]) == (status, code)
    assert data["request_id"] == answer.headers["x-request-id"]
    assert "final_answer" not in dict(events)
    assert "secret" not in answer.text


async def test_what_fails_before_the_answer_is_an_ordinary_response(
    world: World, make_app: MakeApp, serve: Serve
) -> None:
    async with serve(make_app()) as url:
        answer, _ = await ask(url, limit=0)
        assert answer.status_code == 422
        assert answer.headers["content-type"] == "application/problem+json"
        world.repository.fault.error = StorageUnavailableError("out", reason="unreachable")
        answer, _ = await ask(url)
        assert answer.status_code == 503
        assert answer.headers["content-type"] == "application/problem+json"
    assert world.answerer.prompts == []


async def test_a_silent_model_is_bridged_by_pings(world: World, make_app: MakeApp, serve: Serve) -> None:
    world.answerer.script = [0.5, "El plazo es de 30 días [1]."]
    async with serve(make_app(ping_seconds=0.1, request_timeout_seconds=0.3)) as url:
        _, events = await ask(url)
    names = [name for name, _ in events]
    assert names.count("ping") >= 2
    assert names[-1] == "final_answer"
    assert dict(events)["ping"] == {}


async def test_the_connection_is_the_servers_matter(make_app: MakeApp, serve: Serve) -> None:
    async with serve(make_app()) as url, httpx.AsyncClient(base_url=url) as client:
        body = {"query": "¿plazo?", "stream": True}
        answer = await client.post("/ask", json=body, headers={"Connection": "close"})
    assert answer.headers.get_list("connection") == ["close"]


async def test_an_abstention_is_a_final_answer(make_app: MakeApp, serve: Serve, client: httpx.AsyncClient) -> None:
    await client.delete("/documents", params={"prefix": "a"})
    await client.delete("/documents", params={"prefix": "b"})
    async with serve(make_app()) as url:
        _, events = await ask(url)
    assert [name for name, _ in events] == ["status", "search_results", "final_answer"]
    assert events[-1][1]["abstained"] is True


async def test_text_with_line_ends_survives_the_framing(world: World, make_app: MakeApp, serve: Serve) -> None:
    text = "Uno [1].\n\ndata: falso\r\nevent: final_answer\u2028dos"
    world.answerer.script = [text]
    async with serve(make_app()) as url:
        _, events = await ask(url)
    plain = "Uno [1].\n\ndata: falso\nevent: final_answer\ndos"
    assert "".join(data["delta"] for name, data in events if name == "message") == plain
    assert [name for name, _ in events].count("final_answer") == 1
    assert dict(events)["final_answer"]["answer"] == plain

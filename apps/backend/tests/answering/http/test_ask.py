"""POST /ask without a stream."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from pydantic import TypeAdapter

from ragcorp.domain.exceptions import AnswererUnavailableError, StorageUnavailableError
from ragcorp.interface.shapes.answers import AnswerBody, AnswerCitation
from support.fixtures.http import MakeApp, Serve, with_each_parser
from support.http.fakes import World

pytestmark = pytest.mark.anyio


@pytest.fixture
async def stored(client: httpx.AsyncClient) -> None:
    body = {"text": "# Plazos\n\nEl plazo es de 30 días.", "title": "Contrato"}
    await client.put("/documents/a.md", json=body)


@pytest.mark.usefixtures("stored")
async def test_an_answer_cites_documents(client: httpx.AsyncClient) -> None:
    answer = await client.post("/ask", json={"query": "¿plazo?"})
    assert answer.status_code == 200
    body = answer.json()
    TypeAdapter(AnswerBody).validate_python(body)
    assert body["answer"] == "El plazo es de 30 días [1]."
    assert body["abstained"] is False
    assert body["usage"] == {"completion_tokens": 7}
    (citation,) = body["citations"]
    assert citation["n"] == 1
    assert citation["chunk_id"] == (await client.post("/search", json={"query": "¿plazo?"})).json()["results"][0]["id"]
    assert citation["external_id"] == citation["path"] == "a.md"
    assert citation["title"] == "Contrato"
    assert citation["quote"] == "El plazo es de 30 días."
    assert (citation["line_start"], citation["line_end"], citation["page"]) == (3, 3, None)
    assert set(citation) == set(AnswerCitation.__annotations__)


async def test_without_passages_it_abstains(client: httpx.AsyncClient) -> None:
    body = (await client.post("/ask", json={"query": "¿plazo?"})).json()
    assert body["abstained"] is True
    assert body["citations"] == []
    assert body["answer"]


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (AnswererUnavailableError("out", reason="timeout"), 504, "answerer_unavailable"),
        (AnswererUnavailableError("out", reason="cut"), 503, "answerer_unavailable"),
        (StorageUnavailableError("out", reason="unreachable"), 503, "storage_unavailable"),
        (RuntimeError("secret"), 500, "internal"),
    ],
)
async def test_a_model_that_fails_is_a_problem(
    client: httpx.AsyncClient, world: World, error: Exception, status: int, code: str
) -> None:
    world.answerer.script = ["El plazo", error]
    answer = await client.post("/ask", json={"query": "¿plazo?"})
    assert answer.status_code == status
    assert answer.json()["code"] == code
    assert "secret" not in answer.text
    assert ("retry-after" in answer.headers) is (status in (503, 504))


@pytest.mark.usefixtures("stored")
async def test_an_answer_has_its_own_time(
    world: World, make_app: MakeApp, make_client: Callable[[Any], httpx.AsyncClient]
) -> None:
    world.answerer.script = [0.3, "El plazo es de 30 días [1]."]
    async with make_client(make_app(request_timeout_seconds=0.1, ask_timeout_seconds=5)) as client:
        assert (await client.post("/ask", json={"query": "¿plazo?"})).status_code == 200
    async with make_client(make_app(request_timeout_seconds=5, ask_timeout_seconds=0.1)) as client:
        answer = await client.post("/ask", json={"query": "¿plazo?"})
    assert answer.status_code == 503
    assert answer.json()["code"] == "request_timeout"
    assert "REQUEST_TIMEOUT_SECONDS" in answer.json()["detail"]


@with_each_parser
@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize("stream", [False, True])
async def test_a_client_that_leaves_ends_the_model_call(
    world: World, make_app: MakeApp, serve: Serve, stream: bool
) -> None:
    world.answerer.script = ["El plazo", 60.0]
    app: FastAPI = make_app(ask_timeout_seconds=60)
    async with serve(app) as url, httpx.AsyncClient(base_url=url) as client:
        with pytest.raises(httpx.ReadTimeout):
            await client.post("/ask", json={"query": "¿plazo?", "stream": stream}, timeout=0.5)
        assert world.answerer.prompts
        async with asyncio.timeout(2):
            await world.answerer.closed.wait()


@pytest.mark.parametrize("field", ["top_k", "question", "profile", "cursor"])
async def test_unknown_fields_are_refused(client: httpx.AsyncClient, field: str) -> None:
    assert (await client.post("/ask", json={"query": "a", field: 1})).status_code == 422

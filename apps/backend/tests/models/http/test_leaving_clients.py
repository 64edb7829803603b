"""A client that leaves ends the call of a model that was made for it; no connection is held while a model writes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import httpx
import pytest

from ragcorp.infrastructure.openai_compatible.client import Endpoint
from ragcorp.infrastructure.openai_compatible.embedder import OpenAIEmbedder
from ragcorp.main.service.app import run_service
from ragcorp.main.wiring.base import Parts
from ragcorp.main.wiring.container import Container
from support.http.serving import serving
from support.models.embedders import TEST_MODEL, HashingEmbedder
from support.models.openai_server import FakeOpenAI, openai_server

pytestmark = pytest.mark.anyio

MakeContainer = Callable[..., Awaitable[Container]]

JSON_AND_EVENTS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}

LONG = 120.0
"""Seconds after which a call would end by itself."""

SOON = 20.0
"""The call ends within 2 s; a machine under load may take longer."""

QUESTION = "¿Cuál es el plazo de entrega?"


@pytest.fixture
async def model() -> AsyncIterator[FakeOpenAI]:
    async with openai_server() as fake:
        fake.vector = lambda text: HashingEmbedder().vector(text)
        yield fake


async def container_of(make_container: MakeContainer, model: FakeOpenAI, **settings: Any) -> Container:
    endpoint = Endpoint(base_url=model.base_url, api_key="k", timeout_seconds=LONG, max_retries=0)
    seconds = {
        "source_timeout_seconds": 100.0,
        "search_timeout_seconds": 110.0,
        "request_timeout_seconds": LONG,
        "answer_timeout_seconds": LONG,
        "context_load_timeout": 100.0,
        "embed_wait_seconds": 0.0,
    }
    return await make_container(
        parts=Parts(embedder=OpenAIEmbedder(endpoint=endpoint, model=TEST_MODEL)),
        answer_provider="openai",
        openai_base_url=model.base_url,
        enable_hybrid_search=True,
        **{**seconds, **settings},
    )


@asynccontextmanager
async def request_open(
    url: str, method: str, path: str, body: dict[str, Any] | None, **headers: str
) -> AsyncIterator[None]:
    """Send a request and read nothing; the connection closes with the block."""
    host, port = url.removeprefix("http://").split(":")
    _, writer = await asyncio.open_connection(host, int(port))
    content = b"" if body is None else json.dumps(body).encode()
    lines = {"Host": "localhost", "Content-Length": str(len(content)), "Content-Type": "application/json", **headers}
    head = "\r\n".join([f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in lines.items()), "", ""])
    writer.write(head.encode() + content)
    try:
        yield
    finally:
        writer.close()


async def asked(model: FakeOpenAI, path: str) -> None:
    async with asyncio.timeout(SOON):
        while not any(seen.path.endswith(path) for seen in model.seen):  # noqa: ASYNC110 - another server is watched
            await asyncio.sleep(0.02)


EMBEDDINGS, CHAT = "/embeddings", "/chat/completions"
ASKED = {"query": QUESTION, "mode": "sparse"}
TEXT = {"text": "Otro contrato, con otro plazo."}


CASES: tuple[tuple[str, str, str, dict[str, Any] | None, str, str], ...] = (
    ("stream of an answer", "POST", "/ask", {**ASKED, "stream": True}, CHAT, "hang_inside"),
    ("stream before the first word", "POST", "/ask", {**ASKED, "stream": True}, CHAT, "hang"),
    ("answer", "POST", "/ask", ASKED, CHAT, "hang_inside"),
    ("search of a stream", "POST", "/ask", {"query": "uno", "stream": True}, EMBEDDINGS, "hang"),
    ("search of an answer", "POST", "/ask", {"query": "dos"}, EMBEDDINGS, "hang"),
    ("search", "POST", "/search", {"query": "tres"}, EMBEDDINGS, "hang"),
    ("stream of a search", "POST", "/search", {"query": "cuatro", "stream": True}, EMBEDDINGS, "hang"),
    ("context", "GET", "/context?query=cinco", None, EMBEDDINGS, "hang"),
    ("rewriting of a follow-up", "POST", "/ask", {**ASKED, "conversation_id": "c"}, CHAT, "hang"),
)
"""What is asked, which of the model's paths that calls, and where that hangs."""


async def test_the_call_of_a_model_ends_with_its_client(
    make_container: MakeContainer, model: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ragcorp.main.wiring.answering.REWRITE_TIMEOUT_SECONDS", LONG)
    container = await container_of(make_container, model)
    async with run_service(container) as app, serving(app) as url:
        async with httpx.AsyncClient(base_url=url, timeout=60) as client:
            await client.put("/documents/a.md", json={"text": "El plazo de entrega es de 30 días."})
            first = await client.post("/ask", json={**ASKED, "conversation_id": "c"})
            assert first.status_code == 200
        await no_more_calls(model)
        for name, method, path, body, called, fault in CASES:
            model.seen.clear()
            model.closed.clear()
            model.always = fault
            async with request_open(url, method, path, body):
                await asked(model, called)
                assert not model.closed.is_set(), name
            try:
                async with asyncio.timeout(SOON):
                    await model.closed.wait()
            except TimeoutError:
                pytest.fail(f"{name}: the call goes on")
            model.always = "ok"


async def no_more_calls(model: FakeOpenAI) -> None:
    """Wait until the worker of the vectors has nothing left."""
    calls = -1
    while calls != len(model.seen):
        calls = len(model.seen)
        await asyncio.sleep(0.2)


async def test_a_put_that_is_left_keeps_its_document_and_ends_its_wait(
    make_container: MakeContainer, model: FakeOpenAI
) -> None:
    container = await container_of(make_container, model, embed_wait_seconds=60.0)
    model.always = "hang"
    async with run_service(container) as app, serving(app) as url:
        async with request_open(url, "PUT", "/documents/a.md", TEXT):
            await asked(model, EMBEDDINGS)
        async with asyncio.timeout(SOON):
            await model.closed.wait()
        model.always = "ok"
        async with httpx.AsyncClient(base_url=url, timeout=60) as client, asyncio.timeout(30):
            while (await client.get("/documents/a.md")).json()["pending"]:  # noqa: ASYNC110
                await asyncio.sleep(0.1)


async def test_streams_that_a_model_keeps_waiting_hold_no_connection(
    make_container: MakeContainer, model: FakeOpenAI
) -> None:
    container = await container_of(make_container, model, database_pool_size=2, max_concurrent_requests=1)
    async with run_service(container) as app, serving(app) as url, AsyncExitStack() as stack:
        client = await stack.enter_async_context(httpx.AsyncClient(base_url=url, timeout=60))
        await client.put("/documents/a.md", json={"text": "El plazo de entrega es de 30 días."})
        await no_more_calls(model)
        model.always = "hang_inside"
        for _ in range(6):
            stream = await stack.enter_async_context(client.stream("POST", "/ask", json={**ASKED, "stream": True}))
            text = ""
            async with asyncio.timeout(SOON):
                async for piece in stream.aiter_text():
                    text += piece
                    if "event: message" in text:
                        break
            assert "event: message" in text
        async with asyncio.timeout(SOON):
            while True:  # the workers look for work now and then
                statistics = container.database.statistics()
                if statistics["pool_available"] == statistics["pool_size"]:
                    break
                await asyncio.sleep(0.01)
        others = [await client.post("/search", json=ASKED) for _ in range(5)]
        assert [other.status_code for other in others] == [200] * 5
        assert (await client.put("/documents/b.md", json=TEXT)).status_code == 201
        assert (await client.get("/documents")).status_code == 200
        model.always = "ok"


async def test_a_tool_call_that_is_cancelled_ends_the_call_of_the_model(
    make_container: MakeContainer, model: FakeOpenAI
) -> None:
    container = await container_of(make_container, model)
    async with (
        run_service(container) as app,
        serving(app) as url,
        httpx.AsyncClient(base_url=url, timeout=60) as client,
    ):
        await client.put("/documents/a.md", json={"text": "El plazo de entrega es de 30 días."})
        await no_more_calls(model)
        opened = await client.post("/mcp", json=INITIALIZE, headers=JSON_AND_EVENTS)
        session = {**JSON_AND_EVENTS, "mcp-session-id": opened.headers["mcp-session-id"]}
        said = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        await client.post("/mcp", json=said, headers=session)
        params = {"name": "ask", "arguments": {"query": "¿Y el plazo?"}}
        call = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}
        model.seen.clear()
        model.always = "hang"
        asking = asyncio.create_task(client.post("/mcp", json=call, headers=session))
        await asked(model, "")
        cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}
        answer = await client.post("/mcp", json=cancelled, headers=session)
        assert answer.status_code == 202
        async with asyncio.timeout(SOON):
            await model.closed.wait()
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        # and where the connection closes
        model.seen.clear()
        model.closed.clear()
        async with request_open(url, "POST", "/mcp", {**call, "id": 8}, **session):
            await asked(model, "")
        async with asyncio.timeout(SOON):
            await model.closed.wait()
        model.always = "ok"

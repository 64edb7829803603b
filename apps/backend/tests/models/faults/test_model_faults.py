"""What happens when a model fails: each fault on a real server, the whole service and the real database before it.

The rows (support/models/fault_rows.py) are those of "When a model fails" in docs/operations.md, held to them by a test.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import psycopg
import pytest

from ragcorp.infrastructure.openai_compatible.answerer import OpenAIAnswerer
from ragcorp.infrastructure.openai_compatible.client import Endpoint
from ragcorp.infrastructure.openai_compatible.embedder import OpenAIEmbedder
from ragcorp.infrastructure.reranking.http_reranker import HttpReranker
from ragcorp.main.service.app import run_service
from ragcorp.main.wiring.base import Parts
from ragcorp.main.wiring.container import Container
from support.faults.proxy import Fault, fault_proxy
from support.http.events import events_of
from support.models.embedders import TEST_MODEL, HashingEmbedder
from support.models.fault_rows import EMBEDDING, LANGUAGE, LONG, RERANKER, SHORT, Row, by_deadline
from support.models.openai_server import FakeOpenAI, openai_server
from support.models.rerank_server import FakeReranker, rerank_server

pytestmark = pytest.mark.anyio

MakeContainer = Callable[..., Awaitable[Container]]

BOUND = 90.0
"""For a machine under load: a guard against waiting for the fault, not a measurement."""

SERVICE_AGAIN = 30.0
"""Within 10 s of the fault's end on a machine that has time."""

SECRETS = ("SECRET-IN-BODY", "sk-", "key-of-mine", "Sign in")


STORED = "SELECT c.content, e.embedding::text FROM chunk_embeddings e JOIN chunks c ON c.id = e.chunk_id"


class World(NamedTuple):
    client: httpx.AsyncClient
    container: Container


@asynccontextmanager
async def service(container: Container) -> AsyncIterator[World]:
    async with run_service(container) as app:
        transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost", timeout=60) as client:
            yield World(client, container)


def endpoint(url: str, deadline: float) -> Endpoint:
    return Endpoint(base_url=url, api_key="key-of-mine", timeout_seconds=deadline, max_retries=0)


@pytest.fixture
async def model() -> AsyncIterator[FakeOpenAI]:
    """A server whose ``base_url`` leads through a proxy; the fault ``refused`` is the proxy's."""
    async with openai_server() as fake:
        host, port = fake.base_url.removeprefix("http://").removesuffix("/v1").split(":")
        async with fault_proxy(host, int(port)) as proxy:
            fake.base_url = f"http://{proxy.host}:{proxy.port}/v1"
            fake.proxy = proxy
            yield fake


def switch(model: FakeOpenAI, fault: str) -> None:
    model.proxy.switch(Fault.REFUSE if fault == "refused" else Fault.PASS)
    model.finish_reason = fault.partition(":")[2] if fault.startswith("finish:") else "stop"
    model.always = "ok" if fault == "refused" or fault.startswith("finish:") else fault
    model.sent = 0


def like_the_tests(text: str) -> list[float]:
    return list(HashingEmbedder().vector(text))


async def with_embedding(
    make_container: MakeContainer, model: FakeOpenAI, *, deadline: float = LONG, **settings: Any
) -> Container:
    model.vector = like_the_tests
    embedder = OpenAIEmbedder(endpoint=endpoint(model.base_url, deadline), model=TEST_MODEL, batch_size=4)
    return await make_container(
        parts=Parts(embedder=embedder),
        source_timeout_seconds=60.0,
        search_timeout_seconds=90.0,
        request_timeout_seconds=100.0,
        **{"circuit_breaker_failures": 0, "embed_wait_seconds": 0.05, **settings},
    )


async def search(world: World, query: str, **body: Any) -> httpx.Response:
    return await world.client.post("/search", json={"query": query, "mode": "hybrid", **body})


def reasons(response: httpx.Response) -> dict[str, str]:
    return {item["source"]: item["reason"] for item in response.json()["degraded"]}


async def pending(world: World) -> int:
    return (await world.container.use_cases.embed_pending.counts()).pending


def stored_vectors(dsn: str) -> int:
    with psycopg.connect(dsn) as connection:
        row = connection.execute("SELECT count(*) FROM chunk_embeddings").fetchone()
    assert row is not None
    return int(row[0])


async def ends(holds: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(SERVICE_AGAIN):
        while not await holds():  # noqa: ASYNC110 - another server is watched
            await asyncio.sleep(0.1)


async def one_fault(world: World, model: FakeOpenAI, row: Row, name: str) -> None:
    """The other sources answer, in time; the document is taken and waits."""
    switch(model, row.fault)
    started = time.monotonic()
    put = await world.client.put(f"/documents/{name}.md", json={"text": f"Expediente {name} con Acme Corporation."})
    result = await search(world, f"expediente {name}")
    strict = await search(world, f"otra vez {name}", require_all=True)
    assert time.monotonic() - started < BOUND
    assert (put.status_code, put.json()["pending"]) == (201, 1)
    assert (result.status_code, reasons(result)) == (200, {"dense": row.reason})
    assert result.json()["results"][0]["external_id"] == f"{name}.md"
    assert strict.status_code == 503
    assert model.sent < 64 * 1024 * 1024
    assert not any(seen.path.endswith("/elsewhere") for seen in model.seen)
    for response in (put, result, strict):
        assert not any(secret in response.text for secret in SECRETS)


@by_deadline(EMBEDDING)
async def test_whatever_the_embedding_model_does_the_other_sources_answer_and_documents_wait(
    make_container: MakeContainer,
    model: FakeOpenAI,
    owner_dsn: str,
    caplog: pytest.LogCaptureFixture,
    rows: Sequence[Row],
    deadline: float,
) -> None:
    container = await with_embedding(make_container, model, deadline=deadline)
    async with service(container) as world:
        failed: list[str] = []
        for number, row in enumerate(rows):
            try:
                await one_fault(world, model, row, f"caso{number}")
            except AssertionError as error:
                failed.append(f"{row.shown}: {error}")
        assert not failed, "\n".join(failed)
        assert stored_vectors(owner_dsn) == 0
        assert await pending(world) == len(rows)
        switch(model, "ok")

        async def all_there() -> bool:
            return await pending(world) == 0

        await ends(all_there)
        result = await search(world, "expediente caso0 más", mode="dense", limit=50)
        assert (result.status_code, reasons(result)) == (200, {})
        assert len(result.json()["results"]) == stored_vectors(owner_dsn) == len(rows)
    said = "\n".join(record.getMessage() + str(record.exc_text or "") for record in caplog.records)
    assert not any(secret in said for secret in SECRETS)


async def test_vectors_in_another_order_are_stored_by_their_index(
    make_container: MakeContainer, model: FakeOpenAI, owner_dsn: str
) -> None:
    container = await with_embedding(make_container, model, embed_wait_seconds=20.0)
    switch(model, "shuffled")
    text = "\n\n".join(f"# Parte {n}\n\n{word} " + f"{word} de relleno. " * 60 for n, word in enumerate(("uno", "dos")))
    async with service(container) as world:
        put = await world.client.put("/documents/a.md", json={"text": text})
        assert (put.json()["pending"], put.json()["chunks"] > 1) == (0, True)
    hashing = HashingEmbedder()
    with psycopg.connect(owner_dsn) as connection:
        rows = connection.execute(STORED).fetchall()
    sent = [text for seen in model.seen for text in seen.body["input"]]
    for content, vector in rows:
        values = [float(value) for value in vector.strip("[]").split(",")]
        (text,) = {text for text in sent if content in text}
        assert values == pytest.approx(hashing.vector(text), abs=2e-3)


async def test_a_model_that_fails_again_and_again_is_left_alone_and_asked_again(
    make_container: MakeContainer, model: FakeOpenAI
) -> None:
    container = await with_embedding(
        make_container, model, circuit_breaker_failures=2, circuit_breaker_cooldown_seconds=0.5
    )
    async with service(container) as world:
        await world.client.put("/documents/a.md", json={"text": "Contrato con Acme Corporation."})
        switch(model, "500")
        said = [reasons(await search(world, f"Acme Corporation {n}")).get("dense") for n in range(4)]
        assert said == ["server_error", "server_error", "circuit_open", "circuit_open"]
        switch(model, "ok")

        async def answers() -> bool:
            return reasons(await search(world, "Acme Corporation una vez más")) == {}

        await ends(answers)


async def with_language_model(make_container: MakeContainer, model: FakeOpenAI, *, deadline: float) -> Container:
    return await make_container(
        parts=Parts(
            embedder=HashingEmbedder(),
            answerer=OpenAIAnswerer(endpoint=endpoint(model.base_url, deadline), model="chat-test"),
        ),
        answer_timeout_seconds=3 * deadline,
        request_timeout_seconds=100.0,
        enable_hybrid_search=True,
    )


@by_deadline(LANGUAGE)
async def test_whatever_the_language_model_does_an_answer_that_is_not_whole_is_an_error(
    make_container: MakeContainer,
    model: FakeOpenAI,
    caplog: pytest.LogCaptureFixture,
    rows: Sequence[Row],
    deadline: float,
) -> None:
    container = await with_language_model(make_container, model, deadline=deadline)
    async with service(container) as world:
        await world.client.put("/documents/a.md", json={"text": "El plazo de entrega es de 30 días."})
        failed: list[str] = []
        for row in rows:
            switch(model, row.fault)
            started = time.monotonic()
            streamed = await world.client.post("/ask", json={"query": "¿Cuál es el plazo?", "stream": True})
            whole = await world.client.post("/ask", json={"query": "¿Cuál es el plazo?"})
            events = events_of(streamed.text)
            status = 504 if row.reason == "timeout" else 503
            problem = events[-1][1]
            seen = (streamed.status_code, events[-1][0], problem.get("reason"), problem.get("status"))
            if seen != (200, "error", row.reason, status) or "final_answer" in dict(events):
                failed.append(f"{row.shown}: stream {seen}")
            if (whole.status_code, whole.json().get("reason")) != (status, row.reason):
                failed.append(f"{row.shown}: {whole.status_code} {whole.text}")
            if "search_results" not in dict(events):
                failed.append(f"{row.shown}: no search_results")
            if time.monotonic() - started > BOUND or model.sent > 64 * 1024 * 1024:
                failed.append(f"{row.shown}: no bound")
            if any(secret in streamed.text + whole.text for secret in SECRETS):
                failed.append(f"{row.shown}: relays what the server said")
        assert not failed, "\n".join(failed)
        switch(model, "ok")
        again = await world.client.post("/ask", json={"query": "¿Cuál es el plazo?"})
        assert (again.status_code, again.json()["abstained"]) == (200, False)
    said = "\n".join(record.getMessage() + str(record.exc_text or "") for record in caplog.records)
    assert not any(secret in said for secret in SECRETS)


def switch_reranker(reranker: FakeReranker, fault: str) -> None:
    reranker.fault = int(fault) if fault.isdigit() else None if fault == "ok" else fault


@by_deadline(RERANKER)
async def test_whatever_the_reranker_does_the_order_before_it_is_shown(
    make_container: MakeContainer, rows: Sequence[Row], deadline: float
) -> None:
    async with rerank_server() as reranker:
        http = HttpReranker(url=reranker.url, model="m", api_key="key-of-mine", timeout_seconds=deadline)
        container = await make_container(
            parts=Parts(embedder=HashingEmbedder(), reranker=http),
            rerank_timeout_seconds=deadline,
            search_timeout_seconds=90.0,
            request_timeout_seconds=100.0,
        )
        async with service(container) as world:
            for name in ("a", "b"):
                await world.client.put(f"/documents/{name}.md", json={"text": f"Contrato {name} con Acme."})
            failed: list[str] = []
            for row in rows:
                switch_reranker(reranker, row.fault)
                result = await search(world, "contrato Acme", rerank=True)
                seen = (result.status_code, len(result.json()["results"]), list(reasons(result).values()))
                if seen != (200, 2, [row.reason]):
                    failed.append(f"{row.shown}: {seen}")
                if any(secret in result.text for secret in SECRETS):
                    failed.append(f"{row.shown}: relays what the server said")
            assert not failed, "\n".join(failed)
            switch_reranker(reranker, "ok")
            assert reasons(await search(world, "contrato Acme", rerank=True)) == {}


def test_the_documentation_shows_these_rows_and_no_others() -> None:
    text = (Path(__file__).parents[5] / "docs" / "operations.md").read_text()
    section = text.split("## When a model fails", 1)[1].split("\n## ", 1)[0]
    shown = set(re.findall(r"^\| (embedding|answer|reranking) \| (.+?) \| `(\w+)`", section, re.MULTILINE))
    tables = {"embedding": EMBEDDING, "answer": LANGUAGE, "reranking": RERANKER}
    assert shown == {(name, row.shown, row.reason) for name, rows in tables.items() for row in rows}


@pytest.mark.soak
@pytest.mark.parametrize("row", EMBEDDING, ids=[row.shown for row in EMBEDDING])
async def test_twenty_times_service_is_back_after_a_fault_of_the_embedding_model(
    make_container: MakeContainer, model: FakeOpenAI, owner_dsn: str, row: Row
) -> None:
    container = await with_embedding(make_container, model, deadline=SHORT if row.reason == "timeout" else LONG)
    logging.getLogger("ragcorp").setLevel(logging.ERROR)
    async with service(container) as world:
        for turn in range(20):
            await one_fault(world, model, row, f"caso{turn}")
            switch(model, "ok")

            async def all_there() -> bool:
                return await pending(world) == 0

            await ends(all_there)
            assert reasons(await search(world, f"expediente de nuevo {turn}")) == {}
        assert stored_vectors(owner_dsn) == 20


@pytest.mark.soak
@pytest.mark.parametrize("row", LANGUAGE, ids=[row.shown for row in LANGUAGE])
async def test_twenty_times_answers_are_back_after_a_fault_of_the_language_model(
    make_container: MakeContainer, model: FakeOpenAI, row: Row
) -> None:
    deadline = SHORT if row.reason == "timeout" else LONG
    container = await with_language_model(make_container, model, deadline=deadline)
    async with service(container) as world:
        await world.client.put("/documents/a.md", json={"text": "El plazo de entrega es de 30 días."})
        for _ in range(20):
            switch(model, row.fault)
            whole = await world.client.post("/ask", json={"query": "¿Cuál es el plazo?"})
            assert whole.status_code in (503, 504)
            switch(model, "ok")
            again = await world.client.post("/ask", json={"query": "¿Cuál es el plazo?"})
            assert (again.status_code, again.json()["abstained"]) == (200, False)

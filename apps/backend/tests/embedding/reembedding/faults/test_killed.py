"""A re-embedding that is killed half-way, on a database that is searched and written to all the while."""

from __future__ import annotations

import asyncio
import os
import signal
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any

import psycopg
import pytest

from ragcorp.application.embedding.reembed import PROBE
from ragcorp.domain.embeddings import EmbeddingModel
from ragcorp.interface.library.rag import Rag
from ragcorp.main.opening.library import make_rag
from ragcorp.main.wiring.base import Parts
from support.models.embedders import HashingEmbedder
from support.models.openai_server import FakeOpenAI, openai_server
from support.models.reembedding import MISSING
from support.processes.command_line import Done, Running, run_apart

pytestmark = pytest.mark.anyio

NEW = EmbeddingModel(name="new-model", dimensions=16)
BATCH = 2
CALLS_BEFORE_THE_KILL = 8
COMMAND = ("reembed", f"--model={NEW.name}", f"--dimensions={NEW.dimensions}", "--json")


@pytest.fixture
async def provider() -> AsyncIterator[FakeOpenAI]:
    async with openai_server() as fake:
        fake.vectors = {NEW.name: HashingEmbedder(model=NEW).vector}
        yield fake


@pytest.fixture
def environment(dsn: str, owner_dsn: str, provider: FakeOpenAI) -> dict[str, str]:
    return {
        "DATABASE_URL": dsn,
        "DATABASE_OWNER_URL": owner_dsn,
        "OPENAI_BASE_URL": provider.base_url,
        "EMBEDDING_BATCH_SIZE": str(BATCH),
    }


class Load:
    """Searches and writes through a library of the old model until it is stopped."""

    def __init__(self, rag: Rag) -> None:
        self._rag = rag
        self._stopping = asyncio.Event()
        self.searches = 0
        self.empty: list[str] = []
        self.written: dict[str, str] = {}

    async def run(self) -> None:
        while not self._stopping.is_set():
            name = f"durante-{len(self.written)}.md"
            text = f"Escrito durante el cambio, pedido {1000 + len(self.written)}."
            await self._rag.ingest_text(name, text)
            self.written[name] = text
            for mode in ("dense", "hybrid"):
                if not (await self._rag.search("pedido de Acme", mode=mode)).hits:
                    self.empty.append(mode)
                self.searches += 1
            with suppress(TimeoutError):
                async with asyncio.timeout(0.05):
                    await self._stopping.wait()

    def stop(self) -> None:
        self._stopping.set()


async def until(condition: Callable[[], bool], process: Any = None) -> None:
    for _ in range(6000):
        if condition():
            return
        assert process is None or process.poll() is None, "the command ended by itself"
        await asyncio.sleep(0.01)
    pytest.fail("it did not come to that")


def count(dsn: str, query: str, *values: object) -> int:
    with psycopg.connect(dsn) as connection:
        row = connection.execute(query, values or None).fetchone()  # type: ignore[call-overload]
    return int(row[0])


def texts(provider: FakeOpenAI) -> list[str]:
    """What the new model was asked for, in order, without the question whether it is there."""
    return [text for seen in provider.seen for text in seen.body["input"] if text != PROBE]


async def killed_half_way(provider: FakeOpenAI, environment: dict[str, str]) -> set[str]:
    """Start the command, kill it while the provider keeps it waiting, and return the texts in flight."""
    provider.faults = ["ok"] * (1 + CALLS_BEFORE_THE_KILL)
    provider.always = "hang"
    running = Running.start(*COMMAND, env=environment)
    try:
        await until(lambda: len(provider.seen) > 1 + CALLS_BEFORE_THE_KILL, running.process)
    finally:
        os.killpg(running.process.pid, signal.SIGKILL)
        await asyncio.to_thread(running.process.wait)
    in_flight = {text for seen in provider.seen[-4:] for text in seen.body["input"]}
    provider.always = "ok"
    return in_flight


@pytest.mark.parametrize("documents", [40, pytest.param(2000, marks=pytest.mark.soak)])
async def test_no_query_and_no_document_is_lost(
    make_container: Callable[..., Any], provider: FakeOpenAI, environment: dict[str, str], dsn: str, documents: int
) -> None:
    old = make_rag(await make_container(parts=Parts(embedder=HashingEmbedder()), enable_hybrid_search=True))
    existing = {f"nota-{number}.md": f"La nota {number}, del pedido {number} de Acme." for number in range(documents)}
    for name, text in existing.items():
        await old.ingest_text(name, text)
    await old.embed_pending()

    load = Load(old)
    working = asyncio.create_task(load.run())
    in_flight = await killed_half_way(provider, environment)
    made = count(dsn, "SELECT count(*) FROM chunk_embeddings WHERE vector_dims(embedding) = 16")
    assert 0 < made <= CALLS_BEFORE_THE_KILL * BATCH
    assert count(dsn, "SELECT count(*) FROM embedding_models WHERE active AND name = 'test-embedder'") == 1

    done: Done = await asyncio.to_thread(run_apart, *COMMAND, env=environment, timeout=500)
    assert done.code == 0, done.out + done.err
    assert '"status": "switched"' in done.out.splitlines()[-1]
    # the old process goes on to write for a while: what it stores now waits for a worker of the new model
    before = len(load.written)
    await until(lambda: len(load.written) > before + 3 or working.done())
    load.stop()
    await working  # raises what a search or a write raised
    assert load.empty == []
    assert load.searches > 10

    twice = {text for text, times in Counter(texts(provider)).items() if times > 1}
    assert twice <= in_flight

    new = make_rag(await make_container(parts=Parts(embedder=HashingEmbedder(model=NEW)), enable_hybrid_search=True))
    assert count(dsn, "SELECT count(*) FROM embedding_backlog") >= 3
    assert (await new.embed_pending()).pending == 0
    assert count(dsn, MISSING, NEW.name) == 0
    for name, text in (existing | load.written).items():
        response = await new.search(text, mode="dense", filters={"external_id": name})
        assert [hit.chunk.external_id for hit in response.hits] == [name]
        assert response.degraded == ()

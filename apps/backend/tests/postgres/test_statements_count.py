"""What one search costs the database: statements, round trips and connections, seen on the wire to a real server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from benchmarks.wire import Trace, traced
from ragcorp.domain.ports.models import Vector
from ragcorp.interface.library.rag import Rag
from ragcorp.main.container import Container, Parts
from ragcorp.main.library import make_rag
from support.embedders import HashingEmbedder

pytestmark = pytest.mark.anyio

TEXTS = {f"doc-{number}": f"El contrato número {number} vence en marzo." for number in range(12)}


@pytest.fixture
async def trace() -> AsyncIterator[Trace]:
    with traced() as trace:
        yield trace


async def filled(container: Container) -> Rag:
    rag = make_rag(container)
    for external_id, text in TEXTS.items():
        await rag.ingest_text(external_id, text)
    return rag


def kind(statement: str) -> str:
    """Name a statement by the table or function that only it reads."""
    for mark, name in (
        ("set_config(", "settings"),
        ("<=>", "dense"),
        ("ts_rank_cd", "full text"),
        ("c.content, c.heading_path", "contents"),
    ):
        if mark in statement:
            return name
    return statement


@pytest.mark.parametrize("filters", [None, {"language": "es"}])
async def test_with_the_flag_off_a_search_is_one_retrieval_statement_and_the_contents(
    trace: Trace, make_container: Callable[..., Any], filters: dict[str, object] | None
) -> None:
    rag = await filled(await make_container())
    for _ in range(12):  # after which every connection of the pool has its statements prepared
        trace.take()
        response = await rag.search("contrato de marzo", filters=filters)
        assert len(response.hits) == 10
        assert response.mode_used == "dense"
        seen = trace.take()
        assert sorted(map(kind, seen.statements)) == ["contents", "dense", "settings"]
    assert seen.round_trips == 2  # the settings travel with the statement


async def test_a_hybrid_search_is_one_statement_a_source_and_the_contents(
    trace: Trace, make_container: Callable[..., Any]
) -> None:
    rag = await filled(await make_container(enable_hybrid_search=True))
    for _ in range(12):  # every connection of the pool prepares the statements once
        await rag.search("contrato de marzo")
    trace.take()
    assert (await rag.search("contrato de marzo")).mode_used == "hybrid"
    seen = trace.take()
    assert sorted(map(kind, seen.statements)) == ["contents", "dense", "full text", "settings"]
    assert seen.round_trips == 3


async def test_a_sparse_search_is_one_statement_and_the_contents(
    trace: Trace, make_container: Callable[..., Any]
) -> None:
    rag = await filled(await make_container())
    await rag.search("contrato", mode="sparse")
    trace.take()
    await rag.search("contrato", mode="sparse")
    assert sorted(map(kind, trace.take().statements)) == ["contents", "full text"]


async def test_settings_of_a_search_end_with_it(make_container: Callable[..., Any]) -> None:
    container = await make_container(database_pool_size=2)
    rag = await filled(container)
    await rag.search("contrato de marzo")
    async with container.database.autocommit() as first, container.database.autocommit() as second:
        for connection in (first, second):
            cursor = await connection.execute(
                "SELECT current_setting('plan_cache_mode'), current_setting('enable_seqscan'),"
                " current_setting('hnsw.iterative_scan', true)"
            )
            row = await cursor.fetchone()
            assert row is not None
            assert row[:2] == ("auto", "on")
            assert row[2] in ("off", "", None)


class WatchingEmbedder(HashingEmbedder):
    """Notes how many connections are checked out while the model runs."""

    def __init__(self) -> None:
        super().__init__()
        self.container: Container | None = None
        self.in_use: list[int] = []

    def _note(self) -> None:
        if self.container is not None:
            counters = self.container.database.statistics()
            self.in_use.append(counters["pool_size"] - counters["pool_available"])

    async def embed_query(self, text: str) -> Vector:
        self._note()
        return await super().embed_query(text)

    async def embed_passages(self, texts: Any) -> list[Vector]:
        self._note()
        return await super().embed_passages(texts)


async def test_no_connection_is_held_while_the_embedder_runs(make_container: Callable[..., Any]) -> None:
    embedder = WatchingEmbedder()
    container = await make_container(parts=Parts(embedder=embedder))
    rag = await filled(container)
    embedder.container = container
    await rag.search("contrato de marzo")
    await rag.search("otra pregunta", mode="dense", filters={"language": "es"})
    await rag.ingest_text("doc-x", "Un texto nuevo que espera su vector.")
    await rag.embed_pending()
    assert len(embedder.in_use) >= 3
    assert set(embedder.in_use) == {0}

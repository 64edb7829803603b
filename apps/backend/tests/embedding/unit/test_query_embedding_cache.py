"""One embedding of a query for all who ask at the same time."""

from __future__ import annotations

import asyncio

import pytest

from ragcorp.application.embedding.query_cache import QueryCachingEmbedder
from ragcorp.domain.embeddings import EmbeddingModel, Vector
from ragcorp.domain.exceptions import EmbedderUnavailableError
from ragcorp.domain.ports.models import embed_query
from support.models.embedders import BrokenEmbedder, HashingEmbedder
from support.models.passage_vectors import Served

pytestmark = pytest.mark.anyio


class GatedEmbedder(HashingEmbedder):
    """Answers when it is let; notes which calls were cancelled."""

    def __init__(self, *, error: Exception | None = None) -> None:
        super().__init__()
        self.gate = asyncio.Event()
        self.cancelled: list[str] = []
        self._error = error

    async def embed_query(self, text: str) -> Vector:
        self.queries.append(text)
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.cancelled.append(text)
            raise
        if self._error is not None:
            raise self._error
        return self.vector(text)


async def settled() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


@pytest.mark.parametrize("size", [0, 8])
async def test_those_who_ask_together_share_one_call(size: int) -> None:
    inner = GatedEmbedder()
    embedder = QueryCachingEmbedder(embedder=inner, size=size)
    asked = [asyncio.create_task(embedder.embed_query(text)) for text in ("a", "a", "b", "a")]
    await settled()
    assert inner.queries == ["a", "b"]
    inner.gate.set()
    assert await asyncio.gather(*asked) == [inner.vector(text) for text in ("a", "a", "b", "a")]
    await embedder.embed_query("a")
    assert len(inner.queries) == (2 if size else 3)


async def test_one_who_is_cancelled_leaves_the_others_waiting() -> None:
    inner = GatedEmbedder()
    embedder = QueryCachingEmbedder(embedder=inner)
    first, second = (asyncio.create_task(embedder.embed_query("a")) for _ in range(2))
    await settled()
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    assert inner.cancelled == []
    inner.gate.set()
    assert await second == inner.vector("a")
    assert inner.queries == ["a"]


async def test_the_last_who_is_cancelled_cancels_the_call_and_the_next_begins_anew() -> None:
    inner = GatedEmbedder()
    embedder = QueryCachingEmbedder(embedder=inner)
    waiting = [asyncio.create_task(embedder.embed_query("a")) for _ in range(3)]
    await settled()
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    late = asyncio.create_task(embedder.embed_query("a"))
    await settled()
    assert inner.cancelled == ["a"]
    inner.gate.set()
    assert await late == inner.vector("a")
    assert inner.queries == ["a", "a"]


async def test_a_failure_is_shared_and_not_remembered() -> None:
    inner = GatedEmbedder(error=EmbedderUnavailableError("out", reason="unreachable"))
    embedder = QueryCachingEmbedder(embedder=inner)
    waiting = [asyncio.create_task(embedder.embed_query("a")) for _ in range(3)]
    await settled()
    inner.gate.set()
    outcomes = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [EmbedderUnavailableError] * 3
    assert inner.queries == ["a"]
    with pytest.raises(EmbedderUnavailableError):
        await embedder.embed_query("a")
    assert inner.queries == ["a", "a"]


async def test_the_least_recently_used_vector_goes_first() -> None:
    inner = HashingEmbedder()
    embedder = QueryCachingEmbedder(embedder=inner, size=2)
    for text in ("a", "b", "a", "c", "a", "b"):
        assert await embedder.embed_query(text) == inner.vector(text)
    assert inner.queries == ["a", "b", "c", "b"]


async def test_passages_go_straight_to_the_model() -> None:
    inner = BrokenEmbedder(passages=False)
    embedder = QueryCachingEmbedder(embedder=inner)
    assert await embedder.embed_passages(["a", "a"]) == [inner.vector("a")] * 2
    assert (embedder.model, embedder.batch_size) == (inner.model, inner.batch_size)


async def test_a_vector_is_kept_for_its_time_however_often_it_is_used() -> None:
    now = 0.0
    inner = HashingEmbedder()
    embedder = QueryCachingEmbedder(embedder=inner, ttl_seconds=10, timer=lambda: now)
    for moment, calls in ((0.0, 1), (6.0, 1), (9.9, 1), (10.0, 2), (19.0, 2), (20.5, 3)):
        now = moment
        await embedder.embed_query("a")
        assert len(inner.queries) == calls, moment


async def test_without_time_nothing_is_kept_and_calls_are_shared_all_the_same() -> None:
    inner = GatedEmbedder()
    embedder = QueryCachingEmbedder(embedder=inner, ttl_seconds=0)
    asked = [asyncio.create_task(embedder.embed_query("a")) for _ in range(2)]
    await settled()
    inner.gate.set()
    await asyncio.gather(*asked)
    await embedder.embed_query("a")
    assert inner.queries == ["a", "a"]


async def test_another_model_is_served_nothing_of_the_first() -> None:
    inner = HashingEmbedder()
    embedder = QueryCachingEmbedder(embedder=inner)
    await embedder.embed_query("a")
    for dimensions, name in ((16, "test-embedder"), (8, "another")):
        inner.model = EmbeddingModel(name=name, dimensions=dimensions)
        assert len(await embedder.embed_query("a")) == dimensions
    assert inner.queries == ["a", "a", "a"]


async def test_queries_are_counted_by_how_their_vector_came() -> None:
    inner, served = GatedEmbedder(), Served()
    embedder = QueryCachingEmbedder(embedder=inner, observer=served)
    asked = [asyncio.create_task(embedder.embed_query(text)) for text in ("a", "a", "b", "a")]
    await settled()
    inner.gate.set()
    await asyncio.gather(*asked)
    await embedder.embed_query("a")
    assert served.counts == {"query miss": 2, "query joined": 2, "query memory": 1}


async def test_no_workspace_learns_what_another_asked() -> None:
    inner = HashingEmbedder()
    embedder = QueryCachingEmbedder(embedder=inner)
    for workspace in ("ventas", "compras", "ventas"):
        assert await embed_query(embedder, "plazo", workspace=workspace) == inner.vector("plazo")
    assert inner.queries == ["plazo", "plazo"]
    assert await embed_query(inner, "plazo", workspace="ventas") == inner.vector("plazo")  # one that remembers nothing

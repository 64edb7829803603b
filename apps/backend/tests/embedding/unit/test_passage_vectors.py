"""Vectors of passages: known ones are not made again, and what several want at once is made once."""

from __future__ import annotations

import asyncio

import pytest

from ragcorp.application.embedding.passage_vectors import PassageVectors, VectorMemory
from ragcorp.domain.embeddings import EmbeddingModel, Vector
from ragcorp.domain.exceptions import EmbedderUnavailableError, StorageUnavailableError
from support.models.embedders import TEST_MODEL, HashingEmbedder
from support.models.passage_vectors import GatedCalls, KeptVectors, Served, settled, wanted

pytestmark = pytest.mark.anyio


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def refused() -> EmbedderUnavailableError:
    return EmbedderUnavailableError("a text is refused", reason="rejected")


async def test_memory_then_database_then_the_model_and_each_is_counted() -> None:
    embedder, cache, served = HashingEmbedder(), KeptVectors(), Served()
    vectors = PassageVectors(
        embedder=embedder, cache=cache, memory=VectorMemory(size=8, ttl_seconds=60), observer=served
    )
    (existing,) = wanted("b")
    await cache.put({existing[1]: embedder.vector("b")}, model=TEST_MODEL, workspace="default")
    await vectors.of(wanted("a"))
    result = await vectors.of(wanted("a", "b", "c", "d"))
    assert result == {key: embedder.vector(text) for key, text in wanted("a", "b", "c", "d").items()}
    assert embedder.embedded == ["a", "c", "d"]
    assert served.counts == {"passage memory": 1, "passage database": 1, "passage miss": 3}
    asked = cache.asked
    assert await vectors.of(wanted("a", "b", "c", "d")) == result
    assert cache.asked == asked
    assert await vectors.of({}) == {}


async def test_no_workspace_is_served_from_another() -> None:
    embedder = HashingEmbedder()
    vectors = PassageVectors(embedder=embedder, cache=KeptVectors(), memory=VectorMemory(size=8, ttl_seconds=60))
    await vectors.of(wanted("a"))
    both = await vectors.of(wanted("a") | wanted("a", workspace="there"))
    assert len(both) == 2
    assert embedder.embedded == ["a", "a"]


async def test_overlapping_batches_embed_what_they_share_once() -> None:
    embedder, served = GatedCalls(), Served()
    vectors = PassageVectors(embedder=embedder, cache=KeptVectors(), observer=served)
    first = asyncio.create_task(vectors.of(wanted("1", "2", "3")))
    second = asyncio.create_task(vectors.of(wanted("2", "3", "4")))
    await settled()
    assert embedder.calls == [["1", "2", "3"], ["4"]]
    embedder.end(1)
    await settled()
    assert not first.done()
    assert not second.done()
    embedder.end(0)
    assert await second == {key: embedder.vector(text) for key, text in wanted("2", "3", "4").items()}
    assert await first == {key: embedder.vector(text) for key, text in wanted("1", "2", "3").items()}
    assert served.counts == {"passage miss": 4, "passage joined": 2}


async def test_a_look_into_the_database_is_shared_too() -> None:
    cache, served = KeptVectors(), Served()
    embedder = HashingEmbedder()
    for key, text in wanted("a").items():
        await cache.put({key[1]: embedder.vector(text)}, model=TEST_MODEL, workspace=key[0])
    vectors = PassageVectors(embedder=embedder, cache=cache, observer=served)
    await asyncio.gather(*(vectors.of(wanted("a")) for _ in range(3)))
    assert (cache.asked, embedder.embedded) == (1, [])
    assert served.counts == {"passage database": 1, "passage joined": 2}


async def test_a_failure_is_shared_and_not_remembered() -> None:
    embedder = GatedCalls()
    vectors = PassageVectors(embedder=embedder, cache=KeptVectors(), memory=VectorMemory(size=8, ttl_seconds=60))
    waiting = [asyncio.create_task(vectors.of(wanted("a"))) for _ in range(3)]
    await settled()
    embedder.end(error=EmbedderUnavailableError("out", reason="unreachable"))
    outcomes = await asyncio.gather(*waiting, return_exceptions=True)
    assert [getattr(outcome, "reason", None) for outcome in outcomes] == ["unreachable"] * 3
    again = asyncio.create_task(vectors.of(wanted("a")))
    await settled()
    embedder.end()
    assert len(await again) == 1
    assert embedder.calls == [["a"], ["a"]]


async def test_a_text_is_not_refused_for_another_of_somebody_elses_batch() -> None:
    embedder = GatedCalls()
    vectors = PassageVectors(embedder=embedder, cache=KeptVectors())
    first = asyncio.create_task(vectors.of(wanted("bad", "good")))
    await settled()
    second = asyncio.create_task(vectors.of(wanted("good")))
    await settled()
    embedder.end(error=refused())
    await settled()
    with pytest.raises(EmbedderUnavailableError):
        await first
    assert embedder.calls == [["bad", "good"], ["good"]]
    embedder.end()
    assert len(await second) == 1


async def test_a_refusal_of_the_very_text_is_shared() -> None:
    embedder = GatedCalls()
    vectors = PassageVectors(embedder=embedder, cache=KeptVectors())
    waiting = [asyncio.create_task(vectors.of(wanted(*texts))) for texts in ("a", "a", "ab")]
    await settled()
    assert embedder.calls == [["a"], ["b"]]
    embedder.end(0, error=refused())
    embedder.end(1)
    outcomes = await asyncio.gather(*waiting, return_exceptions=True)
    assert [getattr(outcome, "reason", None) for outcome in outcomes] == ["rejected"] * 3
    assert embedder.calls == [["a"], ["b"]]


async def test_one_who_is_cancelled_leaves_the_others_and_the_last_cancels_the_call() -> None:
    embedder = GatedCalls()
    vectors = PassageVectors(embedder=embedder, cache=KeptVectors())
    first = asyncio.create_task(vectors.of(wanted("1", "2")))
    second = asyncio.create_task(vectors.of(wanted("2", "3")))
    await settled()
    first.cancel()
    await settled()
    assert (first.cancelled(), embedder.cancelled) == (True, [])
    embedder.end(0)
    embedder.end(1)
    assert len(await second) == 2

    waiting = [asyncio.create_task(vectors.of(wanted("4"))) for _ in range(2)]
    await settled()
    for task in waiting:
        task.cancel()
    late = asyncio.create_task(vectors.of(wanted("4")))
    await asyncio.gather(*waiting, return_exceptions=True)
    await settled()
    # the call ended with the last who waited; who comes now does not share that
    assert embedder.cancelled == [["4"]]
    embedder.end()
    assert len(await late) == 1


async def test_an_outage_of_the_database_is_shared_and_not_remembered() -> None:
    class Out(KeptVectors):
        broken = True

        async def get(self, *args: object, **kwargs: object) -> dict[bytes, Vector]:
            if self.broken:
                raise StorageUnavailableError("out", reason="refused")
            return {}

    cache = Out()
    vectors = PassageVectors(embedder=HashingEmbedder(), cache=cache)
    outcomes = await asyncio.gather(*(vectors.of(wanted("a")) for _ in range(2)), return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [StorageUnavailableError] * 2
    cache.broken = False
    assert len(await vectors.of(wanted("a"))) == 1


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        ([], "wrong_count"),
        ([(1.0,) * 8, (1.0,) * 8], "wrong_count"),
        ([(1.0,) * 7], "wrong_width"),
        (RuntimeError("a bug"), "error"),
        (None, "error"),
    ],
)
async def test_an_embedder_of_the_users_own_is_held_to_its_port(
    made: list[Vector] | Exception | None, reason: str
) -> None:
    class Own(HashingEmbedder):
        async def embed_passages(self, texts: object) -> list[Vector]:
            if isinstance(made, Exception):
                raise made
            return made  # type: ignore[return-value]

    with pytest.raises(EmbedderUnavailableError) as raised:
        await PassageVectors(embedder=Own(), cache=KeptVectors()).of(wanted("a"))
    assert raised.value.reason == reason


async def test_two_models_share_a_database_and_a_memory_and_no_vector() -> None:
    cache, memory = KeptVectors(), VectorMemory(size=99, ttl_seconds=60)
    models = [EmbeddingModel(name=name, dimensions=dimensions) for name, dimensions in (("a", 8), ("b", 8), ("a", 16))]
    embedders = [HashingEmbedder(model=model) for model in models]
    passages = wanted("uno", "dos")
    for embedder in embedders:
        vectors = PassageVectors(embedder=embedder, cache=cache, memory=memory)
        made = await vectors.of(passages)
        await cache.put({key[1]: vector for key, vector in made.items()}, model=embedder.model, workspace="default")
    for embedder in embedders:
        for kept in (memory, None):
            result = await PassageVectors(embedder=embedder, cache=cache, memory=kept).of(passages)
            assert {len(vector) for vector in result.values()} == {embedder.model.dimensions}
        assert sorted(embedder.embedded) == ["dos", "uno"]


async def test_a_model_that_changes_is_not_joined() -> None:
    embedder = GatedCalls()
    vectors = PassageVectors(embedder=embedder, cache=KeptVectors(), memory=VectorMemory(size=8, ttl_seconds=60))
    before = asyncio.create_task(vectors.of(wanted("a")))
    await settled()
    embedder.model = EmbeddingModel(name="another", dimensions=TEST_MODEL.dimensions)
    after = asyncio.create_task(vectors.of(wanted("a")))
    await settled()
    assert embedder.calls == [["a"], ["a"]]
    embedder.end(0)
    embedder.end(1)
    await asyncio.gather(before, after)


async def test_memory_forgets_after_its_time_and_what_was_not_used_longest() -> None:
    clock = Clock()
    memory = VectorMemory(size=2, ttl_seconds=10, timer=clock)
    memory.put("a", (0.1, 0.2))
    memory.put("b", (1.0,))
    assert memory.get("a") == (0.1, 0.2)
    memory.put("c", (2.0,))
    assert (memory.get("a"), memory.get("b"), memory.get("c")) == ((0.1, 0.2), None, (2.0,))
    clock.now = 9.9
    assert memory.get("a") is not None
    clock.now = 10.0
    assert memory.get("a") is None
    memory.put("d", (3.0,))
    assert memory.get("d") == (3.0,)


async def test_use_does_not_lengthen_the_time_in_memory() -> None:
    clock, embedder = Clock(), HashingEmbedder()
    memory = VectorMemory(size=8, ttl_seconds=10, timer=clock)
    vectors = PassageVectors(embedder=embedder, cache=KeptVectors(), memory=memory)
    for moment, calls in ((0.0, 1), (6.0, 1), (9.0, 1), (11.0, 2), (20.0, 2), (21.5, 3)):
        clock.now = moment
        await vectors.of(wanted("a"))
        assert len(embedder.embedded) == calls, moment


@pytest.mark.parametrize(("size", "ttl_seconds"), [(0, 60), (8, 0), (0, 0)])
async def test_without_size_or_time_there_is_no_memory(size: int, ttl_seconds: float) -> None:
    embedder = HashingEmbedder()
    memory = VectorMemory(size=size, ttl_seconds=ttl_seconds)
    vectors = PassageVectors(embedder=embedder, cache=KeptVectors(), memory=memory)
    for _ in range(2):
        await vectors.of(wanted("a"))
    assert embedder.embedded == ["a", "a"]


async def test_what_is_not_to_be_remembered_is_not() -> None:
    embedder = HashingEmbedder()
    vectors = PassageVectors(embedder=embedder, cache=KeptVectors(), memory=VectorMemory(size=8, ttl_seconds=60))
    for _ in range(2):
        await vectors.of(wanted("a"), remember=False)
    assert embedder.embedded == ["a", "a"]


async def test_of_a_shared_call_only_that_is_remembered_which_somebody_wants_to() -> None:
    embedder = GatedCalls()
    vectors = PassageVectors(embedder=embedder, cache=KeptVectors(), memory=VectorMemory(size=8, ttl_seconds=60))
    items = asyncio.create_task(vectors.of(wanted("a", "b"), remember=False))
    await settled()
    chunks = asyncio.create_task(vectors.of(wanted("b")))
    await settled()
    embedder.end()
    await asyncio.gather(items, chunks)
    again = asyncio.create_task(vectors.of(wanted("a", "b")))
    await settled()
    assert embedder.calls == [["a", "b"], ["a"]]
    embedder.end()
    await again

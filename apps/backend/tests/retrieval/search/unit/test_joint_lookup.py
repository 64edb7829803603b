"""Sources that are looked up jointly: when they are, and what happens when that fails."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from ragcorp.application.resilience.circuit_breaker import CircuitBreaker
from ragcorp.application.retrieval.sources.chunks import DenseChunkSource, FullTextChunkSource, JointChunkSources
from ragcorp.domain.exceptions import EmbedderUnavailableError, StorageUnavailableError
from ragcorp.domain.ports.sources import SourceAnswer, SourceQuery
from ragcorp.domain.ports.storage import LexicalChunks, SimilarChunks
from ragcorp.domain.retrieval import Hit, RankedList
from support.models.embedders import HashingEmbedder
from support.retrieval.fan_out import FanOut, found, healthy, told
from support.retrieval.sources import ScriptedSource

pytestmark = pytest.mark.anyio


class ScriptedJoint:
    """Answers for "a" and "b" at once, after a delay or with an error."""

    names = ("a", "b")

    def __init__(self, *, error: Exception | None = None, delay: float = 0.0, b: Exception | None = None) -> None:
        self.error, self.delay, self.b = error, delay, b
        self.queries: list[Mapping[str, SourceQuery]] = []

    async def retrieve(self, queries: Mapping[str, SourceQuery]) -> Mapping[str, SourceAnswer | Exception]:
        self.queries.append(queries)
        await asyncio.sleep(self.delay)
        if self.error is not None:
            raise self.error
        answers: dict[str, SourceAnswer | Exception] = {
            name: SourceAnswer(
                ranked_list=RankedList(source=name, score_type="x", hits=(Hit(chunk_id=f"joint {name}", score=1.0),))
            )
            for name in self.names
        }
        return answers if self.b is None else answers | {"b": self.b}


def pair() -> list[ScriptedSource]:
    return [healthy("a"), healthy("b")]


async def test_two_healthy_sources_are_one_lookup_and_others_run_beside_it() -> None:
    sources, joint = [*pair(), healthy("c")], ScriptedJoint()
    results = await FanOut(sources, joint=joint).ask(limit=8, pools={"a": 1.0, "b": 3.0, "c": 1.0})
    assert found(results) == {"a": ["joint a"], "b": ["joint b"], "c": ["1"]}
    assert [{name: query.limit for name, query in queries.items()} for queries in joint.queries] == [{"a": 2, "b": 6}]
    assert [len(source.queries) for source in sources] == [0, 0, 1]


async def test_one_of_them_alone_is_no_joint_lookup() -> None:
    joint = ScriptedJoint()
    assert found(await FanOut(pair(), joint=joint).ask("b")) == {"b": ["1"]}
    assert joint.queries == []


@pytest.mark.parametrize(
    "joint", [ScriptedJoint(error=StorageUnavailableError("out", reason="timeout")), ScriptedJoint(delay=60.0)]
)
async def test_a_lookup_that_fails_or_is_late_is_repeated_one_by_one_within_the_same_time(joint: ScriptedJoint) -> None:
    sources = [healthy("a"), ScriptedSource(name="b", delay=60.0)]
    fan_out = FanOut(sources, joint=joint, timeout=0.4)
    assert told(await fan_out.ask()) == {"a": ("ok", None), "b": ("timeout", "timeout")}
    assert fan_out.seconds < 2.0


async def test_a_pool_without_connections_is_not_asked_twice() -> None:
    sources = pair()
    joint = ScriptedJoint(error=StorageUnavailableError("busy", reason="pool_exhausted"))
    results = await FanOut(sources, joint=joint).ask()
    assert told(results) == dict.fromkeys("ab", ("failed", "pool_exhausted"))
    assert [len(source.queries) for source in sources] == [0, 0]


async def test_a_source_may_fail_alone() -> None:
    joint = ScriptedJoint(b=EmbedderUnavailableError("out", reason="unreachable"))
    sources = pair()
    assert told(await FanOut(sources, joint=joint).ask()) == {"a": ("ok", None), "b": ("failed", "unreachable")}
    assert [len(source.queries) for source in sources] == [0, 0]


async def test_an_open_circuit_ends_joint_lookups_until_its_probe_succeeds() -> None:
    joint = ScriptedJoint(b=StorageUnavailableError("out", reason="timeout"))
    sources = pair()
    fan_out = FanOut(sources, joint=joint, breaker=CircuitBreaker(failures=2, cooldown_seconds=0.1))
    for _ in range(2):
        assert told(await fan_out.ask())["b"] == ("failed", "timeout")
    joint.b = None
    assert told(await fan_out.ask()) == {"a": ("ok", None), "b": ("skipped", "circuit_open")}
    assert len(joint.queries) == 2
    await asyncio.sleep(0.12)
    assert told(await fan_out.ask()) == {"a": ("ok", None), "b": ("ok", None)}  # the probe, of the source itself
    assert len(joint.queries) == 2
    await fan_out.ask()
    assert len(joint.queries) == 3


class Chunks:
    """A repository that notes its calls."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    async def find_chunks_full_text(self, *_: Any, **__: Any) -> LexicalChunks:
        self.calls.append("full text")
        return lexical()

    async def find_chunks_both_ways(self, *_: Any, nearest: int, matching: int, **__: Any) -> Any:
        self.calls.append(f"both {nearest} {matching}")
        return SimilarChunks(ranked_list=listed("dense", "1"), seen=1.0), lexical()


def listed(source: str, *ids: str) -> RankedList:
    return RankedList(source=source, score_type="x", hits=tuple(Hit(chunk_id=name, score=1.0) for name in ids))


def lexical() -> LexicalChunks:
    return LexicalChunks(
        ranked_list=listed("full_text", "2"), identifiers=listed("identifiers"), all_words=listed("all_words")
    )


class CountingEmbedder(HashingEmbedder):
    def __init__(self, error: Exception | None) -> None:
        super().__init__()
        self.error = error
        self.embedded = 0

    async def embed_query(self, text: str) -> Sequence[float]:  # type: ignore[override]
        self.embedded += 1
        if self.error is not None:
            raise self.error
        return await super().embed_query(text)


@pytest.mark.parametrize(
    ("error", "expected", "calls"),
    [
        (None, {"dense": ("ok", None), "full_text": ("ok", None)}, ["both 10 10"]),
        (
            EmbedderUnavailableError("out", reason="unreachable"),
            {"dense": ("failed", "unreachable"), "full_text": ("ok", None)},
            ["full text"],
        ),
    ],
)
async def test_a_model_that_fails_is_called_once_and_words_are_still_searched(
    error: Exception | None, expected: dict[str, Any], calls: list[str]
) -> None:
    chunks: Any = Chunks()
    embedder = CountingEmbedder(error)
    joint = JointChunkSources(
        dense=DenseChunkSource(embedder=embedder, repository=chunks, scoring=chunks),
        full_text=FullTextChunkSource(repository=chunks, scoring=chunks),
        chunks=chunks,
    )
    results = await FanOut([joint.dense, joint.full_text], joint=joint).ask()
    assert told(results) == expected
    assert chunks.calls == calls
    assert embedder.embedded == 1

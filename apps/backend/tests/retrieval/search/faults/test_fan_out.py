"""The degradation matrix at the fan-out: what one source does to a query, and what it cannot do to the others."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from ragcorp.domain.exceptions import SourceUnavailableError
from ragcorp.domain.ports.sources import SourceAnswer, SourceQuery
from ragcorp.domain.retrieval import Hit, RankedList
from support.retrieval.fan_out import FanOut, found, healthy, told
from support.retrieval.sources import ScriptedSource

pytestmark = pytest.mark.anyio

DEADLINE = 0.3
SLACK = 1.5
"""A guard against hanging on a busy machine, not a measure."""

Answer = Callable[[SourceQuery], Awaitable[Any]]


def listed(*hits: Hit) -> SourceAnswer:
    return SourceAnswer(ranked_list=RankedList(source="malo", score_type="x", hits=hits))


@pytest.fixture
async def silent_port() -> AsyncIterator[int]:
    """A server that takes connections and never says a word."""
    server = await asyncio.start_server(lambda *_: asyncio.sleep(60), "127.0.0.1", 0)
    yield server.sockets[0].getsockname()[1]
    server.close()


@pytest.fixture
def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def over(port: int, *, translated: bool) -> Answer:
    """Ask a server on a socket, as an adapter does that translates its library's errors, or as one that does not."""

    async def answer(_: SourceQuery) -> SourceAnswer:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError as error:
            if not translated:
                raise
            raise SourceUnavailableError("out", reason="unreachable") from error
        try:
            await reader.readline()
        finally:
            writer.close()
        return listed()

    return answer


@pytest.mark.parametrize(("translated", "reason"), [(True, "unreachable"), (False, "error")])
async def test_refused(closed_port: int, translated: bool, reason: str) -> None:
    bad = ScriptedSource(name="malo", answer=over(closed_port, translated=translated))
    fan_out = FanOut([bad, healthy()], timeout=DEADLINE)
    results = await fan_out.ask()
    assert told(results) == {"malo": ("failed", reason), "sano": ("ok", None)}
    assert fan_out.seconds < DEADLINE + SLACK


async def test_hanging(silent_port: int) -> None:
    bad = ScriptedSource(name="malo", answer=over(silent_port, translated=True))
    fan_out = FanOut([bad, healthy()], timeout=DEADLINE)
    results = await fan_out.ask()
    assert told(results) == {"malo": ("timeout", "timeout"), "sano": ("ok", None)}
    assert DEADLINE <= fan_out.seconds < DEADLINE + SLACK
    assert results["malo"].report.elapsed_ms >= DEADLINE * 1000 * 0.99
    assert results["malo"].answer is None


async def test_slow_within_its_deadline_and_beyond_it() -> None:
    hit = Hit(chunk_id="1", score=1.0)
    fan_out = FanOut(
        [ScriptedSource(hit, name="lento", delay=0.05), ScriptedSource(hit, name="malo", delay=60), healthy()],
        timeout=DEADLINE,
    )
    results = await fan_out.ask()
    assert told(results) == {"lento": ("ok", None), "malo": ("timeout", "timeout"), "sano": ("ok", None)}
    assert fan_out.seconds < DEADLINE + SLACK


async def test_swallowing_its_cancellation() -> None:
    released = asyncio.Event()

    async def stays(_: SourceQuery) -> SourceAnswer:
        while not released.is_set():
            try:
                await released.wait()
            except asyncio.CancelledError:
                continue
        return listed()

    fan_out = FanOut([ScriptedSource(name="malo", answer=stays), healthy()], timeout=DEADLINE)
    results = await fan_out.ask()
    assert told(results) == {"malo": ("timeout", "timeout"), "sano": ("ok", None)}
    assert fan_out.seconds < DEADLINE + SLACK
    released.set()


@pytest.mark.parametrize(
    "garbage", [None, {}, [], "", 7, object(), [{"id": 1}], RankedList(source="x", score_type="x")]
)
async def test_garbage(garbage: object) -> None:
    async def answers(_: SourceQuery) -> Any:
        return garbage

    results = await FanOut([ScriptedSource(name="malo", answer=answers), healthy()]).ask()
    assert told(results) == {"malo": ("failed", "error"), "sano": ("ok", None)}


BAD_LISTS: dict[str, Callable[[], SourceAnswer]] = {
    "nan": lambda: listed(Hit(chunk_id="1", score=float("nan"))),
    "infinite": lambda: listed(Hit(chunk_id="1", score=float("inf"))),
    "text": lambda: listed(Hit(chunk_id="1", score="0.5")),  # type: ignore[arg-type]
    "twice": lambda: listed(Hit(chunk_id="1", score=1.0), Hit(chunk_id="1", score=0.5)),
    "nameless": lambda: listed(Hit(score=1.0)),
    "no hits": lambda: listed("1"),  # type: ignore[arg-type]
    "no list": lambda: SourceAnswer(ranked_list=None),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("kind", BAD_LISTS)
async def test_what_is_no_ranking(kind: str) -> None:
    async def answers(_: SourceQuery) -> SourceAnswer:
        return BAD_LISTS[kind]()

    results = await FanOut([ScriptedSource(name="malo", answer=answers), healthy()]).ask()
    assert told(results) == {"malo": ("invalid", "invalid"), "sano": ("ok", None)}


@pytest.fixture(scope="module")
def a_million() -> SourceAnswer:
    return listed(*(Hit(chunk_id=str(number), score=-float(number)) for number in range(1_000_000)))


async def test_a_million_items_cost_no_deadline(a_million: SourceAnswer) -> None:
    async def answers(_: SourceQuery) -> SourceAnswer:
        return a_million

    further = SourceAnswer(ranked_list=RankedList(source="otro", score_type="x"), further=(a_million.ranked_list,))

    async def answers_further(_: SourceQuery) -> SourceAnswer:
        return further

    sources = [ScriptedSource(name="malo", answer=answers), ScriptedSource(name="peor", answer=answers_further)]
    fan_out = FanOut([*sources, healthy()], timeout=DEADLINE)
    results = await fan_out.ask(limit=3)
    assert told(results) == {"malo": ("ok", None), "peor": ("ok", None), "sano": ("ok", None)}
    assert found(results)["malo"] == ["0", "1", "2"]
    assert results["malo"].report.hits == 3
    assert max(len(ranked) for ranked in fan_out.seen) == 3
    assert fan_out.seconds < DEADLINE + SLACK


async def test_foreign_ids() -> None:
    hits = [Hit(chunk_id=name, score=1.0 - place / 10) for place, name in enumerate(("ajeno", "1", "borrado"))]
    fan_out = FanOut(
        [ScriptedSource(*hits, name="malo"), ScriptedSource(hits[0], name="peor"), healthy()], known=frozenset({"1"})
    )
    results = await fan_out.ask()
    assert found(results) == {"malo": ["1"], "peor": [], "sano": ["1"]}
    assert told(results) == {"malo": ("ok", None), "peor": ("empty", None), "sano": ("ok", None)}


async def test_all_at_once_take_no_longer_than_one(silent_port: int, closed_port: int) -> None:
    async def none(_: SourceQuery) -> Any:
        return None

    sources = [
        ScriptedSource(name="cuelga", answer=over(silent_port, translated=True)),
        ScriptedSource(name="rechaza", answer=over(closed_port, translated=True)),
        ScriptedSource(name="lento", delay=60),
        ScriptedSource(name="basura", answer=none),
        healthy(),
    ]
    fan_out = FanOut(sources, timeout=DEADLINE)
    results = await fan_out.ask()
    assert told(results) == {
        "cuelga": ("timeout", "timeout"),
        "rechaza": ("failed", "unreachable"),
        "lento": ("timeout", "timeout"),
        "basura": ("failed", "error"),
        "sano": ("ok", None),
    }
    assert fan_out.seconds < DEADLINE + SLACK

"""The fan-out and its circuit breaker: a source that goes on failing is skipped, named, and probed."""

from __future__ import annotations

import asyncio

import pytest

from ragcorp.application.resilience.circuit_breaker import CircuitBreaker
from ragcorp.domain.exceptions import EmbedderUnavailableError, InvalidInputError, SourceUnavailableError
from ragcorp.domain.ports.sources import SourceAnswer, SourceQuery
from ragcorp.domain.retrieval import Hit, RankedList
from support.retrieval.fan_out import FanOut, healthy, told
from support.retrieval.sources import ScriptedSource

pytestmark = pytest.mark.anyio

COOLDOWN = 0.5
OPEN = ("skipped", "circuit_open")


def out() -> ScriptedSource:
    return ScriptedSource(Hit(chunk_id="1", score=1.0), name="malo", error=SourceUnavailableError("out", reason="out"))


def guarded(*sources: ScriptedSource, failures: int = 2, timeout: float = 5.0, total: float = 10.0) -> FanOut:
    breaker = CircuitBreaker(failures=failures, cooldown_seconds=COOLDOWN)
    return FanOut(sources, breaker=breaker, timeout=timeout, total=total)


async def test_a_source_that_fails_in_a_row_is_skipped_named_and_probed_after_the_cooldown() -> None:
    bad = out()
    fan_out = guarded(bad, healthy())
    outcomes = [told(await fan_out.ask())["malo"] for _ in range(4)]
    assert outcomes == [("failed", "out"), ("failed", "out"), OPEN, OPEN]
    assert len(bad.queries) == 2
    await asyncio.sleep(COOLDOWN)
    assert told(await fan_out.ask())["malo"] == ("failed", "out")
    assert told(await fan_out.ask())["malo"] == OPEN
    await asyncio.sleep(COOLDOWN)
    bad.error = None
    assert [told(await fan_out.ask())["malo"] for _ in range(2)] == [("ok", None), ("ok", None)]


@pytest.mark.parametrize("kind", ["hanging", "garbage", "invalid"])
async def test_timeouts_garbage_and_invalid_rankings_count(kind: str) -> None:
    async def answers(_: SourceQuery) -> SourceAnswer:
        if kind == "hanging":
            await asyncio.sleep(60)
        score = float("nan") if kind == "invalid" else 1.0
        hits = (Hit(chunk_id="1", score=score),) * 2
        return SourceAnswer(ranked_list=RankedList(source="malo", score_type="x", hits=hits))

    fan_out = guarded(ScriptedSource(name="malo", answer=answers), healthy(), timeout=0.05)
    for _ in range(2):
        assert told(await fan_out.ask())["malo"][0] in ("timeout", "invalid")
    assert told(await fan_out.ask())["malo"] == OPEN


async def test_one_query_at_a_time_probes() -> None:
    bad = out()
    fan_out = guarded(bad, healthy())
    for _ in range(2):
        await fan_out.ask()
    await asyncio.sleep(COOLDOWN)
    bad.error, bad.delay = None, 0.05
    outcomes = [told(results)["malo"] for results in await asyncio.gather(*(fan_out.ask() for _ in range(5)))]
    assert sorted(outcomes, key=str) == [("ok", None), OPEN, OPEN, OPEN, OPEN]
    assert len(bad.queries) == 3


async def test_a_probe_that_is_cancelled_frees_the_slot() -> None:
    bad = out()
    fan_out = guarded(bad, healthy())
    for _ in range(2):
        await fan_out.ask()
    await asyncio.sleep(COOLDOWN)
    asked = asyncio.Event()

    async def waits(_: SourceQuery) -> SourceAnswer:
        asked.set()
        await asyncio.sleep(60)
        raise AssertionError

    bad.error, bad.answer = None, waits
    probe = asyncio.ensure_future(fan_out.ask())
    await asked.wait()
    probe.cancel()
    with pytest.raises(asyncio.CancelledError):
        await probe
    bad.answer = None
    assert told(await fan_out.ask())["malo"] == ("ok", None)


async def test_where_every_source_is_out_all_are_asked_so_that_a_recovery_shows_at_once() -> None:
    sources = [out(), out()]
    sources[1].name = "peor"
    fan_out = guarded(*sources)
    for _ in range(4):
        assert told(await fan_out.ask()) == {"malo": ("failed", "out"), "peor": ("failed", "out")}
    sources[0].error = None
    assert told(await fan_out.ask()) == {"malo": ("ok", None), "peor": ("failed", "out")}
    assert told(await fan_out.ask()) == {"malo": ("ok", None), "peor": OPEN}


async def test_a_source_that_is_out_by_configuration_goes_on_saying_why() -> None:
    off = ScriptedSource(name="dense", error=EmbedderUnavailableError("off", reason="no_embedder"))
    fan_out = guarded(off, healthy())
    for _ in range(5):
        assert told(await fan_out.ask())["dense"] == ("failed", "no_embedder")


async def test_a_query_that_is_at_fault_says_nothing_of_the_source() -> None:
    strict = ScriptedSource(Hit(chunk_id="1", score=1.0), name="graph", error=InvalidInputError("no", field="query"))
    fan_out = guarded(strict, healthy())
    for _ in range(5):
        with pytest.raises(InvalidInputError):
            await fan_out.ask()
    strict.error = None
    assert told(await fan_out.ask())["graph"] == ("ok", None)


async def test_a_timeout_counts_only_where_the_source_had_its_time() -> None:
    slow = ScriptedSource(name="malo", delay=60)
    fan_out = guarded(slow, healthy(), timeout=5.0, total=0.05)
    for _ in range(4):
        assert told(await fan_out.ask())["malo"] == ("timeout", "timeout")


async def test_zero_failures_turns_it_off() -> None:
    fan_out = guarded(out(), healthy(), failures=0)
    for _ in range(6):
        assert told(await fan_out.ask())["malo"] == ("failed", "out")

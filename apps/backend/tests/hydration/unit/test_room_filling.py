"""When the model is waited for, when it is left alone, and what is then said."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from ragcorp.application.resilience.circuit_breaker import CircuitBreaker
from ragcorp.domain.exceptions import EmbedderUnavailableError
from ragcorp.domain.structure.hydration import WarningCode
from support.hydration.in_memory import MemoryKeywords
from support.hydration.world import FIX, NEVER, GatedEmbedder, World, codes, keys, with_limits

pytestmark = pytest.mark.anyio

OUT = EmbedderUnavailableError("out", reason="unreachable")


async def test_a_model_that_hangs_holds_up_no_turn_whose_anchors_leave_no_room() -> None:
    embedder = GatedEmbedder()
    embedder.faults.gates["embed_query"] = asyncio.Event()
    world = World(embedder=embedder, options=with_limits(max_entities=1))
    async with asyncio.timeout(30):
        hydration = await world.turn("what does `ValidateToken` do")
    assert keys(hydration) == ["auth.go::ValidateToken"]
    assert hydration.reports == ()
    assert WarningCode.STRUCTURAL_ONLY not in codes(hydration)


async def test_a_model_that_goes_on_failing_is_left_alone_for_a_while() -> None:
    embedder = GatedEmbedder()
    embedder.faults.errors["embed_query"] = OUT
    world = World(embedder=embedder)
    hydrate = world.hydrate_with(CircuitBreaker(failures=2, cooldown_seconds=3600))
    reasons = []
    for _ in range(4):
        prepared = await hydrate.prepare(FIX, episode_id="e", principal=world.principal)
        reasons += [report.reason for report in prepared.reports]
        assert codes(prepared) == [WarningCode.STRUCTURAL_ONLY]
    assert reasons == ["unreachable", "unreachable", "circuit_open", "circuit_open"]
    assert embedder.faults.calls["embed_query"] == 2


async def test_a_late_model_opens_the_circuit_too() -> None:
    embedder = GatedEmbedder()
    embedder.faults.gates["embed_query"] = asyncio.Event()
    world = World(embedder=embedder)
    world.options = replace(world.options, semantic_timeout_seconds=NEVER)
    hydrate = world.hydrate_with(CircuitBreaker(failures=1, cooldown_seconds=3600))
    reasons = []
    for _ in range(2):
        prepared = await hydrate.prepare(FIX, episode_id="e", principal=world.principal)
        reasons += [report.reason for report in prepared.reports]
    assert reasons == ["timeout", "circuit_open"]


async def test_where_words_find_nothing_it_is_not_said_that_they_do() -> None:
    world = World(keywords=MemoryKeywords({}))
    world.options = replace(world.options, threshold=0.999)
    hydration = await world.turn("Add logging to auth.go")
    assert codes(hydration) == [WarningCode.NO_SEMANTIC_CANDIDATES]
    assert "nothing is shown beside the anchors" in hydration.warnings[0].message

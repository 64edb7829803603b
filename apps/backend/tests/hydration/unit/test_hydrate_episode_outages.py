"""The use case where a part is out, late or cancelled: what it does without it, and what it says."""

from __future__ import annotations

import asyncio
import logging

import pytest

from ragcorp.application.hydration.hydrate import HydrationOptions
from ragcorp.domain.exceptions import ConfigurationError, ConflictError, StorageUnavailableError
from ragcorp.domain.retrieval import SourceOutcome
from ragcorp.domain.structure.hydration import WarningCode
from support.hydration.in_memory import MemoryKeywords
from support.hydration.world import ANN, DOWN, FIX, NEVER, GatedEmbedder, World, codes, happened, keys, out
from support.models.embedders import BrokenEmbedder

pytestmark = pytest.mark.anyio


async def test_without_the_embedder_anchors_alone_are_shown_and_that_is_said(caplog: pytest.LogCaptureFixture) -> None:
    world = World(embedder=BrokenEmbedder(reason="rate_limited"))
    with caplog.at_level(logging.WARNING):
        hydration = await world.turn(FIX)
    assert keys(hydration) == ["auth.go::ValidateToken", "auth.go::Login"]
    assert (codes(hydration), out(hydration)) == ([WarningCode.STRUCTURAL_ONLY], {"semantic": "rate_limited"})
    assert (hydration.turn, hydration.model) == (1, None)
    assert (world.calls["similar"], world.calls["find_chunks_full_text"]) == (0, 0)
    assert "hydration falls back to anchors alone: rate_limited" in caplog.text


async def test_an_embedder_with_a_bug_is_an_embedder_that_is_out() -> None:
    world = World()
    world.embedder.faults.errors["embed_query"] = RuntimeError("SECRET")  # type: ignore[attr-defined]
    hydration = await world.turn(FIX)
    assert (codes(hydration), out(hydration)) == ([WarningCode.STRUCTURAL_ONLY], {"semantic": "error"})


@pytest.mark.parametrize("method", ["files", "of_documents", "texts"])
@pytest.mark.parametrize(
    ("error", "reason"), [(DOWN, "connection_lost"), (ConfigurationError("login refused"), "configuration")]
)
async def test_without_structure_the_hydration_is_empty_says_why_and_is_no_turn(
    method: str, error: Exception, reason: str
) -> None:
    world = World()
    world.index.faults.errors[method] = error
    hydration = await world.turn(FIX)
    assert (hydration.entities, hydration.turn, out(hydration)) == ((), None, {"structure": reason})
    assert codes(hydration) == [WarningCode.NOT_RECORDED]
    assert world.calls["record"] == 0


async def test_where_structure_is_out_the_model_is_not_waited_for() -> None:
    embedder = GatedEmbedder()
    embedder.faults.gates["embed_query"] = asyncio.Event()
    world = World(embedder=embedder, options=HydrationOptions(timeout_seconds=60.0, semantic_timeout_seconds=60.0))
    world.index.faults.errors["files"] = DOWN
    hydration = await world.turn(FIX)
    assert out(hydration) == {"structure": "connection_lost"}
    await happened(embedder.faults.ended["embed_query"])


async def test_earlier_turns_that_cannot_be_read_are_left_out_and_named() -> None:
    world = World()
    world.episodes.faults.errors["hydrated"] = DOWN
    hydration = await world.turn(FIX)
    assert keys(hydration)[:2] == ["auth.go::ValidateToken", "auth.go::Login"]
    assert (out(hydration), hydration.turn) == ({"episodes": "connection_lost"}, 1)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (StorageUnavailableError("out", reason="read_only"), "read_only"),
        (ConflictError("Another write got in the way."), "conflict"),
    ],
)
async def test_a_turn_that_cannot_be_recorded_is_shown_without_a_number(error: Exception, reason: str) -> None:
    world = World()
    world.episodes.faults.errors["record"] = error
    hydration = await world.turn(FIX)
    assert (len(hydration.entities), hydration.turn, out(hydration)) == (4, None, {"episodes": reason})
    assert codes(hydration) == [WarningCode.NOT_RECORDED]


async def test_every_part_that_is_out_is_named_once() -> None:
    world = World(embedder=BrokenEmbedder(reason="unreachable"))
    world.episodes.faults.errors.update(hydrated=DOWN, record=StorageUnavailableError("out", reason="read_only"))
    hydration = await world.turn(FIX)
    assert [(item.source, item.reason) for item in hydration.reports] == [
        ("semantic", "unreachable"),
        ("episodes", "read_only"),
    ]


async def test_a_turn_that_is_recorded_too_late_is_shown_without_a_number() -> None:
    world = World(options=HydrationOptions(record_timeout_seconds=NEVER))
    world.episodes.faults.gates["record"] = asyncio.Event()
    hydration = await world.turn(FIX)
    assert (len(hydration.entities), hydration.turn) == (4, None)
    assert [(item.source, item.outcome) for item in hydration.reports] == [("episodes", SourceOutcome.TIMEOUT)]
    await happened(world.episodes.faults.ended["record"])


async def test_a_late_model_is_left_out_and_named() -> None:
    embedder = GatedEmbedder()
    embedder.faults.gates["embed_query"] = asyncio.Event()
    options = HydrationOptions(timeout_seconds=60.0, semantic_timeout_seconds=NEVER)
    async with asyncio.timeout(10):
        hydration = await World(embedder=embedder, options=options).turn(FIX)
    assert keys(hydration) == ["auth.go::ValidateToken", "auth.go::Login"]
    assert (codes(hydration), out(hydration)) == ([WarningCode.STRUCTURAL_ONLY], {"semantic": "timeout"})
    await happened(embedder.faults.ended["embed_query"])


@pytest.mark.parametrize(
    ("method", "source", "code"),
    [
        ("similar", "semantic", WarningCode.STRUCTURAL_ONLY),
        ("at_chunks", "keyword", WarningCode.NO_SEMANTIC_CANDIDATES),
    ],
)
@pytest.mark.parametrize("is_late", [True, False])
async def test_what_is_out_or_late_after_the_model_is_left_out_and_named(
    method: str, source: str, code: WarningCode, *, is_late: bool
) -> None:
    seconds = NEVER if is_late else 3.0
    world = World(
        options=HydrationOptions(semantic_timeout_seconds=seconds, threshold=0.7 if source == "semantic" else 0.999),
        keywords=MemoryKeywords({"1": 0.5}),
    )
    if is_late:
        world.index.faults.gates[method] = asyncio.Event()
    else:
        world.index.faults.errors[method] = DOWN
    hydration = await world.turn(FIX)
    assert keys(hydration) == ["auth.go::ValidateToken", "auth.go::Login"]
    assert (codes(hydration), out(hydration)) == ([code], {source: "timeout" if is_late else "connection_lost"})
    assert hydration.model == (None if source == "semantic" else "test-embedder")


async def test_late_structure_leaves_the_hydration_empty() -> None:
    world = World(options=HydrationOptions(timeout_seconds=NEVER))
    world.index.faults.gates["files"] = asyncio.Event()
    hydration = await world.turn(FIX)
    assert (hydration.entities, out(hydration)) == ((), {"structure": "timeout"})
    await happened(world.index.faults.ended["files"])


@pytest.mark.parametrize("method", ["embed_query", "files", "similar", "texts"])
async def test_a_cancellation_passes_and_ends_what_is_under_way(method: str) -> None:
    world = World()
    embedder = GatedEmbedder()
    world.embedder = embedder
    faults = embedder.faults if method == "embed_query" else world.index.faults
    faults.gates[method] = asyncio.Event()
    preparing = asyncio.create_task(world.hydrate.prepare(FIX, episode_id="e", principal=ANN))
    await happened(faults.entered[method])
    preparing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await preparing
    await happened(faults.ended[method])


async def test_the_model_runs_beside_the_lookups() -> None:
    """Each waits for the other to begin: one after the other they would never end."""
    world = World()
    embedder = GatedEmbedder()
    world.embedder = embedder
    embedder.faults.gates["embed_query"] = world.index.faults.entered["files"]
    world.index.faults.gates["files"] = embedder.faults.entered["embed_query"]
    world.episodes.faults.gates["hydrated"] = world.index.faults.entered["files"]
    assert len((await world.turn(FIX)).entities) == 4

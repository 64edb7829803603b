"""Roll-out through the library, over PostgreSQL: percentages, shadows, and answers that know of neither."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from ragcorp.application.retrieval.rollout.assignment import bucket
from ragcorp.domain.exceptions import ConfigurationError, SourceUnavailableError
from ragcorp.domain.ports.sources import SourceAnswer, SourceQuery
from ragcorp.domain.principal import Principal
from ragcorp.domain.search.requests import SearchResponse
from ragcorp.domain.search.rollout import Arm, ShadowOutcome
from ragcorp.interface.library.rag import Rag
from ragcorp.main.opening.library import make_rag
from ragcorp.main.settings.schema import load_settings
from ragcorp.main.wiring.base import Parts
from ragcorp.main.wiring.container import Container, open_container
from support.models.embedders import HashingEmbedder
from support.retrieval.sources import ScriptedSource

pytestmark = pytest.mark.anyio

TEXTS = {f"{number:02}.md": f"El plazo número {number} es de {number} días hábiles." for number in range(12)}
QUERIES = [f"plazo número {number}" for number in range(12)]
DIFFERENT = "el plazo número 7"


@dataclass
class Seen:
    arms: list[tuple[Arm, str]] = field(default_factory=list)
    shadows: asyncio.Queue[tuple[ShadowOutcome, float | None]] = field(default_factory=asyncio.Queue)

    def rollout_set(self, *, percent: float, shadow: bool) -> None:
        self.settings = (percent, shadow)

    def arm_served(self, arm: Arm, *, profile: str) -> None:
        self.arms.append((arm, profile))

    def shadow_ended(self, outcome: ShadowOutcome, *, overlap: float | None) -> None:
        self.shadows.put_nowait((outcome, overlap))

    async def outcome(self) -> tuple[ShadowOutcome, float | None]:
        return await asyncio.wait_for(self.shadows.get(), timeout=20)


Opened = tuple[Rag, Seen]
Open = Callable[..., Any]


@pytest.fixture
async def open_seen(make_container: Callable[..., Any]) -> Open:
    """Open the library with settings; the first one opened stores the texts."""
    stored = False

    async def opened(*, parts: Parts | None = None, **settings: Any) -> Opened:
        nonlocal stored
        container: Container = await make_container(parts=parts or Parts(embedder=HashingEmbedder()), **settings)
        seen = Seen()
        container.search_parts.rollout_observers.add(seen)
        rag = make_rag(container)
        if not stored:
            for name, text in TEXTS.items():
                await rag.ingest_text(name, text)
            stored = True
        return rag, seen

    return opened


class Held:
    """A source of the user's own that waits until it is let go; only the hybrid profile asks it."""

    name = "held"

    def __init__(self) -> None:
        self.entered, self.let_go, self.cancelled = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def retrieve(self, query: SourceQuery) -> SourceAnswer:
        self.entered.set()
        try:
            await self.let_go.wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        raise SourceUnavailableError("out", reason="unreachable")


def with_source(source: Any) -> Parts:
    return Parts(embedder=HashingEmbedder(), sources={source.name: source})


def ranking(response: SearchResponse) -> tuple[object, ...]:
    return (response.mode_used, response.hits, response.degraded)


def without_times(response: SearchResponse) -> tuple[object, ...]:
    return (*ranking(response), response.next_cursor)


async def test_0_is_the_old_profile_100_the_new_and_both_are_those_of_the_modes(open_seen: Open) -> None:
    none, none_seen = await open_seen(hybrid_rollout_percent=0)
    everybody, all_seen = await open_seen(hybrid_rollout_percent=100)
    for query in QUERIES[:5]:
        assert ranking(await none.search(query)) == ranking(await none.search(query, mode="dense"))
        assert ranking(await everybody.search(query)) == ranking(await none.search(query, mode="hybrid"))
    assert none_seen.arms == [(Arm.OLD, "dense")] * 5
    assert all_seen.arms == [(Arm.NEW, "hybrid_rrf")] * 5


async def test_half_of_the_queries_are_the_same_half_in_every_process_and_for_ask_too(open_seen: Open) -> None:
    one, _ = await open_seen(hybrid_rollout_percent=50)
    other, seen = await open_seen(hybrid_rollout_percent=50)
    expected = ["hybrid" if bucket("default", query) < 5000 else "dense" for query in QUERIES]
    assert {"hybrid", "dense"} == set(expected)
    assert [(await one.search(query)).mode_used for query in QUERIES] == expected
    assert [(await other.search(f" {query.upper()} ")).mode_used for query in QUERIES] == expected
    seen.arms.clear()
    for query in QUERIES[:6]:
        await other.ask(query)
    assert [profile.partition("_")[0] for _, profile in seen.arms] == expected[:6]


async def test_from_rrf_to_linear_fusion(open_seen: Open) -> None:
    rag, seen = await open_seen(enable_hybrid_search=True, fusion_method="linear", hybrid_rollout_percent=50)
    for query in QUERIES[:10]:
        response = await rag.search(query)
        method = "linear" if bucket("default", query) < 5000 else "rrf"
        assert {hit.score_type for hit in response.hits} == {method}
        assert seen.arms[-1][1] == f"hybrid_{method}"
    assert len({profile for _, profile in seen.arms}) == 2


async def test_the_workspace_has_a_part_in_it(open_seen: Open) -> None:
    rag, seen = await open_seen(hybrid_rollout_percent=50)
    elsewhere = rag.as_principal(Principal(workspace="acme"))
    await elsewhere.ingest_text("a.md", "El plazo es de 30 días.")
    arms = [Arm.NEW if bucket("acme", query) < 5000 else Arm.OLD for query in QUERIES]
    assert arms != [Arm.NEW if bucket("default", query) < 5000 else Arm.OLD for query in QUERIES]
    for query in QUERIES:
        await elsewhere.search(query)
    assert [arm for arm, _ in seen.arms] == arms


async def test_pages_go_on_in_their_arm_after_the_share_was_changed(open_seen: Open) -> None:
    before, _ = await open_seen(hybrid_rollout_percent=100)
    after, _ = await open_seen(hybrid_rollout_percent=0)
    first = await before.search(DIFFERENT, limit=4)
    second = await after.search(DIFFERENT, limit=4, cursor=first.next_cursor)
    assert second.mode_used == "hybrid"
    whole = await after.search(DIFFERENT, limit=8, mode="hybrid")
    assert [*first.hits, *second.hits] == list(whole.hits)


async def test_a_shadow_changes_no_answer(open_seen: Open) -> None:
    plain, _ = await open_seen()
    shadowed, seen = await open_seen(hybrid_shadow=True)
    assert seen.settings == (0, True)
    for query in QUERIES[:5]:
        assert without_times(await shadowed.search(query)) == without_times(await plain.search(query))
        old = [hit.chunk.id for hit in (await plain.search(query)).hits]
        new = [hit.chunk.id for hit in (await plain.search(query, mode="hybrid")).hits]
        expected = ShadowOutcome.SAME if old == new else ShadowOutcome.DIFFERENT
        assert await seen.outcome() == (expected, len(set(old) & set(new)) / 10)


async def test_a_shadow_that_is_degraded_or_refused_fails_no_answer(open_seen: Open) -> None:
    source = ScriptedSource(name="mine", error=RuntimeError("a bug"))
    rag, seen = await open_seen(parts=with_source(source), hybrid_shadow=True)
    assert (await rag.search("plazo")).hits
    assert await seen.outcome() == (ShadowOutcome.DEGRADED, None)
    assert len(source.queries) == 1


async def test_answers_do_not_wait_for_a_shadow_that_hangs_and_others_are_dropped(open_seen: Open) -> None:
    held = Held()
    rag, seen = await open_seen(
        parts=with_source(held), hybrid_shadow=True, search_timeout_seconds=60.0, source_timeout_seconds=60.0
    )
    first = await rag.search("plazo")
    await held.entered.wait()
    second = await rag.search("plazo")
    assert without_times(first) == without_times(second)
    assert (first.mode_used, len(first.hits)) == ("dense", 10)
    assert (await rag.ask("plazo número 7")).citations
    # the first is still held: two more came and found no room
    assert [await seen.outcome() for _ in range(2)] == [(ShadowOutcome.DROPPED, None)] * 2
    held.let_go.set()
    assert await seen.outcome() == (ShadowOutcome.DEGRADED, None)


async def test_a_source_that_hangs_in_a_shadow_is_cut_off(open_seen: Open) -> None:
    held = Held()
    rag, seen = await open_seen(
        parts=with_source(held), hybrid_shadow=True, search_timeout_seconds=60.0, source_timeout_seconds=0.05
    )
    assert (await rag.search("plazo")).mode_used == "dense"
    outcome, overlap = await seen.outcome()
    assert (outcome, overlap) == (ShadowOutcome.DEGRADED, None)
    await asyncio.wait_for(held.cancelled.wait(), timeout=20)


async def test_closing_cancels_a_shadow_before_the_database_goes(dsn: str, caplog: pytest.LogCaptureFixture) -> None:
    held = Held()
    settings = load_settings(
        {
            "embedding_provider": "none",
            "hybrid_shadow": True,
            "search_timeout_seconds": 60.0,
            "source_timeout_seconds": 60.0,
        }
    )
    async with open_container(settings, dsn, parts=with_source(held)) as container:
        rag = make_rag(container)
        await rag.ingest_text("a.md", "El plazo es de 30 días.")
        assert (await rag.search("plazo")).hits
        await held.entered.wait()
    assert held.cancelled.is_set()
    assert not [task for task in asyncio.all_tasks() if task.get_name() == "shadow search"]
    assert not caplog.records


@pytest.mark.parametrize("percent", [-1, 100.5, "nan", "many"])
async def test_a_share_out_of_range_is_named(open_seen: Open, percent: object) -> None:
    with pytest.raises(ConfigurationError, match="HYBRID_ROLLOUT_PERCENT"):
        await open_seen(hybrid_rollout_percent=percent)

"""Roll-out: who gets which profile, and what a shadow may and may not do."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import pytest

from ragcorp.application.retrieval.rollout.assignment import (
    ArmProfile,
    Rollout,
    RolloutObservers,
    bucket,
    planned_rollout,
    query_digest,
)
from ragcorp.application.retrieval.rollout.running import RunningRollout
from ragcorp.application.retrieval.rollout.shadow import ShadowLimits, ShadowSearch, overlap_at, rank_changes
from ragcorp.application.retrieval.search_chunks import SearchChunks
from ragcorp.domain.exceptions import ConfigurationError, InvalidInputError, StorageUnavailableError
from ragcorp.domain.principal import Principal
from ragcorp.domain.retrieval import SourceOutcome
from ragcorp.domain.search.requests import FusionMethod, SearchMode, SearchRequest
from ragcorp.domain.search.rollout import Arm, ShadowOutcome
from support.retrieval.searches import ScriptedSearch

ANYONE = Principal()
DENSE = ArmProfile(mode=SearchMode.DENSE)
RRF = ArmProfile(mode=SearchMode.HYBRID)
LINEAR = ArmProfile(mode=SearchMode.HYBRID, method=FusionMethod.LINEAR)


# buckets: by hand, printf 'default\0plazo de entrega' | sha256sum


def test_the_digest_and_the_bucket_by_hand() -> None:
    assert query_digest("default", "plazo de entrega").hex() == "516fbeff1214c350"
    assert bucket("default", "plazo de entrega") == 0x516FBEFF1214C350 % 10_000 == 4160
    assert bucket("default", "  ¿CUÁL es\tel plazo? ") == 2920
    assert bucket("acme", "plazo de entrega") == 9653


def test_shares_come_out_as_asked() -> None:
    """Of 20,000 queries 10 % are 2000, standard deviation 42."""
    rollout = Rollout(old=DENSE, new=RRF, percent=10)
    arms = [rollout.arm_of(workspace="default", query=f"consulta {number}") for number in range(20_000)]
    assert abs(arms.count(Arm.NEW) - 2000) < 5 * 42


@pytest.mark.parametrize("percent", [-0.01, 100.01, float("nan"), float("inf")])
def test_a_share_out_of_range_is_refused(percent: float) -> None:
    with pytest.raises(ConfigurationError):
        Rollout(old=DENSE, new=RRF, percent=percent)


@pytest.mark.parametrize(
    ("hybrid", "method", "shadow", "percent", "old", "new", "share"),
    [
        (False, "rrf", False, None, DENSE, RRF, 0),
        (True, "rrf", False, None, DENSE, RRF, 100),
        (True, "linear", False, None, RRF, LINEAR, 100),
        (False, "linear", False, 10, DENSE, LINEAR, 10),
        (True, "linear", False, 10, RRF, LINEAR, 10),
        (True, "rrf", False, 10, DENSE, RRF, 10),
        (False, "linear", True, None, DENSE, LINEAR, 0),
        (True, "linear", True, None, RRF, LINEAR, 0),
        (True, "rrf", True, None, DENSE, RRF, 0),
        (True, "linear", True, 25, RRF, LINEAR, 25),
        (True, "linear", False, 0, RRF, LINEAR, 0),
    ],
)
def test_what_the_settings_mean(
    hybrid: bool, method: str, shadow: bool, percent: float | None, old: ArmProfile, new: ArmProfile, share: float
) -> None:
    rollout = planned_rollout(hybrid=hybrid, method=FusionMethod(method), shadow=shadow, percent=percent)
    assert rollout == Rollout(old=old, new=new, percent=share, shadow=shadow)


def test_names_of_profiles() -> None:
    assert [profile.name for profile in (DENSE, RRF, LINEAR)] == ["dense", "hybrid_rrf", "hybrid_linear"]


def test_a_method_that_the_caller_names_stays() -> None:
    request = SearchRequest(query="a", method=FusionMethod.RRF)
    assert LINEAR.applied_to(request) == replace(request, mode=SearchMode.HYBRID)
    assert LINEAR.applied_to(SearchRequest(query="a")).method is FusionMethod.LINEAR
    assert DENSE.applied_to(request) == replace(request, mode=SearchMode.DENSE)


# the comparison


def test_overlap_by_hand() -> None:
    assert overlap_at(10, list("abcde"), list("abcde")) == 1
    assert overlap_at(10, list("abcde"), list("edcba")) == 1
    assert overlap_at(10, list("abcd"), list("abxyz")) == 2 / 5
    assert overlap_at(3, list("abcd"), list("xbcd")) == 2 / 3
    assert overlap_at(10, [], list("ab")) == 0
    assert overlap_at(10, [], []) == 1


def test_changes_by_hand() -> None:
    changes = rank_changes(3, list("abcd"), list("caxb"))
    assert [str(change) for change in changes] == ["a:1>2", "c:3>1", "b:2>-", "x:->3"]


def test_a_comparison_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(InvalidInputError):
        overlap_at(0, [], [])
    with pytest.raises(InvalidInputError):
        overlap_at(10, ["a", "a"], [])


# the use case


@dataclass
class Seen:
    """An observer that remembers; ``ended`` is set when a shadow has ended."""

    settings: tuple[float, bool] | None = None
    arms: list[tuple[Arm, str]] = field(default_factory=list)
    shadows: list[tuple[ShadowOutcome, float | None]] = field(default_factory=list)
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    def rollout_set(self, *, percent: float, shadow: bool) -> None:
        self.settings = (percent, shadow)

    def arm_served(self, arm: Arm, *, profile: str) -> None:
        self.arms.append((arm, profile))

    def shadow_ended(self, outcome: ShadowOutcome, *, overlap: float | None) -> None:
        self.shadows.append((outcome, overlap))
        self.ended.set()


class Stage:
    """A rolled-out search over a scripted one, with an observer."""

    def __init__(
        self, *, percent: float = 0, shadow: bool = True, limits: ShadowLimits | None = None, new: str = "abxdefghij"
    ) -> None:
        self.inner = ScriptedSearch(rankings={SearchMode.DENSE: "abcdefghijkl", SearchMode.HYBRID: new})
        self.seen = Seen()
        self.use(percent=percent, shadow=shadow, limits=limits)

    def use(self, *, percent: float, shadow: bool = False, limits: ShadowLimits | None = None) -> None:
        rollout = Rollout(old=DENSE, new=RRF, percent=percent, shadow=shadow)
        observers = RolloutObservers(rollout)
        observers.add(self.seen)
        inner: Any = self.inner
        self.shadow = ShadowSearch(planner=inner, ranked=inner, observers=observers, limits=limits or ShadowLimits())
        running = RunningRollout(rollout=rollout, observers=observers, shadow=self.shadow)
        self.search = SearchChunks(planner=inner, ranked=inner, rollout=running)

    async def ask(self, query: str = "plazo", **request: object) -> str:
        response = await self.search.search(SearchRequest(query=query, **request), principal=ANYONE)  # type: ignore[arg-type]
        return "".join(hit.chunk.id for hit in response.hits)

    async def shadow_outcome(self) -> tuple[ShadowOutcome, float | None]:
        await asyncio.wait_for(self.seen.ended.wait(), timeout=20)
        self.seen.ended.clear()
        return self.seen.shadows[-1]


pytestmark = pytest.mark.anyio


async def test_auto_is_the_arms_profile_and_a_named_mode_is_let_through() -> None:
    stage = Stage(percent=100, shadow=False)
    assert await stage.ask(limit=3) == "abx"
    assert await stage.ask(limit=3, mode=SearchMode.DENSE) == "abc"
    assert stage.seen.settings == (100, False)
    assert stage.seen.arms == [(Arm.NEW, "hybrid_rrf")]
    assert not stage.seen.shadows


async def test_what_keywords_decide_is_in_no_arm() -> None:
    stage = Stage(shadow=False)
    stage.inner.rankings = {**stage.inner.rankings, SearchMode.AUTO: "klm"}
    assert await stage.ask(exact_keywords="REQ-2026-014") == "klm"
    assert not stage.seen.arms
    assert await stage.ask(exact_keywords=" ", limit=3) == "abc"
    assert stage.seen.arms == [(Arm.OLD, "dense")]


async def test_an_explained_answer_names_its_arm() -> None:
    stage = Stage(percent=100, shadow=False)
    response = await stage.search.search(SearchRequest(query="plazo", explain=True), principal=ANYONE)
    assert response.explanation == {"profile": "hybrid", "arm": "new"}


@pytest.mark.parametrize(("before", "after"), [(0, 100), (100, 0)])
async def test_pages_stay_in_their_arm_when_the_share_changes(before: float, after: float) -> None:
    stage = Stage(percent=before, shadow=False, new="zyxwvutsrqpo")
    first = await stage.search.search(SearchRequest(query="plazo", limit=4), principal=ANYONE)
    stage.use(percent=after)
    assert await stage.ask(limit=4, cursor=first.next_cursor) == ("efgh" if before == 0 else "vuts")
    assert await stage.ask(limit=4) == ("abcd" if after == 0 else "zyxw")


@pytest.mark.parametrize("cursor", ["", "?", "AAAA", "ñ"])
async def test_a_foreign_cursor_is_refused_as_before(cursor: str) -> None:
    stage = Stage(percent=50, shadow=False)
    with pytest.raises(InvalidInputError):
        await stage.ask(cursor=cursor)


async def test_a_shadow_counts_and_logs_what_differs_and_never_the_query(caplog: pytest.LogCaptureFixture) -> None:
    stage = Stage(new="bacdefghix")
    with caplog.at_level(logging.INFO):
        assert await stage.ask("El secreto de Acme") == "abcdefghij"
        assert await stage.shadow_outcome() == (ShadowOutcome.DIFFERENT, 0.9)
    (line,) = [record.getMessage() for record in caplog.records]
    digest = query_digest("default", "el secreto de acme").hex()
    assert line == (
        f"the shadow differs: workspace=default query={digest} overlap@10=0.90 moved=a:1>2,b:2>1,j:10>-,x:->10"
    )
    assert "secreto" not in caplog.text.lower()


async def test_equal_heads_are_the_same_and_log_nothing(caplog: pytest.LogCaptureFixture) -> None:
    stage = Stage(new="abcdefghij")
    with caplog.at_level(logging.INFO):
        await stage.ask()
        assert await stage.shadow_outcome() == (ShadowOutcome.SAME, 1.0)
    assert not caplog.records


async def test_a_short_page_is_compared_to_depth_10_and_a_long_one_is_cut() -> None:
    stage = Stage(new="abcdefghix")
    assert await stage.ask(limit=2) == "ab"
    assert await stage.shadow_outcome() == (ShadowOutcome.DIFFERENT, 0.9)
    assert [(request.mode, request.limit) for request in stage.inner.requests] == [
        (SearchMode.DENSE, 2),
        (SearchMode.DENSE, 10),
        (SearchMode.HYBRID, 10),
    ]
    assert await stage.ask(limit=12) == "abcdefghijkl"
    assert await stage.shadow_outcome() == (ShadowOutcome.DIFFERENT, 0.9)


async def test_only_first_pages_of_the_old_arm_are_shadowed() -> None:
    stage = Stage(percent=100)
    await stage.ask()
    stage.use(percent=0, shadow=False)
    first = await stage.search.search(SearchRequest(query="plazo", limit=4), principal=ANYONE)
    stage.use(percent=0, shadow=True)
    await stage.ask(limit=4, cursor=first.next_cursor)
    await stage.ask(mode=SearchMode.DENSE)
    await stage.ask("otra")
    await stage.shadow_outcome()
    assert len(stage.seen.shadows) == 1
    assert [request.query for request in stage.inner.requests if request.mode is SearchMode.HYBRID] == ["plazo", "otra"]


@pytest.mark.parametrize("error", [StorageUnavailableError("out", reason="unreachable"), KeyError("x"), TimeoutError()])
async def test_a_shadow_that_fails_fails_alone(error: Exception) -> None:
    stage = Stage()
    stage.inner.errors[SearchMode.HYBRID] = error
    assert await stage.ask() == "abcdefghij"
    assert await stage.shadow_outcome() == (ShadowOutcome.FAILED, None)


async def test_a_shadow_ends_at_its_deadline() -> None:
    stage = Stage(limits=ShadowLimits(timeout_seconds=0.01))
    stage.inner.gates[SearchMode.HYBRID] = asyncio.Event()
    assert await stage.ask() == "abcdefghij"
    assert await stage.shadow_outcome() == (ShadowOutcome.FAILED, None)
    assert stage.inner.cancelled == [SearchMode.HYBRID]


@pytest.mark.parametrize("mode", [SearchMode.DENSE, SearchMode.HYBRID])
async def test_an_outage_is_not_compared(mode: SearchMode) -> None:
    stage = Stage()
    stage.inner.outcomes[mode] = SourceOutcome.TIMEOUT
    assert await stage.ask() == "abcdefghij"
    assert await stage.shadow_outcome() == (ShadowOutcome.DEGRADED, None)
    asked = [request.mode for request in stage.inner.requests]
    # an outage that the answer saw starts no shadow at all
    assert asked == [SearchMode.DENSE] if mode is SearchMode.DENSE else [SearchMode.DENSE, SearchMode.HYBRID]


async def test_answers_go_on_while_a_shadow_hangs_and_further_shadows_are_dropped() -> None:
    stage = Stage(limits=ShadowLimits(max_running=2, timeout_seconds=60))
    gate = stage.inner.gates[SearchMode.HYBRID] = asyncio.Event()
    for number in range(5):
        assert await stage.ask(f"consulta {number}") == "abcdefghij"
    assert stage.seen.shadows == [(ShadowOutcome.DROPPED, None)] * 3
    gate.set()
    stage.seen.ended.clear()
    await stage.shadow_outcome()
    await asyncio.sleep(0)
    await stage.ask("y otra")
    await stage.shadow_outcome()
    assert [outcome for outcome, _ in stage.seen.shadows].count(ShadowOutcome.DROPPED) == 3
    await stage.shadow.aclose()


async def test_closing_cancels_what_runs_and_starts_nothing_more() -> None:
    stage = Stage(limits=ShadowLimits(max_running=2, timeout_seconds=60))
    stage.inner.gates[SearchMode.HYBRID] = asyncio.Event()
    await stage.ask()
    await stage.inner.entered.wait()
    await stage.shadow.aclose()
    assert stage.inner.cancelled == [SearchMode.HYBRID]
    assert not stage.seen.shadows
    assert await stage.ask() == "abcdefghij"
    assert stage.seen.shadows == [(ShadowOutcome.DROPPED, None)]
    assert not [task for task in asyncio.all_tasks() if task.get_name() == "shadow search"]


async def test_a_shadow_that_swallows_its_cancellation_holds_up_no_shutdown() -> None:
    stage = Stage(limits=ShadowLimits(timeout_seconds=60, shutdown_seconds=0.01))
    gate = stage.inner.gates[SearchMode.HYBRID] = DeafEvent()
    await stage.ask()
    await stage.inner.entered.wait()
    await stage.shadow.aclose()
    (task,) = [task for task in asyncio.all_tasks() if task.get_name() == "shadow search"]
    gate.set()
    await asyncio.wait([task])


class DeafEvent(asyncio.Event):
    """Goes on waiting when its waiter is cancelled for the first time."""

    async def wait(self) -> Literal[True]:
        try:
            return await super().wait()
        except asyncio.CancelledError:
            return await super().wait()


async def test_a_search_that_fails_is_neither_counted_nor_shadowed() -> None:
    stage = Stage()
    stage.inner.errors[SearchMode.DENSE] = StorageUnavailableError("out")
    with pytest.raises(StorageUnavailableError):
        await stage.ask()
    assert not stage.seen.arms
    assert not stage.seen.shadows

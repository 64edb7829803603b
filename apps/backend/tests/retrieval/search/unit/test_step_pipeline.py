"""The steps after fusion in their order, over a store in memory; a reranker that is out is left out and named."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from ragcorp.application.retrieval.fusion.rank_fusion import RankFusionService
from ragcorp.application.retrieval.profiles.profile import RetrievalProfile, Steps
from ragcorp.application.retrieval.search.list_fusion import Ranking
from ragcorp.application.retrieval.search.plan import QueryPlan
from ragcorp.application.retrieval.search.step_pipeline import PipelineResult, RerankLimits, StepPipeline
from ragcorp.application.retrieval.search_chunks import SearchChunks
from ragcorp.application.retrieval.steps.diversification import Diversification
from ragcorp.application.retrieval.steps.temporal_decay import TemporalDecay
from ragcorp.domain.documents import Chunk, VisibilityScope
from ragcorp.domain.exceptions import SourceUnavailableError
from ragcorp.domain.filters import Filters
from ragcorp.domain.principal import Principal, Sensitivity
from ragcorp.domain.retrieval import Hit, HitKey, RankedList, ScoreType
from ragcorp.domain.search.candidates import Description, Features
from ragcorp.domain.search.requests import SearchMode, SearchRequest
from support.retrieval.searches import search_over
from support.retrieval.sources import ScriptedSource

pytestmark = pytest.mark.anyio

NOW = datetime(2026, 11, 28, tzinfo=UTC)
ANN = Principal(subject="ann", clearance=Sensitivity.NORMAL)
NOBODY = UUID(int=0)


def described(
    *, collection: str = "memory", age_days: float = 0, artifact: str | None = None, owner: str = "", kind: str = "fact"
) -> Description:
    return Description(
        collection=collection,
        kind=kind,
        workspace="default",
        sensitivity=Sensitivity.NORMAL,
        visibility_scope=VisibilityScope.PRIVATE if owner else VisibilityScope.WORKSPACE,
        owner=owner,
        language="es",
        artifact=artifact,
        ages_from=NOW - timedelta(days=age_days),
    )


class Store:
    """The port CandidateStore over descriptions by key; visibility is not enforced here, so that the policy shows."""

    def __init__(self, descriptions: dict[HitKey, Description], features: Features | None = None) -> None:
        self.descriptions = descriptions
        self._features = features or Features()
        self.pools: list[Sequence[HitKey]] = []
        self.hangs: str | None = None

    async def describe(
        self, keys: Sequence[HitKey], *, principal: Principal, filters: Filters = ()
    ) -> dict[HitKey, Description]:
        await self._strike("describe")
        return {key: self.descriptions[key] for key in keys if key in self.descriptions}

    async def _strike(self, call: str) -> None:
        if self.hangs == call:
            await asyncio.sleep(30)

    async def features(self, keys: Sequence[HitKey], *, principal: Principal) -> Features:
        await self._strike("features")
        self.pools.append(keys)
        return self._features

    async def read(self, keys: Sequence[HitKey], *, principal: Principal) -> dict[HitKey, Chunk]:
        return {key: passage(key) for key in keys if key in self.descriptions}

    async def neighbours(
        self, centres: Sequence[tuple[UUID, int]], *, distance: int, principal: Principal
    ) -> dict[tuple[UUID, int], Chunk]:
        await self._strike("neighbours")
        return {}

    async def get_chunks(self, chunk_ids: Sequence[str], *, principal: Principal) -> dict[str, Chunk]:
        return {chunk_id: passage((chunk_id, "", 0)) for chunk_id in chunk_ids}


def passage(key: HitKey) -> Chunk:
    return Chunk(
        id=key[0],
        document_id=NOBODY,
        external_id=key[0],
        chunk_index=0,
        content=f"text of {key[0]}",
        heading_path=(),
        title="",
        language="es",
        path=None,
        metadata={},
        line_start=1,
        line_end=1,
        page_start=None,
        page_end=None,
        collection=key[1] or "artifact_chunks",
    )


class LengthReranker:
    """Likes the last of what it is given best."""

    name = "last-first"

    def __init__(
        self, *, error: Exception | None = None, delay: float = 0.0, answer: list[float] | None = None
    ) -> None:
        self.error, self.delay, self.answer = error, delay, answer
        self.passages: Sequence[str] = ()

    async def scores(self, query: str, passages: Sequence[str]) -> Sequence[float]:
        self.passages = passages
        await asyncio.sleep(self.delay)
        if self.error is not None:
            raise self.error
        return [float(place) for place in range(len(passages))] if self.answer is None else self.answer

    async def aclose(self) -> None:
        return None


def key(name: str, collection: str = "memory") -> HitKey:
    return (name, "" if collection == "artifact_chunks" else collection, 0)


def hit(name: str, collection: str = "memory") -> Hit:
    if collection == "artifact_chunks":
        return Hit(chunk_id=name, score=1.0)
    return Hit(item_id=name, collection=collection, score=1.0)


def ranking(hits: Sequence[Hit], steps: Steps, *, seconds: float) -> Ranking:
    fused = RankFusionService().fuse([RankedList(source="s", score_type="bm25", hits=tuple(hits))])
    profile = RetrievalProfile(name="p", mode=SearchMode.HYBRID, sources=("s",), steps=steps)
    plan = QueryPlan(
        request=SearchRequest(query="q"),
        principal=ANN,
        profile=profile,
        moment=NOW,
        deadline=asyncio.get_running_loop().time() + seconds,
    )
    return Ranking(plan=plan, mode_used=SearchMode.HYBRID, hits=fused, score_type=ScoreType.RRF)


async def run(
    store: Store,
    hits: Sequence[Hit],
    steps: Steps,
    *,
    reranker: LengthReranker | None = None,
    limits: RerankLimits | None = None,
    seconds: float = 5.0,
) -> PipelineResult:
    pipeline = StepPipeline(store=store, reranker=reranker, rerank_limits=limits)
    return await pipeline.apply(ranking(hits, steps, seconds=seconds))


def order(result: PipelineResult) -> list[str]:
    assert result.candidates is not None
    return [candidate.key[0] for candidate in result.candidates]


def lines(result: PipelineResult) -> list[tuple[str, int, int]]:
    return [(step.step, step.before, step.after) for step in result.steps]


async def test_every_step_in_its_order_with_its_count() -> None:
    store = Store(
        {
            key("old"): described(age_days=300),
            key("new"): described(age_days=1),
            key("doc", "artifacts"): described(collection="artifacts", artifact="d"),
            key("7", "artifact_chunks"): described(collection="artifact_chunks", artifact="d"),
            key("secret"): described(owner="bob"),
        }
    )
    names = [("old", "memory"), ("gone", "memory"), ("secret", "memory"), ("doc", "artifacts")]
    hits = [hit(*name) for name in (*names, ("new", "memory"), ("7", "artifact_chunks"))]
    steps = Steps(decay=TemporalDecay(), deduplicate=True, diversify=Diversification())
    result = await run(store, hits, steps)
    assert lines(result) == [
        ("describe", 6, 5),
        ("temporal_decay", 5, 5),
        ("deduplication", 5, 4),
        ("visibility", 4, 3),
        ("diversification", 3, 3),
    ]
    assert set(order(result)) == {"old", "new", "7"}
    assert order(result)[-1] == "old"
    assert [set(pool) for pool in store.pools] == [{key("old"), key("new"), key("7", "artifact_chunks")}]


async def test_the_order_does_not_depend_on_how_much_is_wanted_and_is_the_same_twice() -> None:
    store = Store({key(str(number)): described(age_days=number) for number in range(60)})
    hits = [hit(str(number)) for number in range(60)]
    steps = Steps(decay=TemporalDecay(), diversify=Diversification())
    assert order(await run(store, hits, steps)) == order(await run(store, hits, steps))


async def test_a_reranker_reorders_its_pool_only() -> None:
    store = Store({key(name): described() for name in "abcd"})
    reranker = LengthReranker()
    result = await run(
        store, [hit(name) for name in "abcd"], Steps(), reranker=reranker, limits=RerankLimits(pool_size=3)
    )
    assert order(result) == ["c", "b", "a", "d"]
    assert list(reranker.passages) == ["text of a", "text of b", "text of c"]
    assert [(report.source, report.outcome, report.reason) for report in result.reports] == [("rerank", "ok", None)]


async def test_a_profile_without_reranking_does_not_ask_it() -> None:
    store = Store({key(name): described() for name in "ab"})
    reranker = LengthReranker()
    result = await run(store, [hit("a"), hit("b")], Steps(rerank=False, deduplicate=True), reranker=reranker)
    assert order(result) == ["a", "b"]
    assert (reranker.passages, result.reports) == ((), ())


@pytest.mark.parametrize(
    ("reranker", "reason"),
    [
        (LengthReranker(error=SourceUnavailableError("down", reason="unreachable")), "unreachable"),
        (LengthReranker(error=ValueError("a bug")), "error"),
        (LengthReranker(delay=30), "timeout"),
        (LengthReranker(answer=[float("nan"), 1.0]), "invalid"),
        (LengthReranker(answer=[1.0]), "error"),
    ],
    ids=["down", "bug", "hanging", "nan", "too-few"],
)
async def test_a_reranker_that_is_out_is_left_out_and_named(reranker: LengthReranker, reason: str) -> None:
    store = Store({key(name): described() for name in "ab"})
    result = await run(
        store, [hit("a"), hit("b")], Steps(), reranker=reranker, limits=RerankLimits(timeout_seconds=0.05)
    )
    assert order(result) == ["a", "b"]
    assert [report.reason for report in result.reports] == [reason]
    assert [step.skipped for step in result.steps if step.step == "rerank"] == [reason]


async def test_a_reranker_leaves_time_for_what_follows() -> None:
    store = Store({key("a"): described()})
    started = asyncio.get_running_loop().time()
    result = await run(store, [hit("a")], Steps(), reranker=LengthReranker(delay=30), seconds=0.6)
    assert [report.reason for report in result.reports] == ["timeout"]
    assert asyncio.get_running_loop().time() - started < 5  # a guard: not the sixty of the reranker


async def test_candidates_that_cannot_be_described_in_time_take_no_step(open_steps: Steps) -> None:
    store = Store({key(name): described() for name in "ab"})
    store.hangs = "describe"
    result = await run(store, [hit("a"), hit("b")], open_steps, seconds=0.05)
    assert result.candidates is None
    assert [(step.step, step.skipped) for step in result.steps] == [("describe", "timeout")]
    assert [(report.source, report.reason) for report in result.reports] == [("describe", "timeout")]


async def test_a_pool_whose_similarities_do_not_come_in_time_keeps_its_order_and_is_named(open_steps: Steps) -> None:
    store = Store({key(name): described() for name in "ab"})
    store.hangs = "features"
    result = await run(store, [hit("a"), hit("b")], open_steps, seconds=0.05)
    assert order(result) == ["a", "b"]
    assert [step.skipped for step in result.steps if step.step == "diversification"] == ["timeout"]
    assert [(report.source, report.reason) for report in result.reports] == [("diversification", "timeout")]


@pytest.fixture
def open_steps() -> Steps:
    return Steps(decay=TemporalDecay(), deduplicate=True, diversify=Diversification())


def searching(
    store: Store,
    hits: Sequence[Hit],
    steps: Steps,
    clock: list[datetime],
    reranker: LengthReranker | None = None,
    *,
    seconds: float = 5.0,
) -> SearchChunks:
    source = ScriptedSource(*hits, name="s")
    profile = RetrievalProfile(name="p", mode=SearchMode.HYBRID, sources=("s",), steps=steps)
    return search_over(
        {"s": source},
        store=store,
        profiles={"p": profile},
        source_seconds=1.0,
        seconds=seconds,
        pipeline=StepPipeline(store=store, reranker=reranker),
        now=lambda: clock[0],
    )


async def test_a_later_page_counts_ages_from_the_moment_of_the_first() -> None:
    store = Store({key(name): described(age_days=3) for name in "abc"})
    clock = [NOW]
    search = searching(store, [hit(name) for name in "abc"], Steps(decay=TemporalDecay()), clock)
    first = await search.search(SearchRequest(query="q", profile="p", limit=2), principal=ANN)
    clock[0] += timedelta(hours=10)
    asked = SearchRequest(query="q", profile="p", limit=2, cursor=first.next_cursor)
    (last,) = (await search.search(asked, principal=ANN)).hits
    assert last.steps["temporal_decay"]["age_days"] == first.hits[0].steps["temporal_decay"]["age_days"] == 3


async def test_what_began_without_a_reranker_goes_on_without_it() -> None:
    store = Store({key(name): described() for name in "abc"})
    reranker = LengthReranker(error=SourceUnavailableError("down", reason="unreachable"))
    search = searching(store, [hit(name) for name in "abc"], Steps(), [NOW], reranker)
    first = await search.search(SearchRequest(query="q", profile="p", limit=2), principal=ANN)
    assert [result.chunk.id for result in first.hits] == ["a", "b"]
    reranker.error = None
    asked = SearchRequest(query="q", profile="p", limit=2, cursor=first.next_cursor)
    response = await search.search(asked, principal=ANN)
    assert [result.chunk.id for result in response.hits] == ["c"]


async def test_neighbours_that_do_not_come_in_time_are_left_out_and_named() -> None:
    store = Store({key("7", "artifact_chunks"): described(collection="artifact_chunks", artifact="d")})
    store.hangs = "neighbours"
    search = searching(store, [hit("7", "artifact_chunks")], Steps(neighbours=1), [NOW], seconds=0.2)
    response = await search.search(SearchRequest(query="q", profile="p"), principal=ANN)
    assert [result.chunk.id for result in response.hits] == ["7"]
    assert [(step.step, step.skipped) for step in response.steps] == [("neighbour_expansion", "timeout")]
    assert [(report.source, report.reason) for report in response.degraded][-1:] == [("neighbour_expansion", "timeout")]

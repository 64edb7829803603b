"""The fan-out: who is asked what, for how long, and what a cancelled search leaves behind."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from ragcorp.domain.exceptions import ConfigurationError, InvalidInputError
from ragcorp.domain.filters import METADATA, AnyOf, Condition, Filters
from ragcorp.domain.ports.sources import SourceAnswer, SourceQuery
from ragcorp.domain.retrieval import Hit, RankedList
from support.retrieval.fan_out import FanOut, found, healthy, told
from support.retrieval.sources import ScriptedSource

pytestmark = pytest.mark.anyio

ONE = Hit(chunk_id="1", score=1.0)


class CollectionSource(ScriptedSource):
    """A source of another collection that says what it can filter by."""

    def __init__(self, name: str, *, collection: str, filter_fields: Sequence[str]) -> None:
        super().__init__(Hit(item_id="1", collection=collection, score=1.0), name=name)
        self.collection, self.filter_fields = collection, frozenset(filter_fields)


async def test_results_come_in_the_order_of_the_names_whoever_is_first() -> None:
    slow, quick = ScriptedSource(ONE, name="b", delay=0.05), ScriptedSource(name="a")
    results = await FanOut([slow, quick]).ask("b", "a", "desconocida")
    assert told(results) == {"b": ("ok", None), "a": ("empty", None), "desconocida": ("skipped", "not_configured")}


async def test_each_source_is_asked_its_own_query() -> None:
    sources = [healthy("a"), healthy("b")]
    await FanOut(sources).ask(limit=8, pools={"a": 1.0, "b": 3.0})
    assert [[query.limit for query in source.queries] for source in sources] == [[2], [6]]


async def test_nothing_is_asked_of_nobody() -> None:
    assert await FanOut([]).ask() == {}


async def test_a_source_may_have_a_deadline_of_its_own() -> None:
    sources = [ScriptedSource(ONE, name="corta", delay=1.0), ScriptedSource(ONE, name="larga", delay=0.4)]
    fan_out = FanOut(sources, timeout=0.2, timeouts={"larga": 5.0})
    assert told(await fan_out.ask()) == {"corta": ("timeout", "timeout"), "larga": ("ok", None)}


async def test_no_deadline_of_its_own_outlasts_the_total() -> None:
    fan_out = FanOut([ScriptedSource(ONE, name="larga", delay=60)], timeouts={"larga": 60.0}, total=0.1)
    assert told(await fan_out.ask()) == {"larga": ("timeout", "timeout")}
    assert fan_out.seconds < 2.0


@pytest.mark.parametrize(
    "name", ["dense", "full_text", "artifacts.dense", "memory.full_text", "history.dense", "graph"]
)
async def test_a_source_of_our_own_may_find_the_query_at_fault(name: str) -> None:
    bad = ScriptedSource(name=name, error=InvalidInputError("no", field="filters"))
    with pytest.raises(InvalidInputError) as refused:
        await FanOut([bad, healthy()]).ask()
    assert refused.value.field == "filters"


async def test_lists_of_our_own_keep_their_names_and_length_and_a_users_go_below_its_name() -> None:
    further = RankedList(source="dense", score_type="x", hits=tuple(Hit(chunk_id=str(n), score=1.0) for n in range(5)))

    async def answers(_: SourceQuery) -> SourceAnswer:
        return SourceAnswer(ranked_list=RankedList(source="otra", score_type="x"), further=(further,))

    results = await FanOut([ScriptedSource(name=name, answer=answers) for name in ("mia", "full_text")]).ask(limit=3)
    lists = {name: result.answer.lists for name, result in results.items() if result.answer}
    assert [(item.source, len(item)) for item in lists["mia"]] == [("mia", 0), ("mia.dense", 3)]
    assert [(item.source, len(item)) for item in lists["full_text"]] == [("full_text", 0), ("dense", 5)]


BY_SESSION: Filters = (Condition(name="session", values=("s1",)),)
BY_METADATA: Filters = (Condition(name="departamento", values=("legal",)),)
IN_HISTORY: Filters = (Condition(name="collection", values=("history",)),)
IN_HISTORY_OR_SPANISH: Filters = (AnyOf(parts=(IN_HISTORY[0], Condition(name="language", values=("es",)))),)


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ((), {"history.dense": ("ok", None), "graph": ("ok", None), "mia": ("ok", None)}),
        (BY_SESSION, {"history.dense": ("ok", None), "graph": ("skipped", "filter:session"), "mia": ("ok", None)}),
        (BY_METADATA, {"history.dense": ("ok", None), "graph": ("skipped", "filter:metadata"), "mia": ("ok", None)}),
        (IN_HISTORY, {"history.dense": ("ok", None), "graph": ("skipped", None), "mia": ("skipped", None)}),
        (IN_HISTORY_OR_SPANISH, {"history.dense": ("ok", None), "graph": ("ok", None), "mia": ("ok", None)}),
    ],
)
async def test_a_source_is_left_out_where_it_cannot_filter_or_holds_another_collection(
    filters: Filters, expected: dict[str, Any]
) -> None:
    history = CollectionSource(
        "history.dense", collection="history", filter_fields=["session", "language", "collection", METADATA]
    )
    graph = CollectionSource("graph", collection="graph", filter_fields=["language", "collection"])
    assert told(await FanOut([history, graph, healthy("mia")]).ask(filters=filters)) == expected
    for source in (history, graph):
        assert len(source.queries) == (expected[source.name][0] == "ok")


@pytest.mark.parametrize("fields", ["session", 7])
async def test_filter_fields_that_are_no_names_are_refused_when_sources_are_wired(fields: Any) -> None:
    source = healthy("mia")
    source.filter_fields = fields  # type: ignore[attr-defined]
    with pytest.raises(ConfigurationError) as refused:
        FanOut([source])
    assert refused.value.field == "sources"


async def test_a_source_is_asked_what_the_filters_say_of_its_collection() -> None:
    history = CollectionSource("history.dense", collection="history", filter_fields=["session"])
    await FanOut([history]).ask(filters=(*IN_HISTORY, *BY_SESSION))
    assert history.queries[0].filters == BY_SESSION


async def test_a_search_that_is_cancelled_leaves_no_task_behind() -> None:
    ended: list[str] = []

    def waiting(name: str) -> ScriptedSource:
        async def answers(_: SourceQuery) -> Any:
            try:
                await asyncio.sleep(60)
            finally:
                ended.append(name)

        return ScriptedSource(name=name, answer=answers)

    before = asyncio.all_tasks()
    sources = [waiting("a"), waiting("b"), healthy()]
    fan_out = FanOut(sources)
    search = asyncio.ensure_future(fan_out.ask())
    await asyncio.sleep(0.05)
    search.cancel()
    with pytest.raises(asyncio.CancelledError):
        await search
    await asyncio.sleep(0)
    assert sorted(ended) == ["a", "b"]
    assert asyncio.all_tasks() == before


async def test_a_source_that_swallows_its_cancellation_holds_no_search_that_is_cancelled() -> None:
    asked, released = asyncio.Event(), asyncio.Event()

    async def stays(_: SourceQuery) -> Any:
        asked.set()
        while not released.is_set():
            try:
                await released.wait()
            except asyncio.CancelledError:
                continue

    search = asyncio.ensure_future(FanOut([ScriptedSource(name="terca", answer=stays), healthy()]).ask())
    await asked.wait()
    search.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(search, 2.0)
    released.set()


async def test_an_answer_at_the_last_moment_counts() -> None:
    """One source's end does not wake the others' deadlines, and a timeout of one is no timeout of all."""
    sources = [ScriptedSource(ONE, name="justa", delay=0.15), ScriptedSource(ONE, name="tarde", delay=5)]
    results = await FanOut(sources, timeout=0.5).ask()
    assert found(results) == {"justa": ["1"]}

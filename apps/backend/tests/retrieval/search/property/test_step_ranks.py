"""The ranks of an explanation follow a result through the steps, from its fused rank to its own."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import timedelta
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from ragcorp.application.retrieval.profiles.profile import RetrievalProfile, Steps
from ragcorp.application.retrieval.search.step_pipeline import RerankLimits, StepPipeline
from ragcorp.application.retrieval.steps.diversification import Diversification
from ragcorp.application.retrieval.steps.temporal_decay import TemporalDecay
from ragcorp.domain.documents import Chunk
from ragcorp.domain.filters import Filters
from ragcorp.domain.principal import Principal
from ragcorp.domain.retrieval import Hit, HitKey
from ragcorp.domain.search.candidates import Description, Features
from ragcorp.domain.search.requests import SearchMode, SearchRequest, SearchResponse
from support.retrieval.candidates import NOW, described
from support.retrieval.searches import search_over
from support.retrieval.sources import ScriptedSource

PRINCIPAL = Principal(subject="ann")
MEMORY = "memory"


class Store:
    """The port CandidateStore over descriptions by key."""

    def __init__(self, descriptions: Mapping[HitKey, Description]) -> None:
        self._descriptions = descriptions

    async def describe(
        self, keys: Sequence[HitKey], *, principal: Principal, filters: Filters = ()
    ) -> dict[HitKey, Description]:
        return {key: self._descriptions[key] for key in keys if key in self._descriptions}

    async def features(self, keys: Sequence[HitKey], *, principal: Principal) -> Features:
        return Features(lexemes={key: frozenset(key[0][:1]) for key in keys})

    async def read(self, keys: Sequence[HitKey], *, principal: Principal) -> dict[HitKey, Chunk]:
        return {key: passage(key) for key in keys if key in self._descriptions}

    async def neighbours(
        self, centres: Sequence[tuple[UUID, int]], *, distance: int, principal: Principal
    ) -> dict[tuple[UUID, int], Chunk]:
        return {}


def passage(key: HitKey) -> Chunk:
    return Chunk(
        id=key[0],
        document_id=UUID(int=0),
        external_id=key[0],
        chunk_index=0,
        content=key[0],
        heading_path=(),
        title="",
        language="es",
        path=None,
        metadata={},
        line_start=1,
        line_end=1,
        page_start=None,
        page_end=None,
        collection=MEMORY,
    )


class BackwardsReranker:
    """Likes the last of what it is given best."""

    name = "last-first"

    async def scores(self, query: str, passages: Sequence[str]) -> list[float]:
        return [float(place) for place in range(len(passages))]

    async def aclose(self) -> None: ...


STEPS = st.builds(
    Steps,
    decay=st.none() | st.just(TemporalDecay()),
    deduplicate=st.booleans(),
    diversify=st.none() | st.just(Diversification(pool_size=5)),
    rerank=st.booleans(),
)


@st.composite
def searches(draw: st.DrawFn) -> tuple[Steps, dict[str, Description | None]]:
    names = draw(st.lists(st.sampled_from([f"{a}{b}" for a in "abc" for b in range(8)]), unique=True, max_size=20))
    existing = st.builds(
        described,
        collection=st.just(MEMORY),
        age_days=st.none() | st.floats(0, 400),
        artifact=st.none() | st.sampled_from("xyz"),
        workspace=st.sampled_from(["default", "default", "otra"]),
    )
    return draw(STEPS), {name: draw(st.none() | existing) for name in names}


def searched(steps: Steps, names: Mapping[str, Description | None], *, explain: bool = True) -> SearchResponse:
    store = Store({(name, MEMORY, 0): item for name, item in names.items() if item is not None})
    hits = [Hit(item_id=name, collection=MEMORY, score=1.0 - place / 100) for place, name in enumerate(names)]
    search = search_over(
        {"s": ScriptedSource(*hits, name="s")},
        store=store,
        profiles={"p": RetrievalProfile(name="p", mode=SearchMode.HYBRID, sources=("s",), steps=steps)},
        seconds=10.0,
        pipeline=StepPipeline(store=store, reranker=BackwardsReranker(), rerank_limits=RerankLimits(pool_size=4)),
        now=lambda: NOW + timedelta(days=1),
    )
    request = SearchRequest(query="q", profile="p", limit=50, explain=explain)
    return asyncio.run(search.search(request, principal=PRINCIPAL))


def ranks(note: Mapping[str, object]) -> tuple[int, int]:
    before, after = note["rank_before"], note["rank_after"]
    assert isinstance(before, int)
    assert isinstance(after, int)
    return before, after


@given(searches())
def test_each_step_begins_where_the_one_before_ended_and_the_last_ends_at_the_rank(
    case: tuple[Steps, dict[str, Description | None]],
) -> None:
    steps, names = case
    response = searched(steps, names)
    reports = {report.step: report for report in response.steps}
    stored = [name for name, description in names.items() if description is not None]
    fused = {name: rank for rank, name in enumerate(stored, start=1)}  # what is gone is taken from every list
    for hit in response.hits:
        assert list(hit.steps) == list(reports)
        places = [fused[hit.chunk.id], *(place for note in hit.steps.values() for place in ranks(note)), hit.rank]
        assert places[::2] == places[1::2]
    for step, report in reports.items():
        before, after = (
            zip(*(ranks(hit.steps[step]) for hit in response.hits), strict=True) if response.hits else ((), ())
        )
        assert len(set(before)) == len(before)
        assert len(set(after)) == len(after)
        assert all(1 <= place <= report.before for place in before)
        assert all(1 <= place <= report.after for place in after)
    if response.hits:
        last = [list(hit.steps.values())[-1] for hit in response.hits if hit.steps]
        assert [ranks(note)[1] for note in last] == list(range(1, len(last) + 1))


@given(searches())
def test_an_explanation_changes_neither_order_nor_scores_and_without_one_there_are_no_ranks(
    case: tuple[Steps, dict[str, Description | None]],
) -> None:
    explained, plain = searched(*case), searched(*case, explain=False)
    assert [(hit.chunk.id, hit.score, hit.score_type) for hit in explained.hits] == [
        (hit.chunk.id, hit.score, hit.score_type) for hit in plain.hits
    ]
    assert not any("rank_before" in note for hit in plain.hits for note in hit.steps.values())

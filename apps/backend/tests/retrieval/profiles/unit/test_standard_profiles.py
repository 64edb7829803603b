"""The profiles that are always there: sources, pools, steps, and what a request overrides."""

from __future__ import annotations

import pytest

from ragcorp.application.retrieval.fusion.thresholds import distances_of
from ragcorp.application.retrieval.profiles.profile import RetrievalProfile
from ragcorp.application.retrieval.profiles.standard import ProfileParameters, standard_profiles
from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.search.requests import FusionMethod, SearchRequest

PROFILES = standard_profiles(ProfileParameters(rank_window_size=100))


def test_their_names() -> None:
    assert list(PROFILES) == [
        "dense",
        "sparse",
        "hybrid",
        "linear",
        "collections",
        "memory",
        "everything",
        "vectors",
        "files",
        "grep",
        "code",
    ]


def test_memory_takes_the_context_engines_pools_of_a_quarter_of_the_window() -> None:
    memory = PROFILES["memory"]
    assert {source: memory.pool(source) for source in memory.sources} == {
        "memory.full_text": 100,
        "history.full_text": 100,
        "memory.dense": 50,
        "history.dense": 50,
        "graph": 25,
    }
    assert dict(memory.lookback_hours) == {"history.full_text": 168.0}


def test_collections_overfetches_threefold() -> None:
    collections = PROFILES["collections"]
    assert {collections.pool(source) for source in collections.sources} == {75}
    wider = standard_profiles(ProfileParameters(overfetch_multiplier=5))["collections"]
    assert wider.pool("dense") == 125


def test_a_pool_never_depends_on_the_limit_and_grows_with_the_window() -> None:
    memory = PROFILES["memory"]
    for limit in (1, 5, 50):
        overridden = memory.overridden_by(SearchRequest(query="q", limit=limit))
        assert overridden.pool("graph") == 25
    assert memory.overridden_by(SearchRequest(query="q", rank_window_size=30)).pool("graph") == 8
    assert memory.overridden_by(SearchRequest(query="q", rank_window_size=1000)).pool("memory.full_text") == 1000


def test_other_profiles_take_the_whole_window() -> None:
    assert {PROFILES["hybrid"].pool(source) for source in PROFILES["hybrid"].sources} == {100}


@pytest.mark.parametrize(
    ("name", "sources"),
    [
        ("dense", ("dense", "memory.dense")),
        ("sparse", ("full_text", "memory.full_text")),
        ("hybrid", ("dense", "full_text", "memory.dense", "memory.full_text")),
        (
            "collections",
            ("dense", "full_text", "artifacts.dense", "artifacts.full_text", "memory.dense", "memory.full_text"),
        ),
    ],
)
def test_memory_is_included_by_the_channels_of_the_same_kind(name: str, sources: tuple[str, ...]) -> None:
    assert PROFILES[name].overridden_by(SearchRequest(query="q", include_memory=True)).sources == sources


def test_a_fusion_of_scores_falls_back_to_ranks_where_memory_is_included() -> None:
    linear = PROFILES["linear"].overridden_by(SearchRequest(query="q", include_memory=True, rank_constant=7))
    assert (linear.name, linear.method, linear.rank_constant) == ("hybrid", FusionMethod.RRF, 7)
    assert "memory.dense" in linear.sources


def test_weights_may_name_the_lists_of_included_memory_only_where_it_is() -> None:
    weights = {"memory.dense": 2.0}
    with pytest.raises(InvalidInputError, match="weights"):
        PROFILES["hybrid"].overridden_by(SearchRequest(query="q", weights=weights))
    included = PROFILES["hybrid"].overridden_by(SearchRequest(query="q", weights=weights, include_memory=True))
    assert included.weights["memory.dense"] == 2.0


def test_what_a_request_says_of_the_steps() -> None:
    steps = PROFILES["hybrid"].overridden_by(SearchRequest(query="q", expand_neighbors=2, rerank=False)).steps
    assert (steps.neighbours, steps.rerank) == (2, False)
    assert PROFILES["hybrid"].steps.rerank is True
    with pytest.raises(InvalidInputError, match="expand_neighbors") as caught:
        PROFILES["hybrid"].overridden_by(SearchRequest(query="q", expand_neighbors=6))
    assert caught.value.limit == "0 to 5"


def test_steps_of_each_profile() -> None:
    taken = {
        name: (profile.steps.decay is not None, profile.steps.deduplicate, profile.steps.diversify is not None)
        for name, profile in PROFILES.items()
    }
    assert taken == {
        "dense": (False, False, False),
        "sparse": (False, False, False),
        "hybrid": (False, False, False),
        "linear": (False, False, False),
        "collections": (False, True, False),
        "memory": (True, True, True),
        "everything": (False, True, True),
        "vectors": (False, False, False),
        "files": (False, False, False),
        "grep": (False, False, False),
        "code": (False, False, False),
    }


def test_everything_asks_each_source_once() -> None:
    sources = PROFILES["everything"].sources
    assert set(sources) == {*PROFILES["collections"].sources, *PROFILES["memory"].sources}
    assert len(set(sources)) == len(sources)
    assert {PROFILES["everything"].pool(source) for source in PROFILES["collections"].sources} == {75}
    assert PROFILES["everything"].pool("graph") == 25


def test_code_is_hybrid_with_what_the_query_names() -> None:
    code = PROFILES["code"]
    assert code.sources == ("dense", "full_text", "structure")
    assert code.weights["structure"] == 3.0


def test_files_are_vectors_and_grep_by_rank() -> None:
    files = PROFILES["files"]
    assert (files.sources, files.substitute, files.rank_constant) == (("dense", "grep"), "full_text", 60)
    assert PROFILES["vectors"].sources == ("dense",)
    assert PROFILES["grep"].sources == ("grep",)


def test_a_distance_of_the_request_takes_the_place_of_the_profiles() -> None:
    def distances(profile: RetrievalProfile) -> list[tuple[str, float | None]]:
        return [(item.source, item.below) for item in distances_of(profile.thresholds)]

    request = SearchRequest(query="q", vector_score_threshold=0.3)
    assert distances(PROFILES["files"]) == [("dense", 0.5)]
    assert distances(PROFILES["files"].overridden_by(request)) == [("dense", 0.3)]
    assert distances(PROFILES["hybrid"]) == []
    assert distances(PROFILES["collections"].overridden_by(request)) == [("dense", 0.3), ("artifacts.dense", 0.3)]
    kept = PROFILES["hybrid"].overridden_by(request).thresholds
    assert [item.score_type for item in kept] == ["evidence_share", "cosine_distance"]


@pytest.mark.parametrize("distance", [0.0, -0.1, 2.1, float("nan"), float("inf")])
def test_a_distance_is_that_of_two_vectors(distance: float) -> None:
    with pytest.raises(InvalidInputError) as caught:
        PROFILES["files"].overridden_by(SearchRequest(query="q", vector_score_threshold=distance))
    assert caught.value.field == "vector_score_threshold"

"""What must hold of Reciprocal Rank Fusion, whatever the lists."""

from __future__ import annotations

import math
import os
import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcorp.application.retrieval.fusion.rank_fusion import RankFusionService
from ragcorp.domain.exceptions import InvalidInputError, InvalidRankingError
from ragcorp.domain.retrieval import Hit, RankedList

IDENTITIES = [str(number) for number in range(30)]


def ranked(source: str, chunk_ids: list[str], **metadata: object) -> RankedList:
    hits = tuple(
        Hit(chunk_id=chunk_id, score=1.0 / position, metadata=dict(metadata))
        for position, chunk_id in enumerate(chunk_ids, start=1)
    )
    return RankedList(source=source, score_type="test", hits=hits)


@st.composite
def ranked_lists(draw: st.DrawFn, *, minimum: int = 1) -> list[RankedList]:
    count = draw(st.integers(minimum, 5))
    return [
        ranked(f"source{number}", draw(st.lists(st.sampled_from(IDENTITIES), unique=True, max_size=20)))
        for number in range(count)
    ]


def order(lists: list[RankedList], **options: object) -> list[str | None]:
    return [item.hit.chunk_id for item in RankFusionService().fuse(lists, **options)]  # type: ignore[arg-type]


@given(ranked_lists(minimum=2), st.randoms(use_true_random=False))
def test_the_order_of_the_lists_changes_neither_scores_nor_ranking(
    lists: list[RankedList], shuffle: random.Random
) -> None:
    fused = [(item.hit.chunk_id, item.score) for item in RankFusionService().fuse(lists)]
    shuffled = list(lists)
    shuffle.shuffle(shuffled)
    assert [(item.hit.chunk_id, item.score) for item in RankFusionService().fuse(shuffled)] == fused


@given(st.lists(st.sampled_from(IDENTITIES), unique=True))
def test_a_single_list_keeps_its_order(chunk_ids: list[str]) -> None:
    assert order([ranked("one", chunk_ids)]) == chunk_ids


@given(ranked_lists(), st.integers(1, 500))
def test_scores_lie_within_their_bounds(lists: list[RankedList], k: int) -> None:
    for item in RankFusionService(k=k).fuse(lists):
        assert 0 < item.score <= math.fsum(1 / (k + 1) for _ in lists)


@given(ranked_lists(), st.integers(1, 500))
def test_a_score_is_the_sum_over_the_lists_that_hold_the_hit_and_absence_adds_nothing(
    lists: list[RankedList], k: int
) -> None:
    for item in RankFusionService(k=k).fuse(lists):
        terms = [
            1 / (k + position)
            for entry in lists
            for position, hit in enumerate(entry.hits, start=1)
            if hit.key == item.hit.key
        ]
        assert item.score == math.fsum(terms)
        assert len(item.contributions) == len(terms)


@given(ranked_lists(), st.data())
def test_moving_a_hit_up_never_lowers_its_score(lists: list[RankedList], data: st.DataObject) -> None:
    movable = [(number, entry) for number, entry in enumerate(lists) if len(entry) >= 2]
    if not movable:
        return
    number, chosen = data.draw(st.sampled_from(movable))
    position = data.draw(st.integers(1, len(chosen) - 1))
    hits = list(chosen.hits)
    moved = hits[position]
    hits[position - 1], hits[position] = hits[position], hits[position - 1]
    better = list(lists)
    better[number] = RankedList(source=chosen.source, score_type="test", hits=tuple(hits))
    before = {item.hit.key: item.score for item in RankFusionService().fuse(lists)}
    after = {item.hit.key: item.score for item in RankFusionService().fuse(better)}
    assert after[moved.key] > before[moved.key]


@given(ranked_lists(), st.floats(0.01, 100))
def test_a_common_weight_scales_every_score_and_keeps_the_order_but_for_ties(
    lists: list[RankedList], weight: float
) -> None:
    plain = {item.hit.key: item.score for item in RankFusionService().fuse(lists)}
    weights = {entry.source: weight for entry in lists}
    for item in RankFusionService().fuse(lists, weights=weights):
        assert item.score == pytest.approx(weight * plain[item.hit.key], rel=1e-12)


@given(ranked_lists(minimum=2))
def test_a_list_of_weight_zero_decides_nothing(lists: list[RankedList]) -> None:
    muted = lists[0].source
    scores = {item.hit.key: item.score for item in RankFusionService().fuse(lists, weights={muted: 0.0})}
    others = {item.hit.key: item.score for item in RankFusionService().fuse(lists[1:])}
    assert {key: score for key, score in scores.items() if score} == others


@given(ranked_lists())
def test_ties_are_broken_by_identity_so_that_the_order_is_total(lists: list[RankedList]) -> None:
    fused = RankFusionService().fuse(lists)
    keys = [(-item.score, item.hit.key) for item in fused]
    assert keys == sorted(keys)
    assert all(first != second for first, second in pairwise(keys))


@given(ranked_lists())
def test_every_hit_comes_out_once(lists: list[RankedList]) -> None:
    fused = [item.hit.key for item in RankFusionService().fuse(lists)]
    assert len(fused) == len(set(fused))
    assert set(fused) == {hit.key for entry in lists for hit in entry}


@given(st.lists(st.sampled_from(IDENTITIES), unique=True, min_size=1), st.data())
def test_a_list_that_holds_a_hit_twice_is_rejected(chunk_ids: list[str], data: st.DataObject) -> None:
    twice = [*chunk_ids, data.draw(st.sampled_from(chunk_ids))]
    with pytest.raises(InvalidRankingError):
        ranked("one", twice)


@given(
    st.one_of(
        st.tuples(st.just("weights"), st.sampled_from([math.nan, math.inf, -0.1])),
        st.tuples(st.just("k"), st.sampled_from([-1, True, 1.5])),
    )
)
def test_bad_parameters_are_rejected(parameter: tuple[str, float]) -> None:
    name, value = parameter
    options = {"weights": {"one": value}} if name == "weights" else {"k": value}
    with pytest.raises(InvalidInputError):
        RankFusionService().fuse([ranked("one", ["1"])], **options)  # type: ignore[arg-type]


@given(ranked_lists(minimum=2), st.integers(1, 200))
def test_it_agrees_with_ranx(lists: list[RankedList], k: int) -> None:
    os.environ.setdefault("NUMBA_DISABLE_JIT", "1")  # compiling ranx takes minutes on a busy machine, our lists none
    ranx = pytest.importorskip("ranx")
    filled = [entry for entry in lists if entry.hits]
    if len(filled) < 2:
        return
    runs = [
        ranx.Run({"q": {str(hit.chunk_id): float(len(entry) - at) for at, hit in enumerate(entry.hits)}})
        for entry in filled
    ]
    oracle = ranx.fuse(runs=runs, method="rrf", params={"k": k}).to_dict()["q"]
    ours = {item.hit.chunk_id: item.score for item in RankFusionService(k=k).fuse(filled)}
    assert ours.keys() == oracle.keys()
    for chunk_id, score in ours.items():
        assert score == pytest.approx(oracle[chunk_id], abs=1e-9)

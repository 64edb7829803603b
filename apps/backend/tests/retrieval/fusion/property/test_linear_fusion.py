"""What must hold of linear fusion, whatever the lists."""

from __future__ import annotations

import math
import random
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from ragcorp.application.retrieval.fusion.linear import ABSOLUTE, LinearFusionService
from ragcorp.domain.retrieval import Hit, RankedList

IDENTITIES = [str(number) for number in range(20)]
KINDS = (*sorted(ABSOLUTE), "ts_rank_cd", "hops")


@st.composite
def scored_lists(draw: st.DrawFn, *, minimum: int = 1) -> list[RankedList]:
    lists = []
    for number in range(draw(st.integers(minimum, 4))):
        scores = draw(st.dictionaries(st.sampled_from(IDENTITIES), st.floats(-1, 1), max_size=12))
        ranking = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))
        lists.append(
            RankedList(
                source=f"source{number}",
                score_type=draw(st.sampled_from(KINDS)),
                hits=tuple(Hit(chunk_id=name, score=score) for name, score in ranking),
            )
        )
    return lists


@given(scored_lists(), st.data())
def test_a_score_is_the_sum_of_what_the_lists_that_hold_the_hit_give(
    lists: list[RankedList], data: st.DataObject
) -> None:
    weights = {entry.source: data.draw(st.floats(0, 10)) for entry in lists}
    for item in LinearFusionService().fuse(lists, weights=weights, k=60):
        terms = [
            weights[entry.source] * hit.score if entry.score_type in ABSOLUTE else weights[entry.source] / (60 + rank)
            for entry in lists
            for rank, hit in enumerate(entry.hits, start=1)
            if hit.key == item.hit.key
        ]
        assert item.score == math.fsum(terms)
        assert [part.value for part in item.contributions] == terms


@given(scored_lists(minimum=2), st.randoms(use_true_random=False))
def test_the_order_of_the_lists_changes_neither_scores_nor_ranking(
    lists: list[RankedList], shuffle: random.Random
) -> None:
    fused = [(item.hit.chunk_id, item.score) for item in LinearFusionService().fuse(lists)]
    shuffled = list(lists)
    shuffle.shuffle(shuffled)
    assert [(item.hit.chunk_id, item.score) for item in LinearFusionService().fuse(shuffled)] == fused


@given(scored_lists())
def test_the_order_is_total_and_every_hit_comes_out_once(lists: list[RankedList]) -> None:
    keys = [(-item.score, item.hit.key) for item in LinearFusionService().fuse(lists)]
    assert keys == sorted(keys)
    assert all(first != second for first, second in pairwise(keys))
    assert {key for _, key in keys} == {hit.key for entry in lists for hit in entry}


@given(scored_lists(minimum=2))
def test_a_list_of_weight_zero_decides_nothing(lists: list[RankedList]) -> None:
    muted, *others = lists
    with_it = {i.hit.key: i.score for i in LinearFusionService().fuse(lists, weights={muted.source: 0.0})}
    without = {i.hit.key: i.score for i in LinearFusionService().fuse(others)}
    assert {key: with_it[key] for key in without} == without
    assert all(score == 0 for key, score in with_it.items() if key not in without)


@given(scored_lists(), st.sampled_from(IDENTITIES), st.floats(0.01, 1))
def test_a_better_absolute_score_never_lowers_the_fused_one(lists: list[RankedList], name: str, gain: float) -> None:
    first = lists[0]
    if first.score_type not in ABSOLUTE or name not in {hit.chunk_id for hit in first}:
        return
    better = RankedList(
        source=first.source,
        score_type=first.score_type,
        hits=tuple(Hit(chunk_id=h.chunk_id, score=h.score + gain if h.chunk_id == name else h.score) for h in first),
    )
    before = {item.hit.chunk_id: item.score for item in LinearFusionService().fuse(lists)}
    after = {item.hit.chunk_id: item.score for item in LinearFusionService().fuse([better, *lists[1:]])}
    assert after[name] >= before[name]

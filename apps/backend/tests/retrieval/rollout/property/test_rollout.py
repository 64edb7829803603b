"""What must hold of a roll-out and of the comparison of two rankings, whatever they are given."""

from __future__ import annotations

import random
import unicodedata
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from ragcorp.application.retrieval.rollout.assignment import BUCKETS, ArmProfile, Rollout, bucket
from ragcorp.application.retrieval.rollout.shadow import overlap_at, rank_changes
from ragcorp.domain.search.requests import SearchMode
from ragcorp.domain.search.rollout import Arm

WORKSPACES = st.from_regex(r"\A[a-z0-9]([a-z0-9_-]{0,10}[a-z0-9])?\Z")
QUERIES = st.text(min_size=1, max_size=40)
PERCENTAGES = st.integers(0, 10_000).map(lambda hundredths: hundredths / 100)
RANKINGS = st.lists(st.sampled_from([str(number) for number in range(15)]), unique=True, max_size=15)
DEPTHS = st.integers(1, 12)


def rollout(percent: float) -> Rollout:
    return Rollout(old=ArmProfile(mode=SearchMode.DENSE), new=ArmProfile(mode=SearchMode.HYBRID), percent=percent)


def arm(percent: float, workspace: str, query: str) -> Arm:
    return rollout(percent).arm_of(workspace=workspace, query=query)


@given(WORKSPACES, st.sets(QUERIES, min_size=10, max_size=30), PERCENTAGES, PERCENTAGES)
def test_raising_the_share_takes_no_query_out_of_the_new_arm(
    workspace: str, queries: set[str], one: float, other: float
) -> None:
    low, high = sorted((one, other))
    before = {query for query in queries if arm(low, workspace, query) is Arm.NEW}
    after = {query for query in queries if arm(high, workspace, query) is Arm.NEW}
    assert before <= after


@given(WORKSPACES, QUERIES)
def test_none_at_0_and_all_at_100(workspace: str, query: str) -> None:
    assert arm(0, workspace, query) is Arm.OLD
    assert arm(100, workspace, query) is Arm.NEW


@given(WORKSPACES, QUERIES)
def test_a_query_enters_at_the_hundredth_above_its_bucket(workspace: str, query: str) -> None:
    number = bucket(workspace, query)
    assert 0 <= number < BUCKETS
    assert arm(number / 100, workspace, query) is Arm.OLD
    assert arm((number + 1) / 100, workspace, query) is Arm.NEW


@given(WORKSPACES, QUERIES, st.sampled_from([" ", "  ", "\t", "\n", "\u00a0"]))
def test_spelling_that_means_nothing_changes_no_bucket(workspace: str, query: str, space: str) -> None:
    expected = bucket(workspace, query)
    assert bucket(workspace, f"{space}{query}{space}") == expected
    assert bucket(workspace, query.replace(" ", space)) == expected
    assert bucket(workspace, unicodedata.normalize("NFD", query)) == expected


@given(WORKSPACES, st.text(alphabet="abcáéíóúüñçABCÁÉÍÓÚÜÑÇß -", max_size=20))
def test_case_changes_no_bucket(workspace: str, query: str) -> None:
    assert bucket(workspace, query.upper()) == bucket(workspace, query.lower()) == bucket(workspace, query)


@given(DEPTHS, RANKINGS, RANKINGS)
def test_overlap_is_the_share_of_the_longer_head(k: int, old: list[str], new: list[str]) -> None:
    common = sum(identity in new[:k] for identity in old[:k])
    longer = max(len(old[:k]), len(new[:k]))
    assert overlap_at(k, old, new) == (float(Fraction(common, longer)) if longer else 1.0)
    assert overlap_at(k, old, new) == overlap_at(k, new, old)
    assert 0 <= overlap_at(k, old, new) <= 1


@given(DEPTHS, RANKINGS, RANKINGS)
def test_what_lies_below_the_head_does_not_count(k: int, old: list[str], new: list[str]) -> None:
    assert overlap_at(k, old, new) == overlap_at(k, old[:k], new[:k])
    assert rank_changes(k, old, new) == rank_changes(k, old[:k], new[:k])


@given(DEPTHS, RANKINGS, st.randoms(use_true_random=False))
def test_another_order_of_the_same_head_overlaps_wholly(k: int, ranking: list[str], shuffle: random.Random) -> None:
    shuffled = ranking[:k]
    shuffle.shuffle(shuffled)
    assert overlap_at(k, ranking, shuffled) == 1
    assert (rank_changes(k, ranking, shuffled) == ()) is (shuffled == ranking[:k])


@given(DEPTHS, RANKINGS, RANKINGS)
def test_the_changes_turn_one_head_into_the_other(k: int, old: list[str], new: list[str]) -> None:
    ranks = {identity: rank for rank, identity in enumerate(old[:k], start=1)}
    for change in rank_changes(k, old, new):
        assert ranks.pop(change.identity, None) == change.old
    for change in rank_changes(k, old, new):
        if change.new is not None:
            ranks[change.identity] = change.new
    assert sorted(ranks, key=ranks.__getitem__) == new[:k]

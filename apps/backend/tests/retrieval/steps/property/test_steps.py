"""What must hold of the steps after fusion, whatever the candidates."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ragcorp.application.retrieval.steps.deduplication import deduplicated
from ragcorp.application.retrieval.steps.diversification import Diversification, jaccard, relevances
from ragcorp.application.retrieval.steps.reranking import Reranking
from ragcorp.application.retrieval.steps.temporal_decay import TemporalDecay
from ragcorp.application.retrieval.steps.visibility_policy import only_readable, readable
from ragcorp.domain.documents import VisibilityScope
from ragcorp.domain.principal import Principal, Sensitivity
from ragcorp.domain.retrieval import HitKey
from ragcorp.domain.search.candidates import Candidate, Features
from support.retrieval.candidates import NOW, candidate

NAMES = [str(number) for number in range(30)]
SCORES = st.one_of(st.floats(0, 0.05), st.floats(-10, 10), st.sampled_from([0.0, 0.5, 1.0]))
OWNERS = ["", "ana", "legal", "luis"]
PRINCIPALS = st.builds(
    Principal,
    workspace=st.sampled_from(["default", "otra"]),
    subject=st.sampled_from(OWNERS[1:]),
    groups=st.frozensets(st.sampled_from(OWNERS)),
    clearance=st.sampled_from(Sensitivity),
)


@st.composite
def pools(draw: st.DrawFn) -> list[Candidate]:
    results = draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=30))
    return sorted((draw(fields(name)) for name in results), key=lambda item: (-item.score, item.key))


@st.composite
def fields(draw: st.DrawFn, name: str) -> Candidate:
    description: dict[str, Any] = {
        "collection": draw(st.sampled_from(["artifact_chunks", "artifacts", "memory"])),
        "kind": draw(st.sampled_from(["turn", "fact", "person", "place", "relationship"])),
        "age_days": draw(st.none() | st.floats(-100, 5000)),
        "artifact": draw(st.none() | st.sampled_from("abcde")),
        "visibility_scope": draw(st.sampled_from(VisibilityScope)),
        "owner": draw(st.sampled_from(OWNERS)),
        "sensitivity": draw(st.sampled_from(Sensitivity)),
        "workspace": draw(st.sampled_from(["default", "otra"])),
    }
    return candidate(name, draw(SCORES), **description)


@st.composite
def features(draw: st.DrawFn, pool: Sequence[Candidate]) -> Features:
    with_vector = [item.key for item in pool if draw(st.booleans())]
    pairs = [(left, right) for left in with_vector for right in with_vector if left < right]
    seed = random.Random(draw(st.integers(0, 2**32)))
    words = ["uno", "dos", "tres", "cuatro", "cinco", "seis", "siete", "ocho"]
    return Features(
        cosines={pair: seed.uniform(-1, 1) for pair in pairs},
        lexemes={item.key: frozenset(seed.sample(words, seed.randrange(9))) for item in pool},
    )


@given(pools(), st.floats(0.001, 1000), st.floats(0, 1))
def test_decay_keeps_every_candidate_raises_no_score_and_keeps_its_sign(
    pool: list[Candidate], half_life: float, floor: float
) -> None:
    outcome = TemporalDecay(half_life_days=half_life, evergreen_floor=floor).apply(pool, now=NOW)
    before = {item.key: item.score for item in pool}
    assert {item.key for item in outcome.candidates} == before.keys()
    for item in outcome.candidates:
        assert item.score <= before[item.key]
        assert item.score >= min(before[item.key], 0)
    order = [(-item.score, item.key) for item in outcome.candidates]
    assert order == sorted(order)


@given(st.floats(0, 1e6), st.floats(0, 1e6), st.sampled_from(["person", "fact"]))
def test_the_older_never_counts_more_and_a_half_life_halves(first: float, second: float, kind: str) -> None:
    decay = TemporalDecay()
    young, old = sorted([first, second])
    assert 0 <= decay.factor(old, kind) <= decay.factor(young, kind) <= 1
    assert math.isclose(decay.factor(young + 30, "fact"), decay.factor(young, "fact") / 2, abs_tol=1e-300)


@given(pools(), st.randoms(use_true_random=False))
def test_deduplication_leaves_one_an_artifact_the_best_of_its_kind(
    pool: list[Candidate], shuffle: random.Random
) -> None:
    outcome = deduplicated(pool)
    shuffled = list(pool)
    shuffle.shuffle(shuffled)
    assert deduplicated(shuffled).candidates == outcome.candidates
    kept = {item.key: item for item in outcome.candidates}
    of_artifacts = [item.description.artifact for item in outcome.candidates if item.description.artifact]
    assert len(of_artifacts) == len(set(of_artifacts)) == len({item.description.artifact for item in pool} - {None})
    for item in pool:
        if item.description.artifact is None:
            assert kept[item.key] == item
            continue
        (stays,) = (other for other in kept.values() if other.description.artifact == item.description.artifact)
        if item.description.collection == "artifact_chunks":
            assert stays.description.collection == "artifact_chunks"
            assert (-stays.score, stays.key) <= (-item.score, item.key)
    assert {item.key: item.score for item in outcome.candidates}.items() <= {
        item.key: item.score for item in pool
    }.items()


@given(pools(), PRINCIPALS)
def test_visibility_leaves_what_may_be_read_in_its_order(pool: list[Candidate], principal: Principal) -> None:
    outcome = only_readable(pool, principal=principal)
    assert list(outcome.candidates) == [item for item in pool if readable(principal, item.description)]
    assert outcome.report.removed == len(pool) - len(outcome.candidates)


@given(pools(), PRINCIPALS)
def test_more_rights_never_hide_anything(pool: list[Candidate], principal: Principal) -> None:
    more = Principal(
        workspace=principal.workspace,
        subject=principal.subject,
        groups=principal.groups | {"legal"},
        clearance=Sensitivity.RESTRICTED,
    )
    for item in pool:
        assert readable(principal, item.description) <= readable(more, item.description)


@given(pools(), st.floats(0, 1), st.integers(1, 30), st.data())
def test_mmr_is_a_permutation_of_its_pool_and_leaves_the_rest(
    pool: list[Candidate], trade_off: float, size: int, data: st.DataObject
) -> None:
    outcome = Diversification(trade_off=trade_off, pool_size=size).apply(pool, data.draw(features(pool)))
    assert sorted(item.key for item in outcome.candidates[:size]) == sorted(item.key for item in pool[:size])
    assert list(outcome.candidates[size:]) == pool[size:]
    assert {item.key: item.score for item in outcome.candidates} == {item.key: item.score for item in pool}


@given(pools(), st.floats(0, 1), st.data())
def test_each_pick_of_mmr_is_the_best_that_is_left(
    pool: list[Candidate], trade_off: float, data: st.DataObject
) -> None:
    existing = data.draw(features(pool))
    chosen = Diversification(trade_off=trade_off, pool_size=30).apply(pool, existing).candidates
    relevance = dict(zip([item.key for item in pool], relevances([item.score for item in pool]), strict=True))
    for number, pick in enumerate(chosen):
        values = {
            item.key: trade_off * relevance[item.key]
            - (1 - trade_off)
            * max((similarity(existing, item.key, other.key) for other in chosen[:number]), default=0.0)
            for item in chosen[number:]
        }
        assert pick.notes["diversification"]["mmr"] == values[pick.key] == max(values.values())


def similarity(known: Features, left: HitKey, right: HitKey) -> float:
    """The definition, spelt out: the oracle of the step's incremental one."""
    cosine = known.cosines.get((min(left, right), max(left, right)))
    if cosine is None:
        return jaccard(known.lexemes[left], known.lexemes[right])
    return min(max(cosine, 0.0), 1.0)


@given(pools(), st.data())
def test_mmr_without_variety_is_the_order_of_scores(pool: list[Candidate], data: st.DataObject) -> None:
    existing = data.draw(features(pool))
    outcome = Diversification(trade_off=1.0, pool_size=30).apply(pool, existing)
    assert [item.score for item in outcome.candidates] == [item.score for item in pool]


@given(st.lists(SCORES, min_size=1, max_size=30))
def test_relevance_lies_in_zero_to_one_and_keeps_the_order(scores: list[float]) -> None:
    results = relevances(scores)
    assert max(results) == 1.0
    assert min(results) >= 0.0
    for left, right in zip(sorted(scores), sorted(scores)[1:], strict=False):
        assert results[scores.index(left)] <= results[scores.index(right)]


@given(pools(), st.dictionaries(st.sampled_from(NAMES), st.floats(-10, 10)))
def test_reranking_puts_the_judged_first_by_their_score_and_keeps_the_others_order(
    pool: list[Candidate], judged: dict[str, float]
) -> None:
    scores = {item.key: judged[item.key[0]] for item in pool if item.key[0] in judged}
    outcome = Reranking(pool_size=30).apply(pool, scores)
    head, tail = outcome.candidates[: len(scores)], outcome.candidates[len(scores) :]
    assert [item.key for item in head] == sorted(scores, key=lambda key: (-scores[key], key))
    assert [item.score for item in head] == [scores[item.key] for item in head]
    assert list(tail) == [item for item in pool if item.key not in scores]

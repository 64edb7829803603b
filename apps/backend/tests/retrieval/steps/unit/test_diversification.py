"""MMR, by hand-worked numbers."""

from __future__ import annotations

import math

import pytest

from ragcorp.application.retrieval.steps.diversification import Diversification, jaccard, relevances
from ragcorp.application.retrieval.steps.reranking import Reranking
from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.retrieval import HitKey
from ragcorp.domain.search.candidates import Features
from support.retrieval.candidates import candidate, candidates, names, scores


def key(name: str) -> HitKey:
    return (name, "", 0)


def alike(**cosines: float) -> Features:
    """``alike(_1_2=0.9)``: the cosine of "1" and "2" is 0.9."""
    pairs = {(key(pair.split("_")[1]), key(pair.split("_")[2])): cosine for pair, cosine in cosines.items()}
    return Features(cosines=pairs)


def words(**texts: str) -> Features:
    return Features(lexemes={key(name.removeprefix("_")): frozenset(text.split()) for name, text in texts.items()})


def test_a_near_duplicate_makes_way_for_something_else() -> None:
    given = candidates(0.030, 0.029, 0.020)
    outcome = Diversification().apply(given, alike(_1_2=0.95, _1_3=0.10, _2_3=0.20))
    # 2: .7 * .9667 - .3 * .95 = .3917; 3: .7 * .6667 - .3 * .1 = .4367
    assert names(outcome.candidates) == ["1", "3", "2"]
    notes = [item.notes["diversification"] for item in outcome.candidates]
    assert [note["mmr"] for note in notes] == pytest.approx([0.7, 0.43667, 0.39167], abs=1e-5)
    assert [note["relevance"] for note in notes] == pytest.approx([1.0, 2 / 3, 29 / 30])
    assert [note["similarity"] for note in notes] == [0.0, 0.10, 0.95]


def test_scores_stay_what_they_were() -> None:
    given = candidates(0.030, 0.029, 0.020)
    outcome = Diversification().apply(given, alike(_1_2=0.95))
    assert {item.key: item.score for item in outcome.candidates} == {item.key: item.score for item in given}


def test_the_most_similar_of_the_chosen_counts_not_the_last() -> None:
    given = candidates(1.0, 0.9, 0.8)
    outcome = Diversification(trade_off=0.5).apply(given, alike(_1_2=0.0, _1_3=0.6, _2_3=0.2))
    assert names(outcome.candidates) == ["1", "2", "3"]
    assert outcome.candidates[2].notes["diversification"]["similarity"] == 0.6


def test_lexemes_tell_where_a_cosine_is_missing_and_only_there() -> None:
    lexemes = words(_1="plan viaje goa", _2="plan viaje goa", _3="fechas padres")
    mixed = Features(cosines={(key("1"), key("2")): 0.0}, lexemes=lexemes.lexemes)
    given = candidates(0.30, 0.29, 0.25)
    assert names(Diversification().apply(given, lexemes).candidates) == ["1", "3", "2"]
    assert names(Diversification().apply(given, mixed).candidates) == ["1", "2", "3"]


def test_what_nothing_is_known_of_is_like_nothing() -> None:
    outcome = Diversification().apply(candidates(0.3, 0.2, 0.1), Features())
    assert names(outcome.candidates) == ["1", "2", "3"]
    assert {item.notes["diversification"]["similarity"] for item in outcome.candidates} == {0.0}


def test_cosines_are_held_within_zero_and_one() -> None:
    outcome = Diversification().apply(candidates(0.3, 0.2, 0.1), alike(_1_2=-0.9, _1_3=1.0000001))
    assert [item.notes["diversification"]["similarity"] for item in outcome.candidates] == [0.0, 0.0, 1.0]


def test_ties_go_to_the_earlier_place() -> None:
    given = [candidate("b", 0.2), candidate("a", 0.2), candidate("c", 0.2)]
    assert names(Diversification().apply(given, Features()).candidates) == ["b", "a", "c"]


def test_past_the_pool_the_order_goes_on() -> None:
    given = candidates(0.5, 0.4, 0.3, 0.2, 0.1)
    outcome = Diversification(pool_size=3).apply(given, alike(_1_2=1.0, _1_3=0.0, _2_3=0.0, _4_5=1.0))
    assert names(outcome.candidates) == ["1", "3", "2", "4", "5"]
    assert "diversification" not in outcome.candidates[3].notes
    report = outcome.report
    assert (report.step, report.before, report.after) == ("diversification", 5, 5)
    assert report.parameters == {"trade_off": 0.7, "pool_size": 3, "pool": 3}


def test_a_trade_off_of_one_is_relevance_and_of_zero_variety() -> None:
    given = candidates(0.5, 0.4, 0.1)
    features = alike(_1_2=1.0, _1_3=0.1, _2_3=0.0)
    assert names(Diversification(trade_off=1).apply(given, features).candidates) == ["1", "2", "3"]
    assert names(Diversification(trade_off=0).apply(given, features).candidates) == ["1", "3", "2"]


def test_the_reranked_are_a_pool_of_their_own() -> None:
    given = candidates(0.05, 0.04, 0.03, 0.02)
    reranked = Reranking(pool_size=2).apply(given, {key("1"): -6.0, key("2"): -2.0}).candidates
    diversification = Diversification()
    assert names(diversification.pool(reranked)) == ["2", "1"]
    outcome = diversification.apply(reranked, alike(_1_2=1.0, _2_3=0.0))
    assert names(outcome.candidates) == ["2", "1", "3", "4"]
    assert scores(outcome.candidates) == [-2.0, -6.0, 0.03, 0.02]


def test_no_candidate_is_lost_where_the_reranked_are_not_the_first() -> None:
    judged = Reranking().apply(candidates(0.05, 0.04, 0.03), {key("2"): 1.0}).candidates
    for order in (judged, judged[::-1]):
        outcome = Diversification().apply(order, Features())
        assert sorted(names(outcome.candidates)) == ["1", "2", "3"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([], []),
        ([0.04, 0.02, 0.01], [1.0, 0.5, 0.25]),
        ([2.0, 0.0], [1.0, 0.0]),
        ([1.0, -1.0, -3.0], [1.0, 0.5, 0.0]),
        ([-1.0, -3.0], [1.0, 0.0]),
        ([0.2, 0.2], [1.0, 1.0]),
        ([0.0, 0.0], [1.0, 1.0]),
        ([-2.0], [1.0]),
        ([1.7e308, 0.0, -1.7e308], [1.0, 0.5, 0.0]),
        ([0.0, -5e-324], [1.0, 0.0]),
    ],
)
def test_relevance(given: list[float], expected: list[float]) -> None:
    assert relevances(given) == expected


def test_jaccard() -> None:
    assert jaccard(frozenset("abc"), frozenset("bcd")) == 0.5
    assert jaccard(frozenset("abc"), frozenset("abc")) == 1.0
    assert jaccard(frozenset("abc"), frozenset("xyz")) == 0.0
    assert jaccard(frozenset(), frozenset()) == 0.0
    assert jaccard(frozenset("a"), frozenset()) == 0.0


def test_nothing_comes_of_nothing() -> None:
    assert Diversification().apply([], Features()).candidates == ()


@pytest.mark.parametrize(
    ("parameters", "field"),
    [
        ({"trade_off": -0.1}, "mmr_lambda"),
        ({"trade_off": 1.1}, "mmr_lambda"),
        ({"trade_off": math.nan}, "mmr_lambda"),
        ({"pool_size": 0}, "mmr_candidate_pool_size"),
        ({"pool_size": 101}, "mmr_candidate_pool_size"),
    ],
)
def test_parameters_out_of_range_are_refused(parameters: dict[str, float], field: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        Diversification(**parameters)  # type: ignore[arg-type]
    assert refused.value.field == field

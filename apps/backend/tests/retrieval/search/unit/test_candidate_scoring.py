"""Lists are completed over the union of their candidates, by exact scores and never by guesses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from ragcorp.application.retrieval.search.list_fusion import can_score_all, complete
from ragcorp.domain.exceptions import SourceUnavailableError
from ragcorp.domain.ports.sources import SourceAnswer, SourceResult
from ragcorp.domain.retrieval import Hit, RankedList, SourceOutcome, SourceReport
from ragcorp.domain.search.lexical import LexicalEvidence

pytestmark = pytest.mark.anyio


class KnownScores:
    """Scores the chunks that it was told of, and remembers which it was asked for."""

    def __init__(self, score_type: str, scores: Mapping[str, float], *, error: Exception | None = None) -> None:
        self.score_type = score_type
        self._scores, self._error = scores, error
        self.asked: list[list[str]] = []

    async def scores(self, chunk_ids: Sequence[str]) -> Mapping[str, float]:
        self.asked.append(list(chunk_ids))
        if self._error is not None:
            raise self._error
        return self._scores

    async def evidence(self, chunk_ids: Sequence[str], *, score_type: str) -> Mapping[str, LexicalEvidence]:
        return {}


def listed(source: str, *chunk_ids: str, score_type: str = "own") -> RankedList:
    return RankedList(
        source=source,
        score_type=score_type,
        hits=tuple(Hit(chunk_id=chunk_id, score=9.0 - place) for place, chunk_id in enumerate(chunk_ids)),
    )


def result(
    ranked: RankedList, scorer: KnownScores | None, *further: RankedList, reason: str | None = None
) -> SourceResult:
    report = SourceReport(source=ranked.source, outcome=SourceOutcome.OK, elapsed_ms=1.0, reason=reason)
    return SourceResult(report=report, answer=SourceAnswer(ranked_list=ranked, further=further, scorer=scorer))


def pairs(ranked: RankedList) -> list[tuple[str | None, float]]:
    return [(hit.chunk_id, hit.score) for hit in ranked]


async def test_every_candidate_of_any_list_gets_its_score_by_each_source_that_can_tell() -> None:
    dense = KnownScores("cosine", {"a": 0.9, "b": 0.3, "c": 0.5, "d": 0.1})
    words = KnownScores("share", {"a": 0.0, "b": 0.7, "c": 0.2, "d": 0.7})
    codes, mine = listed("codes", "d"), listed("mine", "c")
    results = [result(listed("dense", "a", "c"), dense), result(listed("words", "b"), words, codes), result(mine, None)]
    lists = [results[0].answer.ranked_list, results[1].answer.ranked_list, codes, mine]  # type: ignore[union-attr]
    completed = await complete(results, lists)
    assert [ranked.source for ranked in completed] == ["dense", "words", "codes", "mine"]
    assert pairs(completed[0]) == [("a", 0.9), ("c", 0.5), ("b", 0.3), ("d", 0.1)]
    # equal scores by id
    assert pairs(completed[1]) == [("b", 0.7), ("d", 0.7), ("c", 0.2), ("a", 0.0)]
    assert [ranked.score_type for ranked in completed[:2]] == ["cosine", "share"]
    assert completed[2:] == [codes, mine]
    assert [sorted(asked) for asked in dense.asked + words.asked] == [["a", "b", "c", "d"]] * 2


async def test_what_a_scorer_does_not_know_stays_away_and_what_nobody_listed_does_not_come_in() -> None:
    scorer = KnownScores("cosine", {"b": 0.4, "unlisted": 1.0})
    results = [result(listed("dense", "a", "b"), scorer)]
    (completed,) = await complete(results, [listed("dense", "a", "b")])
    assert pairs(completed) == [("b", 0.4)]


async def test_without_candidates_lists_are_empty() -> None:
    results = [result(listed("dense"), KnownScores("cosine", {}))]
    (completed,) = await complete(results, [listed("dense")])
    assert (completed.score_type, completed.hits) == ("cosine", ())


async def test_an_error_of_a_scorer_is_the_callers() -> None:
    failing = KnownScores("share", {}, error=SourceUnavailableError("out", reason="timeout"))
    results = [result(listed("dense", "a"), KnownScores("cosine", {"a": 1.0})), result(listed("words", "a"), failing)]
    with pytest.raises(SourceUnavailableError):
        await complete(results, [listed("dense", "a"), listed("words", "a")])


def test_all_can_be_scored_where_each_named_source_did_its_part_and_has_a_scorer() -> None:
    scorer = KnownScores("cosine", {})
    whole = [result(listed("dense"), scorer), result(listed("words"), scorer), result(listed("mine"), None)]
    assert can_score_all(whole, ("dense", "words"))
    assert can_score_all(whole, ())
    assert not can_score_all(whole, ("dense", "mine"))
    assert not can_score_all(whole, ("dense", "nobody"))
    pending = [result(listed("dense"), scorer, reason="vectors_pending"), whole[1]]
    assert not can_score_all(pending, ("dense", "words"))
    out = SourceReport(source="words", outcome=SourceOutcome.TIMEOUT, elapsed_ms=1.0, reason="timeout")
    assert not can_score_all([whole[0], SourceResult(report=out)], ("dense", "words"))

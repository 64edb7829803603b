"""Hand-worked numbers of BM25 and of the share of evidence."""

from __future__ import annotations

import math

import pytest

from ragcorp.domain.retrieval import ScoreType
from ragcorp.domain.search.lexical import (
    LexicalEvidence,
    QueryTerm,
    TermKind,
    evidence_mass,
    lexical_evidence,
    saturation,
    term_factors,
    total,
)


def term(lexeme: str, idf: float, similarity: float = 1.0) -> QueryTerm:
    return QueryTerm(
        word=lexeme, lexeme=lexeme, kind=TermKind.WORD, document_frequency=1, idf=idf, similarity=similarity
    )


def evidence_of(
    terms: list[QueryTerm], counts: dict[str, int], *, length: int, average_length: float, score_type: str
) -> LexicalEvidence:
    factors = term_factors(terms, score_type=score_type)
    return lexical_evidence(terms, factors, counts, length=length, average_length=average_length)


def test_saturation_of_a_passage_of_average_length() -> None:
    assert saturation(1, 60, 60.0) == pytest.approx(2.2 / 2.2)
    assert saturation(2, 60, 60.0) == pytest.approx(4.4 / 3.2)
    assert saturation(1, 120, 60.0) == pytest.approx(2.2 / (1 + 1.2 * 1.75))
    assert saturation(0, 60, 60.0) == 0.0
    assert saturation(1, 0, 0.0) == 0.0


def test_bm25_is_the_sum_of_idf_times_saturation() -> None:
    evidence = evidence_of(
        [term("plaz", 2.0), term("entreg", 3.0), term("barc", 9.0)],
        {"plaz": 1, "entreg": 2},
        length=60,
        average_length=60.0,
        score_type=ScoreType.BM25,
    )
    assert [(match.lexeme, match.tf) for match in evidence.matches] == [("plaz", 1), ("entreg", 2)]
    assert total(evidence) == pytest.approx(2.0 * 1.0 + 3.0 * 1.375)


def test_the_share_keeps_unknown_terms_in_its_denominator() -> None:
    terms = [term("plaz", 2.0), term("unknown", 4.0)]
    evidence = evidence_of(terms, {"plaz": 1}, length=60, average_length=60.0, score_type=ScoreType.EVIDENCE_SHARE)
    assert evidence_mass(terms) == pytest.approx(2.2 * (4 + 16))
    assert total(evidence) == pytest.approx(4 * 1.0 / (2.2 * 20))


def test_a_stand_in_weighs_by_its_similarity() -> None:
    bm25 = evidence_of(
        [term("contrat", 3.0, similarity=0.5)], {"contrat": 1}, length=60, average_length=60.0, score_type="bm25"
    )
    share = evidence_of(
        [term("contrat", 3.0, similarity=0.5)],
        {"contrat": 1},
        length=60,
        average_length=60.0,
        score_type=ScoreType.EVIDENCE_SHARE,
    )
    assert total(bm25) == pytest.approx(1.5)
    assert total(share) == pytest.approx(1.5**2 / (2.2 * 9))


def test_a_share_never_exceeds_one() -> None:
    terms = [term("a", 1.0), term("b", 2.0)]
    evidence = evidence_of(
        terms, {"a": 10_000, "b": 10_000}, length=1, average_length=60.0, score_type=ScoreType.EVIDENCE_SHARE
    )
    assert 0.99 < total(evidence) <= 1.0
    assert math.isclose(sum(match.contribution for match in evidence.matches), total(evidence))

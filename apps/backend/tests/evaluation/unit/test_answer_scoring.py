"""The rule by which answers are scored, on cases made by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ragcorp.domain.exceptions import InvalidInputError, NotFoundError
from ragcorp.evaluation.answers import AskQuestion, CitedSpan, GivenAnswer, _folded, judged, shares, shares_by_kind
from ragcorp.infrastructure.evaluation_sets.questions import read_questions

FACT = AskQuestion(
    id="q1",
    text="¿Cuánto?",
    kind="fact",
    answerable=True,
    documents=("a.md",),
    gold=("13,55", "trece euros"),
    evidence="| Zona | 13,55 € |",
    forbidden=("12,40",),
)
MULTI = replace(FACT, id="q2", kind="multi", documents=("a.md", "b.md"))
YES_NO = replace(FACT, id="q3", kind="yesno", gold=(), yesno="sí")
NONE = AskQuestion(id="q4", text="¿Quién?", kind="unanswerable", answerable=False, forbidden=("Ana",))
SPAN = CitedSpan(document="a.md", lines=1, text="|  Zona |\u00a013,55 €  |")


def answered(text: str, *spans: CitedSpan) -> GivenAnswer:
    return GivenAnswer(text=text, abstained=False, citations=spans)


def test_folding() -> None:
    assert _folded("  CAMIÓN\u00a0Núm.\n| 3 |") == "camion num. 3"


def test_right_hedged_and_wrong() -> None:
    right = judged(FACT, answered("Son 13,55\u00a0€.", SPAN))
    assert (right.right, right.hedged, right.wrong_value, right.cited, right.evidence) == (
        True,
        False,
        False,
        True,
        True,
    )
    hedged = judged(FACT, answered("De 12,40 a 13,55."))
    assert (hedged.right, hedged.hedged, hedged.wrong_value) == (True, True, False)
    wrong = judged(FACT, answered("Son 12,40."))
    assert (wrong.right, wrong.hedged, wrong.wrong_value) == (False, False, True)
    missed = judged(FACT, answered("Depende."))
    assert (missed.right, missed.hedged, missed.wrong_value) == (False, False, False)
    silent = judged(FACT, GivenAnswer(text="12,40", abstained=True))
    assert (silent.right, silent.wrong_value, silent.abstained) == (False, False, True)


@pytest.mark.parametrize("text", ["Sí, siempre.", "«Sí». Consta.", "Yes: always", "SI"])
def test_the_first_word_decides_yes_or_no(text: str) -> None:
    assert judged(YES_NO, answered(text)).right
    assert not judged(replace(YES_NO, yesno="no"), answered(text)).right
    assert not judged(FACT, answered(text)).right


def test_every_document_that_a_multi_needs_is_cited() -> None:
    one = judged(MULTI, answered("13,55", SPAN))
    assert (one.cited, one.cited_any) == (False, True)
    assert judged(MULTI, answered("13,55", SPAN, replace(SPAN, document="b.md"))).cited
    other = judged(FACT, answered("13,55", replace(SPAN, document="c.md")))
    assert (other.cited, other.cited_any) == (False, False)


def test_a_span_of_more_than_twelve_lines_shows_nothing() -> None:
    assert judged(FACT, answered("13,55", replace(SPAN, lines=12))).evidence
    assert not judged(FACT, answered("13,55", replace(SPAN, lines=13))).evidence


def test_the_unanswerable() -> None:
    assert judged(NONE, GivenAnswer(text="", abstained=True)).right
    invented = judged(NONE, answered("Fue Ana.", SPAN))
    assert (invented.right, invented.wrong_value, invented.cited) == (False, True, False)


def test_shares_by_hand() -> None:
    verdicts = [
        judged(FACT, answered("13,55", SPAN)),
        judged(MULTI, answered("12,40", SPAN)),
        judged(YES_NO, GivenAnswer(text="", abstained=True)),
        judged(NONE, answered("Ana", SPAN)),
    ]
    over = shares(verdicts)
    assert (over.asked, over.right, over.hedged, over.wrong_value) == (4, 1 / 3, 0.0, 1 / 3)
    assert (over.cited, over.cited_any, over.evidence) == (1 / 2, 1.0, 1.0)
    assert (over.abstained_rightly, over.abstained_wrongly) == (0.0, 1 / 3)
    assert list(shares_by_kind(verdicts)) == ["fact", "multi", "unanswerable", "yesno"]
    assert shares([]).right is None


def write_set(folder: Path, line: str) -> Path:
    (folder / "documents").mkdir()
    (folder / "questions.jsonl").write_text(line, encoding="utf-8")
    return folder


def test_questions_are_read(tmp_path: Path) -> None:
    line = (
        '{"_id": "q1", "text": "¿Es?", "kind": "yesno", "answerable": true, "documents": ["a.md"], "gold": [], '
        '"evidence": "Es.", "forbidden": ["no"], "yesno": "sí"}\n'
    )
    assert read_questions(write_set(tmp_path, line)) == [
        AskQuestion(
            id="q1",
            text="¿Es?",
            kind="yesno",
            answerable=True,
            documents=("a.md",),
            evidence="Es.",
            forbidden=("no",),
            yesno="sí",
        )
    ]


@pytest.mark.parametrize(
    "line",
    [
        "",
        "{",
        '{"_id": "q1", "text": "x", "kind": "fact"}',
        '{"_id": "1", "text": "x", "kind": "k", "answerable": true, "evidence": "e", "documents": ["a"], "gold": "g"}',
        '{"_id": "1", "text": "x", "kind": "k", "answerable": true, "evidence": "e", "documents": [], "gold": ["g"]}',
    ],
)
def test_what_is_no_question_is_refused(tmp_path: Path, line: str) -> None:
    with pytest.raises(InvalidInputError):
        read_questions(write_set(tmp_path, line))


def test_a_set_without_documents_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        read_questions(tmp_path)

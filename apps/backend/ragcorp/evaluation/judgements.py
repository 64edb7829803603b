"""Relevance judgements (qrels): graded, by query and document."""

from __future__ import annotations

from collections.abc import Mapping

Grades = Mapping[str, int]
"""Grades of one query's documents: 0 and below is not relevant, and so is a document that is not named."""

Qrels = Mapping[str, Grades]
"""Grades by query."""


def gain(grade: int) -> int:
    """Return the linear gain of a grade, as trec_eval counts it: the grade, never below 0.

    >>> gain(-1), gain(2)
    (0, 2)
    """
    return max(grade, 0)


def relevant(grades: Grades) -> frozenset[str]:
    """Return the documents with a grade above 0.

    >>> relevant({'a': 1, 'b': 0})
    frozenset({'a'})
    """
    return frozenset(document for document, grade in grades.items() if grade > 0)

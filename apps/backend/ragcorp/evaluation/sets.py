"""An evaluation set: passages, queries and judgements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ragcorp.domain.exceptions import InvalidInputError

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A document of the corpus. ``title`` may be empty; ``text`` is not.

    >>> Passage(id='a', title='', text='El plazo es de 30 días.').id
    'a'
    """

    id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationQuery:
    """A query. ``kind`` groups queries in reports; empty where the set has no kinds.

    >>> EvaluationQuery(id='q1', text='plazo').kind
    ''
    """

    id: str
    text: str
    kind: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationSet:
    """``queries`` are those with at least one relevant document: of the others nothing can be measured.

    ``tree`` is the path of the folder whose files are the passages, each under its relative path; None without one.

    >>> query = EvaluationQuery(id='q1', text='plazo', kind='word')
    >>> list(EvaluationSet(name='set', passages=[], queries=[query], qrels={}).by_kind())
    ['word']
    """

    name: str
    passages: Sequence[Passage]
    queries: Sequence[EvaluationQuery]
    qrels: Qrels
    tree: str | None = None

    def every(self, step: int) -> EvaluationSet:
        """Return the set with each ``step``-th query only. Raises InvalidInputError for a step below 1."""
        if step < 1:
            raise InvalidInputError("A sample takes each n-th query, n from 1.", field="--every", limit="1 or more")
        return replace(self, queries=self.queries[::step])

    def by_kind(self) -> Mapping[str, Sequence[EvaluationQuery]]:
        """Return the queries by kind, kinds in alphabetical order; empty where the set has no kinds."""
        kinds = sorted({query.kind for query in self.queries} - {""})
        return {kind: [query for query in self.queries if query.kind == kind] for kind in kinds}


def judged(queries: Sequence[EvaluationQuery], qrels: Qrels) -> list[EvaluationQuery]:
    """Return the queries that have a relevant document.

    >>> judged([EvaluationQuery(id='q1', text='plazo')], {'q1': {'a': 0}})
    []
    """
    return [query for query in queries if relevant(qrels.get(query.id, {}))]

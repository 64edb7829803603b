"""The port that every retrieval source implements, and the port of fusion."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from ragcorp.domain.exceptions import InvalidRankingError
from ragcorp.domain.filters import Filters
from ragcorp.domain.principal import Principal
from ragcorp.domain.retrieval import FusedHit, RankedList, SourceReport
from ragcorp.domain.search.lexical import LexicalEvidence, QueryTerm
from ragcorp.domain.search.requests import QuerySyntax


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceQuery:
    """What every source is asked: up to ``limit`` hits for ``text`` that pass the filters and the principal.

    ``now`` is the moment of the search, and ``since``, where a profile bounds a source in time, the earliest moment
    that counts. ``keywords`` are what the caller would have looked for literally, where the caller said it. ``explain``
    asks for the answer's notes.
    """

    text: str
    principal: Principal
    filters: Filters
    limit: int
    syntax: QuerySyntax = QuerySyntax.PLAIN
    now: datetime | None = None
    since: datetime | None = None
    keywords: str | None = None
    explain: bool = False


class CandidateScorer(Protocol):
    """Scores candidates exactly, whether or not its source listed them. For fusions of scores, and to explain."""

    @property
    def score_type(self) -> str: ...

    async def scores(self, chunk_ids: Sequence[str]) -> Mapping[str, float]:
        """Return the score of each chunk; of one that it knows nothing of, none."""
        ...

    async def evidence(self, chunk_ids: Sequence[str], *, score_type: str) -> Mapping[str, LexicalEvidence]:
        """Return the lexemes behind the score of kind ``score_type`` of each chunk, where there are such."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceAnswer:
    """A source's hits; ``incomplete`` says in a short word why some evidence could not be seen, if so.

    ``further`` are lists of their own that came out of the same look, with names of their own, and ``emphasis`` how
    much more than usual a list says on this query: a factor of its weight, by name, in a fusion of scores. ``seen`` is
    the share in [0, 1] of its evidence that the source could see: ranks among few say little. ``scorer`` scores what
    the source did not list; ``admits`` is set where the query's operators are conditions on every result: it returns
    those of given chunk ids that meet them. ``cut`` says that a budget ended the look early; ``notes`` are for an
    explanation. ``terms`` are the lexemes that the source looked for, ``literals`` what it looked for literally: they
    are marked in the results.
    Raises InvalidRankingError.
    """

    ranked_list: RankedList
    further: tuple[RankedList, ...] = ()
    emphasis: Mapping[str, float] = field(default_factory=dict)
    incomplete: str | None = None
    seen: float = 1.0
    cut: bool = False
    scorer: CandidateScorer | None = None
    admits: Callable[[Sequence[str]], Awaitable[frozenset[str]]] | None = None
    notes: Mapping[str, object] = field(default_factory=dict)
    terms: tuple[QueryTerm, ...] = ()
    literals: tuple[str, ...] = ()

    @property
    def lists(self) -> tuple[RankedList, ...]:
        return (self.ranked_list, *self.further)

    def __post_init__(self) -> None:
        if not isinstance(self.ranked_list, RankedList):
            raise InvalidRankingError("A source's answer holds a ranked list.", field="ranked_list")
        if self.incomplete is not None and not (isinstance(self.incomplete, str) and self.incomplete):
            raise InvalidRankingError("What makes an answer incomplete is a short word.", field="incomplete")
        if not isinstance(self.seen, float | int) or not 0 <= self.seen <= 1:
            raise InvalidRankingError("The share that a source saw is a number.", field="seen", limit="0 to 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceResult:
    """What became of a source in one query: its report and, unless it is out, its answer."""

    report: SourceReport
    answer: SourceAnswer | None = None


class RetrievalSource(Protocol):
    """One way of finding passages. A source that is out raises SourceUnavailableError.

    At its deadline a source is cancelled and waited for no longer. Whatever else it raises is its own ``error``; the
    query goes on.

    A source may have two attributes more: ``collection``, where its hits are not chunks, and ``filter_fields``, the
    names that it can filter by (``METADATA`` among them: any other name). It is left out, and named, where a query's
    filters use another. One without ``filter_fields`` takes every filter.
    """

    @property
    def name(self) -> str: ...

    async def retrieve(self, query: SourceQuery) -> SourceAnswer: ...


class FusionService(Protocol):
    """Makes one ranking of several. Pure: the same lists give the same ranking to the last bit.

    Weights go by the name of a list, default 1; ``k`` is the rank constant of a fusion that uses ranks.
    """

    def fuse(
        self, lists: Sequence[RankedList], *, weights: Mapping[str, float] | None = None, k: int | None = None
    ) -> tuple[FusedHit, ...]: ...

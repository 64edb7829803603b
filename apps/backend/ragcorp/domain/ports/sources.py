"""The port that every retrieval source implements, and the port of fusion."""

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
    """The part of a query plan that a source needs.

    text: the query
    principal: the caller; return only hits that it may read
    filters: conditions that every hit must meet
    limit: maximum hits of each list
    syntax: plain text, or websearch with operators
    now: the moment from which ages are counted
    since: earliest moment of a hit, where the profile limits the source in time
    keywords: literal terms, where the caller gave some
    explain: whether to fill the answer's ``notes``
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
    """Scores any candidate exactly, whether or not its source listed it. Used by linear fusion and explanations."""

    @property
    def score_type(self) -> str: ...

    async def scores(self, chunk_ids: Sequence[str]) -> Mapping[str, float]:
        """Return the score of each chunk; unknown chunks are absent."""

    async def evidence(self, chunk_ids: Sequence[str], *, score_type: str) -> Mapping[str, LexicalEvidence]:
        """Return the lexemes behind each chunk's score of kind ``score_type``, empty where there are none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceAnswer:
    """The answer of a source; most sources set ``ranked_list`` alone.

    ranked_list: the hits, best first
    further: more lists of the same lookup, with their own names
    emphasis: factors of the weights of lists, by name; linear fusion applies them
    incomplete: a short word for why some evidence was not searched; it is named in ``degraded``
    seen: the share in [0, 1] of the evidence that was searched; the weight is multiplied by it
    cut: a budget ended the search early
    scorer: scores candidates of other sources
    admits: returns those of the given chunk ids that meet the query's operators, where the query has some
    notes: added to an explanation
    terms: the lexemes searched for, and ``literals``, the literal terms; both are highlighted

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
            raise InvalidRankingError("A source's answer contains a ranked list.", field="ranked_list")
        if self.incomplete is not None and not (isinstance(self.incomplete, str) and self.incomplete):
            raise InvalidRankingError("What makes an answer incomplete is a short word.", field="incomplete")
        if not isinstance(self.seen, float | int) or not 0 <= self.seen <= 1:
            raise InvalidRankingError("The share that a source saw is a number.", field="seen", limit="0 to 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceResult:
    """The report of a source in one search and, unless it failed, its answer."""

    report: SourceReport
    answer: SourceAnswer | None = None


class RetrievalSource(Protocol):
    """One way to find passages.

    ``retrieve`` raises SourceUnavailableError during an outage; any other exception is reported as ``error``, and the
    search goes on. At its deadline a source is cancelled and no longer awaited.

    Two optional attributes: ``collection``, where the hits are not chunks, and ``filter_fields``, the fields that the
    source can filter by (``METADATA`` stands for all other names). A query with another filter skips the source and
    names it. A source without ``filter_fields`` gets every filter.

        class WikiSource:
            name = "wiki"

            async def retrieve(self, query: SourceQuery) -> SourceAnswer:
                pages = await self._wiki.search(query.text, limit=query.limit)
                hits = tuple(Hit(chunk_id=page.id, score=page.score) for page in pages)
                return SourceAnswer(ranked_list=RankedList(source="wiki", score_type="wiki", hits=hits))
    """

    @property
    def name(self) -> str: ...

    async def retrieve(self, query: SourceQuery) -> SourceAnswer: ...


class JointSources(Protocol):
    """Several sources in one lookup, which costs less than one lookup each."""

    @property
    def names(self) -> tuple[str, ...]: ...

    async def retrieve(self, queries: Mapping[str, SourceQuery]) -> Mapping[str, SourceAnswer | Exception]:
        """Return the answer of each source, or its own error; the queries differ in ``limit`` only.

        Raises what makes the whole lookup fail: the sources are then queried one by one.
        """


class FusionService(Protocol):
    """Fuses ranked lists. Pure. ``weights`` are by list name, default 1; ``k`` is the rank constant."""

    def fuse(
        self, lists: Sequence[RankedList], *, weights: Mapping[str, float] | None = None, k: int | None = None
    ) -> Sequence[FusedHit]: ...

"""Values of a search: the request and the response."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypedDict

from ragcorp.domain.documents import Chunk
from ragcorp.domain.exceptions import InvalidInputError, InvalidRankingError
from ragcorp.domain.filters import Filters, require_filters
from ragcorp.domain.retrieval import CHUNK_COLLECTION, Contribution, SourceReport
from ragcorp.domain.search.candidates import StepReport
from ragcorp.domain.search.lexical import LexicalEvidence
from ragcorp.domain.structure.hydration import MAX_EPISODE_ID, Hydration
from ragcorp.domain.text.checks import is_blank, require_length, require_storable

MAX_CONVERSATION_ID = 400
"""Equal to the limit of an item's session, which it is."""


class SearchMode(StrEnum):
    AUTO = "auto"
    DENSE = "dense"
    SPARSE = "sparse"
    HYBRID = "hybrid"


class FusionMethod(StrEnum):
    RRF = "rrf"
    LINEAR = "linear"


class SparseRanking(StrEnum):
    BM25 = "bm25"
    TS_RANK_CD = "ts_rank_cd"


class SparseOperator(StrEnum):
    AND = "and"
    OR = "or"


class QuerySyntax(StrEnum):
    """``plain``: every character is text. ``websearch``: quotes, ``or`` and a leading dash are operators."""

    PLAIN = "plain"
    WEBSEARCH = "websearch"


def _require_type(name: str, value: object, kind: type | tuple[type, ...], wanted: str) -> None:
    if not isinstance(value, kind) or isinstance(value, bool):
        raise InvalidInputError(f"{name} is not {wanted}.", field=name, limit=wanted, remedy=f"Give {name} {wanted}.")


class _Options(TypedDict, total=False):
    limit: int
    mode: str
    filters: Mapping[str, object] | None
    profile: str | None
    episode_id: str | None


class AskOptions(_Options, total=False):
    """Keyword options of a question to the library. See ``SearchRequest``."""

    conversation_id: str | None


class SearchOptions(_Options, total=False):
    """Keyword options of a search with the library; names are given as text. See ``SearchRequest``."""

    cursor: str | None
    method: str | None
    syntax: str
    rank_constant: int | None
    weights: Mapping[str, float] | None
    rank_window_size: int | None
    include_memory: bool
    expand_neighbors: int
    rerank: bool | None
    require_all: bool
    facets: bool
    explain: bool
    highlight: bool
    exact_keywords: str | None
    vector_score_threshold: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """A search as the caller wants it; the profile provides what is None.

    query: words, a question, a code or a quotation
    limit: results of one page
    cursor: ``next_cursor`` of the previous page
    mode: auto (the service's default), dense, sparse or hybrid
    profile: a wired profile by name; it overrides ``mode`` and ``method``
    filters: conditions on the stored fields and metadata
    syntax: plain text, or websearch for quotes, ``or`` and a leading dash
    method: fusion of hybrid search
    rank_constant: k of RRF
    weights: by the name of a list, 0 or more
    rank_window_size: bounds each list and the fused one; pages are slices of this window
    explain: explain the ranking
    highlight: mark the matching words of the results
    include_memory: search the memories too
    expand_neighbors: chunks shown before and after each passage
    rerank: False skips a configured reranker
    require_all: fail where a source is degraded
    facets: count the window by facet
    exact_keywords: literal terms for file search; without ``mode`` and ``profile`` they select the profile files
    vector_score_threshold: cosine distance from which vector hits are dropped
    conversation_id: for answers only: the session of history that stores question and answer
    episode_id: the caller's episode; the response then has a ``hydration``, and no pages

    Raises InvalidInputError for a wrong type; the planner checks ranges.
    """

    query: str
    limit: int = 10
    cursor: str | None = None
    mode: SearchMode = SearchMode.AUTO
    profile: str | None = None
    filters: Filters = ()
    syntax: QuerySyntax = QuerySyntax.PLAIN
    method: FusionMethod | None = None
    rank_constant: int | None = None
    weights: Mapping[str, float] = field(default_factory=dict)
    rank_window_size: int | None = None
    explain: bool = False
    highlight: bool = False
    include_memory: bool = False
    expand_neighbors: int = 0
    rerank: bool | None = None
    require_all: bool = False
    facets: bool = False
    exact_keywords: str | None = None
    vector_score_threshold: float | None = None
    conversation_id: str | None = None
    episode_id: str | None = None

    def __post_init__(self) -> None:
        _require_type("query", self.query, str, "text")
        _require_type("limit", self.limit, int, "a whole number")
        for name, value, kind, wanted in (
            ("cursor", self.cursor, str, "text"),
            ("profile", self.profile, str, "text"),
            ("fusion.rank_constant", self.rank_constant, int, "a whole number"),
            ("fusion.rank_window_size", self.rank_window_size, int, "a whole number"),
            ("expand_neighbors", self.expand_neighbors, int, "a whole number"),
            ("exact_keywords", self.exact_keywords, str, "text"),
            ("vector_score_threshold", self.vector_score_threshold, (int, float), "a number"),
            ("conversation_id", self.conversation_id, str, "text"),
            ("episode_id", self.episode_id, str, "text"),
        ):
            if value is not None:
                _require_type(name, value, kind, wanted)
        require_filters(self.filters)
        _require_type("fusion.weights", self.weights, Mapping, "numbers by the name of a list")
        for name, weight in self.weights.items():
            _require_type("fusion.weights", name, str, "numbers by the name of a list")
            _require_type(f"fusion.weights.{name}", weight, (int, float), "a number")
        if self.conversation_id is not None:
            require_length(self.conversation_id, field="conversation_id", limit=MAX_CONVERSATION_ID, minimum=1)
            require_storable(self.conversation_id, field="conversation_id")
        if self.episode_id is not None:
            self._check_episode(self.episode_id)

    def _check_episode(self, episode_id: str) -> None:
        require_length(episode_id, field="episode_id", limit=MAX_EPISODE_ID, minimum=1)
        require_storable(episode_id, field="episode_id")
        if self.episode_id in {".", ".."}:
            raise InvalidInputError(
                "A dot names no episode: in a URL it is a step between folders.",
                field="episode_id",
                remedy="Give it a name.",
            )
        if self.cursor is not None:
            raise InvalidInputError(
                "A page is not a turn of an episode.",
                field="cursor",
                limit="cursor or episode_id",
                remedy="Leave out episode_id for the next page, or the cursor for a new search.",
            )

    @property
    def has_keywords(self) -> bool:
        return self.exact_keywords is not None and not is_blank(self.exact_keywords)

    @property
    def by_keywords(self) -> bool:
        """Whether keywords select the profile: there are some, and neither mode nor profile is named."""
        return self.has_keywords and self.mode is SearchMode.AUTO and self.profile is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Highlight:
    """Characters (code points) [start, end[ of a text. Raises InvalidRankingError for an empty range."""

    start: int
    end: int

    def __post_init__(self) -> None:
        if not 0 <= self.start < self.end:
            raise InvalidRankingError("A highlight has at least one character.", field="highlights")


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchHit:
    """A result: the passage, its rank in the whole ranking, and the contribution of each list to its score.

    ``collections`` are those with the passage, its own first. ``matched_lines`` are lines of its file with literal
    matches. An explained search has ``evidence``, the lexemes behind each list's score, and ``steps``, the effects of
    the steps after fusion. ``highlights`` are the matching words in order and disjoint; None if not requested or
    unavailable.
    """

    rank: int
    score: float
    score_type: str
    chunk: Chunk
    sources: tuple[Contribution, ...]
    evidence: Mapping[str, LexicalEvidence] = field(default_factory=dict)
    collections: tuple[str, ...] = (CHUNK_COLLECTION,)
    matched_lines: tuple[int, ...] = ()
    steps: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    highlights: tuple[Highlight, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResponse:
    """The page with the reports of all queried sources and steps; facets and hydration where requested."""

    mode_used: SearchMode
    hits: tuple[SearchHit, ...]
    reports: tuple[SourceReport, ...]
    next_cursor: str | None = None
    explanation: Mapping[str, object] | None = None
    steps: tuple[StepReport, ...] = ()
    facets: Mapping[str, Mapping[str, int]] | None = None
    hydration: Hydration | None = None

    @property
    def degraded(self) -> tuple[SourceReport, ...]:
        return tuple(report for report in self.reports if report.reason is not None)

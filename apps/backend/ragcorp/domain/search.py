"""Values of a search: the request, its filters and the response."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from ragcorp.domain.documents import Chunk
from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.lexical import LexicalEvidence
from ragcorp.domain.retrieval import Contribution, SourceReport
from ragcorp.domain.text import require_storable

FILTER_FIELDS = frozenset(
    {
        "document_id",
        "external_id",
        "language",
        "artifact_type",
        "sensitivity",
        "visibility_scope",
        "owner",
        "occurred_at",
    }
)
"""Filter names that are columns; any other name is a metadata key."""

MAX_FILTER_CONDITIONS = 20
MAX_FILTER_VALUES = 100
MAX_FILTER_NAME = 200


class SearchMode(StrEnum):
    AUTO = "auto"
    DENSE = "dense"
    SPARSE = "sparse"
    HYBRID = "hybrid"


FilterScalar = str | int | float | bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """One condition: the field equals any of ``any_of``, or lies in [``gte``, ``lt``) (``occurred_at`` only)."""

    name: str
    any_of: tuple[FilterScalar, ...] = ()
    gte: datetime | None = None
    lt: datetime | None = None

    def __post_init__(self) -> None:
        if not self.name or len(self.name) > MAX_FILTER_NAME:
            raise InvalidInputError(
                "A filter's name must have 1 to 200 characters.", field="filters", limit=f"{MAX_FILTER_NAME} characters"
            )
        if len(self.any_of) > MAX_FILTER_VALUES:
            raise InvalidInputError(
                "A filter lists too many values.",
                field="filters",
                limit=f"{MAX_FILTER_VALUES} values",
                remedy="List fewer values, or filter by another field.",
            )
        is_range = self.gte is not None or self.lt is not None
        if is_range == bool(self.any_of):
            raise InvalidInputError(
                "A filter needs a value, a list of values, or a range.",
                field="filters",
                remedy="Give a value, a list with at least one value, or an object with 'gte' and/or 'lt'.",
            )
        if is_range and self.name != "occurred_at":
            raise InvalidInputError(
                "Only occurred_at takes a range.", field="filters", remedy="Use a value or a list of values."
            )
        for text in (self.name, *self.any_of):
            if isinstance(text, str):
                require_storable(text, field="filters")
        if any(isinstance(value, float) and not math.isfinite(value) for value in self.any_of):
            raise InvalidInputError("A filter's number must be finite.", field="filters")


Filters = tuple[Condition, ...]


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


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """A search as the caller wants it; what is None is the profile's.

    ``profile`` names one that was wired (dense, sparse, hybrid, linear, or one of the user's own) and then decides in
    place of ``mode`` and ``method``.

    ``rank_constant`` is the k of RRF, ``weights`` go by the name of a list, and ``rank_window_size`` bounds each list
    and the fused one: pages are slices of that window, so the head never depends on ``limit``.
    Raises InvalidInputError for a value of another type; ranges are for the use case to judge.
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

    def __post_init__(self) -> None:
        _require_type("query", self.query, str, "text")
        _require_type("limit", self.limit, int, "a whole number")
        for name, value, kind, wanted in (
            ("cursor", self.cursor, str, "text"),
            ("profile", self.profile, str, "text"),
            ("fusion.rank_constant", self.rank_constant, int, "a whole number"),
            ("fusion.rank_window_size", self.rank_window_size, int, "a whole number"),
        ):
            if value is not None:
                _require_type(name, value, kind, wanted)
        _require_type("fusion.weights", self.weights, Mapping, "numbers by the name of a list")
        for name, weight in self.weights.items():
            _require_type("fusion.weights", name, str, "numbers by the name of a list")
            _require_type(f"fusion.weights.{name}", weight, (int, float), "a number")


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchHit:
    """A result: the passage, its rank in the whole ranking, and what each list gave to its score.

    ``evidence`` has, for an explained search, the lexemes behind a list's score, by the name of the list.
    """

    rank: int
    score: float
    score_type: str
    chunk: Chunk
    sources: tuple[Contribution, ...]
    evidence: Mapping[str, LexicalEvidence] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResponse:
    """``reports`` has every source that was asked; ``degraded`` those that did not do their part."""

    mode_used: SearchMode
    hits: tuple[SearchHit, ...]
    reports: tuple[SourceReport, ...]
    next_cursor: str | None = None
    explanation: Mapping[str, object] | None = None

    @property
    def degraded(self) -> tuple[SourceReport, ...]:
        return tuple(report for report in self.reports if report.reason is not None)

"""A retrieval profile: which sources to query, and how to fuse and process their lists."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ragcorp.application.retrieval.fusion.rank_fusion import DEFAULT_RANK_CONSTANT
from ragcorp.application.retrieval.fusion.thresholds import Threshold, distance_thresholds
from ragcorp.application.retrieval.steps.diversification import Diversification
from ragcorp.application.retrieval.steps.temporal_decay import TemporalDecay
from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.filters import Filters
from ragcorp.domain.retrieval import ScoreType
from ragcorp.domain.search.lexical import MIN_EVIDENCE_SHARE
from ragcorp.domain.search.requests import FusionMethod, SearchMode, SearchRequest
from ragcorp.domain.search.sources import (
    ALL_WORDS,
    DENSE_SOURCES,
    FULL_TEXT,
    FULL_TEXT_SOURCES,
    GREP,
    IDENTIFIERS,
    LISTS,
    MEMORY_DENSE,
    MEMORY_FULL_TEXT,
    STRUCTURE,
)

MAX_RANK_WINDOW_SIZE = 1000
MAX_RANK_CONSTANT = 10_000
MAX_WEIGHT = 1000.0

MAX_POOL = 40.0
MAX_NEIGHBOUR_DISTANCE = 5

WHOLE_WINDOW = 4.0
"""Pools are in quarters of the window, never of ``limit``: the head must not depend on it."""

A_FIFTH_OF_THE_EVIDENCE = Threshold(source=FULL_TEXT, score_type=ScoreType.EVIDENCE_SHARE, minimum=MIN_EVIDENCE_SHARE)
"""Chunks with less of a question's evidence are noise next to a dense list (figures: docs/retrieval.md)."""

HALF_OF_THE_TERMS = Threshold(source=GREP, score_type=ScoreType.EVIDENCE_SHARE, minimum=0.5)
"""Passages with fewer of a question's terms, by number and rarity, are noise next to a dense list."""

RRF_WEIGHTS = {IDENTIFIERS: 3.0, STRUCTURE: 3.0}
"""A chunk with an identifier or entity of the query outweighs one that two other lists rank first."""

LINEAR_WEIGHTS = {FULL_TEXT: 0.17, IDENTIFIERS: 0.08, ALL_WORDS: 0.0}
"""Measured for multilingual-e5-small (docs/retrieval.md); `ragcorp eval --calibrate` stores others with the model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """Steps after fusion in this order; None, False and 0 skip a step. ``neighbours`` is chunks on each side."""

    decay: TemporalDecay | None = None
    deduplicate: bool = False
    rerank: bool = True
    diversify: Diversification | None = None
    neighbours: int = 0

    def __post_init__(self) -> None:
        _require_range("expand_neighbors", self.neighbours, 0, MAX_NEIGHBOUR_DISTANCE)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalProfile:
    """Parameters of a search; immutable.

    sources: queried in parallel
    substitute: queried where the first source is degraded
    fallback: used where the method lacks evidence
    chosen_weights: lists whose weight the caller set; sources do not emphasise them
    pools: hits of a source, in quarters of the window (default 4)
    lookback_hours: time limit of a source (default: none)
    narrowing: filters of a source, unless the request filters by artifact_type or session
    """

    name: str
    mode: SearchMode
    sources: tuple[str, ...]
    substitute: str | None = None
    method: FusionMethod = FusionMethod.RRF
    rank_constant: int = DEFAULT_RANK_CONSTANT
    weights: Mapping[str, float] = field(default_factory=dict)
    chosen_weights: frozenset[str] = frozenset()
    rank_window_size: int = 100
    thresholds: tuple[Threshold, ...] = ()
    fallback: RetrievalProfile | None = None
    pools: Mapping[str, float] = field(default_factory=dict)
    lookback_hours: Mapping[str, float] = field(default_factory=dict)
    narrowing: Mapping[str, Filters] = field(default_factory=dict)
    steps: Steps = field(default_factory=Steps)

    def __post_init__(self) -> None:
        _require_range("fusion.rank_window_size", self.rank_window_size, 1, MAX_RANK_WINDOW_SIZE)
        _require_range("fusion.rank_constant", self.rank_constant, 1, MAX_RANK_CONSTANT)
        for name, pool in self.pools.items():
            if not 0 < pool <= MAX_POOL:
                raise InvalidInputError.out_of_range(
                    f"pools.{name}",
                    f"above 0, up to {MAX_POOL:g} quarters of the window",
                    remedy="Choose a value in the range; 4 is the whole window.",
                )
        for name, weight in self.weights.items():
            if not (math.isfinite(weight) and 0 <= weight <= MAX_WEIGHT):
                raise InvalidInputError.out_of_range(
                    f"fusion.weights.{name}",
                    f"0 to {MAX_WEIGHT:g}",
                    remedy="Use 1 for a source of normal weight, 0 to leave it out of the score.",
                )

    def pool(self, source: str) -> int:
        """Return the number of hits to request from a source."""
        return min(MAX_RANK_WINDOW_SIZE, math.ceil(self.pools.get(source, WHOLE_WINDOW) * self.rank_window_size / 4))

    def with_memory(self) -> RetrievalProfile:
        """Add memory sources of the same kinds. Replaces linear fusion, whose weights would not fit them."""
        profile = self if self.method is FusionMethod.RRF or self.fallback is None else self.fallback
        added = [MEMORY_DENSE] if any(source in DENSE_SOURCES for source in profile.sources) else []
        added += [MEMORY_FULL_TEXT] if any(source in FULL_TEXT_SOURCES for source in profile.sources) else []
        return replace(profile, sources=tuple(dict.fromkeys((*profile.sources, *added))))

    def overridden_by(self, request: SearchRequest) -> RetrievalProfile:
        """Return the profile with the request's overrides. Raises InvalidInputError for a value out of range."""
        if request.include_memory and not {MEMORY_DENSE, MEMORY_FULL_TEXT} & set(self.sources):
            return self.with_memory().overridden_by(replace(request, include_memory=False))
        thresholds = self.thresholds
        if request.vector_score_threshold is not None:
            others = [threshold for threshold in thresholds if not threshold.is_distance]
            dense = [source for source in self.sources if source in DENSE_SOURCES]
            thresholds = (*others, *distance_thresholds(dense, request.vector_score_threshold))
        list_names = [name for source in self.sources for name in LISTS.get(source, (source,))]
        if self.substitute:
            list_names += LISTS.get(self.substitute, (self.substitute,))
        if request.weights.keys() - set(list_names):
            raise InvalidInputError(
                "fusion.weights names a list that this mode does not have.",
                field="fusion.weights",
                limit=", ".join(list_names),
                remedy="Name only the listed ones.",
            )
        return replace(
            self,
            rank_constant=self.rank_constant if request.rank_constant is None else request.rank_constant,
            weights={**self.weights, **request.weights},
            chosen_weights=frozenset(request.weights),
            rank_window_size=self.rank_window_size if request.rank_window_size is None else request.rank_window_size,
            thresholds=thresholds,
            fallback=self.fallback and self.fallback.overridden_by(replace(request, weights={})),
            steps=replace(
                self.steps,
                rerank=self.steps.rerank and request.rerank is not False,
                neighbours=request.expand_neighbors or self.steps.neighbours,
            ),
        )


def _require_range(name: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise InvalidInputError.out_of_range(
            name, f"{low} to {high}", remedy="Choose a value in the range, or leave the field out."
        )

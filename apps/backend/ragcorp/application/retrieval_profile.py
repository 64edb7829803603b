"""A named, immutable way of retrieving: which sources are asked, and how their lists become one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ragcorp.application.rank_fusion import DEFAULT_RANK_CONSTANT
from ragcorp.application.thresholds import Threshold
from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.retrieval import ScoreType
from ragcorp.domain.search import FusionMethod, SearchMode, SearchRequest

MAX_RANK_WINDOW_SIZE = 1000
MAX_RANK_CONSTANT = 10_000
MAX_WEIGHT = 1000.0

DENSE = "dense"
FULL_TEXT = "full_text"
IDENTIFIERS = "identifiers"
ALL_WORDS = "all_words"

LISTS = {DENSE: (DENSE,), FULL_TEXT: (FULL_TEXT, IDENTIFIERS, ALL_WORDS)}
"""The lists that our own sources give; a user's own gives one of its name."""

A_FIFTH_OF_THE_EVIDENCE = Threshold(source=FULL_TEXT, score_type=ScoreType.EVIDENCE_SHARE, minimum=0.2)
"""Chunks that hold less of a question's evidence are noise beside a dense list (docs/retrieval.md has the figures)."""

RRF_WEIGHTS = {IDENTIFIERS: 3.0}
"""A chunk that holds an identifier of the query outweighs one that two other lists put first."""

LINEAR_WEIGHTS = {FULL_TEXT: 0.17, IDENTIFIERS: 0.08, ALL_WORDS: 0.0}
"""Measured for multilingual-e5-small (docs/retrieval.md); stored with the model, anew by `ragcorp eval --calibrate`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalProfile:
    """``sources`` are asked side by side. ``stand_in`` is asked where the first source cannot see everything.

    ``fallback`` takes over where the method needs evidence that is missing. ``chosen_weights`` names the lists whose
    weight the caller chose: no source emphasises those.
    """

    name: str
    mode: SearchMode
    sources: tuple[str, ...]
    stand_in: str | None = None
    method: FusionMethod = FusionMethod.RRF
    rank_constant: int = DEFAULT_RANK_CONSTANT
    weights: Mapping[str, float] = field(default_factory=dict)
    chosen_weights: frozenset[str] = frozenset()
    rank_window_size: int = 100
    thresholds: tuple[Threshold, ...] = ()
    fallback: RetrievalProfile | None = None

    def __post_init__(self) -> None:
        _require_range("rank_window_size", self.rank_window_size, 1, MAX_RANK_WINDOW_SIZE)
        _require_range("rank_constant", self.rank_constant, 1, MAX_RANK_CONSTANT)
        for name, weight in self.weights.items():
            if not (math.isfinite(weight) and 0 <= weight <= MAX_WEIGHT):
                raise InvalidInputError(
                    "A fusion weight is out of range.",
                    field=f"fusion.weights.{name}",
                    limit=f"0 to {MAX_WEIGHT:g}",
                    remedy="Use 1 for a source of normal weight, 0 to leave it out of the score.",
                )

    def overridden_by(self, request: SearchRequest) -> RetrievalProfile:
        """Return the profile with what the request sets. Raises InvalidInputError for a value out of range."""
        asked = [name for source in self.sources for name in LISTS.get(source, (source,))]
        if self.stand_in:
            asked += LISTS.get(self.stand_in, (self.stand_in,))
        if request.weights.keys() - set(asked):
            raise InvalidInputError(
                "fusion.weights names a list that this mode does not have.",
                field="fusion.weights",
                limit=", ".join(asked),
                remedy="Name only the listed ones.",
            )
        return replace(
            self,
            rank_constant=self.rank_constant if request.rank_constant is None else request.rank_constant,
            weights={**self.weights, **request.weights},
            chosen_weights=frozenset(request.weights),
            rank_window_size=self.rank_window_size if request.rank_window_size is None else request.rank_window_size,
            fallback=self.fallback and self.fallback.overridden_by(replace(request, weights={})),
        )


def standard_profiles(
    *,
    rank_constant: int = DEFAULT_RANK_CONSTANT,
    rank_window_size: int = 100,
    linear_weights: Mapping[str, float] = LINEAR_WEIGHTS,
    extra_sources: tuple[str, ...] = (),
) -> dict[str, RetrievalProfile]:
    """Return dense, sparse, hybrid (RRF) and linear; ``extra_sources`` are asked in the last two beside our own."""
    dense = RetrievalProfile(
        name="dense",
        mode=SearchMode.DENSE,
        sources=(DENSE,),
        stand_in=FULL_TEXT,
        weights=RRF_WEIGHTS,
        thresholds=(A_FIFTH_OF_THE_EVIDENCE,),
        rank_constant=rank_constant,
        rank_window_size=rank_window_size,
    )
    hybrid = replace(
        dense, name="hybrid", mode=SearchMode.HYBRID, sources=(DENSE, FULL_TEXT, *extra_sources), stand_in=None
    )
    sparse = replace(dense, name="sparse", mode=SearchMode.SPARSE, sources=(FULL_TEXT,), stand_in=None)
    linear = replace(
        hybrid, name="linear", method=FusionMethod.LINEAR, weights=linear_weights, thresholds=(), fallback=hybrid
    )
    return {profile.name: profile for profile in (dense, sparse, hybrid, linear)}


def _require_range(name: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise InvalidInputError(
            f"fusion.{name} is out of range.",
            field=f"fusion.{name}",
            limit=f"{low} to {high}",
            remedy="Choose a value in the range, or leave the field out.",
        )

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

HALF_OF_THE_WORDS = Threshold(source=FULL_TEXT, score_type=ScoreType.LEXEME_COVERAGE, minimum=0.5)
"""Chunks that hold less of a question are noise beside a dense list (docs/retrieval.md has the figures)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalProfile:
    """``sources`` are asked side by side. ``stand_in`` is asked where the first source cannot see everything."""

    name: str
    mode: SearchMode
    sources: tuple[str, ...]
    stand_in: str | None = None
    method: FusionMethod = FusionMethod.RRF
    rank_constant: int = DEFAULT_RANK_CONSTANT
    weights: Mapping[str, float] = field(default_factory=dict)
    rank_window_size: int = 100
    thresholds: tuple[Threshold, ...] = ()

    def __post_init__(self) -> None:
        _require_range("rank_window_size", self.rank_window_size, 1, MAX_RANK_WINDOW_SIZE)
        _require_range("rank_constant", self.rank_constant, 1, MAX_RANK_CONSTANT)
        for weight in self.weights.values():
            if not (math.isfinite(weight) and 0 <= weight <= MAX_WEIGHT):
                raise InvalidInputError(
                    "A fusion weight is out of range.",
                    field="fusion.weights",
                    limit=f"0 to {MAX_WEIGHT:g}",
                    remedy="Use 1 for a source of normal weight, 0 to leave it out of the score.",
                )

    def overridden_by(self, request: SearchRequest) -> RetrievalProfile:
        """Return the profile with what the request sets. Raises InvalidInputError for a value out of range."""
        unknown = request.weights.keys() - {*self.sources, self.stand_in}
        if unknown:
            raise InvalidInputError(
                "fusion.weights names a source that this mode does not ask.",
                field="fusion.weights",
                limit=", ".join(self.sources),
                remedy="Name only the listed sources.",
            )
        return replace(
            self,
            method=request.method,
            rank_constant=self.rank_constant if request.rank_constant is None else request.rank_constant,
            weights={**self.weights, **request.weights},
            rank_window_size=self.rank_window_size if request.rank_window_size is None else request.rank_window_size,
        )


def standard_profiles(
    *,
    rank_constant: int = DEFAULT_RANK_CONSTANT,
    rank_window_size: int = 100,
    extra_sources: tuple[str, ...] = (),
) -> dict[SearchMode, RetrievalProfile]:
    """Return the profiles behind the modes; ``extra_sources`` are asked in hybrid mode beside the two of our own."""
    return {
        mode: RetrievalProfile(
            name=mode.value,
            mode=mode,
            sources=sources,
            stand_in=stand_in,
            rank_constant=rank_constant,
            rank_window_size=rank_window_size,
            thresholds=(HALF_OF_THE_WORDS,),
        )
        for mode, sources, stand_in in (
            (SearchMode.DENSE, (DENSE,), FULL_TEXT),
            (SearchMode.SPARSE, (FULL_TEXT,), None),
            (SearchMode.HYBRID, (DENSE, FULL_TEXT, *extra_sources), None),
        )
    }


def _require_range(name: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise InvalidInputError(
            f"fusion.{name} is out of range.",
            field=f"fusion.{name}",
            limit=f"{low} to {high}",
            remedy="Choose a value in the range, or leave the field out.",
        )

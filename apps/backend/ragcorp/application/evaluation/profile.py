"""Search profiles of evaluations: ``linear``, or with overrides ``linear:full_text=0.1,k=20``."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.search.requests import FusionMethod, SearchMode, SearchRequest

RANK_CONSTANT = "k"
WINDOW = "window"

_FUSIONS = {method.value: method for method in FusionMethod}
_MODES: Mapping[str, tuple[SearchMode, FusionMethod | None]] = {
    "dense": (SearchMode.DENSE, None),
    "sparse": (SearchMode.SPARSE, None),
    "hybrid": (SearchMode.HYBRID, FusionMethod.RRF),
    **{name: (SearchMode.HYBRID, method) for name, method in _FUSIONS.items()},
}

WIRED = {
    "code": SearchMode.HYBRID,
    "collections": SearchMode.HYBRID,
    "everything": SearchMode.HYBRID,
    "files": SearchMode.HYBRID,
    "grep": SearchMode.SPARSE,
    "vectors": SearchMode.DENSE,
}
"""Profiles that a request selects by name, with the mode that determines whether they need vectors."""

OF_FILES = ("files", "grep")
"""Profiles that search files in place."""

STANDARD = tuple(name for name in ("dense", "sparse", "hybrid", "linear") if name in _MODES)
STANDARD_OF_TREES = ("dense", "grep", "files")


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatedProfile:
    """Parameters of each query, by a profile of WIRED or a mode; None: the profile's own. ``name`` is as written."""

    name: str
    mode: SearchMode
    profile: str | None = None
    method: FusionMethod | None = None
    rank_constant: int | None = None
    rank_window_size: int | None = None
    weights: Mapping[str, float] = field(default_factory=dict)

    @property
    def searches_files(self) -> bool:
        return self.profile in OF_FILES

    def request(self, query: str, *, limit: int) -> SearchRequest:
        return SearchRequest(
            query=query,
            limit=limit,
            mode=self.mode,
            profile=self.profile,
            method=self.method,
            rank_constant=self.rank_constant,
            rank_window_size=self.rank_window_size,
            weights=self.weights,
        )


def parse_profile(written: str) -> EvaluatedProfile:
    """Parse ``NAME[:KEY=NUMBER,...]``; a key is ``k``, ``window`` or a list's name. Raises InvalidInputError."""
    base, _, overrides = written.partition(":")
    if base not in _MODES and base not in WIRED:
        raise InvalidInputError(
            "There is no such profile.",
            field="--profile",
            limit=", ".join((*_MODES, *WIRED)),
            remedy="Name one of them, with overrides as in hybrid:k=20 if need be.",
        )
    mode, method = _MODES.get(base, (WIRED.get(base, SearchMode.HYBRID), None))
    numbers = dict(_override(part) for part in overrides.split(",") if part.strip())
    constant, window = numbers.pop(RANK_CONSTANT, None), numbers.pop(WINDOW, None)
    return EvaluatedProfile(
        name=written,
        mode=mode,
        profile=base if base in WIRED else None,
        method=method,
        rank_constant=None if constant is None else _whole(constant),
        rank_window_size=None if window is None else _whole(window),
        weights=numbers,
    )


def _override(part: str) -> tuple[str, float]:
    key, _, written = part.partition("=")
    try:
        number = float(written)
    except ValueError:
        number = math.nan
    if not key.strip() or not math.isfinite(number):
        raise InvalidInputError(
            "A profile's overrides are KEY=NUMBER, separated by commas.",
            field="--profile",
            remedy="Write it as hybrid:k=20 or linear:full_text=0.1.",
        )
    return key.strip(), number


def _whole(number: float) -> int:
    if not number.is_integer():
        raise InvalidInputError("k and window are whole numbers.", field="--profile")
    return int(number)

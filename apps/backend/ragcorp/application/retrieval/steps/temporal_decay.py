"""Temporal decay: scores decrease with age, for evergreen kinds down to a floor.

decayed(c) = score(c) * factor(c),  factor(c) = max(floor, 2^(-age_days / half_life_days))

The floor is that of the evergreen kinds (person, place, relationship), 0 for any other. At a half-life of 30 days the
factor is 1 at 0 days, 0.933 at 3, 0.5 at 30, 0.354 at 45, 0.25 at 60 and 0.063 at 120; an evergreen stops at 0.3.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from ragcorp.domain.collections import EVERGREEN_KINDS
from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.search.candidates import Candidate, StepOutcome

STEP = "temporal_decay"
FORMULA = "score * max(floor, 2^(-age_days / half_life_days))"

MAX_HALF_LIFE_DAYS = 36_500.0

_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class TemporalDecay:
    """``half_life_days`` is the age at which a score is halved; ``evergreen_floor`` in [0, 1] bounds its kinds' factor.

    Raises InvalidInputError.

    >>> TemporalDecay(half_life_days=30.0).factor(60.0, 'turn')
    0.25
    """

    half_life_days: float = 30.0
    evergreen_floor: float = 0.3
    evergreen_kinds: frozenset[str] = EVERGREEN_KINDS

    def __post_init__(self) -> None:
        if not (math.isfinite(self.half_life_days) and 0 < self.half_life_days <= MAX_HALF_LIFE_DAYS):
            raise InvalidInputError.out_of_range(
                "half_life_days",
                f"above 0, to {MAX_HALF_LIFE_DAYS:g} days",
                remedy="Give a number of days; leave temporal decay out to switch it off.",
            )
        if not 0 <= self.evergreen_floor <= 1:
            raise InvalidInputError.out_of_range(
                "evergreen_floor", "0 to 1", remedy="Use 0 to let them fade like any other, 1 to keep them fresh."
            )

    def factor(self, age_days: float, kind: str) -> float:
        """Return the factor in [0, 1] of something of this age; an age below 0 counts as 0."""
        return self._factor(max(0.0, age_days), self._floor(kind))

    def apply(self, candidates: Sequence[Candidate], *, now: datetime) -> StepOutcome:
        """Return the candidates by decayed score, ties by key. Undated, future and negative ones stay."""
        if now.tzinfo is None:
            raise InvalidInputError("The moment of a search needs a time zone.", field="now")
        decayed = [self._decayed(candidate, now) for candidate in candidates]
        decayed.sort(key=lambda candidate: (-candidate.score, candidate.key))
        parameters = {
            "half_life_days": self.half_life_days,
            "evergreen_floor": self.evergreen_floor,
            "evergreen_kinds": sorted(str(kind) for kind in self.evergreen_kinds),
        }
        return StepOutcome.of(STEP, decayed, formula=FORMULA, parameters=parameters)

    def _decayed(self, candidate: Candidate, now: datetime) -> Candidate:
        hit, fused, description, notes = candidate
        moment, floor = description.ages_from, self._floor(description.kind)
        age_days = None if moment is None else max(0.0, (now - moment) / _DAY)
        factor = 1.0 if age_days is None else self._factor(age_days, floor)
        note = {"age_days": age_days, "factor": factor, "floor": floor, "fused": fused}
        # made by hand: there may be hundreds of them, and `noted` takes twice the time
        all_notes = {**notes, STEP: note} if notes else {STEP: note}
        return Candidate(hit, fused * factor if fused > 0 else fused, description, all_notes)

    def _floor(self, kind: str) -> float:
        return self.evergreen_floor if kind in self.evergreen_kinds else 0.0

    def _factor(self, age_days: float, floor: float) -> float:
        return max(floor, math.exp2(-age_days / self.half_life_days))

"""Values of the steps after fusion: candidates, their descriptions, and step reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from ragcorp.domain.documents import VisibilityScope
from ragcorp.domain.principal import Sensitivity
from ragcorp.domain.retrieval import FusedHit, HitKey, no_metadata


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """Attributes of a passage. ``ages_from`` starts its age, None for one that does not age."""

    collection: str
    kind: str
    workspace: str
    sensitivity: Sensitivity
    visibility_scope: VisibilityScope
    owner: str
    language: str
    artifact: str | None = None
    occurred_at: datetime | None = None
    ages_from: datetime | None = None


class Candidate(NamedTuple):
    """A fused hit in the steps: its current score, and notes for an explanation by step."""

    fused: FusedHit
    score: float
    description: Description
    notes: Mapping[str, Mapping[str, object]] = no_metadata()  # type: ignore[assignment]

    @property
    def key(self) -> HitKey:
        return self.fused.hit.key

    def noted(self, step: str, score: float | None = None, **note: object) -> Candidate:
        """Return the candidate with a note of ``step`` and, if one is given, another score."""
        notes = {**self.notes, step: note} if self.notes else {step: note}
        return self._replace(score=self.score if score is None else score, notes=notes)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepReport:
    """A step's line in an explanation and in the metrics; ``skipped`` is a short reason for not running."""

    step: str
    before: int
    after: int
    formula: str = ""
    parameters: Mapping[str, object] = field(default_factory=dict)
    skipped: str | None = None

    @property
    def removed(self) -> int:
        return self.before - self.after


class StepOutcome(NamedTuple):
    """The candidates after a step, in order, and the step's report."""

    candidates: tuple[Candidate, ...]
    report: StepReport

    @classmethod
    def of(
        cls,
        step: str,
        candidates: Sequence[Candidate],
        *,
        before: int | None = None,
        formula: str = "",
        parameters: Mapping[str, object] | None = None,
        skipped: str | None = None,
    ) -> StepOutcome:
        """Return the outcome with its report; ``before`` is the number of candidates that went into the step."""
        count = len(candidates)
        return cls(
            candidates=tuple(candidates),
            report=StepReport(
                step=step,
                before=count if before is None else before,
                after=count,
                formula=formula,
                parameters=parameters or {},
                skipped=skipped,
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """Cosines of pairs of keys with vectors, the smaller key first, and lexemes of keys in pairs without."""

    cosines: Mapping[tuple[HitKey, HitKey], float] = field(default_factory=dict)
    lexemes: Mapping[HitKey, frozenset[str]] = field(default_factory=dict)

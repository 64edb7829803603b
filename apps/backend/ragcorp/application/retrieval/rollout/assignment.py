"""Assigns a stable share of the queries of mode auto to the new profile (ADR-028), and reports it to observers."""

import hashlib
import unicodedata
from dataclasses import dataclass, replace

from ragcorp.domain.exceptions import ConfigurationError
from ragcorp.domain.ports.observers import Observers, RolloutObserver
from ragcorp.domain.search.requests import FusionMethod, SearchMode, SearchRequest
from ragcorp.domain.search.rollout import Arm, ShadowOutcome

BUCKETS = 10_000
"""A bucket is a hundredth of a percent of the queries."""

DIGEST_BYTES = 8


def query_digest(workspace: str, query: str) -> bytes:
    """Return the first 8 bytes of SHA-256 over workspace, NUL and the query in NFC, case and white space folded."""
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFD", query).casefold())
    text = f"{workspace}\0{' '.join(folded.split())}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:DIGEST_BYTES]


def bucket(workspace: str, query: str) -> int:
    """Return the query's bucket in [0, 10000): its digest as a big-endian number, modulo 10000."""
    return int.from_bytes(query_digest(workspace, query), "big") % BUCKETS


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmProfile:
    """The meaning of mode auto in one arm. ``method`` is used where the caller names none."""

    mode: SearchMode
    method: FusionMethod = FusionMethod.RRF

    @property
    def name(self) -> str:
        return f"{self.mode.value}_{self.method.value}" if self.mode is SearchMode.HYBRID else self.mode.value

    def applied_to(self, request: SearchRequest) -> SearchRequest:
        """Return the request with this mode in place of auto; its cursors then belong to this arm alone."""
        if self.mode is not SearchMode.HYBRID:
            return replace(request, mode=self.mode)
        return replace(request, mode=self.mode, method=request.method or self.method)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollout:
    """``percent`` of the queries, buckets b with b / 100 < percent, get ``new``. Raises ConfigurationError."""

    old: ArmProfile
    new: ArmProfile
    percent: float
    shadow: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.percent <= 100:
            raise ConfigurationError.out_of_range("HYBRID_ROLLOUT_PERCENT", "0 to 100")

    def arm_of(self, *, workspace: str, query: str) -> Arm:
        return Arm.NEW if bucket(workspace, query) / 100 < self.percent else Arm.OLD

    def profile(self, arm: Arm) -> ArmProfile:
        return self.new if arm is Arm.NEW else self.old


def planned_rollout(*, hybrid: bool, method: FusionMethod, shadow: bool, percent: float | None) -> Rollout:
    """Return the roll-out that the settings describe.

    The new arm is hybrid search by ``method``. The old arm is hybrid by RRF where ``hybrid`` is on and ``method`` is
    another, else dense. A ``percent`` of None means 100 where ``hybrid`` is on and there is no shadow, else 0.
    """
    new = ArmProfile(mode=SearchMode.HYBRID, method=method)
    fused_before = hybrid and method is not FusionMethod.RRF
    old = ArmProfile(mode=SearchMode.HYBRID if fused_before else SearchMode.DENSE)
    if percent is None:
        percent = 100.0 if hybrid and not shadow else 0.0
    return Rollout(old=old, new=new, percent=percent, shadow=shadow)


class RolloutObservers(Observers[RolloutObserver]):
    """Passes each event to all observers. An interface adds its own after the search is wired."""

    def __init__(self, rollout: Rollout) -> None:
        super().__init__()
        self._rollout = rollout

    def add(self, observer: RolloutObserver) -> None:
        super().add(observer)
        observer.rollout_set(percent=self._rollout.percent, shadow=self._rollout.shadow)

    def arm_served(self, arm: Arm) -> None:
        profile = self._rollout.profile(arm).name
        for observer in self._observers:
            observer.arm_served(arm, profile=profile)

    def shadow_ended(self, outcome: ShadowOutcome, *, overlap: float | None = None) -> None:
        for observer in self._observers:
            observer.shadow_ended(outcome, overlap=overlap)

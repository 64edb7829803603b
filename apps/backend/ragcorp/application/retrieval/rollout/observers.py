"""Fans roll-out events out to observers; none by default."""

from __future__ import annotations

from ragcorp.application.retrieval.rollout.assignment import Rollout
from ragcorp.domain.observers import Observers
from ragcorp.domain.ports.observers import RolloutObserver
from ragcorp.domain.search.rollout import Arm, ShadowOutcome


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

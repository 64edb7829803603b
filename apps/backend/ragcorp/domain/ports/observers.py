"""Ports through which an operator watches; an observer returns at once and raises nothing."""

from __future__ import annotations

from typing import Protocol

from ragcorp.domain.embeddings import CacheName, CacheOutcome
from ragcorp.domain.search.rollout import Arm, ShadowOutcome


class RolloutObserver(Protocol):
    """Counts what a roll-out does."""

    def rollout_set(self, *, percent: float, shadow: bool) -> None:
        """Take down what is in force: the share of queries in the new arm, 0 to 100, and whether shadows run."""

    def arm_served(self, arm: Arm, *, profile: str) -> None: ...

    def shadow_ended(self, outcome: ShadowOutcome, *, overlap: float | None) -> None:
        """Count a shadow. ``overlap`` is overlap@10 in [0, 1], None where nothing was compared."""


class EmbeddingCacheObserver(Protocol):
    """Counts how vectors came."""

    def vectors_served(self, cache: CacheName, outcome: CacheOutcome, *, count: int = 1) -> None: ...


class AnswererObserver(Protocol):
    """Notes the outcome of answers."""

    def answered(self) -> None: ...

    def not_answered(self, reason: str) -> None:
        """Note an answer that failed with AnswererUnavailableError."""


class TokenObserver(Protocol):
    """Counts the tokens of language models."""

    def tokens_used(self, *, prompt: int, completion: int) -> None:
        """Count one call, however it ended: whole, cut, failed or given up by a client that left.

        Called once a call, in the context (``contextvars``) of the request that caused it.
        """

"""Values of a roll-out: the two arms, and what became of a shadow search."""

from enum import StrEnum


class Arm(StrEnum):
    """Which profile answers a request of mode auto."""

    OLD = "old"
    NEW = "new"


class ShadowOutcome(StrEnum):
    """``SAME``: equal heads. ``DEGRADED``: a source was out. ``DROPPED``: too many shadows were running."""

    SAME = "same"
    DIFFERENT = "different"
    FAILED = "failed"
    DEGRADED = "degraded"
    DROPPED = "dropped"

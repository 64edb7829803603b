"""Values of a roll-out: the two arms, and the outcomes of shadow searches."""

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

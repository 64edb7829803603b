"""Values of a roll-out: the two arms, and what became of a shadow search."""

from enum import StrEnum


class Arm(StrEnum):
    """Which profile answers a request of mode auto."""

    OLD = "old"
    NEW = "new"


class ShadowOutcome(StrEnum):
    """``SAME``: the heads agree in passages and order. ``DEGRADED``: a source was out, so nothing was compared.

    ``DROPPED``: too many shadows ran already.
    """

    SAME = "same"
    DIFFERENT = "different"
    FAILED = "failed"
    DEGRADED = "degraded"
    DROPPED = "dropped"

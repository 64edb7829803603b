"""Findings of GET /readyz, one per check."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from ragcorp.domain.exceptions import StorageUnavailableError


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """``reason`` and ``remedy`` are set where ``ok`` is false."""

    check: str
    ok: bool
    reason: str | None = None
    says: str = ""
    remedy: str | None = None

    def as_json(self) -> dict[str, str]:
        shown = {"check": self.check, "status": "ok" if self.ok else "failed", "reason": self.reason}
        shown |= {"detail": self.says or None, "remedy": self.remedy}
        return {name: value for name, value in shown.items() if value is not None}


class NotReadyError(StorageUnavailableError):
    """The service cannot serve. The first finding that is not ok gives message, reason and remedy."""

    findings: Sequence[Finding] = ()

    @classmethod
    def of(cls, findings: Sequence[Finding]) -> NotReadyError:
        first = next(finding for finding in findings if not finding.ok)
        error = cls(first.says, reason=first.reason or "unavailable", remedy=first.remedy)
        error.findings = tuple(findings)
        return error


Readiness = Callable[[], Awaitable[None]]
"""Raises a RagcorpError where the service cannot serve; NotReadyError where it could look."""

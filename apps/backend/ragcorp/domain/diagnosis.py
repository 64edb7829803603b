"""Facts about a database, and the findings of a check on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from ragcorp.domain.exceptions import RagcorpError, StorageUnavailableError


class CheckStatus(StrEnum):
    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One finding of the doctor, with its remedy."""

    name: str
    status: CheckStatus
    detail: str
    remedy: str | None = None

    @classmethod
    def ok(cls, name: str, detail: str) -> Check:
        return cls(name=name, status=CheckStatus.OK, detail=detail)

    @classmethod
    def skipped(cls, name: str, detail: str) -> Check:
        return cls(name=name, status=CheckStatus.SKIPPED, detail=detail)

    @classmethod
    def warning(cls, name: str, detail: str, remedy: str) -> Check:
        return cls(name=name, status=CheckStatus.WARNING, detail=detail, remedy=remedy)

    @classmethod
    def failed(cls, name: str, detail: str, remedy: str | None) -> Check:
        return cls(name=name, status=CheckStatus.FAILED, detail=detail, remedy=remedy)

    @classmethod
    def error(cls, name: str, error: RagcorpError) -> Check:
        return cls.failed(name, error.message, error.remedy)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFacts:
    """``vector`` is pgvector's version, None if the extension is not in the database."""

    version: str
    version_number: int
    vector: str | None
    has_spanish: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredModel:
    """The active embedding model."""

    name: str
    dimensions: int
    has_vectors: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """Contents of a migrated database; ``failed`` of the ``pending`` chunks and items are not tried again.

    ``stale_statistics`` are the workspaces whose search statistics are of an earlier state of their chunks.
    """

    documents: int
    chunks: int
    pending: int
    failed: int
    invalid_indexes: tuple[str, ...]
    stale_statistics: tuple[str, ...]
    model: StoredModel | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkFacts:
    """Facts about the database that a service on a network depends on.

    ``row_level_security`` is False if it is off for every table; ``unprotected`` are then all of them. ``unmarked``
    are statements that a superuser must still run, so that conditions under policies use their indexes. ``passages``
    are counted up to a bound. ``skew_seconds`` is how far the database's clock is ahead of this machine's.
    """

    keys: int
    active_keys: int
    sees_every_row: bool
    unprotected: tuple[str, ...]
    row_level_security: bool
    unmarked: tuple[str, ...]
    passages: int
    skew_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchFacts:
    """Facts that a search depends on. ``widths`` are those of stored vectors of the service's model."""

    revision: str | None
    widths: tuple[int, ...]
    invalid_indexes: tuple[str, ...]
    has_spanish: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One finding of /readyz; ``reason``, ``says`` and ``remedy`` are set if it is not ``ok``."""

    check: str
    ok: bool
    reason: str | None = None
    says: str = ""
    remedy: str | None = None

    def as_json(self) -> dict[str, str]:
        values = {
            "check": self.check,
            "status": "ok" if self.ok else "failed",
            "reason": self.reason,
            "detail": self.says or None,
            "remedy": self.remedy,
        }
        return {name: value for name, value in values.items() if value is not None}


class NotReadyError(StorageUnavailableError):
    """The service cannot serve. The first finding that is not ok gives message, reason and remedy."""

    findings: Sequence[Finding] = ()

    @classmethod
    def of(cls, findings: Sequence[Finding]) -> NotReadyError:
        first = next(finding for finding in findings if not finding.ok)
        error = cls(first.says, reason=first.reason or "unavailable", remedy=first.remedy)
        error.findings = tuple(findings)
        return error

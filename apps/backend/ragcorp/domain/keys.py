"""API keys: scopes, callers and their errors."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Literal

from ragcorp.domain.exceptions import InvalidInputError, RagcorpError
from ragcorp.domain.principal import Principal


class Scope(StrEnum):
    """Scopes of a key. ``tools``: an assistant's tools, that is /mcp and searching and reading files."""

    SEARCH = "search"
    ASK = "ask"
    INGEST = "ingest"
    TOOLS = "tools"
    ADMIN = "admin"

    @classmethod
    def parse(cls, names: Collection[str], *, field: str = "scopes") -> frozenset[Scope]:
        """Raises InvalidInputError for an unknown name, or for none at all."""
        if names and set(names) <= set(cls):
            return frozenset(map(cls, names))
        raise InvalidInputError(
            "A scope is missing or unknown.",
            field=field,
            limit=", ".join(cls),
            remedy="Name one or several of these, with commas between.",
        )


EVERY_SCOPE = frozenset(Scope)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """A stored key, without its secret. ``id`` is the part before the dot and not secret."""

    id: str
    name: str
    principal: Principal
    scopes: frozenset[Scope]
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    last_used_at: datetime | None = None

    def is_active(self, now: datetime) -> bool:
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The sender of a request, the local user if ``key_id`` is None. Without scope ``tools`` it reads no files."""

    principal: Principal
    scopes: frozenset[Scope]
    key_id: str | None = None

    def __post_init__(self) -> None:
        if Scope.TOOLS not in self.scopes and self.principal.may_read_files:
            object.__setattr__(self, "principal", replace(self.principal, may_read_files=False))


LOCAL_CALLER = Caller(principal=Principal(), scopes=EVERY_SCOPE)


class UnauthenticatedError(RagcorpError):
    """The key is missing or invalid. The message does not say what is wrong with it."""

    code = "unauthenticated"

    def __init__(self) -> None:
        super().__init__(
            "A valid key is needed.",
            field="Authorization",
            limit="Bearer <id>.<secret>",
            remedy="Send one; `ragcorp keys create` makes it.",
        )


class ForbiddenError(RagcorpError):
    """The key is valid but lacks the scope."""

    code = "forbidden"

    def __init__(self, scope: Scope) -> None:
        super().__init__(
            f"The key may not do this: it lacks the scope {scope}.",
            field="Authorization",
            limit=scope,
            remedy="Use a key that has the scope; `ragcorp keys create --scopes` makes one.",
        )


KeyLimit = Literal["rate", "concurrency", "tokens"]
"""The limits of a key."""


class TooManyRequestsError(RagcorpError):
    """The key exceeds the limit ``reason``. ``retry_after_seconds``: when to retry."""

    code = "too_many_requests"
    reason: KeyLimit

    def __init__(self, message: str, *, reason: KeyLimit, retry_after_seconds: float, limit: str, remedy: str) -> None:
        super().__init__(message, field="Authorization", limit=limit, remedy=remedy, reason=reason)
        self.retry_after_seconds = retry_after_seconds

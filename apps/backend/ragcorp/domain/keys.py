"""Keys of the service: who calls, and what the caller may do."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Literal

from ragcorp.domain.exceptions import InvalidInputError, RagcorpError
from ragcorp.domain.principal import Principal


class Scope(StrEnum):
    """What a key allows. ``tools`` are those of an assistant: /mcp, searching and reading files."""

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
    """A key as it is stored: without its secret. ``id`` is the part before the dot, and may be shown."""

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
    """Who sends a request, from its credential. Without one (``key_id`` None) it is the local user of a loopback.

    Without the scope ``tools`` the principal may read no files: searches and answers ask the principal, not the scopes.
    """

    principal: Principal
    scopes: frozenset[Scope]
    key_id: str | None = None

    def __post_init__(self) -> None:
        if Scope.TOOLS not in self.scopes and self.principal.may_read_files:
            object.__setattr__(self, "principal", replace(self.principal, may_read_files=False))


LOCAL_CALLER = Caller(principal=Principal(), scopes=EVERY_SCOPE)


class UnauthenticatedError(RagcorpError):
    """There is no key, or none that is valid. What is wrong with one is not told."""

    code = "unauthenticated"

    def __init__(self) -> None:
        super().__init__(
            "A valid key is needed.",
            field="Authorization",
            limit="Bearer <id>.<secret>",
            remedy="Send one; `ragcorp keys create` makes it.",
        )


class ForbiddenError(RagcorpError):
    """The key is valid and lacks the scope."""

    code = "forbidden"

    def __init__(self, scope: Scope) -> None:
        super().__init__(
            f"The key may not do this: it lacks the scope {scope}.",
            field="Authorization",
            limit=scope,
            remedy="Use a key that has the scope; `ragcorp keys create --scopes` makes one.",
        )


KeyLimit = Literal["rate", "concurrency", "tokens"]
"""What of a key is limited."""


class TooManyRequestsError(RagcorpError):
    """The key is over the limit ``reason``. ``retry_after_seconds``: when it will not be."""

    code = "too_many_requests"

    def __init__(self, message: str, *, reason: KeyLimit, retry_after_seconds: float, limit: str, remedy: str) -> None:
        super().__init__(message, field="Authorization", limit=limit, remedy=remedy)
        self.reason = reason
        self.retry_after_seconds = retry_after_seconds

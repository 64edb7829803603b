"""Port of answers to writes that are sent again under one Idempotency-Key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class IdempotencyName:
    """Under what a write is known. ``caller`` is the id of an API key, empty for the local user."""

    workspace: str
    caller: str
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptResponse:
    """How a write was answered. ``fingerprint`` is of the request: method, path, query and body."""

    fingerprint: bytes
    status: int
    headers: Sequence[tuple[str, str]]
    body: bytes


class Working:
    """Another request works under that name."""


class IdempotencyStore(Protocol):
    """Names in use and answers given. Outages are a StorageUnavailableError.

    Whoever claims a name holds it for a lease, which it renews; a lease that ended may be taken over. ``owner`` is the
    claimant's own random value: it alone renews, completes and releases.
    """

    async def claim(
        self, name: IdempotencyName, *, owner: bytes, lease_seconds: float
    ) -> KeptResponse | Working | None:
        """Take the name and return None; otherwise return what stands there."""
        ...

    async def renew(self, name: IdempotencyName, *, owner: bytes) -> None: ...

    async def complete(self, name: IdempotencyName, response: KeptResponse, *, owner: bytes) -> None: ...

    async def release(self, name: IdempotencyName, *, owner: bytes) -> None:
        """Forget the name, so that the same write may be sent again."""
        ...

    async def purge(self, *, older_than_hours: float) -> int:
        """Forget the answers of all workspaces that are older, and return how many there were."""
        ...

"""Ports of API keys: their store, the authenticator, and the tokens they use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Protocol

from ragcorp.domain.keys import ApiKey, Caller


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredKey:
    """A key with the HMAC-SHA256 (32 bytes) of its secret."""

    key: ApiKey
    digest: bytes


class KeyStore(Protocol):
    """Keys of all workspaces. Outages are a StorageUnavailableError."""

    async def secret(self) -> bytes:
        """Return the database's own secret for HMACs, for installations that set none."""
        ...

    async def add(self, stored: StoredKey) -> None: ...

    async def find(self, key_id: str) -> StoredKey | None: ...

    async def list(self, *, workspace: str | None = None) -> Sequence[ApiKey]:
        """Return all keys, or a workspace's, revoked ones too: the newest first."""
        ...

    async def revoke(self, key_id: str, *, at: datetime) -> bool:
        """Return whether there is such a key; one that is revoked stays so."""
        ...

    async def used(self, key_id: str, *, at: datetime) -> None:
        """Remember when a key was used last."""
        ...

    async def any_exists(self) -> bool:
        """Say whether a key was ever made here, revoked or not."""
        ...


class Authenticator(Protocol):
    """Tells who calls."""

    async def caller(self, credential: str | None) -> Caller:
        """Return the caller for ``id.secret``, or for no credential at all.

        Raises UnauthenticatedError: the same for a credential that is unknown, wrong, expired, revoked or malformed,
        and for none where a key exists. Raises StorageUnavailableError where that cannot be told.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenAccount:
    """Whose tokens are counted."""

    workspace: str
    key_id: str


class TokenUsageStore(Protocol):
    """Tokens by key and UTC day. Outages are a StorageUnavailableError."""

    async def used(self, account: TokenAccount, *, day: date) -> int: ...

    async def add(self, tokens: Mapping[tuple[TokenAccount, date], int]) -> None:
        """Add to what is stored; a key that was removed meanwhile is left out."""
        ...

"""Ports of API keys: their store, the authenticator, and the tokens they use."""

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
        """Return the database's secret for HMACs, for installations without KEYS_SECRET."""

    async def add(self, stored: StoredKey) -> None: ...

    async def find(self, key_id: str) -> StoredKey | None: ...

    async def list(self, *, workspace: str | None = None) -> Sequence[ApiKey]:
        """Return all keys, or a workspace's, with revoked ones, the newest first."""

    async def revoke(self, key_id: str, *, at: datetime) -> bool:
        """Return whether the key exists; a revoked key stays revoked."""

    async def used(self, key_id: str, *, at: datetime) -> None:
        """Store when a key was last used."""

    async def any_exists(self) -> bool:
        """Return whether a key was ever created, revoked or not."""


class Authenticator(Protocol):
    """Identifies the caller of a request."""

    async def caller(self, credential: str | None) -> Caller:
        r"""Return the caller; without a credential the local user, while there is no key.

        Raises the same UnauthenticatedError for every bad credential, and StorageUnavailableError.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenAccount:
    """The key whose tokens are counted."""

    workspace: str
    key_id: str


class TokenUsageStore(Protocol):
    """Tokens by key and UTC day. Outages are a StorageUnavailableError."""

    async def used(self, account: TokenAccount, *, day: date) -> int: ...

    async def add(self, tokens: Mapping[tuple[TokenAccount, date], int]) -> None:
        """Add to the stored sums; removed keys are skipped."""

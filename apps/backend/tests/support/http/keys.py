"""Keys in memory, and an authenticator over them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from ragcorp.application.keys.authenticate import Authenticate
from ragcorp.application.keys.create import CreatedKey, CreateKey, KeyRequest
from ragcorp.application.keys.credentials import CredentialDigests
from ragcorp.domain.exceptions import StorageUnavailableError
from ragcorp.domain.keys import LOCAL_CALLER, ApiKey, Scope
from ragcorp.domain.ports.keys import StoredKey
from ragcorp.domain.principal import Sensitivity

START = datetime(2026, 11, 2, tzinfo=UTC)
TRUST = 5.0


class MemoryKeys:
    """The port KeyStore, with switches that take it out: it refuses, or hangs until ``thaw``, cancelled or not."""

    def __init__(self) -> None:
        self.stored: dict[str, StoredKey] = {}
        self.out = False
        self.lookups = 0
        self.noted: list[datetime] = []
        self.hanging = 0
        self._thawed = asyncio.Event()
        self._thawed.set()

    def freeze(self) -> None:
        self._thawed.clear()

    def thaw(self) -> None:
        self._thawed.set()

    async def _hang(self) -> None:
        self.hanging += 1
        cancelled = False
        while not self._thawed.is_set():
            try:
                await self._thawed.wait()
            except asyncio.CancelledError:
                cancelled = True
        self.hanging -= 1
        if cancelled:
            raise asyncio.CancelledError

    def _answer(self) -> None:
        if self.out:
            raise StorageUnavailableError("out", reason="unreachable")

    async def secret(self) -> bytes:
        self._answer()
        return b"of the database"

    async def add(self, stored: StoredKey) -> None:
        self.stored[stored.key.id] = stored

    async def find(self, key_id: str) -> StoredKey | None:
        self.lookups += 1
        await self._hang()
        self._answer()
        return self.stored.get(key_id)

    async def list(self, *, workspace: str | None = None) -> Sequence[ApiKey]:
        return [item.key for item in self.stored.values()]

    async def revoke(self, key_id: str, *, at: datetime) -> bool:
        held = self.stored[key_id]
        self.stored[key_id] = replace(held, key=replace(held.key, revoked_at=at))
        return True

    async def used(self, key_id: str, *, at: datetime) -> None:
        self._answer()
        self.noted.append(at)

    async def any_exists(self) -> bool:
        self.lookups += 1
        await self._hang()
        self._answer()
        return bool(self.stored)


class KeyWorld:
    """Keys in memory, with a clock that stands until it is set."""

    def __init__(self, *, secret: str = "", lookup_seconds: float = 2.0) -> None:
        self.store = MemoryKeys()
        self.seconds = 0.0
        self.drawn = 0
        digests = CredentialDigests(store=self.store, secret=secret)
        self.create = CreateKey(store=self.store, digests=digests, random=self._random, now=self.now)
        self.authenticate = Authenticate(
            store=self.store,
            digests=digests,
            local=LOCAL_CALLER,
            trust_seconds=TRUST,
            clock=lambda: self.seconds,
            now=self.now,
            lookup_seconds=lookup_seconds,
        )

    def now(self) -> datetime:
        return START + timedelta(seconds=self.seconds)

    def _random(self, count: int) -> bytes:
        self.drawn += 1
        return bytes((self.drawn * 31 + number * 7) % 256 for number in range(count))

    async def key(
        self, *scopes: Scope, workspace: str = "ventas", days: float | None = None, subject: str | None = None
    ) -> CreatedKey:
        return await self.create.create(
            KeyRequest(
                scopes=frozenset(scopes or {Scope.ASK}),
                workspace=workspace,
                subject=subject,
                groups=frozenset({"jefes"}),
                clearance=Sensitivity.CONFIDENTIAL,
                expires_in_days=days,
            )
        )

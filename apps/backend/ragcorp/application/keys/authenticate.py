"""Authenticates callers by credential; known keys stay valid for a while during a database outage."""

import asyncio
import hmac
import logging
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from cachetools import LRUCache

from ragcorp.application.keys.credentials import CredentialDigests, key_id_of
from ragcorp.application.resilience.time_bound import run_until
from ragcorp.domain.exceptions import RagcorpError, StorageUnavailableError
from ragcorp.domain.keys import Caller, UnauthenticatedError
from ragcorp.domain.ports.keys import KeyStore, StoredKey

logger = logging.getLogger(__name__)

EXISTENCE_SECONDS = 1.0
"""How long the answer to "does any key exist" is cached."""

OUTAGE_SECONDS = 300.0
"""How long a known key stays valid during a database outage."""

RETRY_SECONDS = 1.0
"""Pause after a failed lookup: known keys are accepted, others refused, without a query."""

LOOKUP_SECONDS = 2.0
USED_SECONDS = 60.0
"""Interval between records of a key's last use."""

MAX_CACHED_KEYS = 10_000
MOST_LOOKUPS = 4
"""Concurrent lookups: a flood of wrong keys must not occupy all connections."""

MOST_REFRESHES = 2
"""Concurrent lookups of keys that were valid recently; wrong keys do not delay them."""

MOST_WAITING = 1000
"""Waiting lookups; further ones are refused at once."""

NO_DIGEST = bytes(32)

Result = TypeVar("Result")


@dataclass(slots=True)
class _CachedKey:
    stored: StoredKey
    looked_up: float
    used: float | None = None


class Authenticate:
    """The port Authenticator over a KeyStore.

    A valid key is trusted for ``trust_seconds``. A wrong credential is looked up each time, so neither the answer nor
    its time reveals whether the id exists. ``clock`` is monotonic, in seconds; keys expire by ``now``. A lookup takes
    at most ``lookup_seconds``, waiting included.
    """

    def __init__(
        self,
        *,
        store: KeyStore,
        digests: CredentialDigests,
        local: Caller,
        trust_seconds: float,
        clock: Callable[[], float],
        now: Callable[[], datetime],
        lookup_seconds: float = LOOKUP_SECONDS,
    ) -> None:
        self._store = store
        self._digests = digests
        self._local = local
        self._trust_seconds = trust_seconds
        self._clock = clock
        self._now = now
        self._lookup_seconds = lookup_seconds
        self._cache: LRUCache[str, _CachedKey] = LRUCache(maxsize=MAX_CACHED_KEYS)
        self._lookups = asyncio.Semaphore(MOST_LOOKUPS)
        self._refreshes = asyncio.Semaphore(MOST_REFRESHES)
        self._existence = asyncio.Semaphore(1)
        self._waiting = 0
        self._looking_for_any = asyncio.Lock()
        self._any_exists: bool | None = None
        self._any_queried = 0.0
        self._out_until: float | None = None
        self._noting: set[asyncio.Task[None]] = set()

    async def caller(self, credential: str | None) -> Caller:
        if credential is None:
            if await self.any_exists():
                raise UnauthenticatedError
            return self._local
        key_id = key_id_of(credential)
        if key_id is None:
            hmac.compare_digest(NO_DIGEST, hmac.digest(NO_DIGEST, credential.encode(errors="replace"), "sha256"))
            raise UnauthenticatedError
        cached = await self._verified(key_id, credential)
        if cached is None or not cached.stored.key.is_active(self._now()):
            raise UnauthenticatedError
        self._note_use(cached)
        key = cached.stored.key
        return Caller(principal=key.principal, scopes=key.scopes, key_id=key.id)

    async def any_exists(self) -> bool:
        """Return whether a key was ever made; in an outage the last answer, else raises StorageUnavailableError."""
        if self._any_exists is not None and self._in_outage():
            return self._any_exists
        if self._any_exists is None or self._clock() - self._any_queried >= EXISTENCE_SECONDS:
            async with self._looking_for_any:
                if self._any_exists is None or self._clock() - self._any_queried >= EXISTENCE_SECONDS:
                    await self._query_any()
        if self._any_exists is None:
            raise _unavailable()
        return self._any_exists

    async def aclose(self) -> None:
        """Wait, in bounded time, until the last uses are recorded."""
        if self._noting:
            _, late = await asyncio.wait(self._noting, timeout=LOOKUP_SECONDS)
            for task in late:
                task.cancel()

    async def _query_any(self) -> None:
        try:
            self._any_exists = await self._query(self._store.any_exists, lane=self._existence)
        except StorageUnavailableError:
            if self._any_exists is None:
                raise
        self._any_queried = self._clock()

    async def _verified(self, key_id: str, credential: str) -> _CachedKey | None:
        """Return the key of a credential, from memory or from the store."""
        cached = await self._remembered(key_id, credential, self._trust_seconds)
        if cached is not None:
            return cached
        outage_key = await self._remembered(key_id, credential, OUTAGE_SECONDS)

        async def look_up() -> _CachedKey | None:
            cached = await self._remembered(key_id, credential, self._trust_seconds)  # another lookup may have found it
            if cached is not None:
                return cached
            started = self._clock()
            return self._compared(
                key_id, await self._store.find(key_id), await self._digests.of(credential), looked_up=started
            )

        try:
            return await self._query(look_up, lane=self._lookups if outage_key is None else self._refreshes)
        except StorageUnavailableError:
            if outage_key is None:
                raise
            return outage_key

    async def _remembered(self, key_id: str, credential: str, seconds: float) -> _CachedKey | None:
        cached = self._cache.get(key_id)
        if cached is None or self._clock() - cached.looked_up >= seconds:
            return None
        return cached if hmac.compare_digest(cached.stored.digest, await self._digests.of(credential)) else None

    def _compared(self, key_id: str, stored: StoredKey | None, digest: bytes, *, looked_up: float) -> _CachedKey | None:
        before = self._cache.get(key_id)
        if not hmac.compare_digest(stored.digest if stored else NO_DIGEST, digest) or stored is None:
            if stored is None:
                self._cache.pop(key_id, None)
            return None
        cached = _CachedKey(stored=stored, looked_up=looked_up, used=before.used if before else None)
        self._cache[key_id] = cached
        return cached

    async def _query(self, query: Callable[[], Coroutine[Any, Any, Result]], *, lane: asyncio.Semaphore) -> Result:
        """Query the store in bounded time. A hung query keeps its place in the lane: hung connections stay bounded."""
        if self._in_outage() or self._waiting >= MOST_WAITING:
            raise _unavailable()
        if self._out_until is not None:  # this query probes the database; others are refused until it ends
            self._out_until = self._clock() + self._lookup_seconds

        async def in_turn() -> Result:
            async with lane:
                return await query()

        self._waiting += 1
        try:
            result = await run_until(asyncio.get_running_loop().time() + self._lookup_seconds, in_turn())
        except TimeoutError:
            self._out_until = self._clock() + RETRY_SECONDS
            raise _unavailable("timeout") from None
        except StorageUnavailableError:
            self._out_until = self._clock() + RETRY_SECONDS
            raise
        finally:
            self._waiting -= 1
        self._out_until = None
        return result

    def _in_outage(self) -> bool:
        return self._out_until is not None and self._clock() < self._out_until

    def _note_use(self, cached: _CachedKey) -> None:
        if self._in_outage() or (cached.used is not None and self._clock() - cached.used < USED_SECONDS):
            return
        cached.used = self._clock()
        task = asyncio.create_task(self._note(cached.stored.key.id, self._now()), name="last use of a key")
        self._noting.add(task)
        task.add_done_callback(self._noting.discard)

    async def _note(self, key_id: str, at: datetime) -> None:
        try:
            await self._store.used(key_id, at=at)
        except RagcorpError as error:
            logger.info("the last use of a key was not noted: %s", error.code)


def _unavailable(reason: str = "unreachable") -> StorageUnavailableError:
    return StorageUnavailableError(
        "The keys cannot be looked up at the moment.", reason=reason, remedy="Try again; `ragcorp doctor` tells more."
    )

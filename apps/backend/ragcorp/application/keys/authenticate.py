"""Authenticates callers by credential, for a while even during an outage of the database."""

from __future__ import annotations

import asyncio
import hmac
import logging
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from ragcorp.application.keys.credentials import CredentialDigests, key_id_of
from ragcorp.application.resilience.time_bound import run_until
from ragcorp.domain.exceptions import RagcorpError, StorageUnavailableError
from ragcorp.domain.keys import Caller, UnauthenticatedError
from ragcorp.domain.ports.keys import KeyStore, StoredKey

logger = logging.getLogger(__name__)

EXISTENCE_SECONDS = 1.0
"""How long the answer to "does any key exist" is cached."""

OUTAGE_SECONDS = 300.0
"""How long a cached key stays valid during an outage of the database."""

RETRY_SECONDS = 1.0
"""Pause after a failed lookup: cached keys are used, other credentials refused."""

LOOKUP_SECONDS = 2.0
USED_SECONDS = 60.0
"""Interval at which a key's last use is written."""

MOST_KNOWN = 10_000
MOST_LOOKUPS = 4
"""Concurrent lookups: a flood of wrong keys queues here and leaves the other connections alone."""

MOST_REFRESHES = 2
"""Concurrent lookups of keys that were valid recently; wrong keys do not delay them."""

MOST_WAITING = 1000
"""Waiting lookups; more are refused at once."""

NO_DIGEST = bytes(32)

Result = TypeVar("Result")


@dataclass(slots=True)
class _Known:
    stored: StoredKey
    looked_up: float
    used: float | None = None


class Authenticate:
    """The port Authenticator over a KeyStore.

    A valid key is trusted for ``trust_seconds``; a wrong credential is looked up each time, whether its id exists or
    not, so that neither response nor timing differs. ``clock`` is monotonic seconds; keys expire by ``now``. A lookup
    takes at most ``lookup_seconds``, waiting included.
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
        self._cache: OrderedDict[str, _Known] = OrderedDict()
        self._lookups = asyncio.Semaphore(MOST_LOOKUPS)
        self._refreshes = asyncio.Semaphore(MOST_REFRESHES)
        self._existence = asyncio.Semaphore(1)
        self._waiting = 0
        self._checking_any = asyncio.Lock()
        self._any_exists: bool | None = None
        self._any_checked = 0.0
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
        known = await self._verified(key_id, credential)
        if known is None or not known.stored.key.is_active(self._now()):
            raise UnauthenticatedError
        self._note_use(known)
        key = known.stored.key
        return Caller(principal=key.principal, scopes=key.scopes, key_id=key.id)

    async def any_exists(self) -> bool:
        """Return whether a key was ever created; during an outage, the last answer.

        Raises StorageUnavailableError without one.
        """
        if self._any_exists is not None and self._is_out():
            return self._any_exists
        if self._any_exists is None or self._clock() - self._any_checked >= EXISTENCE_SECONDS:
            async with self._checking_any:
                if self._any_exists is None or self._clock() - self._any_checked >= EXISTENCE_SECONDS:
                    await self._check_any()
        if self._any_exists is None:
            raise _out()
        return self._any_exists

    async def aclose(self) -> None:
        """Write the last uses in bounded time."""
        if self._noting:
            _, late = await asyncio.wait(self._noting, timeout=LOOKUP_SECONDS)
            for task in late:
                task.cancel()

    async def _check_any(self) -> None:
        try:
            self._any_exists = await self._query(self._store.any_exists, lane=self._existence)
        except StorageUnavailableError:
            if self._any_exists is None:
                raise
        self._any_checked = self._clock()

    async def _verified(self, key_id: str, credential: str) -> _Known | None:
        """Return the key of the credential, from the cache or the store."""
        found = await self._remembered(key_id, credential, self._trust_seconds)
        if found is not None:
            return found
        in_an_outage = await self._remembered(key_id, credential, OUTAGE_SECONDS)

        async def look_up() -> _Known | None:
            found = await self._remembered(key_id, credential, self._trust_seconds)  # looked up while this one waited
            if found is not None:
                return found
            started = self._clock()
            return self._compared(
                key_id, await self._store.find(key_id), await self._digests.of(credential), looked_up=started
            )

        try:
            return await self._query(look_up, lane=self._lookups if in_an_outage is None else self._refreshes)
        except StorageUnavailableError:
            if in_an_outage is None:
                raise
            return in_an_outage

    async def _remembered(self, key_id: str, credential: str, seconds: float) -> _Known | None:
        known = self._cache.get(key_id)
        if known is None or self._clock() - known.looked_up >= seconds:
            return None
        self._cache.move_to_end(key_id)
        return known if hmac.compare_digest(known.stored.digest, await self._digests.of(credential)) else None

    def _compared(self, key_id: str, stored: StoredKey | None, digest: bytes, *, looked_up: float) -> _Known | None:
        before = self._cache.get(key_id)
        if not hmac.compare_digest(stored.digest if stored else NO_DIGEST, digest) or stored is None:
            if stored is None:
                self._cache.pop(key_id, None)
            return None
        known = _Known(stored=stored, looked_up=looked_up, used=before.used if before else None)
        self._cache[key_id] = known
        self._cache.move_to_end(key_id)
        if len(self._cache) > MOST_KNOWN:
            self._cache.popitem(last=False)
        return known

    async def _query(self, query: Callable[[], Coroutine[Any, Any, Result]], *, lane: asyncio.Semaphore) -> Result:
        """Query the store in bounded time and concurrency; not at all shortly after an outage.

        A query that hangs is left behind and keeps its place in ``lane``, so that no more connections hang than that.
        """
        if self._is_out() or self._waiting >= MOST_WAITING:
            raise _out()
        if self._out_until is not None:  # this one probes; the others wait for its result
            self._out_until = self._clock() + self._lookup_seconds

        async def in_lane() -> Result:
            async with lane:
                return await query()

        self._waiting += 1
        try:
            found = await run_until(asyncio.get_running_loop().time() + self._lookup_seconds, in_lane())
        except TimeoutError:
            self._out_until = self._clock() + RETRY_SECONDS
            raise _out("timeout") from None
        except StorageUnavailableError:
            self._out_until = self._clock() + RETRY_SECONDS
            raise
        finally:
            self._waiting -= 1
        self._out_until = None
        return found

    def _is_out(self) -> bool:
        return self._out_until is not None and self._clock() < self._out_until

    def _note_use(self, known: _Known) -> None:
        if self._is_out() or (known.used is not None and self._clock() - known.used < USED_SECONDS):
            return
        known.used = self._clock()
        task = asyncio.create_task(self._note(known.stored.key.id, self._now()), name="last use of a key")
        self._noting.add(task)
        task.add_done_callback(self._noting.discard)

    async def _note(self, key_id: str, at: datetime) -> None:
        try:
            await self._store.used(key_id, at=at)
        except RagcorpError as error:
            logger.info("the last use of a key was not noted: %s", error.code)


def _out(reason: str = "unreachable") -> StorageUnavailableError:
    return StorageUnavailableError(
        "The keys cannot be looked up at the moment.", reason=reason, remedy="Try again; `ragcorp doctor` tells more."
    )

"""Use case: revoke a key."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from ragcorp.application.keys.credentials import KEY_ID
from ragcorp.domain.exceptions import NotFoundError
from ragcorp.domain.ports.keys import KeyStore


@dataclass(frozen=True, slots=True, kw_only=True)
class RevokeKey:
    """Ends a key for good. A running service notices within KEY_CACHE_SECONDS."""

    store: KeyStore
    now: Callable[[], datetime]

    async def revoke(self, key_id: str) -> None:
        """Raises NotFoundError where there is no such key; one that is revoked stays so."""
        if not KEY_ID.fullmatch(key_id) or not await self.store.revoke(key_id, at=self.now()):
            raise NotFoundError(
                "There is no key of this id.",
                field="id",
                remedy="`ragcorp keys list` shows the ids; an id is the part of a key before the dot.",
            )

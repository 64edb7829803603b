"""Use case: list the keys."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from ragcorp.domain.keys import ApiKey
from ragcorp.domain.ports.keys import KeyStore


class KeyState(StrEnum):
    ACTIVE = "active"
    EXPIRED = "expired"
    REVOKED = "revoked"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedKey:
    """A key and whether it opens anything now."""

    key: ApiKey
    state: KeyState


@dataclass(frozen=True, slots=True, kw_only=True)
class ListKeys:
    """Lists all keys or those of a workspace, expired and revoked ones too, the newest first."""

    store: KeyStore
    now: Callable[[], datetime]

    async def list(self, *, workspace: str | None = None) -> Sequence[ListedKey]:
        now = self.now()
        return [ListedKey(key=key, state=_state(key, now)) for key in await self.store.list(workspace=workspace)]


def _state(key: ApiKey, now: datetime) -> KeyState:
    if key.is_active(now):
        return KeyState.ACTIVE
    return KeyState.EXPIRED if key.revoked_at is None else KeyState.REVOKED

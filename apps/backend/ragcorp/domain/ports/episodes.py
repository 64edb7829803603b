"""Port of episodes: the entities shown in each turn."""

from typing import Protocol

from ragcorp.domain.principal import Principal
from ragcorp.domain.structure.entities import EntityIdentity
from ragcorp.domain.structure.hydration import Hydration, RecordedTurn


class EpisodeStore(Protocol):
    """Episodes by workspace, subject and episode_id. Outages are a StorageUnavailableError."""

    async def hydrated(self, episode_id: str, *, principal: Principal, limit: int) -> tuple[EntityIdentity, ...]:
        """Return the distinct entities of earlier turns: the latest turn first, then by position."""

    async def record(self, hydration: Hydration, *, query: str, principal: Principal) -> int:
        """Store the next turn of the hydration's episode and return its number (from 1)."""

    async def read(self, episode_id: str, *, principal: Principal, turn: int | None = None) -> RecordedTurn:
        """Return a turn, by default the latest, without unreadable entities. Raises NotFoundError."""

    async def purge(self, *, older_than_days: float) -> int:
        """Delete older turns, and episodes without turns; return the number of turns."""

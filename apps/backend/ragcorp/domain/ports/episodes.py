"""Port of episodes: the entities shown in each turn."""

from typing import Protocol

from ragcorp.domain.principal import Principal
from ragcorp.domain.structure.entities import EntityIdentity
from ragcorp.domain.structure.hydration import Hydration, RecordedTurn


class EpisodeStore(Protocol):
    """Episodes by (workspace, subject, episode_id): one caller's is never another's.

    Outages are a StorageUnavailableError.
    """

    async def hydrated(self, episode_id: str, *, principal: Principal, limit: int) -> tuple[EntityIdentity, ...]:
        """Return the distinct entities of earlier turns: the latest turn first, then by position."""

    async def record(self, hydration: Hydration, *, query: str, principal: Principal) -> int:
        """Store the next turn of the hydration's episode and return its number (from 1)."""

    async def read(self, episode_id: str, *, principal: Principal, turn: int | None = None) -> RecordedTurn:
        """Return a turn, the latest by default, without entities that the principal may not read now.

        Raises NotFoundError for an unknown episode or turn.
        """

    async def purge(self, *, older_than_days: float) -> int:
        """Delete older turns, and episodes without turns; return the number of turns."""

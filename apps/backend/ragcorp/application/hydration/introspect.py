"""Use case: tell what a turn of an episode showed, and why."""

from __future__ import annotations

from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.ports.episodes import EpisodeStore
from ragcorp.domain.principal import Principal
from ragcorp.domain.structure.hydration import MAX_EPISODE_ID, RecordedTurn
from ragcorp.domain.text.checks import require_length, require_storable

MAX_TURN = 2**31 - 1


class IntrospectHydration:
    """Reads recorded turns. What the caller may not read today is counted, and not told."""

    def __init__(self, *, episodes: EpisodeStore) -> None:
        self._episodes = episodes

    async def introspect(self, episode_id: str, *, principal: Principal, turn: int | None = None) -> RecordedTurn:
        """Return a turn, the latest unless one is named.

        Raises InvalidInputError for a name or number that no episode has, NotFoundError where the caller has none such.
        """
        require_length(episode_id, field="episode_id", limit=MAX_EPISODE_ID, minimum=1)
        require_storable(episode_id, field="episode_id")
        if turn is not None and (type(turn) is not int or not 1 <= turn <= MAX_TURN):
            raise InvalidInputError(
                "turn is no number of a turn.",
                field="turn",
                limit=f"1 to {MAX_TURN}",
                remedy="Turns count from 1; leave it out for the latest.",
            )
        return await self._episodes.read(episode_id, principal=principal, turn=turn)

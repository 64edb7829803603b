"""Use case: show the entities of a recorded turn, with their reasons."""

from dataclasses import dataclass

from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.ports.episodes import EpisodeStore
from ragcorp.domain.principal import Principal
from ragcorp.domain.structure.hydration import MAX_EPISODE_ID, RecordedTurn
from ragcorp.domain.text.checks import require_length, require_storable

MAX_TURN = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class IntrospectHydration:
    """Reads recorded turns. Entities that the caller may no longer read are only counted."""

    episodes: EpisodeStore

    async def introspect(self, episode_id: str, *, principal: Principal, turn: int | None = None) -> RecordedTurn:
        """Return a turn, by default the latest. Raises InvalidInputError or NotFoundError."""
        require_length(episode_id, field="episode_id", limit=MAX_EPISODE_ID, minimum=1)
        require_storable(episode_id, field="episode_id")
        if turn is not None and (type(turn) is not int or not 1 <= turn <= MAX_TURN):
            raise InvalidInputError(
                "turn is not a valid number.",
                field="turn",
                limit=f"1 to {MAX_TURN}",
                remedy="Turns count from 1; leave it out for the latest.",
            )
        return await self.episodes.read(episode_id, principal=principal, turn=turn)

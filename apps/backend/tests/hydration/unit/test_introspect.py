"""What may be asked of an episode."""

from __future__ import annotations

from typing import Any

import pytest

from ragcorp.application.hydration.introspect import IntrospectHydration
from ragcorp.domain.exceptions import InvalidInputError
from support.storage.stored import ANYONE

pytestmark = pytest.mark.anyio

NOT_ASKED: Any = None


@pytest.mark.parametrize("turn", [0, -1, 2**31, "1", True, 1.5])
async def test_what_is_no_number_of_a_turn_is_refused(turn: Any) -> None:
    with pytest.raises(InvalidInputError) as refused:
        await IntrospectHydration(episodes=NOT_ASKED).introspect("e", principal=ANYONE, turn=turn)
    assert (refused.value.field, refused.value.limit) == ("turn", "1 to 2147483647")


@pytest.mark.parametrize("episode_id", ["", "e" * 201, "a\x00", "\ud800"])
async def test_what_is_no_name_of_an_episode_is_refused(episode_id: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        await IntrospectHydration(episodes=NOT_ASKED).introspect(episode_id, principal=ANYONE)
    assert refused.value.field == "episode_id"

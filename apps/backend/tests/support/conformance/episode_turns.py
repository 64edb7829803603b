"""What a turn needs of an EpisodeStore: that turns are recorded, and what earlier ones showed."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from ragcorp.domain.principal import Principal
from support.hydration.episodes import left_out, record, shown
from support.storage.stored import ANYONE

pytestmark = pytest.mark.anyio

A, B, C, D = (f"auth.go::{name}" for name in "abcd")


class TurnsOfEpisodes:
    @pytest.fixture
    async def store(self) -> Any:
        raise NotImplementedError

    @pytest.fixture
    async def auth(self) -> UUID:
        """The id of a document with the functions a to d, which everyone may read."""
        raise NotImplementedError

    async def test_turns_are_counted_for_each_episode(self, store: Any, auth: UUID) -> None:
        assert [await record(store, "e", shown(A, auth)) for _ in range(3)] == [1, 2, 3]
        assert await record(store, "other") == 1

    async def test_what_was_shown_comes_back_latest_turn_first_each_once(self, store: Any, auth: UUID) -> None:
        await record(store, "e", shown(A, auth), shown(B, auth, position=2))
        await record(store, "e", shown(C, auth), shown(A, auth, position=2))
        await record(store, "other", shown(D, auth))
        keys = [identity.key for identity in await store.hydrated("e", principal=ANYONE, limit=10)]
        assert keys == [C, A, B]
        first = await store.hydrated("e", principal=ANYONE, limit=2)
        assert [identity.key for identity in first] == [C, A]

    async def test_what_was_dropped_was_not_shown(self, store: Any, auth: UUID) -> None:
        await record(store, "e", dropped=[left_out(A, auth)])
        assert await store.hydrated("e", principal=ANYONE, limit=10) == ()

    @pytest.mark.parametrize("other", [Principal(subject="beto"), Principal(workspace="otra")])
    async def test_an_episode_of_another_caller_is_another(self, store: Any, auth: UUID, other: Principal) -> None:
        await record(store, "e", shown(A, auth))
        assert await store.hydrated("e", principal=other, limit=10) == ()
        assert await record(store, "e", principal=other) == 1
        assert [item.key for item in await store.hydrated("e", principal=ANYONE, limit=10)] == [A]

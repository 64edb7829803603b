"""PostgreSQL, and what tests of hydration keep in memory, as stores of the turns of episodes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from uuid import UUID, uuid4

import pytest

from ragcorp.infrastructure.postgres.connections.database import Database
from ragcorp.infrastructure.postgres.episodes.store import PostgresEpisodeStore
from support.conformance.episode_turns import TurnsOfEpisodes
from support.hydration.episodes import store_entities
from support.hydration.in_memory import MemoryEpisodes
from support.storage.postgres import open_database

pytestmark = pytest.mark.anyio


class TestPostgresEpisodes(TurnsOfEpisodes):
    @pytest.fixture
    async def database(self, dsn: str) -> AsyncIterator[Database]:
        async with open_database(dsn) as database:
            yield database

    @pytest.fixture
    async def store(self, database: Database) -> PostgresEpisodeStore:
        return PostgresEpisodeStore(database=database)

    @pytest.fixture
    async def auth(self, database: Database) -> UUID:
        return await store_entities(database, "auth.go", dict(zip("abcd", "1234", strict=True)))


class TestEpisodesInMemory(TurnsOfEpisodes):
    @pytest.fixture
    async def store(self) -> MemoryEpisodes:
        return MemoryEpisodes()

    @pytest.fixture
    async def auth(self) -> UUID:
        return uuid4()

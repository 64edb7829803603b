"""A graph over the test's database."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from ragcorp.infrastructure.postgres.connections.database import Database
from ragcorp.infrastructure.postgres.graph.repository import PostgresGraphRepository
from support.storage.postgres import open_database


@pytest.fixture
async def database(dsn: str) -> AsyncIterator[Database]:
    async with open_database(dsn) as database:
        yield database


@pytest.fixture
def graph(database: Database) -> PostgresGraphRepository:
    return PostgresGraphRepository(database=database)

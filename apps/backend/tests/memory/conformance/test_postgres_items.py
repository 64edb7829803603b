"""PostgreSQL as an ItemRepository, of memory and of history."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from ragcorp.domain.collections import Collection
from ragcorp.infrastructure.postgres.connections.database import Database
from ragcorp.infrastructure.postgres.embeddings.backlog import PostgresEmbeddingBacklog
from ragcorp.infrastructure.postgres.items.repository import PostgresItemRepository
from ragcorp.infrastructure.postgres.tables.embedded import HISTORY, MEMORY
from support.conformance.item_repository import ItemRepositoryConformance
from support.storage.postgres import open_database

pytestmark = pytest.mark.anyio


class PostgresItems(ItemRepositoryConformance):
    @pytest.fixture
    async def database(self, dsn: str) -> AsyncIterator[Database]:
        async with open_database(dsn) as database:
            yield database

    @pytest.fixture
    async def repository(self, database: Database) -> PostgresItemRepository:
        return PostgresItemRepository(database=database, collection=self.collection)


class TestPostgresMemory(PostgresItems):
    collection = Collection.MEMORY

    @pytest.fixture
    async def backlog(self, database: Database) -> PostgresEmbeddingBacklog:
        return PostgresEmbeddingBacklog(database=database, table=MEMORY)


class TestPostgresHistory(PostgresItems):
    collection = Collection.HISTORY

    @pytest.fixture
    async def backlog(self, database: Database) -> PostgresEmbeddingBacklog:
        return PostgresEmbeddingBacklog(database=database, table=HISTORY)

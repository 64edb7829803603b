"""PostgreSQL as a DocumentRepository."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from ragcorp.infrastructure.postgres.connections.database import Database
from ragcorp.infrastructure.postgres.documents.repository import PostgresDocumentRepository
from ragcorp.infrastructure.postgres.embeddings.backlog import PostgresEmbeddingBacklog
from support.conformance.document_repository import DocumentRepositoryConformance
from support.storage.postgres import open_database, repository_over

pytestmark = pytest.mark.anyio


class TestPostgresDocuments(DocumentRepositoryConformance):
    @pytest.fixture
    async def database(self, dsn: str) -> AsyncIterator[Database]:
        async with open_database(dsn) as database:
            yield database

    @pytest.fixture
    async def repository(self, database: Database) -> PostgresDocumentRepository:
        return await repository_over(database)

    @pytest.fixture
    async def backlog(self, database: Database) -> PostgresEmbeddingBacklog:
        return PostgresEmbeddingBacklog(database=database)

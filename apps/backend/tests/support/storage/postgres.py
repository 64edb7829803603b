"""The PostgreSQL adapters over a test database."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from ragcorp.domain.embeddings import EmbeddingModel
from ragcorp.infrastructure.postgres.connections.database import Database, DatabaseOptions
from ragcorp.infrastructure.postgres.dense.search import VectorScan
from ragcorp.infrastructure.postgres.documents.repository import PostgresDocumentRepository
from ragcorp.infrastructure.postgres.documents.scoring import PostgresChunkScoring
from ragcorp.infrastructure.postgres.documents.store import PostgresDocumentStore
from ragcorp.infrastructure.postgres.lexical.search import LexicalOptions
from ragcorp.infrastructure.postgres.models.registry import active_model
from support.models.embedders import TEST_MODEL


@asynccontextmanager
async def open_database(dsn: str, **options: Any) -> AsyncIterator[Database]:
    options.setdefault("pool_timeout_seconds", 20.0)
    database = Database(dsn, options=DatabaseOptions(**options))
    try:
        await database.open()
        yield database
    finally:
        await database.close()


class PostgresDocuments(PostgresDocumentStore, PostgresDocumentRepository, PostgresChunkScoring):
    """The three ports of documents, for tests that write documents and find them."""

    def __init__(self, database: Database, *, scan: VectorScan, options: LexicalOptions | None) -> None:
        PostgresDocumentRepository.__init__(self, database, scan=scan, options=options)
        PostgresChunkScoring.__init__(self, database, model=scan.model)
        PostgresDocumentStore.__init__(self, database=database)


async def scan_of(database: Database, *, model: EmbeddingModel | None = TEST_MODEL) -> VectorScan:
    return VectorScan(model=await active_model(database, configured=model), ef_search=100, max_scan_tuples=200_000)


async def repository_over(
    database: Database, *, model: EmbeddingModel | None = TEST_MODEL, lexical: LexicalOptions | None = None
) -> PostgresDocuments:
    return PostgresDocuments(database, scan=await scan_of(database, model=model), options=lexical)

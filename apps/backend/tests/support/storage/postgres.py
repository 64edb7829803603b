"""The PostgreSQL adapters over a test database."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from ragcorp.domain.embeddings import EmbeddingModel
from ragcorp.infrastructure.postgres.connections.database import Database, DatabaseOptions
from ragcorp.infrastructure.postgres.dense.channels import ChunkChannels
from ragcorp.infrastructure.postgres.documents.repository import PostgresDocumentRepository
from ragcorp.infrastructure.postgres.lexical.channel import LexicalChannel, LexicalOptions
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


async def repository_over(
    database: Database, *, model: EmbeddingModel | None = TEST_MODEL, lexical: LexicalOptions | None = None
) -> PostgresDocumentRepository:
    channels = ChunkChannels(
        database, model=await active_model(database, configured=model), ef_search=100, max_scan_tuples=200_000
    )
    return PostgresDocumentRepository(
        database=database, channels=channels, lexical=LexicalChannel(database, options=lexical or LexicalOptions())
    )

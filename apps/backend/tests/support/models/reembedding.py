"""Another embedding model for a test database: the one in use is TEST_MODEL."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import psycopg
import pytest

from ragcorp.application.embedding.embed_pending import EmbedPending
from ragcorp.application.embedding.reembed import Reembed
from ragcorp.domain.embeddings import EmbeddingModel, Vector
from ragcorp.domain.exceptions import EmbedderUnavailableError
from ragcorp.domain.search.requests import SearchResponse
from ragcorp.infrastructure.postgres.connections.database import Database
from ragcorp.infrastructure.postgres.embeddings.backlog import PostgresEmbeddingBacklog
from ragcorp.infrastructure.postgres.embeddings.cache import PostgresEmbeddingCache
from ragcorp.infrastructure.postgres.embeddings.reembedding import PostgresReembedding
from ragcorp.infrastructure.postgres.tables.embedded import OF_DOCUMENTS, OF_ITEMS
from ragcorp.interface.library.rag import Rag
from support.models.embedders import HashingEmbedder
from support.storage.postgres import open_database

Open = Callable[..., Any]

NEW_MODEL = EmbeddingModel(name="new-embedder", dimensions=16)

MISSING = """
    SELECT count(*) FROM chunks c WHERE NOT EXISTS (
        SELECT FROM chunk_embeddings e JOIN embedding_models m ON m.id = e.model_id
        WHERE e.chunk_id = c.id AND m.name = %s)
"""

TEXTS = {f"nota-{number:02}.md": f"La nota {number} trata del pedido {number} de Acme." for number in range(12)}
ALL_TEXTS = len(TEXTS) + 3
"""With a memory, a turn and an entity."""


class RefusingEmbedder(HashingEmbedder):
    """The new model; it refuses a call with a text that holds ``refused``."""

    def __init__(self, *, refused: str = "\x00", model: EmbeddingModel = NEW_MODEL) -> None:
        super().__init__(model=model)
        self.batch_size = 4
        self._refused = refused

    async def embed_passages(self, texts: Any) -> list[Vector]:
        if any(self._refused in text for text in texts):
            raise EmbedderUnavailableError("no", reason="rejected")
        return await super().embed_passages(texts)


@asynccontextmanager
async def open_store(owner_dsn: str, **options: Any) -> AsyncIterator[tuple[PostgresReembedding, Database]]:
    options.setdefault("retry_seconds", 0.01)
    async with open_database(owner_dsn) as database:
        yield PostgresReembedding(database=database, dsn=owner_dsn, **options), database


def pending_over(database: Database, embedder: HashingEmbedder) -> EmbedPending:
    return EmbedPending(
        embedder=embedder,
        backlogs=[PostgresEmbeddingBacklog(database=database, table=table) for table in OF_DOCUMENTS],
        item_backlogs=[PostgresEmbeddingBacklog(database=database, table=table) for table in OF_ITEMS],
        cache=PostgresEmbeddingCache(database=database),
    )


def reembed_over(store: PostgresReembedding, database: Database, embedder: HashingEmbedder) -> Reembed:
    return Reembed(
        embedder=embedder,
        store=store,
        cache=PostgresEmbeddingCache(database=database),
        backlog=pending_over(database, embedder),
    )


async def fill(rag: Rag) -> None:
    """Write TEXTS and one of every other kind that has vectors, and make these."""
    for name, text in TEXTS.items():
        await rag.ingest_text(name, text)
    await rag.memory.add("Ana prefiere el correo.", external_id="m1")
    await rag.history.add("¿Cuándo llega el pedido?", speaker="ana", session="s", external_id="t1")
    await rag.graph.add_entity("Acme", description="Un cliente.")
    await rag.embed_pending()


async def dense(rag: Rag, query: str, **options: Any) -> SearchResponse:
    return await rag.search(query, mode="dense", **options)


def rows(dsn: str, query: str, *values: object) -> list[Any]:
    with psycopg.connect(dsn, autocommit=True) as connection:
        return connection.execute(query, values or None).fetchall()  # type: ignore[call-overload, no-any-return]


def one(dsn: str, query: str, *values: object) -> Any:
    return rows(dsn, query, *values)[0][0]


def active(dsn: str) -> str:
    return str(one(dsn, "SELECT name FROM embedding_models WHERE active"))


async def one_waits(dsn: str, *, mode: str = "%") -> None:
    """Return when a session of the database waits for a lock."""
    waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation IS NOT NULL AND mode LIKE %s"
    for _ in range(3000):
        if one(dsn, waiting, mode):
            return
        await asyncio.sleep(0.01)
    pytest.fail("nothing waits for a lock")

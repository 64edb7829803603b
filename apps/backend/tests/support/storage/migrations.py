"""Databases that hold rows while they are migrated."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg.rows import TupleRow

from ragcorp.domain.embeddings import EmbeddingModel
from ragcorp.infrastructure.postgres.embeddings.backlog import PostgresEmbeddingBacklog
from support.models.embedders import TEST_MODEL
from support.storage.postgres import open_database, repository_over
from support.storage.stored import ANYONE, EAST, embed_all, written

MODEL = (TEST_MODEL.name, TEST_MODEL.dimensions)


@contextmanager
def connected(dsn: str) -> Iterator[psycopg.Connection[TupleRow]]:
    with psycopg.connect(dsn, autocommit=True) as connection:
        yield connection


def one(dsn: str, query: str, *values: object) -> Any:
    with connected(dsn) as connection:
        row = connection.execute(query, values or None).fetchone()  # type: ignore[call-overload]
    return row[0] if row else None


async def fill(dsn: str, *, vectors: bool = True, model: EmbeddingModel = TEST_MODEL) -> None:
    async with open_database(dsn) as database:
        repository = await repository_over(database, model=model)
        writes = [written(f"{n}.txt", f"aguja {n}", f"pajar {n}") for n in range(5)]
        await repository.save_many(writes, principal=ANYONE)
        if vectors:
            vector = (*EAST, *[0.0] * (model.dimensions - len(EAST)))
            await embed_all(PostgresEmbeddingBacklog(database=database), default=vector, model=model)

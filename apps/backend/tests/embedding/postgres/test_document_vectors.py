"""The vector of a whole document is the mean direction of its chunks', as soon as none of them waits for its own."""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import AsyncIterator, Sequence

import psycopg
import pytest

from ragcorp.domain.embeddings import EmbeddingModel, Vector
from ragcorp.domain.ports.storage import PendingChunk
from ragcorp.infrastructure.postgres.connections.database import EVERY_WORKSPACE, Database
from ragcorp.infrastructure.postgres.documents.repository import PostgresDocumentRepository
from ragcorp.infrastructure.postgres.embeddings.backlog import PostgresEmbeddingBacklog
from support.models.embedders import TEST_MODEL, HashingEmbedder
from support.storage.postgres import open_database, repository_over
from support.storage.stored import ANYONE, EAST, embed_all, towards, written

pytestmark = pytest.mark.anyio

STORED = """
    SELECT d.external_id, e.workspace, m.name, e.embedding::text
    FROM document_embeddings e JOIN documents d ON d.id = e.document_id JOIN embedding_models m ON m.id = e.model_id
    WHERE m.active
"""
WEST: Vector = (-1.0, *[0.0] * 7)


@pytest.fixture
async def database(dsn: str) -> AsyncIterator[Database]:
    async with open_database(dsn) as database:
        yield database


@pytest.fixture
async def repository(database: Database) -> PostgresDocumentRepository:
    return await repository_over(database)


@pytest.fixture
def backlog(database: Database) -> PostgresEmbeddingBacklog:
    return PostgresEmbeddingBacklog(database=database)


async def vectors(database: Database) -> dict[str, list[float]]:
    async with database.autocommit(EVERY_WORKSPACE) as connection:
        rows = await (await connection.execute(STORED)).fetchall()
    return {row[0]: [float(number) for number in row[3].strip("[]").split(",")] for row in rows}


def direction(parts: Sequence[Sequence[float]]) -> list[float]:
    """The mean, scaled to length 1."""
    mean = [math.fsum(numbers) / len(parts) for numbers in zip(*parts, strict=True)]
    norm = math.sqrt(math.fsum(number * number for number in mean))
    return [number / norm for number in mean]


async def claimed(backlog: PostgresEmbeddingBacklog) -> list[PendingChunk]:
    return await backlog.claim(limit=99, lease_seconds=0)


async def test_it_is_there_when_the_last_chunk_has_its_vector_and_not_before(
    database: Database, repository: PostgresDocumentRepository, backlog: PostgresEmbeddingBacklog
) -> None:
    await repository.save_many([written("a.txt", "uno", "dos", "tres"), written("b.txt", "más")], principal=ANYONE)
    one, two, three, other = await claimed(backlog)
    await backlog.complete({one: EAST, other: EAST}, model=TEST_MODEL)
    assert await vectors(database) == {"b.txt": list(EAST)}
    await backlog.complete({two: towards(0.0)}, model=TEST_MODEL)
    assert await vectors(database) == {"b.txt": list(EAST)}
    await backlog.complete({three: towards(0.0)}, model=TEST_MODEL)
    # (1, 2, 0, ...) / 3, of length sqrt(5) / 3
    assert (await vectors(database))["a.txt"] == pytest.approx([1 / math.sqrt(5), 2 / math.sqrt(5), *[0.0] * 6])


async def test_a_chunk_that_is_given_up_is_not_waited_for(
    database: Database, repository: PostgresDocumentRepository, backlog: PostgresEmbeddingBacklog
) -> None:
    await repository.save_many([written("a.txt", "uno", "dos"), written("b.txt", "nada")], principal=ANYONE)
    one, two, nothing = await claimed(backlog)
    await backlog.complete({one: towards(0.6)}, model=TEST_MODEL)
    await backlog.fail([two, nothing], reason="x", retry_in_seconds=0, max_attempts=2)
    assert await vectors(database) == {}
    await backlog.fail([two, nothing], reason="x", retry_in_seconds=0, max_attempts=2)
    assert await vectors(database) == {"a.txt": pytest.approx(towards(0.6), abs=1e-6)}
    await backlog.enqueue_missing()
    await embed_all(backlog)
    assert (await vectors(database))["a.txt"] == pytest.approx(direction([towards(0.6), EAST]), abs=1e-6)


async def test_opposite_chunks_have_no_direction(
    database: Database, repository: PostgresDocumentRepository, backlog: PostgresEmbeddingBacklog
) -> None:
    await repository.save_many([written("a.txt", "uno", "dos")], principal=ANYONE)
    await embed_all(backlog, {"uno": EAST, "dos": EAST})
    assert await vectors(database) == {"a.txt": list(EAST)}
    await repository.save_many([written("a.txt", "uno", "tres")], principal=ANYONE)
    await embed_all(backlog, {"tres": WEST})
    assert await vectors(database) == {}


async def test_known_chunks_give_it_at_once_and_new_ones_take_it_away(
    database: Database, repository: PostgresDocumentRepository, backlog: PostgresEmbeddingBacklog
) -> None:
    await repository.save_many([written("a.txt", "uno", "dos")], principal=ANYONE)
    await embed_all(backlog, {"uno": EAST, "dos": towards(0.0)})
    await repository.save_many(
        [written("b.txt", "dos", "uno", "dos"), written("c.txt", "dos", "nuevo")], principal=ANYONE
    )
    expected = [1 / math.sqrt(5), 2 / math.sqrt(5), *[0.0] * 6]
    assert (await vectors(database))["b.txt"] == pytest.approx(expected)
    assert (await vectors(database)).keys() == {"a.txt", "b.txt"}
    await repository.save_many([written("b.txt", "dos", "nuevo")], principal=ANYONE)
    assert (await vectors(database)).keys() == {"a.txt"}
    await embed_all(backlog)
    assert (await vectors(database)).keys() == {"a.txt", "b.txt", "c.txt"}
    await repository.soft_delete_one("b.txt", principal=ANYONE)
    assert (await vectors(database)).keys() == {"a.txt", "c.txt"}
    await repository.purge_deleted(older_than_days=0, principal=ANYONE)
    assert (await vectors(database)).keys() == {"a.txt", "c.txt"}


async def test_what_another_writer_left_out_is_made_up_for(
    database: Database, repository: PostgresDocumentRepository, backlog: PostgresEmbeddingBacklog
) -> None:
    await repository.save_many([written("a.txt", "uno"), written("b.txt", "dos")], principal=ANYONE)
    await embed_all(backlog)
    async with database.autocommit(EVERY_WORKSPACE) as connection:
        await connection.execute("DELETE FROM document_embeddings")
    assert await backlog.enqueue_missing() == 0
    assert await vectors(database) == {"a.txt": list(EAST), "b.txt": list(EAST)}


async def test_a_second_model_has_its_own(
    database: Database, owner_dsn: str, repository: PostgresDocumentRepository, backlog: PostgresEmbeddingBacklog
) -> None:
    await repository.save_many([written("a.txt", "uno", "dos")], principal=ANYONE)
    await embed_all(backlog)
    with psycopg.connect(owner_dsn, autocommit=True) as connection:
        connection.execute("UPDATE embedding_models SET active = false")
        connection.execute("INSERT INTO embedding_models (name, dimensions, active) VALUES ('second', 3, true)")
    assert await backlog.enqueue_missing() == 2
    assert await vectors(database) == {}
    second = EmbeddingModel(name="second", dimensions=3)
    await embed_all(backlog, {"uno": (1.0, 0.0, 0.0), "dos": (0.0, 0.0, 1.0)}, model=second)
    half = math.sqrt(0.5)
    assert await vectors(database) == {"a.txt": pytest.approx([half, 0.0, half])}
    async with database.autocommit(EVERY_WORKSPACE) as connection:
        row = await (await connection.execute("SELECT count(*) FROM document_embeddings")).fetchone()
    assert row == (2,)


@pytest.mark.parametrize("seed", range(2))
async def test_it_is_the_mean_direction_whatever_was_written(
    database: Database, repository: PostgresDocumentRepository, backlog: PostgresEmbeddingBacklog, seed: int
) -> None:
    chance = random.Random(seed)
    embedder = HashingEmbedder()
    contents: dict[str, list[str]] = {}

    async def work() -> None:
        while batch := await backlog.claim(limit=3, lease_seconds=60):
            await backlog.complete({item: embedder.vector(item.index_text) for item in batch}, model=TEST_MODEL)

    for _ in range(12):
        names = chance.sample("abcdef", 3)
        contents |= {name: [f"texto {chance.randrange(9)}" for _ in range(chance.randint(1, 7))] for name in names}
        await repository.save_many(
            [written(name, *contents[name], salt=str(chance.random())) for name in names], principal=ANYONE
        )
        if chance.random() < 0.3:
            gone = chance.choice(sorted(contents))
            await repository.soft_delete_one(gone, principal=ANYONE)
            del contents[gone]
        await asyncio.gather(work(), work(), work())
        stored = await vectors(database)
        assert stored.keys() == contents.keys()
        for name, texts in contents.items():
            expected = direction([embedder.vector(text) for text in texts])
            assert stored[name] == pytest.approx(expected, abs=1e-5)

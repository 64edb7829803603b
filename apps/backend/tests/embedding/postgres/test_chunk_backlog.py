"""The durable list of missing vectors: leases, failures, and writers that get in one another's way."""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import AsyncIterator

import pytest

from ragcorp.domain.documents import IngestStatus
from ragcorp.domain.embeddings import EmbeddingModel
from ragcorp.domain.ports.storage import DocumentSelection
from ragcorp.domain.principal import Principal
from ragcorp.infrastructure.postgres.connections.database import EVERY_WORKSPACE, Database
from ragcorp.infrastructure.postgres.documents.repository import PostgresDocumentRepository
from ragcorp.infrastructure.postgres.embeddings.backlog import PostgresEmbeddingBacklog
from ragcorp.infrastructure.postgres.embeddings.cache import PostgresEmbeddingCache
from support.models.embedders import TEST_MODEL
from support.storage.postgres import open_database, repository_over
from support.storage.stored import ANYONE, EAST, embed_all, full_text, towards, written

pytestmark = pytest.mark.anyio


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


async def test_a_lease_hides_its_chunks_from_others_until_it_runs_out(
    repository: PostgresDocumentRepository, backlog: PostgresEmbeddingBacklog
) -> None:
    await repository.save_many([written("a.txt", *(f"texto {n}" for n in range(6)))], principal=ANYONE)
    first = await backlog.claim(limit=4, lease_seconds=0.5)
    second = await backlog.claim(limit=4, lease_seconds=60)
    assert [item.index_text for item in first] == [f"texto {n}" for n in range(4)]
    assert [item.index_text for item in second] == ["texto 4", "texto 5"]
    assert await backlog.claim(limit=4, lease_seconds=60) == []
    await asyncio.sleep(0.6)
    # the first worker died: its share comes back
    assert await backlog.claim(limit=9, lease_seconds=60) == first
    await backlog.release([item.chunk_id for item in second])
    assert await backlog.claim(limit=9, lease_seconds=60) == second


async def test_parallel_workers_never_hold_the_same_chunk(
    repository: PostgresDocumentRepository, backlog: PostgresEmbeddingBacklog
) -> None:
    await repository.save_many([written("a.txt", *(f"texto {n}" for n in range(60)))], principal=ANYONE)
    batches = await asyncio.gather(*(backlog.claim(limit=7, lease_seconds=60) for _ in range(12)))
    claimed = [item.chunk_id for batch in batches for item in batch]
    assert len(claimed) == len(set(claimed))
    assert len(claimed) + len(await backlog.claim(limit=100, lease_seconds=60)) == 60


async def test_claims_are_narrowed_by_document_and_workspace(
    repository: PostgresDocumentRepository, backlog: PostgresEmbeddingBacklog
) -> None:
    other = Principal(workspace="other")
    await repository.save_many([written("a.txt", "uno")], principal=other)
    (_, outcome) = await repository.save_many([written("a.txt", "dos"), written("b.txt", "tres")], principal=ANYONE)
    assert (await backlog.counts(workspace="default")).pending == 2
    assert (await backlog.counts(document_id=outcome.document_id)).pending == 1
    assert (await backlog.counts()).pending == 3
    (item,) = await backlog.claim(limit=9, lease_seconds=60, document_id=outcome.document_id)
    assert (item.index_text, item.workspace) == ("tres", "default")
    assert await backlog.claim(limit=9, lease_seconds=60, document_id=outcome.document_id, workspace="other") == []
    assert [item.workspace for item in await backlog.claim(limit=9, lease_seconds=60, workspace="other")] == ["other"]


async def test_a_failed_chunk_is_put_off_twice_as_long_each_time_and_given_up_at_last(
    database: Database, repository: PostgresDocumentRepository, backlog: PostgresEmbeddingBacklog
) -> None:
    await repository.save_many([written("a.txt", "uno")], principal=ANYONE)
    (item,) = await backlog.claim(limit=9, lease_seconds=60)
    waits = []
    for _ in range(3):
        await backlog.fail([item], reason="timeout", retry_in_seconds=100, max_attempts=4)
        async with database.autocommit(EVERY_WORKSPACE) as connection:
            cursor = await connection.execute(
                "SELECT extract(epoch FROM available_at - now())::float8 FROM embedding_backlog"
            )
            waits += [row[0] for row in await cursor.fetchall()]
    assert waits == pytest.approx([100, 200, 400], rel=0.05)
    assert await backlog.counts() == await backlog.counts(workspace="default")
    assert ((await backlog.counts()).pending, (await backlog.counts()).failed) == (1, 0)
    await backlog.fail([item], reason="timeout", retry_in_seconds=0, max_attempts=4)
    assert ((await backlog.counts()).pending, (await backlog.counts()).failed) == (1, 1)
    assert await backlog.claim(limit=9, lease_seconds=60) == []
    assert await backlog.enqueue_missing() == 1
    assert await backlog.claim(limit=9, lease_seconds=60) == [item]


async def test_enqueue_missing_lists_what_lacks_a_vector_of_the_active_model_and_spares_leases(
    database: Database, repository: PostgresDocumentRepository, backlog: PostgresEmbeddingBacklog
) -> None:
    await repository.save_many([written("a.txt", "uno", "dos", "tres")], principal=ANYONE)
    await embed_all(backlog)
    assert await backlog.enqueue_missing() == 0
    async with database.autocommit(EVERY_WORKSPACE) as connection:
        await connection.execute("DELETE FROM chunk_embeddings WHERE chunk_id = (SELECT min(id) FROM chunks)")
    assert await backlog.enqueue_missing() == 1
    leased = await backlog.claim(limit=9, lease_seconds=60)
    assert [item.index_text for item in leased] == ["uno"]
    assert await backlog.enqueue_missing() == 0
    assert await backlog.claim(limit=9, lease_seconds=60) == []


async def test_a_chunk_that_is_gone_is_passed_over(
    database: Database, repository: PostgresDocumentRepository, backlog: PostgresEmbeddingBacklog
) -> None:
    await repository.save_many([written("a.txt", "uno"), written("b.txt", "dos")], principal=ANYONE)
    batch = await backlog.claim(limit=9, lease_seconds=60)
    await repository.soft_delete_one("a.txt", principal=ANYONE)
    await backlog.complete(dict.fromkeys(batch, EAST), model=TEST_MODEL)
    await backlog.fail(batch, reason="x", retry_in_seconds=1, max_attempts=1)
    await backlog.release([item.chunk_id for item in batch])
    assert (await backlog.counts()).pending == 0
    assert len((await repository.find_similar_chunks(EAST, principal=ANYONE, limit=9)).ranked_list) == 1


async def test_the_cache_knows_workspace_model_and_width(database: Database) -> None:
    cache = PostgresEmbeddingCache(database=database)
    vectors = {b"a" * 32: EAST, b"b" * 32: towards(0.6)}
    await cache.put(vectors, model=TEST_MODEL, workspace="default")
    await cache.put({b"a" * 32: towards(0.0)}, model=TEST_MODEL, workspace="default")
    results = await cache.get([*vectors, b"c" * 32], model=TEST_MODEL, workspace="default")
    assert set(results) == set(vectors)
    assert results[b"a" * 32] == EAST
    assert results[b"b" * 32] == pytest.approx(towards(0.6), abs=1e-6)
    assert math.isclose(math.fsum(value * value for value in results[b"b" * 32]), 1.0, abs_tol=1e-6)
    assert await cache.get(list(vectors), model=TEST_MODEL, workspace="other") == {}
    for model in (EmbeddingModel(name="other", dimensions=8), EmbeddingModel(name=TEST_MODEL.name, dimensions=9)):
        assert await cache.get(list(vectors), model=model, workspace="default") == {}
    assert await cache.get([], model=TEST_MODEL, workspace="default") == {}


async def stir(
    repository: PostgresDocumentRepository, backlog: PostgresEmbeddingBacklog, *, rounds: int, seed: int
) -> None:
    """Let savers, deleters and embedders loose on the same few documents."""
    names = [f"{n}.txt" for n in range(6)]
    chance = random.Random(seed)

    async def save() -> None:
        for turn in range(rounds):
            some = chance.sample(names, 4)
            writes = [written(name, *(f"aguja {name} {turn} {n}" for n in range(5)), salt=f"{turn}") for name in some]
            await repository.save_many(writes, principal=ANYONE)

    async def delete() -> None:
        for _ in range(rounds):
            await repository.soft_delete(DocumentSelection(prefix=chance.choice(["", "0", "3"])), principal=ANYONE)
            await asyncio.sleep(0.001)

    async def embed() -> None:
        for turn in range(rounds * 2):
            batch = await backlog.claim(limit=20, lease_seconds=0.01)
            chance.shuffle(batch)
            chunk_ids = [item.chunk_id for item in batch]
            match turn % 4:
                case 0:
                    await backlog.complete(dict.fromkeys(batch, EAST), model=TEST_MODEL)
                case 1:
                    await backlog.fail(batch, reason="x", retry_in_seconds=0, max_attempts=99)
                case 2:
                    await backlog.release(chunk_ids)
                case _:
                    await backlog.enqueue_missing()

    async with asyncio.TaskGroup() as group:
        for work in (save, save, save, delete, embed, embed):
            group.create_task(work())


@pytest.mark.parametrize("rounds", [12, pytest.param(60, marks=[pytest.mark.soak, pytest.mark.timeout(900)])])
async def test_savers_deleters_and_embedders_never_fail_for_one_another(
    repository: PostgresDocumentRepository, backlog: PostgresEmbeddingBacklog, database: Database, rounds: int
) -> None:
    await stir(repository, backlog, rounds=rounds, seed=7)
    await asyncio.sleep(0.1)  # the last leases end
    await embed_all(backlog)
    page = await repository.list_page(DocumentSelection(), principal=ANYONE, limit=99)
    expected = sum(item.chunks for item in page.items)
    similar = await repository.find_similar_chunks(EAST, principal=ANYONE, limit=200)
    assert similar.seen == 1.0
    assert len(similar.ranked_list) == expected
    assert len(await full_text(repository, "aguja", principal=ANYONE, limit=200)) == expected


async def test_a_deleted_document_that_is_saved_again_is_created(repository: PostgresDocumentRepository) -> None:
    write = written("a.txt", "uno")
    for _ in range(2):
        assert (await repository.save_many([write], principal=ANYONE))[0].status is IngestStatus.CREATED
        await repository.soft_delete_one("a.txt", principal=ANYONE)

"""The vectors that items wait for: leases, texts that change meanwhile, and writers that get in one another's way."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from typing import Any

import psycopg
import pytest

from ragcorp.application.embedding.embed_pending import EmbedPending
from ragcorp.domain.collections import Collection, ItemSelection
from ragcorp.domain.embeddings import EmbeddingModel
from ragcorp.domain.exceptions import IncompatibleEmbeddingsError, NotFoundError
from ragcorp.infrastructure.postgres.administration.migrations import migrate
from ragcorp.infrastructure.postgres.connections.database import EVERY_WORKSPACE, Database
from ragcorp.infrastructure.postgres.embeddings.backlog import PostgresEmbeddingBacklog
from ragcorp.infrastructure.postgres.embeddings.cache import PostgresEmbeddingCache
from ragcorp.infrastructure.postgres.items.repository import PostgresItemRepository
from ragcorp.infrastructure.postgres.items.writes import content_hash
from ragcorp.infrastructure.postgres.tables.embedded import HISTORY, MEMORY, OF_ITEMS
from support.conformance.stored_items import NOON, OTHER, draft
from support.models.embedders import TEST_MODEL, BrokenEmbedder, HashingEmbedder
from support.storage.postgres import open_database, repository_over
from support.storage.stored import ANYONE, EAST, embed_all, towards, written

pytestmark = pytest.mark.anyio

VECTORS = "SELECT i.external_id, e.embedding::text FROM memory_embeddings e JOIN memory_items i ON i.id = e.item_id"


@pytest.fixture
async def database(dsn: str) -> AsyncIterator[Database]:
    async with open_database(dsn) as database:
        yield database


@pytest.fixture
def memory(database: Database) -> PostgresItemRepository:
    return PostgresItemRepository(database=database, collection=Collection.MEMORY)


@pytest.fixture
def history(database: Database) -> PostgresItemRepository:
    return PostgresItemRepository(database=database, collection=Collection.HISTORY)


@pytest.fixture
def backlog(database: Database) -> PostgresEmbeddingBacklog:
    return PostgresEmbeddingBacklog(database=database, table=MEMORY)


async def fetch(database: Database, query: str) -> list[Any]:
    async with database.autocommit(EVERY_WORKSPACE) as connection:
        return await (await connection.execute(query)).fetchall()  # type: ignore[call-overload, no-any-return]


async def test_a_lease_hides_its_items_until_it_runs_out(
    memory: PostgresItemRepository, backlog: PostgresEmbeddingBacklog
) -> None:
    await memory.save_many([draft(f"{n}", f"texto {n}", speaker="Ana") for n in range(6)], principal=ANYONE)
    first = await backlog.claim(limit=4, lease_seconds=0.5)
    second = await backlog.claim(limit=4, lease_seconds=60)
    assert [item.index_text for item in first] == [f"Ana: texto {n}" for n in range(4)]
    assert [item.index_hash for item in first] == [content_hash(speaker="Ana", text=f"texto {n}") for n in range(4)]
    assert [item.index_text for item in second] == ["Ana: texto 4", "Ana: texto 5"]
    assert await backlog.claim(limit=4, lease_seconds=60) == []
    await asyncio.sleep(0.6)
    assert await backlog.claim(limit=9, lease_seconds=60) == first
    await backlog.release([item.chunk_id for item in second])
    assert await backlog.claim(limit=9, lease_seconds=60) == second


async def test_parallel_workers_never_hold_the_same_item(
    memory: PostgresItemRepository, backlog: PostgresEmbeddingBacklog
) -> None:
    await memory.save_many([draft(f"{n:02}", f"texto {n}") for n in range(60)], principal=ANYONE)
    batches = await asyncio.gather(*(backlog.claim(limit=7, lease_seconds=60) for _ in range(12)))
    claimed = [item.chunk_id for batch in batches for item in batch]
    assert len(claimed) == len(set(claimed))
    assert len(claimed) + len(await backlog.claim(limit=100, lease_seconds=60)) == 60


async def test_claims_and_counts_are_narrowed_by_workspace_and_no_item_is_of_a_document(
    memory: PostgresItemRepository, backlog: PostgresEmbeddingBacklog
) -> None:
    await memory.save_many([draft("a", "uno")], principal=OTHER)
    await memory.save_many([draft("a", "dos"), draft("b", "tres")], principal=ANYONE)
    assert (await backlog.counts()).pending == 3
    assert (await backlog.counts(workspace="default")).pending == 2
    here = (await written_document(memory)).document_id
    assert (await backlog.counts(document_id=here)).pending == 0
    assert await backlog.claim(limit=9, lease_seconds=60, document_id=here) == []
    assert [item.workspace for item in await backlog.claim(limit=9, lease_seconds=60, workspace="other")] == ["other"]


async def written_document(memory: PostgresItemRepository) -> Any:
    documents = await repository_over(memory._database)
    return (await documents.save_many([written("a.txt", "uno")], principal=ANYONE))[0]


async def test_a_vector_of_a_text_that_changed_meanwhile_is_not_stored(
    database: Database, memory: PostgresItemRepository, backlog: PostgresEmbeddingBacklog
) -> None:
    await memory.save_many([draft("a", "uno"), draft("b", "dos"), draft("c", "tres")], principal=ANYONE)
    batch = await backlog.claim(limit=9, lease_seconds=60)
    await memory.save_many([draft("a", "otro")], principal=ANYONE)
    await memory.delete_one("b", principal=ANYONE)
    await backlog.complete(dict.fromkeys(batch, EAST), model=TEST_MODEL)
    assert [name for name, _ in await fetch(database, VECTORS)] == ["c"]
    assert [item.index_text for item in await backlog.claim(limit=9, lease_seconds=60)] == ["otro"]
    # and what was forgotten meanwhile is remembered nowhere
    cached = await PostgresEmbeddingCache(database=database).get(
        [item.index_hash for item in batch], model=TEST_MODEL, workspace="default"
    )
    assert list(cached) == [batch[2].index_hash]


async def test_a_text_that_changes_drops_its_vector_at_once(
    database: Database, memory: PostgresItemRepository, backlog: PostgresEmbeddingBacklog
) -> None:
    await memory.save_many([draft("a", "uno"), draft("b", "dos")], principal=ANYONE)
    await embed_all(backlog, {"uno": EAST, "dos": towards(0.0)})
    await memory.save_many([draft("a", "tres")], principal=ANYONE)
    assert [name for name, _ in await fetch(database, VECTORS)] == ["b"]


async def test_failures_are_put_off_and_given_up_and_listed_again(
    database: Database, memory: PostgresItemRepository, backlog: PostgresEmbeddingBacklog
) -> None:
    await memory.save_many([draft("a", "uno"), draft("b", "dos")], principal=ANYONE)
    (item, other) = await backlog.claim(limit=9, lease_seconds=60)
    await backlog.complete({other: EAST}, model=TEST_MODEL)
    waits = []
    for _ in range(3):
        await backlog.fail([item], reason="timeout", retry_in_seconds=100, max_attempts=4)
        waits += await fetch(database, "SELECT extract(epoch FROM available_at - now())::float8 FROM memory_backlog")
    assert [row[0] for row in waits] == pytest.approx([100, 200, 400], rel=0.05)
    await backlog.fail([item], reason="timeout", retry_in_seconds=0, max_attempts=4)
    assert ((await backlog.counts()).pending, (await backlog.counts()).failed) == (1, 1)
    assert (await memory.get("a", principal=ANYONE)).pending
    assert await backlog.claim(limit=9, lease_seconds=60) == []
    assert await backlog.enqueue_missing() == 1
    assert await backlog.claim(limit=9, lease_seconds=60) == [item]
    assert await backlog.enqueue_missing() == 0
    # a new text is a new chance
    await backlog.fail([item], reason="rejected", retry_in_seconds=0, max_attempts=1)
    await memory.save_many([draft("a", "tres")], principal=ANYONE)
    assert ((await backlog.counts()).pending, (await backlog.counts()).failed) == (1, 0)
    assert [again.index_text for again in await backlog.claim(limit=9, lease_seconds=60)] == ["tres"]
    await fetch(database, "DELETE FROM memory_embeddings RETURNING item_id")
    assert await backlog.enqueue_missing() == 1


async def test_a_text_that_is_refused_takes_no_later_one_with_it(
    memory: PostgresItemRepository, backlog: PostgresEmbeddingBacklog
) -> None:
    await memory.save_many([draft("a", "malo"), draft("b", "peor")], principal=ANYONE)
    batch = await backlog.claim(limit=9, lease_seconds=60)
    await memory.save_many([draft("a", "bueno")], principal=ANYONE)
    await backlog.fail(batch, reason="rejected", retry_in_seconds=0, max_attempts=1)
    assert ((await backlog.counts()).pending, (await backlog.counts()).failed) == (2, 1)
    assert [item.index_text for item in await backlog.claim(limit=9, lease_seconds=60)] == ["bueno"]


def embedding(database: Database, embedder: HashingEmbedder) -> EmbedPending:
    return EmbedPending(
        embedder=embedder,
        backlogs=[
            PostgresEmbeddingBacklog(database=database),
            *(PostgresEmbeddingBacklog(database=database, table=table) for table in OF_ITEMS),
        ],
        cache=PostgresEmbeddingCache(database=database),
    )


async def test_chunks_and_items_are_embedded_in_turns_and_equal_texts_once(
    database: Database, memory: PostgresItemRepository, history: PostgresItemRepository
) -> None:
    documents = await repository_over(database)
    many = [f"pasaje {n}" for n in range(40)]
    (document,) = await documents.save_many([written("a.txt", *many)], principal=ANYONE)
    await memory.save_many([draft("a", "hola"), draft("b", "adiós")], principal=ANYONE)
    await history.save_many([draft("a", "hola"), draft("b", "pasaje 3", occurred_at=NOON)], principal=ANYONE)
    await history.save_many([draft("a", "en otra parte")], principal=OTHER)
    embedder = HashingEmbedder()
    embed_pending = embedding(database, embedder)
    assert (await embed_pending.counts()).pending == 45
    assert (await embed_pending.counts(workspace="default")).pending == 44
    assert (await embed_pending.counts(document_id=document.document_id)).pending == 40
    first = await embed_pending.embed(workspace="default")
    assert (first.embedded, first.failed) == (16 + 2 + 2, 0)
    assert (await embed_pending.embed(document_id=document.document_id)).embedded == 16
    assert (await embed_pending.embed()).embedded == 8 + 1
    assert (await embed_pending.embed()).idle
    assert (await embed_pending.counts()).pending == 0
    assert sorted(embedder.embedded) == sorted([*many, "hola", "adiós", "en otra parte"])
    await fetch(database, "DELETE FROM history_embeddings RETURNING item_id")
    assert await embed_pending.enqueue_missing() == 3


async def test_an_embedder_that_is_out_leaves_items_pending(database: Database, memory: PostgresItemRepository) -> None:
    await memory.save_many([draft("a", "uno"), draft("b", "dos")], principal=ANYONE)
    done = await embedding(database, BrokenEmbedder(reason="rejected")).embed()
    assert (done.embedded, done.failed) == (0, 2)
    counts = await embedding(database, HashingEmbedder()).counts()
    assert (counts.pending, counts.failed) == (2, 2)


@pytest.mark.parametrize("table", ["memory", "history"])
async def test_vectors_of_items_hold_a_database_to_its_model(database: Database, owner_dsn: str, table: str) -> None:
    tables = {"memory": MEMORY, "history": HISTORY}[table]
    repository = PostgresItemRepository(database=database, collection=Collection(table))
    await repository.save_many([draft("a", "uno")], principal=ANYONE)
    backlog = PostgresEmbeddingBacklog(database=database, table=tables)
    await embed_all(backlog)
    with pytest.raises(IncompatibleEmbeddingsError):
        migrate(owner_dsn, embedding_model=("another-model", 16))
    # as long as there are any
    await repository.delete_one("a", principal=ANYONE)
    assert migrate(owner_dsn, embedding_model=("another-model", 16)).up_to_date
    ((indexed,),) = await fetch(
        database,
        f"SELECT indexdef FROM pg_indexes JOIN embedding_models m ON m.active"
        f" WHERE indexname = 'ix_{table}_embeddings_hnsw_' || m.id",
    )
    assert f"ON public.{table}_embeddings USING hnsw (((embedding)::vector(16)) vector_cosine_ops)" in indexed


async def test_a_second_models_vectors_stand_beside_the_first(
    database: Database, owner_dsn: str, memory: PostgresItemRepository, backlog: PostgresEmbeddingBacklog
) -> None:
    await memory.save_many([draft("a", "uno")], principal=ANYONE)
    await embed_all(backlog)
    second = EmbeddingModel(name="second", dimensions=3)
    with psycopg.connect(owner_dsn, autocommit=True) as connection:
        connection.execute("UPDATE embedding_models SET active = false")
        connection.execute("INSERT INTO embedding_models (name, dimensions, active) VALUES ('second', 3, true)")
    assert (await backlog.counts()).pending == 0
    assert await backlog.enqueue_missing() == 1
    await embed_all(backlog, default=(0.0, 0.0, 1.0), model=second)
    vectors = await fetch(database, "SELECT embedding::text FROM memory_embeddings ORDER BY model_id")
    assert vectors == [("[1,0,0,0,0,0,0,0]",), ("[0,0,1]",)]
    # what the second model never saw is not taken from the first
    embedder = HashingEmbedder(model=second)
    await memory.save_many([draft("b", "uno"), draft("c", "dos")], principal=ANYONE)
    await embedding(database, embedder).embed()
    assert embedder.embedded == ["dos"]


async def stir(database: Database, *, rounds: int, seed: int, make: Callable[[int], str]) -> None:
    """Let savers, changers, deleters and embedders loose on the same few items."""
    memory = PostgresItemRepository(database=database, collection=Collection.MEMORY)
    backlog = PostgresEmbeddingBacklog(database=database, table=MEMORY)
    names = [f"{n}" for n in range(8)]
    chance = random.Random(seed)

    async def save() -> None:
        for turn in range(rounds):
            batch = [draft(name, make(turn % 3)) for name in chance.sample(names, 5)]
            await memory.save_many(batch, principal=ANYONE)

    async def change() -> None:
        for turn in range(rounds):
            try:
                await memory.change(
                    chance.choice(names),
                    lambda item, turn=turn: draft(item.external_id, make(turn % 5)),  # type: ignore[misc]
                    principal=ANYONE,
                )
            except NotFoundError:
                await asyncio.sleep(0)

    async def delete() -> None:
        for _ in range(rounds):
            await memory.delete(ItemSelection(prefix=chance.choice(["", "0", "3"])), principal=ANYONE)
            await asyncio.sleep(0.001)

    async def embed() -> None:
        for turn in range(rounds * 2):
            batch = await backlog.claim(limit=6, lease_seconds=0.01)
            chance.shuffle(batch)
            match turn % 4:
                case 0 | 1:
                    made = HashingEmbedder()
                    vectors = {item: made.vector(item.index_text) for item in batch}
                    await asyncio.sleep(0.002)
                    await backlog.complete(vectors, model=TEST_MODEL)
                case 2:
                    await backlog.fail(batch, reason="x", retry_in_seconds=0, max_attempts=99)
                case _:
                    await backlog.enqueue_missing()

    async with asyncio.TaskGroup() as group:
        for work in (save, save, save, change, delete, embed, embed):
            group.create_task(work())


@pytest.mark.parametrize("rounds", [15, pytest.param(120, marks=[pytest.mark.soak, pytest.mark.timeout(900)])])
async def test_writers_and_embedders_never_fail_for_one_another_nor_leave_a_wrong_vector(
    database: Database, memory: PostgresItemRepository, backlog: PostgresEmbeddingBacklog, rounds: int
) -> None:
    await stir(database, rounds=rounds, seed=11, make=lambda turn: f"texto número {turn}")
    await asyncio.sleep(0.1)  # the last leases end
    embedder = HashingEmbedder()
    while batch := await backlog.claim(limit=99, lease_seconds=60):
        await backlog.complete({item: embedder.vector(item.index_text) for item in batch}, model=TEST_MODEL)
    page = await memory.list_page(ItemSelection(), principal=ANYONE, limit=99)
    stored = {
        name: [float(x) for x in vector.strip("[]").split(",")] for name, vector in await fetch(database, VECTORS)
    }
    assert stored.keys() == {item.external_id for item in page.items}
    for item in page.items:
        assert stored[item.external_id] == pytest.approx(embedder.vector(item.text), abs=1e-6), item.text
        assert not item.pending

"""The cache of vectors in PostgreSQL: what counts as use, what a prune takes, and that models never mix."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from ragcorp.application.embedding.embed_pending import EmbedPending
from ragcorp.application.embedding.passage_vectors import PassageVectors, VectorMemory
from ragcorp.application.embedding.prune import PruneEmbeddings, PruneReport
from ragcorp.domain.collections import Collection
from ragcorp.domain.embeddings import EmbeddingModel, Vector
from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.infrastructure.postgres.connections.database import EVERY_WORKSPACE, Database
from ragcorp.infrastructure.postgres.embeddings.backlog import PostgresEmbeddingBacklog
from ragcorp.infrastructure.postgres.embeddings.cache import PostgresEmbeddingCache
from ragcorp.infrastructure.postgres.items.repository import PostgresItemRepository
from ragcorp.infrastructure.postgres.tables.embedded import OF_ITEMS
from support.conformance.stored_items import draft
from support.models.embedders import TEST_MODEL, HashingEmbedder
from support.models.passage_vectors import Served, wanted
from support.storage.postgres import open_database, repository_over
from support.storage.stored import ANYONE, EAST, towards, written

pytestmark = pytest.mark.anyio

OTHER_NAME = EmbeddingModel(name="another", dimensions=TEST_MODEL.dimensions)
OTHER_WIDTH = EmbeddingModel(name=TEST_MODEL.name, dimensions=16)


@pytest.fixture
async def database(dsn: str) -> AsyncIterator[Database]:
    async with open_database(dsn) as database:
        yield database


@pytest.fixture
def cache(database: Database) -> PostgresEmbeddingCache:
    return PostgresEmbeddingCache(database=database)


async def run(database: Database, statement: str, *values: object) -> list[Any]:
    async with database.autocommit(EVERY_WORKSPACE) as connection:
        cursor = await connection.execute(statement.encode(), values)
        return await cursor.fetchall() if cursor.description else []


async def add_models(database: Database, *models: EmbeddingModel) -> None:
    for model in models:
        await run(
            database, "INSERT INTO embedding_models (name, dimensions) VALUES (%s, %s)", model.name, model.dimensions
        )


def key(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


async def keep(
    cache: PostgresEmbeddingCache, database: Database, *texts: str, model: EmbeddingModel = TEST_MODEL, days: float = 0
) -> None:
    """Cache a vector of each text, last used some days ago."""
    vector = (1.0,) + (0.0,) * (model.dimensions - 1)
    await cache.put({key(text): vector for text in texts}, model=model, workspace="default")
    await run(
        database,
        "UPDATE embedding_cache SET last_used_at = now() - make_interval(secs => %s * 86400) "
        "FROM embedding_models m WHERE content_hash = ANY(%s) AND m.id = model_id AND m.name = %s AND dimensions = %s",
        days, [key(text) for text in texts], model.name, model.dimensions,
    )  # fmt: skip


async def kept(database: Database) -> list[bytes]:
    return [bytes(row[0]) for row in await run(database, "SELECT content_hash FROM embedding_cache ORDER BY 1")]


async def versions(database: Database) -> dict[bytes, tuple[str, float]]:
    """Return the version of each row, and how long ago it was used in seconds."""
    rows = await run(
        database, "SELECT content_hash, xmin::text, extract(epoch FROM now() - last_used_at) FROM embedding_cache"
    )
    return {bytes(row[0]): (row[1], float(row[2])) for row in rows}


async def test_what_is_found_counts_as_used_at_most_once_an_hour(
    database: Database, cache: PostgresEmbeddingCache
) -> None:
    await keep(cache, database, "old", "older", "unasked", days=2)
    await keep(cache, database, "fresh", days=1 / 48)
    before = await versions(database)
    asked = [key(text) for text in ("old", "older", "fresh", "unknown")]
    for _ in range(2):
        assert len(await cache.get(asked, model=TEST_MODEL, workspace="default")) == 3
    after = await versions(database)
    for text, used in (("old", True), ("older", True), ("fresh", False), ("unasked", False)):
        assert (after[key(text)][0] != before[key(text)][0]) == used, text
    assert after[key("old")][1] < 3600
    assert after[key("unasked")][1] > 86_400
    # the second reading wrote nothing, and neither does a third
    await cache.get(asked, model=TEST_MODEL, workspace="default")
    assert {text: version for text, (version, _) in (await versions(database)).items()} == {
        text: version for text, (version, _) in after.items()
    }


async def test_a_row_that_another_holds_is_read_all_the_same(
    dsn: str, database: Database, cache: PostgresEmbeddingCache
) -> None:
    await keep(cache, database, "held", "free", days=2)
    async with await psycopg.AsyncConnection.connect(dsn) as other:
        await other.execute("SELECT FROM embedding_cache WHERE content_hash = %s FOR UPDATE", [key("held")])
        results = await cache.get([key("held"), key("free")], model=TEST_MODEL, workspace="default")
        assert set(results) == {key("held"), key("free")}
        used = await versions(database)
        assert used[key("held")][1] > 86_400 > used[key("free")][1]
        assert await cache.prune(days=1, model=None, limit=9) == 0
    assert await cache.prune(days=1, model=None, limit=9) == 1


async def test_models_of_one_name_or_one_width_never_serve_one_another(
    database: Database, cache: PostgresEmbeddingCache
) -> None:
    await add_models(database, OTHER_NAME, OTHER_WIDTH)
    memory = VectorMemory(size=99, ttl_seconds=60)
    embedders = [HashingEmbedder(model=model) for model in (TEST_MODEL, OTHER_NAME, OTHER_WIDTH)]
    passages = wanted("uno", "dos")
    for embedder in embedders:
        vectors = PassageVectors(embedder=embedder, cache=cache, memory=memory)
        made = await vectors.of(passages)
        assert sorted(embedder.embedded) == ["dos", "uno"]
        await cache.put({item[1]: vector for item, vector in made.items()}, model=embedder.model, workspace="default")
    await cache.put({key("tres"): EAST}, model=OTHER_NAME, workspace="default")
    for embedder in embedders:
        served = Served()
        results = await PassageVectors(embedder=embedder, cache=cache, observer=served).of(passages)
        assert served.counts == {"passage database": 2}
        for item, text in passages.items():
            assert results[item] == pytest.approx(embedder.vector(text), abs=1e-6)
    assert await cache.get([key("tres")], model=TEST_MODEL, workspace="default") == {}
    assert await cache.get([key("tres")], model=OTHER_NAME, workspace="there") == {}


async def test_status_tells_each_model(database: Database, cache: PostgresEmbeddingCache) -> None:
    await add_models(database, OTHER_NAME, OTHER_WIDTH)
    await keep(cache, database, "a", "b", days=3)
    await keep(cache, database, "c", days=1)
    await keep(cache, database, "a", model=OTHER_WIDTH)
    another, narrow, wide = await cache.status()
    assert (another.model, another.active, another.vectors, another.bytes, another.oldest_use) == (
        (OTHER_NAME, False, 0, 0, None)
    )
    # a vector takes 4 bytes a number, 4 for their number and 1 for its length
    assert (narrow.model, narrow.active, narrow.vectors, narrow.bytes) == (TEST_MODEL, True, 3, 3 * (4 * 8 + 5))
    assert narrow.oldest_use is not None
    assert abs(datetime.now(UTC) - narrow.oldest_use - timedelta(days=3)) < timedelta(hours=1)
    assert (wide.model, wide.active, wide.vectors) == (OTHER_WIDTH, False, 1)


async def test_a_prune_takes_the_longest_unused_first_in_batches(
    database: Database, cache: PostgresEmbeddingCache
) -> None:
    await add_models(database, OTHER_NAME)
    for day in range(10):
        await keep(cache, database, f"day {day}", days=day + 0.5)
    await keep(cache, database, "another", model=OTHER_NAME, days=99)
    prune = PruneEmbeddings(cache=cache, batch_size=3)
    told: list[tuple[int, int]] = []

    def progress(done: int, total: int) -> None:
        told.append((done, total))

    dry = await prune.prune(unused_days=2.5, model=TEST_MODEL.name, dry_run=True, on_progress=progress)
    assert (dry, told, len(await kept(database))) == (PruneReport(unused=8, pruned=0), [], 11)
    assert await cache.prune(days=2.5, model=TEST_MODEL.name, limit=2) == 2
    assert key("day 8") not in await kept(database)
    assert key("day 7") in await kept(database)
    done = await prune.prune(unused_days=2.5, model=TEST_MODEL.name, on_progress=progress)
    assert done == PruneReport(unused=6, pruned=6)
    assert told == [(0, 6), (3, 6), (6, 6)]
    assert await kept(database) == sorted([key("day 0"), key("day 1"), key("another")])
    assert await prune.prune(unused_days=50) == PruneReport(unused=1, pruned=1)
    assert await prune.prune(unused_days=0) == PruneReport(unused=2, pruned=2)


@pytest.mark.parametrize("days", [-1.0, float("nan"), float("inf"), 1e9])
async def test_days_out_of_range_are_refused(cache: PostgresEmbeddingCache, days: float) -> None:
    with pytest.raises(InvalidInputError) as raised:
        await PruneEmbeddings(cache=cache).prune(unused_days=days)
    assert (raised.value.field, raised.value.limit) == ("unused_days", "0 to 36500")


async def test_a_model_that_is_not_there_is_refused(cache: PostgresEmbeddingCache) -> None:
    with pytest.raises(InvalidInputError) as raised:
        await PruneEmbeddings(cache=cache).prune(unused_days=0, model="no-such-model")
    assert raised.value.field == "model"
    assert "no-such-model" not in raised.value.message


async def test_a_prune_leaves_the_vectors_of_chunks_and_items(
    database: Database, cache: PostgresEmbeddingCache
) -> None:
    documents = await repository_over(database)
    memory = PostgresItemRepository(database=database, collection=Collection.MEMORY)
    await documents.save_many([written("a.txt", "uno", "dos")], principal=ANYONE)
    await memory.save_many([draft("m", "tres")], principal=ANYONE)
    await embed_all(database, cache, HashingEmbedder())
    assert await PruneEmbeddings(cache=cache).prune(unused_days=0) == PruneReport(unused=2, pruned=2)
    assert await run(database, "SELECT count(*) FROM chunk_embeddings") == [(2,)]
    assert len((await documents.find_similar_chunks(EAST, principal=ANYONE, limit=9)).ranked_list) == 2
    assert set(await cache.get([key("tres")], model=TEST_MODEL, workspace="default")) == {key("tres")}


async def embed_all(
    database: Database, cache: PostgresEmbeddingCache, embedder: HashingEmbedder, memory: VectorMemory | None = None
) -> int:
    """Work the backlogs off as the container wires them; return how many vectors were stored."""
    embed_pending = EmbedPending(
        embedder=embedder,
        backlogs=[PostgresEmbeddingBacklog(database=database)],
        item_backlogs=[PostgresEmbeddingBacklog(database=database, table=table) for table in OF_ITEMS],
        cache=cache,
        memory=memory,
    )
    return (await embed_pending.embed()).embedded


async def test_what_was_deleted_for_good_of_items_is_not_in_memory_either(
    database: Database, cache: PostgresEmbeddingCache
) -> None:
    embedder, memory = HashingEmbedder(), VectorMemory(size=99, ttl_seconds=60)
    facts = PostgresItemRepository(database=database, collection=Collection.MEMORY)
    documents = await repository_over(database)
    await facts.save_many([draft("a", "el pin es 1")], principal=ANYONE)
    await documents.save_many([written("a.txt", "el pin es 2")], principal=ANYONE)
    assert await embed_all(database, cache, embedder, memory) == 2
    await facts.delete_one("a", principal=ANYONE)
    await run(database, "DELETE FROM embedding_cache")
    await facts.save_many([draft("b", "el pin es 1"), draft("c", "el pin es 2")], principal=ANYONE)
    assert await embed_all(database, cache, embedder, memory) == 2
    # that of the passage is in memory, for its time
    assert sorted(embedder.embedded) == ["el pin es 1", "el pin es 1", "el pin es 2"]


async def test_no_connection_is_held_while_the_model_runs(dsn: str) -> None:
    class Asking(HashingEmbedder):
        """Needs the only connection of the pool while it embeds."""

        async def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
            assert await run(database, "SELECT 1") == [(1,)]
            return await super().embed_passages(texts)

    async with open_database(dsn, pool_size=1, pool_timeout_seconds=5.0) as database:
        await (await repository_over(database)).save_many([written("a.txt", "uno")], principal=ANYONE)
        assert await embed_all(database, PostgresEmbeddingCache(database=database), Asking()) == 1


async def test_workers_of_one_process_that_have_one_text_make_one_call(
    database: Database, cache: PostgresEmbeddingCache
) -> None:
    # the same text in many documents, each of which a worker leases by itself
    embedder = HashingEmbedder()
    embedder.batch_size = 1
    documents = await repository_over(database)
    await documents.save_many([written(f"{n}.txt", "uno") for n in range(6)], principal=ANYONE)
    embed_pending = EmbedPending(
        embedder=embedder,
        backlogs=[PostgresEmbeddingBacklog(database=database)],
        cache=cache,
        memory=VectorMemory(size=9, ttl_seconds=60),
    )
    done = await asyncio.gather(*(embed_pending.embed() for _ in range(6)))
    assert sum(each.embedded for each in done) == 6
    assert embedder.embedded == ["uno"]
    assert await run(database, "SELECT count(*) FROM chunk_embeddings") == [(6,)]
    assert await run(database, "SELECT count(*) FROM embedding_cache") == [(1,)]


async def test_readers_writers_and_prunes_do_not_get_in_one_anothers_way(
    database: Database, cache: PostgresEmbeddingCache
) -> None:
    texts = [f"text {n}" for n in range(30)]
    await keep(cache, database, *texts, days=2)
    keys = [key(text) for text in texts]

    async def read(turn: int) -> None:
        some = keys[turn:] + keys[:turn]
        result = await cache.get(some, model=TEST_MODEL, workspace="default")
        assert {vector[0] for vector in result.values()} <= {1.0, 0.5}
        await cache.put(dict.fromkeys(some, towards(0.5)), model=TEST_MODEL, workspace="default")

    await asyncio.gather(
        *(read(turn) for turn in range(12)),
        *(cache.prune(days=1, model=None, limit=7) for _ in range(6)),
        *(cache.count_unused(days=1, model=None) for _ in range(3)),
    )
    assert set(await kept(database)) == set(keys)

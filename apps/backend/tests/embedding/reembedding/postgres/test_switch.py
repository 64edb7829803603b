"""The switch to another model and back: what it waits for, what old workers may still do, what is dropped."""

from __future__ import annotations

import asyncio
from typing import Any

import psycopg
import pytest

from ragcorp.application.embedding.drop_vectors import DropVectors
from ragcorp.application.embedding.reembed import PROBE, Reembed, ReembedStatus
from ragcorp.application.embedding.switch_back import SwitchBack
from ragcorp.domain.exceptions import InvalidInputError, StorageUnavailableError
from ragcorp.infrastructure.postgres.connections.database import Database
from ragcorp.infrastructure.postgres.embeddings.backlog import PostgresEmbeddingBacklog
from ragcorp.infrastructure.postgres.embeddings.reembedding import PostgresReembedding
from ragcorp.infrastructure.postgres.embeddings.reembedding_statements import (
    BEGIN_CHANGE,
    KEPT_OF_A_MODEL,
    LOCK_WRITERS,
    LOCKED,
    LOWER_LOCK_TIMEOUT,
)
from ragcorp.infrastructure.postgres.models.embedding_models import VECTOR_TABLES
from ragcorp.interface.library.rag import Rag
from support.models.embedders import TEST_MODEL, HashingEmbedder
from support.models.reembedding import (
    ALL_TEXTS,
    MISSING,
    NEW_MODEL,
    TEXTS,
    Open,
    RefusingEmbedder,
    active,
    dense,
    one,
    one_waits,
    open_store,
    pending_over,
    reembed_over,
    rows,
)
from support.retrieval.corpus import degraded, shown

pytestmark = pytest.mark.anyio


async def test_an_old_worker_takes_nothing_off_the_backlog_and_says_what_it_misses(
    store: PostgresReembedding, database: Database, rag: Rag, open_rag: Open, dsn: str
) -> None:
    assert degraded(await dense(rag, "pedido")) == {}
    await reembed_over(store, database, RefusingEmbedder()).reembed()

    result = await rag.ingest_text("nueva.md", "Una nota nueva del pedido.")
    assert result.pending == 1
    await rag.memory.add("Ana viaja.", external_id="m2")
    assert (await rag.embed_pending()).pending == 2
    assert (
        one(
            dsn,
            "SELECT count(*) FROM chunk_embeddings e JOIN chunks c ON c.id = e.chunk_id "
            "JOIN documents d ON d.id = c.document_id WHERE d.external_id = 'nueva.md'",
        )
        == 0
    )
    assert degraded(await dense(rag, "pedido")) == {"dense": "vectors_pending"}
    assert "nueva.md" in shown(await rag.search("nota nueva"))
    assert degraded(await rag.search("viaja", profile="collections"))["artifacts.dense"] == "vectors_pending"
    assert degraded(await rag.search("viaja", profile="memory"))["memory.dense"] == "vectors_pending"

    new = await open_rag(NEW_MODEL)
    assert (await new.embed_pending()).pending == 0
    assert "nueva.md" in shown(await dense(new, "una nota nueva del pedido", limit=1))
    assert degraded(await dense(new, "pedido")) == {}
    # its vector is the new model's: the old process still misses it
    assert degraded(await dense(rag, "pedido")) == {"dense": "vectors_pending"}


async def test_a_vector_that_comes_in_during_the_switch_leaves_its_text_waiting(
    store: PostgresReembedding, database: Database, rag: Rag, owner_dsn: str, dsn: str
) -> None:
    """The completion waits for the switch's lock, and sees the model that is active when it gets it."""
    await store.register(NEW_MODEL)
    backlog = PostgresEmbeddingBacklog(database=database)
    write = """INSERT INTO embedding_backlog (chunk_id, document_id, workspace)
               SELECT id, document_id, workspace FROM chunks ORDER BY id LIMIT 1"""
    with psycopg.connect(owner_dsn, autocommit=True) as connection:
        connection.execute(write)
    (item,) = await backlog.claim(limit=9, lease_seconds=60, model=TEST_MODEL)
    async with await psycopg.AsyncConnection.connect(owner_dsn) as switching:
        await switching.execute(LOCK_WRITERS)
        completing = asyncio.create_task(backlog.complete({item: HashingEmbedder().vector("x")}, model=TEST_MODEL))
        await one_waits(dsn)
        await switching.execute("UPDATE embedding_models SET active = false WHERE active")
        await switching.execute("UPDATE embedding_models SET active = true WHERE name = %s", [NEW_MODEL.name])
    await completing
    assert one(dsn, "SELECT count(*) FROM embedding_backlog") == 1
    assert await backlog.claim(limit=9, lease_seconds=60, model=TEST_MODEL) == []
    await backlog.release([item.chunk_id])
    assert await backlog.claim(limit=9, lease_seconds=60, model=NEW_MODEL) == [item]


@pytest.fixture
async def before_the_switch(store: PostgresReembedding, database: Database, rag: Rag) -> Reembed:
    """Every vector of the new model is made; the next run switches."""
    del rag
    reembed = reembed_over(store, database, RefusingEmbedder())
    await reembed.reembed(switch=False)
    return reembed


async def test_the_switch_gives_way_to_a_writer_and_lets_searches_through(
    before_the_switch: Reembed, rag: Rag, owner_dsn: str, dsn: str
) -> None:
    async with await psycopg.AsyncConnection.connect(owner_dsn) as writer:
        await writer.execute("UPDATE memory_items SET speaker = speaker")
        switching = asyncio.create_task(before_the_switch.reembed())
        await one_waits(dsn, mode="ExclusiveLock")
        assert len((await dense(rag, "pedido", limit=5)).hits) == 5
        assert not switching.done()
        # head-on: the writer goes on to what the switch has locked by now
        await writer.execute("UPDATE chunks SET owner = owner")
    assert (await switching).status is ReembedStatus.SWITCHED


async def test_the_switch_waits_for_a_vacuum_without_holding_writers_up(
    before_the_switch: Reembed, owner_dsn: str, dsn: str
) -> None:
    async with await psycopg.AsyncConnection.connect(owner_dsn) as vacuum:
        await vacuum.execute("LOCK TABLE structural_entities IN SHARE UPDATE EXCLUSIVE MODE")  # as VACUUM does
        switching = asyncio.create_task(before_the_switch.reembed())
        await one_waits(dsn, mode="ShareUpdateExclusiveLock")
        async with await psycopg.AsyncConnection.connect(owner_dsn, autocommit=True) as writer:
            await writer.execute("SET lock_timeout = '1ms'")
            for table in LOCKED:
                await writer.execute(f"DELETE FROM {table} WHERE false")
    assert (await switching).status is ReembedStatus.SWITCHED


async def test_the_switch_waits_for_long_enough_to_have_an_autovacuum_cancelled(
    postgres_server: Any, owner_dsn: str, dsn: str
) -> None:
    """PostgreSQL cancels it for who has waited for deadlock_timeout."""
    name = psycopg.conninfo.conninfo_to_dict(dsn)["dbname"]
    with postgres_server.superuser(name) as connection:
        connection.execute(f'ALTER DATABASE "{name}" SET deadlock_timeout = 1700')
    with psycopg.connect(owner_dsn) as connection:
        connection.execute(BEGIN_CHANGE)
        assert connection.execute("SHOW lock_timeout").fetchone() == ("2200ms",)
        connection.execute(LOWER_LOCK_TIMEOUT)
        assert connection.execute("SHOW lock_timeout").fetchone() == ("500ms",)


@pytest.mark.parametrize("held", ["SHARE UPDATE EXCLUSIVE", "ROW EXCLUSIVE"])
async def test_a_switch_that_does_not_get_its_locks_says_so_and_the_same_command_goes_on(
    rag: Rag, owner_dsn: str, dsn: str, held: str
) -> None:
    async with open_store(owner_dsn, attempts=1) as (store, database):
        async with await psycopg.AsyncConnection.connect(owner_dsn) as other:
            await other.execute(f"LOCK TABLE chunks IN {held} MODE")
            with pytest.raises(StorageUnavailableError, match=r"did not get its locks.*vectors are kept") as raised:
                await reembed_over(store, database, RefusingEmbedder()).reembed()
        assert raised.value.reason == "locked"
        assert "same command" in str(raised.value.remedy)
        assert active(dsn) == TEST_MODEL.name
        again = RefusingEmbedder()
        done = await reembed_over(store, database, again).reembed()
    assert (done.status, again.embedded) == (ReembedStatus.SWITCHED, [PROBE])


async def test_back_to_the_model_before_and_what_was_written_since_waits_for_it(
    store: PostgresReembedding, database: Database, rag: Rag, open_rag: Open, dsn: str
) -> None:
    before = shown(await dense(rag, "pedido 7", limit=5))
    await reembed_over(store, database, RefusingEmbedder()).reembed()
    new = await open_rag(NEW_MODEL)
    await new.ingest_text("nueva.md", "Una nota nueva.")
    await new.ingest_text("nota-03.md", "Otro texto.")

    state = await SwitchBack(store=store).switch_back()
    assert (state.model, state.active, state.missing) == (TEST_MODEL, True, 2)
    assert active(dsn) == TEST_MODEL.name
    # those of the new model stay, and its workers leave the backlog alone
    assert (await new.embed_pending()).pending == 2
    assert (await rag.embed_pending()).pending == 0
    response = await dense(rag, "pedido 7", limit=7)
    assert degraded(response) == {}
    assert [name for name in shown(response) if name not in ("nueva.md", "nota-03.md")][:5] == before
    # and forth again: nothing is embedded twice
    again = RefusingEmbedder()
    done = await reembed_over(store, database, again).reembed()
    assert (done.status, again.embedded, done.waiting) == (ReembedStatus.SWITCHED, [PROBE], 0)


async def test_only_an_inactive_model_is_dropped(
    store: PostgresReembedding, database: Database, rag: Rag, dsn: str
) -> None:
    drop = DropVectors(store=store)
    with pytest.raises(InvalidInputError, match="no vectors of that model"):
        await drop.drop(name=NEW_MODEL.name)
    with pytest.raises(InvalidInputError, match="no vectors"):
        await SwitchBack(store=store).switch_back()
    await reembed_over(store, database, RefusingEmbedder()).reembed()
    with pytest.raises(InvalidInputError, match="active model's"):
        await drop.drop(name=NEW_MODEL.name)
    kept = one(dsn, "SELECT count(*) FROM chunk_embeddings WHERE vector_dims(embedding) = 16")

    model, gone = await drop.drop(name=TEST_MODEL.name)
    # chunks, documents, items, the cache; and a mean where it is stored already
    assert (model, gone - 3 * len(TEXTS) - 3) in ((TEST_MODEL, 0), (TEST_MODEL, 1))
    assert [state.model for state in await store.models()] == [NEW_MODEL]
    assert one(dsn, "SELECT count(*) FROM chunk_embeddings") == kept == len(TEXTS)
    names = {row[0] for row in rows(dsn, "SELECT indexname FROM pg_indexes WHERE indexname LIKE '%%hnsw%%'")}
    model_id = one(dsn, "SELECT id FROM embedding_models WHERE active")
    assert names == {f"ix_{table}_hnsw_{model_id}" for table in VECTOR_TABLES}


async def test_a_removal_that_was_killed_is_taken_up_again(
    store: PostgresReembedding, database: Database, rag: Rag, dsn: str
) -> None:
    await reembed_over(store, database, RefusingEmbedder()).reembed()
    cached = "SELECT count(*) FROM embedding_cache WHERE vector_dims(embedding) = 8"
    left = one(dsn, cached)
    assert left == len(TEXTS)
    old = one(dsn, "SELECT id FROM embedding_models WHERE name = %s", TEST_MODEL.name)
    stored = " UNION ALL ".join(f"SELECT FROM {table} WHERE model_id = {old}" for table in KEPT_OF_A_MODEL[:-1])
    await store.drop_indexes(TEST_MODEL)
    while one(dsn, f"SELECT count(*) FROM ({stored}) AS stored"):
        await store.delete_vectors(TEST_MODEL, limit=len(TEXTS))
        assert TEST_MODEL in [state.model for state in await store.models()]

    with pytest.raises(InvalidInputError, match="no vectors"):
        await SwitchBack(store=store).switch_back()
    assert await DropVectors(store=store).drop(name=TEST_MODEL.name) == (TEST_MODEL, left)
    assert one(dsn, cached) == 0
    with pytest.raises(InvalidInputError, match="no vectors"):
        await DropVectors(store=store).drop(name=TEST_MODEL.name)


async def test_the_new_models_worker_goes_on_with_what_the_switch_listed(
    store: PostgresReembedding, database: Database, rag: Rag, dsn: str
) -> None:
    """As after a kill between the switch and the end: the same command finishes the rest."""
    await store.register(NEW_MODEL)
    await store.activate(NEW_MODEL, rejected={})
    assert one(dsn, "SELECT count(*) FROM embedding_backlog") == len(TEXTS)
    embedder = RefusingEmbedder()
    done = await reembed_over(store, database, embedder).reembed()
    assert (done.status, done.waiting, len(embedder.embedded)) == (ReembedStatus.ALREADY_ACTIVE, 0, ALL_TEXTS)
    assert one(dsn, MISSING, NEW_MODEL.name) == 0
    assert (await pending_over(database, embedder).counts()).pending == 0

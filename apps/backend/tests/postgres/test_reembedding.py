"""Vectors of another model beside those in use: what is made, what switches, and what old workers may still do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import psycopg
import pytest

from ragcorp.application.drop_vectors import DropVectors
from ragcorp.application.reembed import PROBE, ReembedStatus
from ragcorp.application.switch_back import SwitchBack
from ragcorp.domain.exceptions import ConfigurationError, ConflictError, IncompatibleEmbeddingsError, InvalidInputError
from ragcorp.domain.ports.models import EmbeddingModel
from ragcorp.domain.search import SearchResponse
from ragcorp.infrastructure.postgres.database import Database
from ragcorp.infrastructure.postgres.embedding_backlog import PostgresEmbeddingBacklog
from ragcorp.infrastructure.postgres.embedding_models import VECTOR_TABLES
from ragcorp.infrastructure.postgres.migrations import migrate
from ragcorp.infrastructure.postgres.reembedding import PostgresReembedding
from ragcorp.infrastructure.postgres.reembedding_statements import LOCK_WRITERS
from ragcorp.interface.library.rag import Rag
from ragcorp.main.container import Parts
from ragcorp.main.library import make_rag
from support.embedders import TEST_MODEL, HashingEmbedder
from support.library import degraded, shown
from support.reembedding import MISSING, NEW_MODEL, RefusingEmbedder, open_store, pending_over, reembed_over

pytestmark = pytest.mark.anyio

Open = Callable[..., Any]

TEXTS = {f"nota-{number:02}.md": f"La nota {number} trata del pedido {number} de Acme." for number in range(30)}


@pytest.fixture
async def store(owner_dsn: str) -> AsyncIterator[PostgresReembedding]:
    async with open_store(owner_dsn) as (opened, _):
        yield opened


@pytest.fixture
async def database(owner_dsn: str) -> AsyncIterator[Database]:
    async with open_store(owner_dsn) as (_, opened):
        yield opened


@pytest.fixture
def open_rag(make_container: Open) -> Open:
    async def opened(model: EmbeddingModel = TEST_MODEL, **settings: Any) -> Rag:
        return make_rag(await make_container(parts=Parts(embedder=HashingEmbedder(model=model)), **settings))

    return opened


@pytest.fixture
async def rag(open_rag: Open) -> Rag:
    """A library over every kind of text that has vectors, of TEST_MODEL."""
    rag: Rag = await open_rag()
    for name, text in TEXTS.items():
        await rag.ingest_text(name, text)
    await rag.memory.add("Ana prefiere el correo.", external_id="m1")
    await rag.history.add("¿Cuándo llega el pedido?", speaker="ana", session="s", external_id="t1")
    await rag.graph.add_entity("Acme", description="Un cliente.")
    await rag.embed_pending()
    return rag


def rows(dsn: str, query: str, *values: object) -> list[Any]:
    with psycopg.connect(dsn, autocommit=True) as connection:
        return connection.execute(query, values or None).fetchall()  # type: ignore[call-overload, no-any-return]


def one(dsn: str, query: str, *values: object) -> Any:
    return rows(dsn, query, *values)[0][0]


async def one_waits(dsn: str, *, mode: str = "%") -> None:
    """Return when a session of the database waits for a lock."""
    waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation IS NOT NULL AND mode LIKE %s"
    for _ in range(3000):
        if one(dsn, waiting, mode):
            return
        await asyncio.sleep(0.01)
    pytest.fail("nothing waits for a lock")


def active(dsn: str) -> str:
    return str(one(dsn, "SELECT name FROM embedding_models WHERE active"))


async def dense(rag: Rag, query: str, **options: Any) -> SearchResponse:
    return await rag.search(query, mode="dense", **options)


async def test_every_kind_of_vector_is_made_beside_the_others_and_found_after_the_switch(
    store: PostgresReembedding, database: Database, rag: Rag, open_rag: Open, dsn: str
) -> None:
    before = shown(await dense(rag, "pedido 7", limit=5))
    embedder = RefusingEmbedder()
    done = await reembed_over(store, database, embedder).execute()

    assert (done.status, done.embedded, done.rejected, done.waiting) == (ReembedStatus.SWITCHED, 33, 0, 0)
    assert sorted(embedder.embedded) == sorted([PROBE, *embedder.embedded[1:]])
    assert len(set(embedder.embedded)) == len(embedder.embedded) == 34
    assert active(dsn) == NEW_MODEL.name
    for table in ("chunk", "document", "memory", "history", "entity"):
        found = rows(dsn, f"SELECT vector_dims(embedding), count(*) FROM {table}_embeddings GROUP BY 1 ORDER BY 1")
        assert [width for width, _ in found] == [8, 16], table
        assert found[0][1] == found[1][1], table
    states = {state.model.name: state for state in await store.models()}
    assert (states[NEW_MODEL.name].indexes, states[NEW_MODEL.name].all_indexes) == (6, 6)
    assert (states[NEW_MODEL.name].vectors, states[NEW_MODEL.name].missing) == (33, 0)

    # the process that is still running answers as before
    assert shown(await dense(rag, "pedido 7", limit=5)) == before
    new = await open_rag(NEW_MODEL)
    response = await dense(new, "pedido 7", limit=30)
    assert degraded(response) == {}
    query = embedder.vector("pedido 7")
    embedded = {
        name: embedder.vector(next(known for known in embedder.embedded if known.endswith(text)))
        for name, text in TEXTS.items()
    }
    assert {hit.chunk.external_id: hit.score for hit in response.hits} == {
        name: pytest.approx(sum(a * b for a, b in zip(query, vector, strict=True)), abs=1e-5)
        for name, vector in embedded.items()
    }
    assert [hit.score for hit in response.hits] == sorted((hit.score for hit in response.hits), reverse=True)
    stored = one(dsn, "SELECT count(*) FROM workspace_means w JOIN embedding_models m ON m.id = model_id AND active")
    assert stored == 1


async def test_the_model_in_use_is_said_to_be_in_use(store: PostgresReembedding, database: Database, rag: Rag) -> None:
    embedder = HashingEmbedder()
    done = await reembed_over(store, database, embedder).execute()
    assert (done.status, done.waiting, embedder.embedded) == (ReembedStatus.ALREADY_ACTIVE, 0, [])


async def test_without_the_switch_all_goes_on_as_before(
    store: PostgresReembedding, database: Database, rag: Rag, owner_dsn: str, dsn: str
) -> None:
    embedder = RefusingEmbedder()
    done = await reembed_over(store, database, embedder).execute(switch=False)
    assert (done.status, done.waiting, active(dsn)) == (ReembedStatus.READY, 0, TEST_MODEL.name)
    # neither a migration nor a start minds the second model
    assert migrate(owner_dsn, embedding_model=(TEST_MODEL.name, TEST_MODEL.dimensions)).up_to_date
    with pytest.raises(IncompatibleEmbeddingsError, match="ragcorp reembed --model"):
        migrate(owner_dsn, embedding_model=(NEW_MODEL.name, NEW_MODEL.dimensions))
    await rag.ingest_text("nueva.md", "Una nota nueva.")
    again = RefusingEmbedder()
    done = await reembed_over(store, database, again).execute()
    assert (done.status, again.embedded) == (ReembedStatus.SWITCHED, [PROBE, "nueva. Una nota nueva."])


async def test_a_run_goes_on_where_it_was_and_takes_what_is_cached(
    store: PostgresReembedding, database: Database, rag: Rag, dsn: str
) -> None:
    first = RefusingEmbedder()
    assert (await reembed_over(store, database, first).execute(switch=False)).embedded == 33
    rows_gone = one(
        dsn,
        "WITH gone AS (DELETE FROM chunk_embeddings WHERE vector_dims(embedding) = 16 AND chunk_id % 2 = 0 RETURNING 1)"
        " SELECT count(*) FROM gone",
    )
    assert rows_gone > 10
    second = RefusingEmbedder()
    done = await reembed_over(store, database, second).execute()
    assert (done.embedded, done.known, second.embedded) == (0, rows_gone, [PROBE])
    assert one(dsn, MISSING, NEW_MODEL.name) == 0


async def test_a_text_that_the_model_refuses_waits_as_failed_and_stops_nothing(
    store: PostgresReembedding, database: Database, rag: Rag, open_rag: Open, dsn: str
) -> None:
    await rag.ingest_text("mala.md", "Este texto es IMPOSIBLE.")
    done = await reembed_over(store, database, RefusingEmbedder(refused="IMPOSIBLE")).execute()
    assert (done.status, done.embedded, done.rejected, done.waiting) == (ReembedStatus.SWITCHED, 33, 1, 1)
    assert rows(dsn, "SELECT failed, attempts, reason FROM embedding_backlog") == [(True, 1, "rejected")]
    new = await open_rag(NEW_MODEL)
    assert shown(await new.search("imposible"))[0] == "mala.md"
    assert degraded(await dense(new, "pedido")) == {"dense": "vectors_pending"}


async def test_what_is_written_while_it_runs_is_caught_up_with(
    store: PostgresReembedding, database: Database, rag: Rag, dsn: str
) -> None:
    class Writing(RefusingEmbedder):
        """Has a document written, one changed and one deleted while each batch is made."""

        turn = 0

        async def embed_passages(self, texts: Any) -> Any:
            made = await super().embed_passages(texts)
            if self.turn < 8:
                self.turn = turn = self.turn + 1
                await rag.ingest_text(f"otra-{turn}.md", f"Otra cosa, la {turn}.")
                await rag.ingest_text(f"nota-{turn:02}.md", f"Texto nuevo, el {turn}.")
                await rag.delete(f"nota-{20 + turn}.md")
            return made

    done = await reembed_over(store, database, Writing()).execute()
    assert (done.status, done.waiting) == (ReembedStatus.SWITCHED, 0)
    assert one(dsn, MISSING, NEW_MODEL.name) == 0
    # each document's direction is that of its text of now: one passage each, so the passage's own
    apart = """
        SELECT count(*), count(*) FILTER (WHERE d.embedding <=> e.embedding > 1e-6)
        FROM chunks c JOIN chunk_embeddings e ON e.chunk_id = c.id JOIN embedding_models m ON m.id = e.model_id
        JOIN document_embeddings d ON d.document_id = c.document_id AND d.model_id = m.id
        WHERE m.active
    """
    assert rows(dsn, apart) == [(30, 0)]


async def test_an_old_worker_takes_nothing_off_the_backlog_and_says_what_it_misses(
    store: PostgresReembedding, database: Database, rag: Rag, open_rag: Open, dsn: str
) -> None:
    assert degraded(await dense(rag, "pedido")) == {}
    await reembed_over(store, database, RefusingEmbedder()).execute()

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


async def test_the_switch_gives_way_to_a_writer_and_lets_searches_through(
    store: PostgresReembedding, database: Database, rag: Rag, owner_dsn: str, dsn: str
) -> None:
    reembed = reembed_over(store, database, RefusingEmbedder())
    await reembed.execute(switch=False)
    async with await psycopg.AsyncConnection.connect(owner_dsn) as writer:
        await writer.execute("UPDATE memory_items SET speaker = speaker")
        switching = asyncio.create_task(reembed.execute())
        await one_waits(dsn, mode="ExclusiveLock")
        assert len((await dense(rag, "pedido", limit=5)).hits) == 5
        assert not switching.done()
        # head-on: the writer goes on to what the switch has locked by now
        await writer.execute("UPDATE chunks SET owner = owner")
    assert (await switching).status is ReembedStatus.SWITCHED


async def test_back_to_the_model_before_and_what_was_written_since_waits_for_it(
    store: PostgresReembedding, database: Database, rag: Rag, open_rag: Open, dsn: str
) -> None:
    before = shown(await dense(rag, "pedido 7", limit=5))
    await reembed_over(store, database, RefusingEmbedder()).execute()
    new = await open_rag(NEW_MODEL)
    await new.ingest_text("nueva.md", "Una nota nueva.")
    await new.ingest_text("nota-03.md", "Otro texto.")

    state = await SwitchBack(store=store).execute()
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
    done = await reembed_over(store, database, again).execute()
    assert (done.status, again.embedded, done.waiting) == (ReembedStatus.SWITCHED, [PROBE], 0)


async def test_only_an_inactive_model_is_dropped(
    store: PostgresReembedding, database: Database, rag: Rag, dsn: str
) -> None:
    drop = DropVectors(store=store)
    with pytest.raises(InvalidInputError, match="no vectors of that model"):
        await drop.execute(name=NEW_MODEL.name)
    with pytest.raises(InvalidInputError, match="no vectors"):
        await SwitchBack(store=store).execute()
    await reembed_over(store, database, RefusingEmbedder()).execute()
    with pytest.raises(InvalidInputError, match="active model's"):
        await drop.execute(name=NEW_MODEL.name)
    kept = one(dsn, "SELECT count(*) FROM chunk_embeddings WHERE vector_dims(embedding) = 16")

    model, gone = await drop.execute(name=TEST_MODEL.name)
    assert (model, gone) == (TEST_MODEL, 30 + 30 + 3 + 30 + 1)  # chunks, documents, items, the cache, a mean
    assert [state.model for state in await store.models()] == [NEW_MODEL]
    assert one(dsn, "SELECT count(*) FROM chunk_embeddings") == kept == 30
    names = {row[0] for row in rows(dsn, "SELECT indexname FROM pg_indexes WHERE indexname LIKE '%%hnsw%%'")}
    model_id = one(dsn, "SELECT id FROM embedding_models WHERE active")
    assert names == {f"ix_{table}_hnsw_{model_id}" for table in VECTOR_TABLES}


async def test_one_process_at_a_time_changes_the_model(
    store: PostgresReembedding, database: Database, rag: Rag, owner_dsn: str
) -> None:
    async with open_store(owner_dsn) as (other, _), other.exclusively():
        with pytest.raises(ConflictError, match="Another process"):
            await reembed_over(store, database, RefusingEmbedder()).execute()
    assert (await reembed_over(store, database, RefusingEmbedder()).execute()).status is ReembedStatus.SWITCHED


async def test_the_application_role_is_told_to_leave_it_to_the_owner(rag: Rag, dsn: str) -> None:
    async with open_store(dsn) as (store, database):
        with pytest.raises(ConfigurationError, match="DATABASE_OWNER_URL"):
            await reembed_over(store, database, RefusingEmbedder()).execute()


async def test_an_index_whose_build_was_cut_is_built_again_and_no_migration_meddles(
    store: PostgresReembedding, database: Database, rag: Rag, owner_dsn: str, postgres_server: Any, dsn: str
) -> None:
    await store.register(NEW_MODEL)
    model_id = one(dsn, "SELECT id FROM embedding_models WHERE name = %s", NEW_MODEL.name)
    name = f"ix_chunk_embeddings_hnsw_{model_id}"
    await store.build_indexes(NEW_MODEL, report=lambda done, total: None)
    with postgres_server.superuser(psycopg.conninfo.conninfo_to_dict(dsn)["dbname"]) as connection:
        connection.execute("UPDATE pg_index SET indisvalid = false WHERE indexrelid = %s::regclass", [name])
    migrate(owner_dsn, embedding_model=(TEST_MODEL.name, TEST_MODEL.dimensions))
    assert one(dsn, "SELECT indisvalid FROM pg_index WHERE indexrelid = %s::regclass", name) is False
    told: list[tuple[int, int]] = []
    await store.build_indexes(NEW_MODEL, report=lambda done, total: told.append((done, total)))
    assert one(dsn, "SELECT indisvalid FROM pg_index WHERE indexrelid = %s::regclass", name) is True
    assert told[-1] == (6, 6)


async def test_entities_of_documents_have_their_vectors_made_and_wait_for_the_rest(
    store: PostgresReembedding, database: Database, rag: Rag, owner_dsn: str, dsn: str
) -> None:
    with psycopg.connect(owner_dsn, autocommit=True) as connection:
        connection.execute(
            """
            INSERT INTO structured_documents (document_id, workspace, path, names, is_code, fingerprint, artifact_hash)
            SELECT id, workspace, 'a.py', '{}', true, 'x', content_hash FROM documents
            WHERE external_id = 'nota-01.md' ON CONFLICT DO NOTHING
            """
        )
        connection.execute(
            """
            INSERT INTO structural_entities (
                document_id, workspace, entity_key, position, kind, name, names, content, head, token_count,
                head_tokens, line_start, line_end, index_text, content_hash)
            SELECT id, workspace, 'a.py::f' || n, 100 + n, 'function', 'f', '{}', 'f', 'f', 1, 1, 1, 1,
                   CASE WHEN n < 3 THEN 'def f' || n END, CASE WHEN n < 3 THEN sha256(('def f' || n)::bytea) END
            FROM documents, generate_series(0, 3) AS n WHERE external_id = 'nota-01.md'
            """
        )
    embedder = RefusingEmbedder(refused="def f1")
    done = await reembed_over(store, database, embedder).execute()
    assert (done.status, done.rejected, done.waiting) == (ReembedStatus.SWITCHED, 1, 1)
    assert [text for text in embedder.embedded if text.startswith("def")] == ["def f0", "def f2"]
    assert one(dsn, "SELECT count(*) FROM structural_entity_embeddings WHERE vector_dims(embedding) = 16") >= 2
    waiting = """
        SELECT e.index_text, b.failed FROM structural_entity_backlog b JOIN structural_entities e ON e.id = b.item_id
        WHERE e.entity_key LIKE 'a.py::%'
    """
    assert rows(dsn, waiting) == [("def f1", True)]


async def test_the_new_models_worker_goes_on_with_what_the_switch_listed(
    store: PostgresReembedding, database: Database, rag: Rag, dsn: str
) -> None:
    """As after a kill between the switch and the end: the same command finishes the rest."""
    await store.register(NEW_MODEL)
    await store.activate(NEW_MODEL, rejected={})
    assert one(dsn, "SELECT count(*) FROM embedding_backlog") == 30
    embedder = RefusingEmbedder()
    done = await reembed_over(store, database, embedder).execute()
    assert (done.status, done.waiting, len(embedder.embedded)) == (ReembedStatus.ALREADY_ACTIVE, 0, 33)
    assert one(dsn, MISSING, NEW_MODEL.name) == 0
    assert (await pending_over(database, embedder).counts()).pending == 0

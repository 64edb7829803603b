"""Vectors of another model beside those in use: what is made, of what, and who may."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from ragcorp.application.embedding.reembed import PROBE, ReembedStatus
from ragcorp.domain.exceptions import ConfigurationError, ConflictError, IncompatibleEmbeddingsError
from ragcorp.infrastructure.postgres.administration.migrations import migrate
from ragcorp.infrastructure.postgres.connections.database import Database
from ragcorp.infrastructure.postgres.embeddings.reembedding import PostgresReembedding
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
    open_store,
    reembed_over,
    rows,
)
from support.retrieval.corpus import degraded, shown

pytestmark = pytest.mark.anyio


async def test_every_kind_of_vector_is_made_beside_the_others_and_found_after_the_switch(
    store: PostgresReembedding, database: Database, rag: Rag, open_rag: Open, dsn: str
) -> None:
    before = shown(await dense(rag, "pedido 7", limit=5))
    embedder = RefusingEmbedder()
    done = await reembed_over(store, database, embedder).reembed()

    assert (done.status, done.embedded, done.rejected, done.waiting) == (ReembedStatus.SWITCHED, ALL_TEXTS, 0, 0)
    assert sorted(embedder.embedded) == sorted([PROBE, *embedder.embedded[1:]])
    assert len(set(embedder.embedded)) == len(embedder.embedded) == ALL_TEXTS + 1
    assert active(dsn) == NEW_MODEL.name
    for table in ("chunk", "document", "memory", "history", "entity"):
        results = rows(dsn, f"SELECT vector_dims(embedding), count(*) FROM {table}_embeddings GROUP BY 1 ORDER BY 1")
        assert [width for width, _ in results] == [8, 16], table
        assert results[0][1] == results[1][1], table
    states = {state.model.name: state for state in await store.models()}
    assert (states[NEW_MODEL.name].indexes, states[NEW_MODEL.name].all_indexes) == (6, 6)
    assert (states[NEW_MODEL.name].vectors, states[NEW_MODEL.name].missing) == (ALL_TEXTS, 0)

    # the process that is still running answers as before
    assert shown(await dense(rag, "pedido 7", limit=5)) == before
    new = await open_rag(NEW_MODEL)
    response = await dense(new, "pedido 7", limit=len(TEXTS))
    assert degraded(response) == {}
    query = embedder.vector("pedido 7")
    embedded = {
        name: embedder.vector(next(existing for existing in embedder.embedded if existing.endswith(text)))
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
    done = await reembed_over(store, database, embedder).reembed()
    assert (done.status, done.waiting, embedder.embedded) == (ReembedStatus.ALREADY_ACTIVE, 0, [])


async def test_without_the_switch_all_goes_on_as_before(
    store: PostgresReembedding, database: Database, rag: Rag, owner_dsn: str, dsn: str
) -> None:
    embedder = RefusingEmbedder()
    done = await reembed_over(store, database, embedder).reembed(switch=False)
    assert (done.status, done.waiting, active(dsn)) == (ReembedStatus.READY, 0, TEST_MODEL.name)
    # neither a migration nor a start minds the second model
    assert migrate(owner_dsn, embedding_model=(TEST_MODEL.name, TEST_MODEL.dimensions)).up_to_date
    with pytest.raises(IncompatibleEmbeddingsError, match="ragcorp reembed --model"):
        migrate(owner_dsn, embedding_model=(NEW_MODEL.name, NEW_MODEL.dimensions))
    await rag.ingest_text("nueva.md", "Una nota nueva.")
    again = RefusingEmbedder()
    done = await reembed_over(store, database, again).reembed()
    assert (done.status, again.embedded) == (ReembedStatus.SWITCHED, [PROBE, "nueva. Una nota nueva."])


async def test_a_run_goes_on_where_it_was_and_takes_what_is_cached(
    store: PostgresReembedding, database: Database, rag: Rag, dsn: str
) -> None:
    first = RefusingEmbedder()
    assert (await reembed_over(store, database, first).reembed(switch=False)).embedded == ALL_TEXTS
    rows_gone = one(
        dsn,
        "WITH gone AS (DELETE FROM chunk_embeddings WHERE vector_dims(embedding) = 16 AND chunk_id % 2 = 0 RETURNING 1)"
        " SELECT count(*) FROM gone",
    )
    assert rows_gone > 3
    second = RefusingEmbedder()
    done = await reembed_over(store, database, second).reembed()
    assert (done.embedded, done.known, second.embedded) == (0, rows_gone, [PROBE])
    assert one(dsn, MISSING, NEW_MODEL.name) == 0


async def test_a_text_that_the_model_refuses_waits_as_failed_and_stops_nothing(
    store: PostgresReembedding, database: Database, rag: Rag, open_rag: Open, dsn: str
) -> None:
    await rag.ingest_text("mala.md", "Este texto es IMPOSIBLE.")
    done = await reembed_over(store, database, RefusingEmbedder(refused="IMPOSIBLE")).reembed()
    assert (done.status, done.embedded, done.rejected, done.waiting) == (ReembedStatus.SWITCHED, ALL_TEXTS, 1, 1)
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
            if self.turn < 4:
                self.turn = turn = self.turn + 1
                await rag.ingest_text(f"otra-{turn}.md", f"Otra cosa, la {turn}.")
                await rag.ingest_text(f"nota-{turn:02}.md", f"Texto nuevo, el {turn}.")
                await rag.delete(f"nota-{turn + 4:02}.md")
            return made

    done = await reembed_over(store, database, Writing()).reembed()
    assert (done.status, done.waiting) == (ReembedStatus.SWITCHED, 0)
    assert one(dsn, MISSING, NEW_MODEL.name) == 0
    # each document's direction is that of its text of now: one passage each, so the passage's own
    apart = """
        SELECT count(*), count(*) FILTER (WHERE d.embedding <=> e.embedding > 1e-6)
        FROM chunks c JOIN chunk_embeddings e ON e.chunk_id = c.id JOIN embedding_models m ON m.id = e.model_id
        JOIN document_embeddings d ON d.document_id = c.document_id AND d.model_id = m.id
        WHERE m.active
    """
    assert rows(dsn, apart) == [(len(TEXTS), 0)]


async def test_one_process_at_a_time_changes_the_model(
    store: PostgresReembedding, database: Database, owner_dsn: str
) -> None:
    async with open_store(owner_dsn) as (other, _), other.exclusively():
        with pytest.raises(ConflictError, match="Another process"):
            await reembed_over(store, database, RefusingEmbedder()).reembed()
    assert (await reembed_over(store, database, RefusingEmbedder()).reembed()).status is ReembedStatus.SWITCHED


async def test_the_application_role_is_told_to_leave_it_to_the_owner(dsn: str) -> None:
    async with open_store(dsn) as (store, database):
        with pytest.raises(ConfigurationError, match="DATABASE_OWNER_URL"):
            await reembed_over(store, database, RefusingEmbedder()).reembed()


async def test_an_index_whose_build_was_cut_is_built_again_and_no_migration_meddles(
    store: PostgresReembedding, owner_dsn: str, postgres_server: Any, dsn: str
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
    done = await reembed_over(store, database, embedder).reembed()
    assert (done.status, done.rejected, done.waiting) == (ReembedStatus.SWITCHED, 1, 1)
    assert [text for text in embedder.embedded if text.startswith("def")] == ["def f0", "def f2"]
    assert one(dsn, "SELECT count(*) FROM structural_entity_embeddings WHERE vector_dims(embedding) = 16") >= 2
    waiting = """
        SELECT e.index_text, b.failed FROM structural_entity_backlog b JOIN structural_entities e ON e.id = b.item_id
        WHERE e.entity_key LIKE 'a.py::%'
    """
    assert rows(dsn, waiting) == [("def f1", True)]

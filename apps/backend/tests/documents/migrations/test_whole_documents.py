"""Migration 008 on databases with rows: what is known of whole documents is there at once, and goes with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from alembic import command

from ragcorp.infrastructure.postgres.administration.migrations import alembic_config, migrate
from ragcorp.infrastructure.postgres.embeddings.backlog import PostgresEmbeddingBacklog
from support.retrieval.bm25 import assert_in_step, insert_chunks
from support.storage.migrations import MODEL, connected, fill, one
from support.storage.postgres import open_database, repository_over
from support.storage.schema import require_schema
from support.storage.stored import ANYONE, EAST, embed_all, towards, written

INDEXES = """
    SELECT count(*) FROM pg_indexes JOIN embedding_models m ON m.active
    WHERE indexname ~ ('^ix_(chunk|document|memory|history|entity)_embeddings_hnsw_' || m.id || '$')
"""


@pytest.mark.anyio
async def test_documents_that_were_there_have_their_terms_and_vectors(owner_dsn: str) -> None:
    await fill(owner_dsn)
    async with open_database(owner_dsn) as database:
        repository = await repository_over(database)
        await repository.save_many([written("mixed.txt", "norte", "este")], principal=ANYONE)
        backlog = PostgresEmbeddingBacklog(database=database)
        await embed_all(backlog, {"norte": towards(0.0), "este": EAST})
        await repository.save_many([written("waits.txt", "este", "más")], principal=ANYONE)
        await repository.soft_delete_one("0.txt", principal=ANYONE)
    with connected(owner_dsn) as connection:
        connection.execute("UPDATE chunks SET content = content || ' de madera' WHERE content LIKE 'pajar%'")
    config = alembic_config(owner_dsn, embedding_model=MODEL)
    command.downgrade(config, "007")
    command.upgrade(config, "head")
    require_schema(owner_dsn)
    with connected(owner_dsn) as connection:
        assert_in_step(connection)
        assert connection.execute("SELECT count(*) FROM document_terms").fetchone() == (6,)
        stored = connection.execute(
            "SELECT d.external_id, e.embedding::text"
            " FROM document_embeddings e JOIN documents d ON d.id = e.document_id ORDER BY 1"
        ).fetchall()
    east = "[1,0,0,0,0,0,0,0]"
    half = "[0.70710677,0.70710677,0,0,0,0,0,0]"
    assert stored == [("1.txt", east), ("2.txt", east), ("3.txt", east), ("4.txt", east), ("mixed.txt", half)]


@pytest.mark.anyio
async def test_the_triggers_go_with_the_migration_and_come_back(owner_dsn: str) -> None:
    config = alembic_config(owner_dsn, embedding_model=MODEL)
    command.downgrade(config, "007")
    with connected(owner_dsn) as connection:
        triggers = "SELECT count(*) FROM pg_trigger WHERE tgname LIKE 'document_terms%'"
        assert connection.execute(triggers).fetchone() == (0,)
        insert_chunks(connection, "default", ["una aguja", "otra aguja"])
    command.upgrade(config, "head")
    with connected(owner_dsn) as connection:
        assert_in_step(connection)
    await fill(owner_dsn)
    with connected(owner_dsn) as connection:
        assert_in_step(connection)
    assert one(owner_dsn, "SELECT count(*) FROM document_terms") == 6


@pytest.mark.parametrize("model", [MODEL, None])
def test_the_active_models_indexes_over_every_table_of_vectors_are_made_again(
    owner_dsn: str, model: tuple[str, int] | None
) -> None:
    assert one(owner_dsn, INDEXES) == 5
    command.downgrade(alembic_config(owner_dsn, embedding_model=MODEL), "007")
    assert one(owner_dsn, INDEXES) == 1
    migrate(owner_dsn, embedding_model=model)
    assert one(owner_dsn, INDEXES) == 5


@pytest.mark.parametrize("table", ["document", "memory", "history"])
def test_an_invalid_index_over_vectors_of_items_is_rebuilt(postgres_server: Any, owner_dsn: str, table: str) -> None:
    index = one(
        owner_dsn, f"SELECT indexname::text FROM pg_indexes WHERE indexname LIKE 'ix_{table}_embeddings_hnsw_%%'"
    )
    database = str(psycopg.conninfo.conninfo_to_dict(owner_dsn)["dbname"])
    with postgres_server.superuser(database) as connection:
        connection.execute("UPDATE pg_index SET indisvalid = false WHERE indexrelid = %s::regclass", (index,))
    migrate(owner_dsn, embedding_model=MODEL)
    assert one(owner_dsn, "SELECT indisvalid FROM pg_index WHERE indexrelid = %s::regclass", index) is True


TRUNCATIONS: dict[str, Callable[[psycopg.Connection[Any]], object]] = {
    "documents": lambda connection: connection.execute("TRUNCATE documents CASCADE"),
    "chunks": lambda connection: connection.execute("TRUNCATE chunks CASCADE"),
}


@pytest.mark.anyio
@pytest.mark.parametrize("table", TRUNCATIONS)
async def test_truncated_chunks_leave_no_documents_behind(owner_dsn: str, table: str) -> None:
    await fill(owner_dsn)
    assert one(owner_dsn, "SELECT count(*) FROM document_embeddings") == 5
    with connected(owner_dsn) as connection:
        TRUNCATIONS[table](connection)
        assert_in_step(connection)
    assert one(owner_dsn, "SELECT count(*) FROM document_embeddings") == 0

"""The embedding model of a database, and what the application's role may do to it."""

from __future__ import annotations

import psycopg
import pytest

from ragcorp.domain.embeddings import EmbeddingModel
from ragcorp.domain.exceptions import ConfigurationError, IncompatibleEmbeddingsError
from ragcorp.infrastructure.postgres.administration.migrations import migrate
from ragcorp.infrastructure.postgres.embeddings.backlog import PostgresEmbeddingBacklog
from support.models.embedders import TEST_MODEL
from support.storage.migrations import MODEL, connected, fill, one
from support.storage.postgres import open_database, repository_over
from support.storage.schema import GOLDEN, tables_of
from support.storage.stored import ANYONE, EAST, embed_all, written

OWNERS = ("alembic_version", "item_name_key", "key_secret")
"""What the application's role reads and only the owner writes."""


@pytest.mark.anyio
@pytest.mark.parametrize("other", [("another-model", 8), (TEST_MODEL.name, 9)])
async def test_another_model_is_refused_where_there_are_vectors(owner_dsn: str, other: tuple[str, int]) -> None:
    await fill(owner_dsn)
    with pytest.raises(IncompatibleEmbeddingsError) as refused:
        migrate(owner_dsn, embedding_model=other)
    for part in (*map(str, MODEL), *map(str, other), "Nothing was changed"):
        assert part in str(refused.value)
    async with open_database(owner_dsn) as database:
        with pytest.raises(IncompatibleEmbeddingsError):
            await repository_over(database, model=EmbeddingModel(name=other[0], dimensions=other[1]))
    assert one(owner_dsn, "SELECT count(*) FROM chunk_embeddings") == 10
    assert one(owner_dsn, "SELECT name FROM embedding_models WHERE active") == TEST_MODEL.name
    assert migrate(owner_dsn, embedding_model=MODEL).up_to_date


@pytest.mark.anyio
async def test_another_model_is_taken_where_there_are_no_vectors(owner_dsn: str) -> None:
    await fill(owner_dsn, vectors=False)
    wider = EmbeddingModel(name="another-model", dimensions=16)
    async with open_database(owner_dsn) as database:
        with pytest.raises(ConfigurationError, match="ragcorp migrate"):
            await repository_over(database, model=wider)
    migrate(owner_dsn, embedding_model=("another-model", 16))
    async with open_database(owner_dsn) as database:
        repository = await repository_over(database, model=wider)
        vector = (*EAST, *[0.0] * 8)
        await embed_all(PostgresEmbeddingBacklog(database=database), default=vector, model=wider)
        assert len((await repository.find_similar_chunks(vector, principal=ANYONE, limit=50)).ranked_list) == 10


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("width", "indexed"), [(1, "vector(1)"), (2000, "vector(2000)"), (2001, "halfvec(2001)"), (4000, "halfvec(4000)")]
)
async def test_vectors_of_every_width_are_indexed_and_found(empty_owner_dsn: str, width: int, indexed: str) -> None:
    model = EmbeddingModel(name="wide", dimensions=width)
    migrate(empty_owner_dsn, embedding_model=("wide", width))
    definition = one(empty_owner_dsn, "SELECT pg_get_indexdef('ix_chunk_embeddings_hnsw_1'::regclass)")
    assert f"::{indexed}" in definition
    assert f"{indexed.partition('(')[0]}_cosine_ops" in definition
    async with open_database(empty_owner_dsn) as database:
        repository = await repository_over(database, model=model)
        await repository.save_many([written("a.txt", "uno"), written("b.txt", "dos")], principal=ANYONE)
        first = (1.0, *[0.0] * (width - 1))
        last = (*[0.0] * (width - 1), -1.0)
        await embed_all(PostgresEmbeddingBacklog(database=database), {"uno": first, "dos": last}, model=model)
        results = (await repository.find_similar_chunks(last, principal=ANYONE, limit=2)).ranked_list
        chunks = await repository.get_chunks([str(hit.chunk_id) for hit in results], principal=ANYONE)
    assert [chunks[str(hit.chunk_id)].content for hit in results] == ["dos", "uno"]
    assert results.hits[0].score == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("width", [0, -1, 4001])
def test_a_width_that_cannot_be_indexed_is_refused(owner_dsn: str, width: int) -> None:
    with pytest.raises(ConfigurationError, match="EMBEDDING_DIM"):
        migrate(owner_dsn, embedding_model=("wide", width))


# roles


def test_the_application_role_changes_rows_and_no_schema(dsn: str, owner_dsn: str) -> None:
    tables = [
        row[0]
        for row in psycopg.connect(owner_dsn)
        .execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        .fetchall()
    ]
    assert set(tables) == set(tables_of(GOLDEN.read_text(encoding="utf-8")))
    with connected(dsn) as connection:
        for table in tables:
            connection.execute(f"SELECT count(*) FROM {table}")
            for privilege in ("SELECT", "INSERT", "UPDATE", "DELETE"):
                granted = connection.execute("SELECT has_table_privilege(%s, %s)", (table, privilege)).fetchone()
                assert granted == (table not in OWNERS or privilege == "SELECT",), (table, privilege)
        for statement in (
            "CREATE TABLE mine (a int)",
            "ALTER TABLE chunks ADD COLUMN mine int",
            "DROP TABLE chunks",
            "DROP INDEX ix_chunks_tsv",
            "CREATE INDEX ON chunks (owner)",
            "TRUNCATE chunks",
            "UPDATE key_secret SET secret = repeat('x', 32)::bytea",
            "DELETE FROM key_secret",
            "INSERT INTO item_name_key DEFAULT VALUES",
            "UPDATE alembic_version SET version_num = '001'",
            "CREATE EXTENSION hstore",
            "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
            "CREATE SCHEMA mine",
            "ALTER DATABASE postgres SET work_mem = '1GB'",
            "CREATE ROLE mine",
            "COPY chunks TO '/tmp/chunks'",
            "SET ROLE ragcorp_owner",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(statement)

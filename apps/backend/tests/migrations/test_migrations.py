"""Migrations on databases with rows: up, check, down, up; side by side; interrupted; and what they refuse."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from alembic import command
from psycopg.rows import TupleRow

from ragcorp.domain.exceptions import ConfigurationError, IncompatibleEmbeddingsError, StorageUnavailableError
from ragcorp.domain.ports.models import EmbeddingModel
from ragcorp.infrastructure.postgres.embedding_backlog import PostgresEmbeddingBacklog
from ragcorp.infrastructure.postgres.migrations import alembic_config, migrate, state
from support.embedders import TEST_MODEL
from support.postgres import open_database, repository_over
from support.stored import ANYONE, EAST, embed_all, written

BACKEND = Path(__file__).resolve().parents[2]
MODEL = (TEST_MODEL.name, TEST_MODEL.dimensions)


@pytest.fixture
def empty_owner_dsn(postgres_server: Any, make_database: Callable[..., str]) -> str:
    return str(postgres_server.dsn(make_database(), role="ragcorp_owner"))


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


def counts(dsn: str) -> tuple[int, int]:
    return one(dsn, "SELECT count(*) FROM documents"), one(dsn, "SELECT count(*) FROM chunks")


@pytest.mark.anyio
async def test_up_check_down_up_keeps_documents_and_chunks(owner_dsn: str) -> None:
    await fill(owner_dsn)
    config = alembic_config(owner_dsn, embedding_model=MODEL)
    command.check(config)
    for target in ("002", "001"):
        command.downgrade(config, target)
        assert counts(owner_dsn) == (5, 10)
        assert state(owner_dsn).current == target
        assert not state(owner_dsn).up_to_date
    command.upgrade(config, "head")
    command.check(config)
    assert counts(owner_dsn) == (5, 10)
    # the vectors went with their tables, and every chunk waits for a new one
    assert one(owner_dsn, "SELECT count(*) FROM embedding_backlog") == 10
    assert one(owner_dsn, "SELECT count(*) FROM chunks WHERE tsv @@ to_tsquery('spanish', 'agujas')") == 5
    async with open_database(owner_dsn) as database:
        await embed_all(PostgresEmbeddingBacklog(database=database))
        found = await (await repository_over(database)).find_similar_chunks(EAST, principal=ANYONE, limit=20)
    assert (len(found.ranked_list), found.seen) == (10, 1.0)


def test_down_to_nothing_leaves_nothing(owner_dsn: str) -> None:
    command.downgrade(alembic_config(owner_dsn), "base")
    with connected(owner_dsn) as connection:
        left = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
    assert left == [("alembic_version",)]
    assert state(owner_dsn).current is None
    assert migrate(owner_dsn, embedding_model=MODEL).up_to_date


def test_migration_003_is_what_the_adr_says(owner_dsn: str) -> None:
    expression = one(
        owner_dsn,
        """
        SELECT pg_get_expr(d.adbin, d.adrelid) FROM pg_attrdef d
        JOIN pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum
        WHERE d.adrelid = 'chunks'::regclass AND a.attname = 'tsv' AND a.attgenerated = 's'
        """,
    )
    assert expression == "to_tsvector('spanish'::regconfig, COALESCE(content, ''::text))"
    assert one(owner_dsn, "SELECT pg_get_indexdef('ix_chunks_tsv'::regclass)") == (
        "CREATE INDEX ix_chunks_tsv ON public.chunks USING gin (tsv)"
    )


@pytest.mark.parametrize("form", ["keywords", "url", "sqlalchemy"])
def test_any_form_of_dsn_migrates(empty_owner_dsn: str, form: str) -> None:
    from urllib.parse import quote

    parts = psycopg.conninfo.conninfo_to_dict(empty_owner_dsn)
    address = (
        f"{parts['user']}:{quote(str(parts['password']))}@/{parts['dbname']}"
        f"?host={quote(str(parts['host']), safe='')}&port={parts['port']}"
    )
    dsn = {
        "keywords": empty_owner_dsn,
        "url": f"postgresql://{address}",
        "sqlalchemy": f"postgresql+psycopg://{address}",
    }
    config = alembic_config(dsn[form], embedding_model=MODEL)
    command.upgrade(config, "head")
    assert state(empty_owner_dsn).up_to_date


MIGRATE = """
import sys
from ragcorp.infrastructure.postgres.migrations import migrate
print(migrate(sys.argv[1], embedding_model=(sys.argv[2], int(sys.argv[3])), application_dsn=sys.argv[4]).current)
"""


def migrator(dsn: str, application_dsn: str, model: tuple[str, int] = MODEL) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", MIGRATE, dsn, model[0], str(model[1]), application_dsn],
        cwd=BACKEND,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("ready", [False, True], ids=["empty", "migrated"])
def test_four_migrators_at_once(
    empty_owner_dsn: str, postgres_server: Any, make_database: Callable[..., str], ready: bool
) -> None:
    if ready:
        migrate(empty_owner_dsn, embedding_model=("older", 5))
    name = str(psycopg.conninfo.conninfo_to_dict(empty_owner_dsn)["dbname"])
    running = [migrator(empty_owner_dsn, postgres_server.dsn(name)) for _ in range(4)]
    for process in running:
        output, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors[-2000:]
        assert output.strip() == state(empty_owner_dsn).head
    assert one(empty_owner_dsn, "SELECT count(*) FROM embedding_models WHERE active") == 1
    assert one(empty_owner_dsn, "SELECT count(*) FROM pg_index WHERE NOT indisvalid") == 0
    command.check(alembic_config(empty_owner_dsn))


# indexes that an interrupted build left behind


def mark_invalid(postgres_server: Any, owner_dsn: str, index: str) -> None:
    database = str(psycopg.conninfo.conninfo_to_dict(owner_dsn)["dbname"])
    with postgres_server.superuser(database) as connection:
        connection.execute("UPDATE pg_index SET indisvalid = false WHERE indexrelid = %s::regclass", (index,))


@pytest.mark.parametrize("index", ["ix_chunks_tsv", "ix_chunk_embeddings_hnsw_1"])
def test_an_invalid_index_is_rebuilt(postgres_server: Any, owner_dsn: str, index: str) -> None:
    definition = one(owner_dsn, "SELECT pg_get_indexdef(%s::regclass)", index)
    mark_invalid(postgres_server, owner_dsn, index)
    migrate(owner_dsn, embedding_model=MODEL)
    assert one(owner_dsn, "SELECT indisvalid FROM pg_index WHERE indexrelid = %s::regclass", index) is True
    assert one(owner_dsn, "SELECT pg_get_indexdef(%s::regclass)", index) == definition
    assert one(owner_dsn, "SELECT count(*) FROM pg_class WHERE relname ~ '_cc(new|old)'") == 0


@contextmanager
def old_snapshot(dsn: str) -> Iterator[None]:
    """A transaction that looks at the database as it is now: CREATE INDEX CONCURRENTLY waits for its end."""
    with psycopg.connect(dsn) as connection:
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        connection.execute("SELECT count(*) FROM documents")
        yield


def kill_index_builds(postgres_server: Any, owner_dsn: str, *, within: float = 20.0) -> None:
    database = psycopg.conninfo.conninfo_to_dict(owner_dsn)["dbname"]
    deadline = time.monotonic() + within
    with postgres_server.superuser() as connection:
        while time.monotonic() < deadline:
            killed = connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s"
                " AND query LIKE 'CREATE INDEX CONCURRENTLY%%' AND wait_event_type = 'Lock'",
                (database,),
            ).fetchall()
            if killed:
                return
            time.sleep(0.05)
    pytest.fail("no index build was seen waiting")


@pytest.mark.anyio
@pytest.mark.parametrize("revision", ["001", "002"])
async def test_a_migration_that_was_killed_in_the_middle_goes_on_where_it_was(
    postgres_server: Any, owner_dsn: str, revision: str
) -> None:
    await fill(owner_dsn)
    command.downgrade(alembic_config(owner_dsn), revision)
    failures: list[Exception] = []

    def run() -> None:
        try:
            migrate(owner_dsn, embedding_model=MODEL)
        except Exception as error:  # noqa: BLE001 - looked at below
            failures.append(error)

    with old_snapshot(owner_dsn):
        running = threading.Thread(target=run)
        running.start()
        kill_index_builds(postgres_server, owner_dsn)
        running.join(timeout=30)
    assert [type(error) for error in failures] == [StorageUnavailableError]
    assert one(owner_dsn, "SELECT count(*) FROM pg_index WHERE NOT indisvalid") == 1
    migrate(owner_dsn, embedding_model=MODEL)
    assert one(owner_dsn, "SELECT count(*) FROM pg_index WHERE NOT indisvalid") == 0
    assert state(owner_dsn).up_to_date
    command.check(alembic_config(owner_dsn, embedding_model=MODEL))
    assert counts(owner_dsn) == (5, 10)


def test_a_locked_table_ends_a_migration_in_time_and_changes_nothing(owner_dsn: str) -> None:
    config = alembic_config(owner_dsn, embedding_model=MODEL)
    command.downgrade(config, "002")
    config.attributes["lock_timeout"] = "200ms"
    with psycopg.connect(owner_dsn) as holder:
        holder.execute("SELECT count(*) FROM chunks")
        started = time.monotonic()
        with pytest.raises(Exception, match="lock timeout"):
            command.upgrade(config, "head")
        assert time.monotonic() - started < 10
    assert state(owner_dsn).current == "002"
    command.upgrade(config, "head")
    assert state(owner_dsn).up_to_date


# the embedding model


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
        found = (await repository.find_similar_chunks(last, principal=ANYONE, limit=2)).ranked_list
        chunks = await repository.get_chunks([str(hit.chunk_id) for hit in found], principal=ANYONE)
    assert [chunks[str(hit.chunk_id)].content for hit in found] == ["dos", "uno"]
    assert found.hits[0].score == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("width", [0, -1, 4001])
def test_a_width_that_cannot_be_indexed_is_refused(owner_dsn: str, width: int) -> None:
    with pytest.raises(ConfigurationError, match="EMBEDDING_DIM"):
        migrate(owner_dsn, embedding_model=("wide", width))


# roles


def test_the_application_role_changes_rows_and_no_schema(dsn: str, owner_dsn: str) -> None:
    tables = [
        row[0]
        for row in psycopg.connect(owner_dsn)
        .execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'alembic_version'")
        .fetchall()
    ]
    assert len(tables) == 7
    with connected(dsn) as connection:
        for table in tables:
            connection.execute(f"SELECT count(*) FROM {table}")
            for privilege in ("SELECT", "INSERT", "UPDATE", "DELETE"):
                granted = connection.execute("SELECT has_table_privilege(%s, %s)", (table, privilege)).fetchone()
                assert granted == (True,), (table, privilege)
        for statement in (
            "CREATE TABLE mine (a int)",
            "ALTER TABLE chunks ADD COLUMN mine int",
            "DROP TABLE chunks",
            "DROP INDEX ix_chunks_tsv",
            "CREATE INDEX ON chunks (owner)",
            "TRUNCATE chunks",
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

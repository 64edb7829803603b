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
from alembic.script import ScriptDirectory
from psycopg.rows import TupleRow
from sqlalchemy import Engine, event

from ragcorp.domain.exceptions import StorageUnavailableError
from ragcorp.infrastructure.postgres.administration.inspection import inspect_service
from ragcorp.infrastructure.postgres.administration.migrations import (
    alembic_config,
    head_revision,
    known_revisions,
    migrate,
    scripts_folder,
    state,
)
from ragcorp.infrastructure.postgres.embeddings.backlog import PostgresEmbeddingBacklog
from support.storage.migrations import MODEL, connected, fill, one
from support.storage.postgres import open_database, repository_over
from support.storage.schema import require_schema
from support.storage.stored import ANYONE, EAST, embed_all

BACKEND = Path(__file__).resolve().parents[3]


def counts(dsn: str) -> tuple[int, int]:
    return one(dsn, "SELECT count(*) FROM documents"), one(dsn, "SELECT count(*) FROM chunks")


@pytest.mark.anyio
async def test_up_check_down_up_keeps_documents_and_chunks(owner_dsn: str) -> None:
    await fill(owner_dsn)
    config = alembic_config(owner_dsn, embedding_model=MODEL)
    require_schema(owner_dsn)
    for target in ("006", "005", "004", "003", "002", "001"):
        command.downgrade(config, target)
        assert counts(owner_dsn) == (5, 10)
        assert state(owner_dsn).current == target
        assert not state(owner_dsn).up_to_date
    command.upgrade(config, "head")
    require_schema(owner_dsn)
    assert counts(owner_dsn) == (5, 10)
    # the vectors went with their tables, and every chunk waits for a new one
    assert one(owner_dsn, "SELECT count(*) FROM embedding_backlog") == 10
    assert one(owner_dsn, "SELECT count(*) FROM chunks WHERE tsv @@ to_tsquery('spanish', 'agujas')") == 5
    async with open_database(owner_dsn) as database:
        await embed_all(PostgresEmbeddingBacklog(database=database))
        repository = await repository_over(database)
        result = await repository.find_similar_chunks(EAST, principal=ANYONE, limit=20)
        matching = await repository.find_chunks_full_text("agujas 3", principal=ANYONE, limit=20)
        first = await repository.get_chunks([str(matching.ranked_list.hits[0].chunk_id)], principal=ANYONE)
    assert (len(result.ranked_list), result.seen) == (10, 1.0)
    assert [chunk.content for chunk in first.values()] == ["aguja 3"]
    assert (matching.chunks, len(matching.ranked_list), len(matching.all_words)) == (10, 6, 1)


SEARCH_COLUMNS = """
    SELECT attname::text, format_type(atttypid, atttypmod), attgenerated::text
    FROM pg_attribute
    WHERE attrelid = 'chunks'::regclass AND attnum > 0 AND NOT attisdropped AND atttypid = 'tsvector'::regtype
    ORDER BY attname
"""
OBJECTS = """
    SELECT relname::text FROM pg_class
    WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'i', 'S')
      AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = pg_class.oid AND deptype = 'e')
    UNION ALL
    SELECT proname::text FROM pg_proc
    WHERE pronamespace = 'public'::regnamespace
      AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = pg_proc.oid AND deptype = 'e')
    UNION ALL
    SELECT tgname::text FROM pg_trigger WHERE NOT tgisinternal
    ORDER BY 1
"""


def rows(dsn: str, query: str) -> list[TupleRow]:
    with connected(dsn) as connection:
        return connection.execute(query).fetchall()  # type: ignore[call-overload, no-any-return]


@pytest.mark.anyio
async def test_down_to_003_leaves_the_adrs_search_columns_and_nothing_of_ours(
    owner_dsn: str, empty_owner_dsn: str
) -> None:
    command.upgrade(alembic_config(empty_owner_dsn, embedding_model=MODEL), "003")
    untouched = rows(empty_owner_dsn, OBJECTS)
    await fill(owner_dsn)
    assert [row[0] for row in rows(owner_dsn, SEARCH_COLUMNS)] == ["lexemes", "tsv"]
    config = alembic_config(owner_dsn, embedding_model=MODEL)
    command.downgrade(config, "003")
    assert rows(owner_dsn, SEARCH_COLUMNS) == [("tsv", "tsvector", "s")]
    assert rows(owner_dsn, OBJECTS) == untouched
    assert counts(owner_dsn) == (5, 10)
    assert one(owner_dsn, "SELECT count(*) FROM chunk_embeddings") == 10
    assert one(owner_dsn, "SELECT count(*) FROM chunks WHERE tsv @@ to_tsquery('spanish', 'agujas')") == 5
    # written while we were away: it is found as the rest after the way back
    with connected(owner_dsn) as connection:
        connection.execute("UPDATE chunks SET content = 'aguja nueva' WHERE content = 'pajar 3'")
        connection.execute("DELETE FROM documents WHERE external_id = '0.txt'")
    command.upgrade(config, "head")
    require_schema(owner_dsn)
    async with open_database(owner_dsn) as database:
        repository = await repository_over(database)
        matching = await repository.find_chunks_full_text("agujas nuevas", principal=ANYONE, limit=20)
        first = await repository.get_chunks([str(matching.ranked_list.hits[0].chunk_id)], principal=ANYONE)
    assert [chunk.content for chunk in first.values()] == ["aguja nueva"]
    assert (matching.chunks, len(matching.ranked_list)) == (8, 5)


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
from ragcorp.infrastructure.postgres.administration.migrations import migrate
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


@pytest.mark.parametrize(
    ("ready", "migrators"),
    [
        pytest.param(False, 2, id="empty"),
        pytest.param(True, 2, id="migrated"),
        pytest.param(False, 4, id="empty, more", marks=pytest.mark.soak),
        pytest.param(True, 4, id="migrated, more", marks=pytest.mark.soak),
    ],
)
def test_migrators_at_once(
    empty_owner_dsn: str, postgres_server: Any, make_database: Callable[..., str], ready: bool, migrators: int
) -> None:
    if ready:
        migrate(empty_owner_dsn, embedding_model=("older", 5))
    name = str(psycopg.conninfo.conninfo_to_dict(empty_owner_dsn)["dbname"])
    running = [migrator(empty_owner_dsn, postgres_server.dsn(name)) for _ in range(migrators)]
    for process in running:
        output, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors[-2000:]
        assert output.strip() == state(empty_owner_dsn).head
    assert one(empty_owner_dsn, "SELECT count(*) FROM embedding_models WHERE active") == 1
    assert one(empty_owner_dsn, "SELECT count(*) FROM pg_index WHERE NOT indisvalid") == 0
    require_schema(empty_owner_dsn)


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


def test_the_names_of_the_files_are_the_revisions() -> None:
    scripts = ScriptDirectory(str(scripts_folder()))
    assert known_revisions() == {script.revision for script in scripts.walk_revisions()}
    assert head_revision() == scripts.get_current_head()


def test_a_database_at_the_newest_revision_is_prepared_without_alembic(
    owner_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "alembic", None)
    assert migrate(owner_dsn, embedding_model=MODEL).up_to_date


def committing_halfway() -> dict[str, str]:
    """Return each revision that commits before its end, for an index built beside traffic, and the one before it."""
    results = ScriptDirectory(str(scripts_folder())).walk_revisions()
    return {
        script.revision: str(script.down_revision)
        for script in results
        if "autocommit_block" in Path(script.path).read_text(encoding="utf-8")
    }


def require_whole(dsn: str) -> None:
    assert one(dsn, "SELECT count(*) FROM pg_index WHERE NOT indisvalid") == 0
    assert state(dsn).up_to_date
    require_schema(dsn)
    assert inspect_service(dsn).unprotected == ()


@pytest.mark.anyio
@pytest.mark.parametrize("revision", ["001", *committing_halfway().values()])
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
    require_whole(owner_dsn)
    assert counts(owner_dsn) == (5, 10)


class InterruptedRunError(Exception):
    """The process ends here."""


@contextmanager
def ends_after(committed: int) -> Iterator[None]:
    """Let so many statements that commit for themselves end, and no statement after them."""
    seen = 0

    def count(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        nonlocal seen
        if seen >= committed and "pg_advisory" not in statement:
            raise InterruptedRunError
        seen += "INDEX CONCURRENTLY" in statement

    event.listen(Engine, "before_cursor_execute", count)
    try:
        yield
    finally:
        event.remove(Engine, "before_cursor_execute", count)


@pytest.mark.parametrize(
    ("revision", "before"),
    [
        pytest.param(revision, before, marks=() if newest == 0 else pytest.mark.soak)
        for newest, (revision, before) in enumerate(committing_halfway().items())
    ],
)
def test_a_migration_may_end_after_each_of_its_commits_either_way(owner_dsn: str, revision: str, before: str) -> None:
    config = alembic_config(owner_dsn)
    command.downgrade(config, revision)
    for run, target in ((command.downgrade, before), (command.upgrade, revision)):
        ended = 0
        for committed in range(1, 9):
            try:
                with ends_after(committed):
                    run(config, target)
            except InterruptedRunError:
                ended += 1
                assert state(owner_dsn).current != target
                continue
            break
        assert ended > 0
        assert state(owner_dsn).current == target
    migrate(owner_dsn, embedding_model=MODEL)
    require_whole(owner_dsn)


def test_policies_that_an_interrupted_migration_left_behind_do_not_stop_the_next(owner_dsn: str) -> None:
    command.downgrade(alembic_config(owner_dsn), "015")
    with connected(owner_dsn) as connection:
        for table in ("documents", "chunks"):
            connection.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY")
            connection.execute(f"CREATE POLICY of_workspace ON {table} USING (workspace = 'something')")
        connection.execute("CREATE FUNCTION path_key(path text) RETURNS uuid LANGUAGE sql AS 'SELECT NULL::uuid'")
    migrate(owner_dsn, embedding_model=MODEL)
    require_whole(owner_dsn)
    assert one(owner_dsn, "SELECT count(*) FROM pg_policies WHERE qual LIKE '%something%'") == 0
    assert one(owner_dsn, "SELECT path_key('a') IS NOT NULL") is True


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

"""A session sees and writes the rows of the workspace that its transaction names, whatever its statements leave out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import psycopg
import pytest
from pgvector import Vector as PgVector
from psycopg.conninfo import make_conninfo
from psycopg.rows import TupleRow

from ragcorp.domain.exceptions import ConflictError, NotFoundError, StorageUnavailableError
from ragcorp.infrastructure.postgres.administration import row_level_security
from ragcorp.infrastructure.postgres.administration.inspection import OF_NO_WORKSPACE, inspect_service, role_is_bound
from ragcorp.infrastructure.postgres.administration.leakproof import NEEDED, mark_leakproof
from ragcorp.infrastructure.postgres.chunks import rows as chunk_rows
from ragcorp.infrastructure.postgres.connections.database import EVERY_WORKSPACE, Database
from ragcorp.infrastructure.postgres.dense import statements
from ragcorp.infrastructure.postgres.lexical import bm25
from ragcorp.infrastructure.postgres.models.registry import active_model
from ragcorp.infrastructure.postgres.tables.collections import CHUNKS
from ragcorp.infrastructure.postgres.workspaces.registry import PostgresWorkspaces
from support.models.embedders import TEST_MODEL
from support.storage.postgres import open_database, repository_over
from support.storage.stored import EAST
from support.storage.two_workspaces import OURS, THEIRS, fill_two_workspaces

pytestmark = pytest.mark.anyio

TABLES = """
    SELECT c.relname, EXISTS (
        SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'workspace' AND NOT a.attisdropped)
    FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND c.relname <> ALL (%s)
    ORDER BY c.relname
"""
VALUES = {"workspace": "theirs", "clearance": 3, "groups": [], "subject": "local"}
"""As if the workspace came from somewhere else than the transaction."""


@pytest.fixture
async def database(dsn: str) -> AsyncIterator[Database]:
    async with open_database(dsn, pool_size=2) as database:
        await fill_two_workspaces(database, dsn)
        yield database


@pytest.fixture
def everything(dsn: str, database: Database) -> Iterator[psycopg.Connection[TupleRow]]:
    with psycopg.connect(dsn, autocommit=True) as connection:
        yield connection


def guarded(connection: psycopg.Connection[TupleRow]) -> list[tuple[str, bool]]:
    """Return each table with rows of a workspace, and whether it has a column of that name."""
    return [(row[0], row[1]) for row in connection.execute(TABLES, [list(OF_NO_WORKSPACE)]).fetchall()]


async def fetch(database: Database, workspace: str, statement: str, values: Any = None) -> list[TupleRow]:
    async with database.autocommit(workspace) as connection:
        return await (await connection.execute(statement, values)).fetchall()


def test_every_table_is_under_a_forced_policy_or_named_as_one_without_rows_of_anybody(dsn: str, owner_dsn: str) -> None:
    assert inspect_service(dsn).unprotected == ()
    with psycopg.connect(owner_dsn, autocommit=True) as owner:
        result = {row[0] for row in owner.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")}
        assert result >= set(OF_NO_WORKSPACE)
        owner.execute("CREATE TABLE new_notes (workspace text NOT NULL)")
        owner.execute("ALTER TABLE facts NO FORCE ROW LEVEL SECURITY")
    assert inspect_service(dsn).unprotected == ("facts", "new_notes")


async def test_no_statement_sees_rows_of_another_workspace(
    database: Database, everything: psycopg.Connection[TupleRow]
) -> None:
    for table, has_column in guarded(everything):
        row = everything.execute(f"SELECT count(*) FROM {table}".encode()).fetchone()
        assert row is not None
        ((ours,),) = await fetch(database, "ours", f"SELECT count(*) FROM {table}")
        ((theirs,),) = await fetch(database, "theirs", f"SELECT count(*) FROM {table}")
        if not table.endswith("_progress"):
            assert (ours > 0, theirs > 0) == (True, True), f"{table} is not filled, so this shows nothing of it"
        assert ours + theirs == row[0], table
        if has_column:
            assert await fetch(database, "ours", f"SELECT FROM {table} WHERE workspace <> 'ours'") == [], table
        assert await fetch(database, "third", f"SELECT FROM {table}") == [], table


async def test_without_a_workspace_there_are_no_rows_for_the_owner_either(
    everything: psycopg.Connection[TupleRow], dsn: str, owner_dsn: str
) -> None:
    for plain in (make_conninfo(dsn, options=""), make_conninfo(owner_dsn, options="")):
        with psycopg.connect(plain, autocommit=True) as connection:
            for table, _ in guarded(everything):
                assert connection.execute(f"SELECT FROM {table}".encode()).fetchall() == [], table


async def test_no_row_is_written_into_another_workspace_or_moved_there(
    database: Database, everything: psycopg.Connection[TupleRow]
) -> None:
    moved = [table for table, has_column in guarded(everything) if has_column and not table.endswith("_progress")]
    assert len(moved) > 25
    for table in moved:
        with pytest.raises(StorageUnavailableError) as refused:
            await fetch(database, "ours", f"UPDATE {table} SET workspace = 'theirs' RETURNING 1")
        assert refused.value.reason == "row_security", table
        assert "migrate" not in (refused.value.remedy or "")
        assert table not in str(refused.value)
    with pytest.raises(StorageUnavailableError) as lacking:
        await fetch(database, "ours", "UPDATE key_secret SET secret = secret RETURNING 1")
    assert (lacking.value.reason, "migrate" in (lacking.value.remedy or "")) == ("privilege", True)
    for insert in (
        "INSERT INTO memory_backlog (item_id, workspace) SELECT id, 'theirs' FROM memory_items RETURNING 1",
        "INSERT INTO default_languages (workspace, language) VALUES ('third', 'es') RETURNING 1",
        "INSERT INTO bm25_changes (workspace_id, changed, chunks, total_length) VALUES (-1, 1, 1, 1) RETURNING 1",
    ):
        with pytest.raises((StorageUnavailableError, ConflictError)):
            await fetch(database, "ours", insert)


async def test_a_statement_without_a_condition_changes_and_deletes_only_rows_of_its_own(
    database: Database, everything: psycopg.Connection[TupleRow]
) -> None:
    before = everything.execute("SELECT count(*), min(title) FROM documents WHERE workspace = 'theirs'").fetchone()
    async with database.transaction("ours") as connection:
        assert (await connection.execute("UPDATE documents SET title = 'changed'")).rowcount == 2
        assert (await connection.execute("DELETE FROM documents")).rowcount == 2
    after = everything.execute("SELECT count(*), min(title) FROM documents WHERE workspace = 'theirs'").fetchone()
    assert after == before
    assert everything.execute("SELECT count(*) FROM chunks WHERE workspace = 'ours'").fetchone() == (0,)


async def test_adapters_statements_without_their_predicates_find_nothing_foreign(
    database: Database, everything: psycopg.Connection[TupleRow]
) -> None:
    foreign = [row[0] for row in everything.execute("SELECT id FROM chunks WHERE workspace = 'theirs'")]
    model = await active_model(database, configured=TEST_MODEL)
    assert foreign
    assert model is not None
    by_id = chunk_rows.CHUNKS_BY_ID.format(condition="true")
    dense = statements.similar(CHUNKS, model_id=model.id, dimensions=8, limit=9, visible="true")
    sparse = bm25.bm25_top(limit=9, visible="true")
    asked = VALUES | {"embedding": PgVector(list(EAST)), "lexemes": ["secret"], "weights": None, "theta": None}
    for workspace, result in (("theirs", len(foreign)), ("ours", 0)):
        assert len(await fetch(database, workspace, by_id, {"ids": foreign})) == result
        similar = await fetch(database, workspace, dense, asked)
        assert len([row for row in similar if row[2] is not None]) == result
        best = await fetch(database, workspace, sparse, asked)
        assert len([row for row in best if row[0] is not None]) == (1 if result else 0)
    told = "SELECT id IS NULL FROM bm25_totals('theirs')"
    assert await fetch(database, "theirs", told) == [(False,)]
    assert await fetch(database, "ours", told) in ([], [(True,)])


async def test_foreign_names_are_of_nothing(database: Database, everything: psycopg.Connection[TupleRow]) -> None:
    documents = await repository_over(database)
    everything.execute("UPDATE documents SET external_id = 'only-theirs.md' WHERE workspace = 'theirs' AND path ~ 'md'")
    assert (await documents.get("only-theirs.md", principal=THEIRS)).external_id == "only-theirs.md"
    for call in (documents.get, documents.get_source, documents.soft_delete_one):
        with pytest.raises(NotFoundError):
            await call("only-theirs.md", principal=OURS)


async def test_the_workspace_ends_with_its_transaction(database: Database) -> None:
    setting = "SELECT coalesce(current_setting('ragcorp.workspace', true), ''), count(*)::int FROM documents"
    for _ in range(3):
        assert await fetch(database, "ours", setting) == [("ours", 2)]
        async with database.transaction("theirs") as connection:
            assert await (await connection.execute(setting)).fetchall() == [("theirs", 2)]
        async with database.transaction(EVERY_WORKSPACE) as connection:
            assert await (await connection.execute(setting)).fetchall() == [("*", 4)]
        for broken in (database.autocommit("ours"), database.transaction("ours")):
            with pytest.raises(StorageUnavailableError):
                async with broken as connection:
                    await connection.execute("SELECT 1 / 0")
        async with database._pool.connection() as bare:
            await bare.set_autocommit(True)
            assert await (await bare.execute(setting)).fetchall() == [("", 0)]


async def test_sessions_of_two_workspaces_share_a_pool(database: Database) -> None:
    async def look(workspace: str) -> set[str]:
        seen: set[str] = set()
        for _ in range(20):
            seen |= {row[0] for row in await fetch(database, workspace, "SELECT workspace FROM documents")}
            async with database.transaction(workspace) as connection:
                rows = await (await connection.execute("SELECT workspace FROM chunks")).fetchall()
            seen |= {row[0] for row in rows}
        return seen

    result = await asyncio.gather(*(look(workspace) for workspace in ("ours", "theirs", "third") * 3))
    assert result == [{"ours"}, {"theirs"}, set()] * 3


def test_roles_that_no_policy_binds_are_told(
    postgres_server: Any, database_name: str, dsn: str, owner_dsn: str
) -> None:
    assert role_is_bound(dsn)
    assert role_is_bound(owner_dsn)
    assert not role_is_bound(postgres_server.dsn(database_name, role="postgres"))
    with postgres_server.superuser(database_name) as superuser:
        superuser.execute("CREATE ROLE beyond BYPASSRLS")
        try:
            superuser.execute("GRANT beyond TO ragcorp_app")
            assert not role_is_bound(dsn)
        finally:
            superuser.execute("DROP ROLE beyond")


def test_what_an_index_needs_is_marked_by_a_superuser_and_else_told(
    postgres_server: Any, database_name: str, dsn: str, owner_dsn: str
) -> None:
    assert inspect_service(dsn).unmarked == ()
    superuser_dsn = postgres_server.dsn(database_name, role="postgres")
    with psycopg.connect(superuser_dsn, autocommit=True) as superuser:
        superuser.execute("ALTER FUNCTION bm25_impacts(integer[], integer) NOT LEAKPROOF")
        superuser.execute("ALTER FUNCTION pg_catalog.ts_match_vq(tsvector, tsquery) NOT LEAKPROOF")
    left = [
        'ALTER FUNCTION "pg_catalog"."ts_match_vq"(tsvector, tsquery) LEAKPROOF',
        'ALTER FUNCTION "public"."bm25_impacts"(terms integer[], length integer) LEAKPROOF',
    ]
    assert mark_leakproof(owner_dsn) == left
    assert inspect_service(dsn).unmarked == tuple(left)
    assert mark_leakproof(owner_dsn, superuser_dsn=superuser_dsn) == []
    assert inspect_service(dsn).unmarked == ()


@pytest.fixture
def without_policies(owner_dsn: str, database: Database) -> str:
    """The owner's DSN of the two workspaces' database, with row-level security turned off."""
    with psycopg.connect(owner_dsn, autocommit=True) as owner:
        row_level_security.switch(owner, on=False)
    return owner_dsn


async def test_turned_off_the_conditions_of_the_statements_keep_workspaces_apart(
    without_policies: str, database: Database, everything: psycopg.Connection[TupleRow]
) -> None:
    assert await row_level_security.is_off(database)
    assert await fetch(database, "ours", "SELECT count(DISTINCT workspace) FROM chunks") == [(2,)]
    documents = await repository_over(database)
    for reader, owned in ((OURS, "ours"), (THEIRS, "theirs")):
        own = {str(row[0]) for row in everything.execute("SELECT id FROM chunks WHERE workspace = %s", (owned,))}
        foreign = [str(row[0]) for row in everything.execute("SELECT id FROM chunks WHERE workspace <> %s", (owned,))]
        assert foreign
        matching = await documents.find_chunks_full_text("secreto", principal=reader, limit=50)
        similar = await documents.find_similar_chunks(EAST, principal=reader, limit=50)
        for results in (matching.ranked_list, similar.ranked_list):
            assert {str(hit.chunk_id) for hit in results.hits} <= own
            assert len(results) > 0
        assert await documents.get_chunks(foreign, principal=reader) == {}
    before = everything.execute("SELECT count(*) FROM documents WHERE workspace = 'theirs'").fetchone()
    await PostgresWorkspaces(database=database).remove("ours")
    assert everything.execute("SELECT count(*) FROM documents WHERE workspace = 'ours'").fetchone() == (0,)
    assert everything.execute("SELECT count(*) FROM documents WHERE workspace = 'theirs'").fetchone() == before


def test_turned_off_conditions_reach_their_indexes_without_a_superuser(
    postgres_server: Any, database_name: str, dsn: str, owner_dsn: str
) -> None:
    with postgres_server.superuser(database_name) as superuser:
        for function in NEEDED:
            superuser.execute(f"ALTER FUNCTION {function} NOT LEAKPROOF")

    def indexed(condition: str, table: str, index: str) -> bool:
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute("SELECT set_config('enable_seqscan', 'off', false)")
            plan = connection.execute(f"EXPLAIN SELECT FROM {table} WHERE {condition}".encode()).fetchall()
        return any(index in row[0] for row in plan)

    conditions = (
        ("bm25_impacts(terms, length) OPERATOR(pg_catalog.&&) '{1}'", "bm25_chunks", "ix_bm25_chunks_impacts"),
        ("tsv @@ 'a'::tsquery", "chunks", "ix_chunks_tsv"),
    )
    assert [indexed(*condition) for condition in conditions] == [False, False]
    for on in (False, True):
        with psycopg.connect(owner_dsn, autocommit=True) as owner:
            row_level_security.switch(owner, on=on)
        assert [indexed(*condition) for condition in conditions] == [not on, not on]


def test_a_lock_that_is_not_to_be_had_leaves_every_table_as_it_was(dsn: str, owner_dsn: str) -> None:
    with psycopg.connect(dsn) as reader, psycopg.connect(owner_dsn, autocommit=True) as owner:
        reader.execute("SELECT count(*) FROM token_usage")
        owner.execute("SELECT set_config('lock_timeout', '100ms', false)")
        with pytest.raises(psycopg.errors.LockNotAvailable):
            row_level_security.switch(owner, on=False)
    assert inspect_service(dsn).unprotected == ()

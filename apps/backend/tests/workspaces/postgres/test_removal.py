"""A workspace that is removed leaves nothing behind, and takes nothing of another's with it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import psycopg
import pytest

from ragcorp.domain.collections import Collection
from ragcorp.domain.principal import Principal
from ragcorp.infrastructure.postgres.connections.database import Database
from ragcorp.infrastructure.postgres.embeddings.backlog import PostgresEmbeddingBacklog
from ragcorp.infrastructure.postgres.items.repository import TABLES, PostgresItemRepository
from ragcorp.infrastructure.postgres.workspaces.registry import PostgresWorkspaces
from support.conformance.stored_items import draft
from support.storage.postgres import open_database, repository_over
from support.storage.schema import GOLDEN, tables_of
from support.storage.stored import embed_all, written

pytestmark = pytest.mark.anyio

HERE, THERE = Principal(workspace="here"), Principal(workspace="there")
OF_WORKSPACES = tables_of(GOLDEN.read_text(encoding="utf-8"), column="workspace ")


@pytest.fixture
async def database(dsn: str) -> AsyncIterator[Database]:
    async with open_database(dsn) as database:
        yield database


async def fill(database: Database, principal: Principal) -> None:
    documents = await repository_over(database)
    await documents.save_many([written("a.txt", "una aguja", "un pajar")], principal=principal)
    await embed_all(PostgresEmbeddingBacklog(database=database))
    await documents.save_many([written("b.txt", "espera")], principal=principal)
    for collection, (tables, _) in TABLES.items():
        items = PostgresItemRepository(database=database, collection=collection)
        await items.save_many([draft("a", "uno")], principal=principal)
        await embed_all(PostgresEmbeddingBacklog(database=database, table=tables))
        await items.save_many([draft("b", "espera", session="s")], principal=principal)
    await PostgresWorkspaces(database=database).refresh_statistics(principal.workspace)


def rows(dsn: str, table: str, workspace: str) -> int:
    with psycopg.connect(dsn) as connection:
        row = connection.execute(
            f"SELECT count(*) FROM {table} WHERE workspace = %s",  # type: ignore[arg-type]
            (workspace,),
        ).fetchone()
    assert row is not None
    return int(row[0])


async def test_a_removed_workspace_leaves_no_row_in_any_table(database: Database, dsn: str) -> None:
    for principal in (HERE, THERE):
        await fill(database, principal)
    before = {table: rows(dsn, table, "there") for table in OF_WORKSPACES}
    filled = {name for name, count in before.items() if count}
    assert filled >= {
        *("documents", "chunks", "chunk_embeddings", "embedding_backlog", "document_terms", "document_embeddings"),
        *("memory_items", "memory_embeddings", "memory_backlog"),
        *("history_turns", "history_embeddings", "history_backlog"),
        *("embedding_cache", "workspace_means", "lexicon", "chunk_languages", "bm25_workspaces"),
    }
    await PostgresWorkspaces(database=database).remove("here")
    assert {table: rows(dsn, table, "here") for table in OF_WORKSPACES} == dict.fromkeys(before, 0)
    assert {table: rows(dsn, table, "there") for table in OF_WORKSPACES} == before


async def test_a_workspace_of_items_alone_is_abandoned_when_none_of_them_is_new(database: Database, dsn: str) -> None:
    workspaces = PostgresWorkspaces(database=database)
    history = PostgresItemRepository(database=database, collection=Collection.HISTORY)
    await history.save_many([draft("a")], principal=HERE)
    documents = await repository_over(database)
    for principal in (HERE, THERE):
        await documents.save_many([written("a.txt", "uno")], principal=principal)
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("UPDATE documents SET updated_at = now() - interval '3 days'")
    assert await workspaces.abandoned("t?here", older_than_days=2) == ["there"]
    assert await workspaces.abandoned("here", older_than_days=2) == []
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("UPDATE history_turns SET updated_at = now() - interval '3 days'")
    assert await workspaces.abandoned("t?here", older_than_days=2) == ["here", "there"]
    assert await workspaces.abandoned("t?here", older_than_days=4) == []

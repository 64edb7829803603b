"""Vectors that are used again: what they tell, and that they are gone with the last text that had them."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from ragcorp.application.embedding.embed_pending import EmbedPending
from ragcorp.domain.collections import Collection, ItemSelection
from ragcorp.domain.documents import VisibilityScope
from ragcorp.domain.principal import Principal
from ragcorp.infrastructure.postgres.connections.database import EVERY_WORKSPACE, Database
from ragcorp.infrastructure.postgres.embeddings.backlog import PostgresEmbeddingBacklog
from ragcorp.infrastructure.postgres.embeddings.cache import PostgresEmbeddingCache
from ragcorp.infrastructure.postgres.items.repository import PostgresItemRepository
from ragcorp.infrastructure.postgres.tables.embedded import OF_ITEMS
from support.conformance.stored_items import OTHER, draft
from support.models.embedders import TEST_MODEL, HashingEmbedder
from support.storage.postgres import open_database, repository_over
from support.storage.stored import ANYONE, written

pytestmark = pytest.mark.anyio


@pytest.fixture
async def database(dsn: str) -> AsyncIterator[Database]:
    async with open_database(dsn) as database:
        yield database


@pytest.fixture
def memory(database: Database) -> PostgresItemRepository:
    return PostgresItemRepository(database=database, collection=Collection.MEMORY)


@pytest.fixture
def history(database: Database) -> PostgresItemRepository:
    return PostgresItemRepository(database=database, collection=Collection.HISTORY)


@pytest.fixture
def embedder() -> HashingEmbedder:
    return HashingEmbedder()


@pytest.fixture
def embed_pending(database: Database, embedder: HashingEmbedder) -> EmbedPending:
    return EmbedPending(
        embedder=embedder,
        backlogs=[
            PostgresEmbeddingBacklog(database=database),
            *(PostgresEmbeddingBacklog(database=database, table=table) for table in OF_ITEMS),
        ],
        cache=PostgresEmbeddingCache(database=database),
    )


async def fetch(database: Database, query: str) -> list[Any]:
    async with database.autocommit(EVERY_WORKSPACE) as connection:
        return await (await connection.execute(query)).fetchall()  # type: ignore[call-overload, no-any-return]


async def known(database: Database, *texts: str, workspace: str = "default") -> set[str]:
    """Return those texts that the worker would not embed again."""
    hashes = {hashlib.sha256(text.encode()).digest(): text for text in texts}
    results = await PostgresEmbeddingCache(database=database).get(list(hashes), model=TEST_MODEL, workspace=workspace)
    return {hashes[key] for key in results}


async def test_an_item_waits_for_the_worker_whatever_others_hide_or_forgot(
    database: Database,
    memory: PostgresItemRepository,
    history: PostgresItemRepository,
    embed_pending: EmbedPending,
    embedder: HashingEmbedder,
) -> None:
    ana = Principal(subject="ana")
    hidden = draft("a", "el pin es 1", visibility_scope=VisibilityScope.PRIVATE, owner="ana")
    await memory.save_many([hidden, draft("b", "el pin es 2")], principal=ana)
    await (await repository_over(database)).save_many([written("a.txt", "el pin es 3")], principal=ana)
    await embed_pending.embed()
    await memory.delete_one("b", principal=ana)
    for number in range(1, 5):
        await history.save_many([draft(f"{number}", f"el pin es {number}")], principal=ANYONE)
        assert (await history.get(f"{number}", principal=ANYONE)).pending
    assert await fetch(database, "SELECT count(*) FROM history_embeddings") == [(0,)]
    # the worker takes what is known and embeds the rest: of what was deleted for good, nothing is known
    before = len(embedder.embedded)
    assert (await embed_pending.embed()).embedded == 4
    assert embedder.embedded[before:] == ["el pin es 2", "el pin es 4"]


async def test_a_vector_is_known_as_long_as_an_item_has_its_text(
    database: Database, memory: PostgresItemRepository, embed_pending: EmbedPending
) -> None:
    await memory.save_many([draft(name, "uno") for name in "abc"], principal=ANYONE)
    await memory.save_many([draft("d", "uno")], principal=OTHER)
    await embed_pending.embed()
    await memory.delete_one("a", principal=ANYONE)
    await memory.save_many([draft("b", "dos")], principal=ANYONE)
    assert await known(database, "uno") == {"uno"}
    await memory.delete(ItemSelection(), principal=ANYONE)
    assert await known(database, "uno") == set()
    assert await known(database, "uno", workspace=OTHER.workspace) == {"uno"}
    assert await fetch(database, "SELECT count(*) FROM embedding_cache") == [(0,)]


async def test_a_purge_forgets_the_vectors_of_passages_that_nothing_has_any_more(
    database: Database, embed_pending: EmbedPending
) -> None:
    documents = await repository_over(database)
    there = Principal(workspace="there")
    await documents.save_many([written("a.txt", "uno", "dos"), written("b.txt", "dos", "tres")], principal=ANYONE)
    await documents.save_many([written("a.txt", "uno")], principal=there)
    await embed_pending.embed()
    for principal in (ANYONE, there):
        await documents.soft_delete_one("a.txt", principal=principal)
    assert await known(database, "uno", "dos", "tres") == {"uno", "dos", "tres"}
    assert await documents.purge_deleted(older_than_days=1, principal=ANYONE) == 0
    assert await known(database, "uno") == {"uno"}
    assert await documents.purge_deleted(older_than_days=0, principal=ANYONE) == 1
    assert await known(database, "uno", "dos", "tres") == {"dos", "tres"}
    assert await known(database, "uno", workspace="there") == {"uno"}
    (outcome,) = await documents.save_many([written("c.txt", "uno", "dos")], principal=ANYONE)
    assert outcome.pending == 1

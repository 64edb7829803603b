"""Entities are stored, swapped, hidden and brought back with their documents."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from ragcorp.application.embedding.embed_pending import EmbedPending
from ragcorp.domain.documents import IngestStatus
from ragcorp.domain.exceptions import ConflictError
from ragcorp.domain.ports.storage import DocumentSelection
from ragcorp.domain.structure.entities import EntityKind
from ragcorp.infrastructure.postgres.connections.database import EVERY_WORKSPACE, Database
from ragcorp.infrastructure.postgres.documents.repository import PostgresDocumentRepository
from ragcorp.infrastructure.postgres.embeddings.backlog import PostgresEmbeddingBacklog
from ragcorp.infrastructure.postgres.embeddings.cache import PostgresEmbeddingCache
from ragcorp.infrastructure.postgres.tables.embedded import STRUCTURE
from ragcorp.infrastructure.postgres.workspaces.registry import PostgresWorkspaces
from support.models.embedders import TEST_MODEL, HashingEmbedder
from support.storage.postgres import open_database, repository_over
from support.storage.stored import ANYONE, EAST, embed_all, written
from support.structure.entities import code, entity, structured

pytestmark = pytest.mark.anyio

ENTITIES = "SELECT entity_key, position FROM structural_entities ORDER BY entity_key"
VECTORS = """
    SELECT e.entity_key FROM structural_entity_embeddings v JOIN structural_entities e ON e.id = v.item_id
    ORDER BY e.entity_key
"""
WAITING = """
    SELECT e.entity_key FROM structural_entity_backlog b JOIN structural_entities e ON e.id = b.item_id
    ORDER BY e.entity_key
"""


@pytest.fixture
async def database(dsn: str) -> AsyncIterator[Database]:
    async with open_database(dsn) as database:
        yield database


@pytest.fixture
async def repository(database: Database) -> PostgresDocumentRepository:
    return await repository_over(database)


@pytest.fixture
def vectors(database: Database) -> PostgresEmbeddingBacklog:
    return PostgresEmbeddingBacklog(database=database, table=STRUCTURE)


async def fetch(database: Database, query: str) -> list[Any]:
    async with database.autocommit(EVERY_WORKSPACE) as connection:
        return await (await connection.execute(query)).fetchall()


async def test_entities_come_with_their_document_and_are_swapped_with_it(
    database: Database, repository: PostgresDocumentRepository
) -> None:
    await repository.save_many([code("a.py", "one", "two"), code("b.py", "one")], principal=ANYONE)
    assert await fetch(database, ENTITIES) == [("a.py::one", 0), ("a.py::two", 1), ("b.py::one", 0)]
    assert await fetch(database, "SELECT document_id FROM structural_entities EXCEPT SELECT id FROM documents") == []
    (outcome,) = await repository.save_many([code("a.py", "zero", "two", salt="2")], principal=ANYONE)
    assert outcome.status is IngestStatus.UPDATED
    assert await fetch(database, ENTITIES) == [("a.py::two", 1), ("a.py::zero", 0), ("b.py::one", 0)]
    # what has no structure any more keeps none of the former text
    await repository.save_many([written("a.py", "plain")], principal=ANYONE)
    assert await fetch(database, ENTITIES) == [("b.py::one", 0)]
    assert await fetch(database, "SELECT path FROM structured_documents") == [("b.py",)]


async def test_an_unchanged_document_keeps_its_entities(
    database: Database, repository: PostgresDocumentRepository
) -> None:
    await repository.save_many([code("a.py", "one")], principal=ANYONE)
    before = await fetch(database, "SELECT id FROM structural_entities")
    (outcome,) = await repository.save_many([code("a.py", "one")], principal=ANYONE)
    assert outcome.status is IngestStatus.UNCHANGED
    assert await fetch(database, "SELECT id FROM structural_entities") == before


async def test_a_document_is_named_by_path_and_external_id(
    database: Database, repository: PostgresDocumentRepository
) -> None:
    write = written("Doc-1/Sesión Usuario.md", "uno")
    await repository.save_many(
        [structured(write, entity("x", EntityKind.FILE)), code("src/user_session.py", "f")], principal=ANYONE
    )
    assert await fetch(
        database, "SELECT path, names, is_code, fingerprint FROM structured_documents ORDER BY path"
    ) == [
        (
            "Doc-1/Sesión Usuario.md",
            ["file:sesion usuario.md", "stem:sesionusuario", "word:doc1", "word:doc", "word:sesion", "word:usuario"],
            False,
            "test-1",
        ),
        (
            "src/user_session.py",
            ["file:user_session.py", "stem:usersession", "word:src", "word:usersession", "word:user", "word:session"],
            True,
            "test-1",
        ),
    ]


async def test_deleted_documents_have_no_entities_and_restored_ones_have_them_again(
    database: Database, repository: PostgresDocumentRepository
) -> None:
    first, second = code("a.py", "one"), code("b.py", "two")
    await repository.save_many([first, second], principal=ANYONE)
    await repository.soft_delete_one("a.py", principal=ANYONE)
    assert await fetch(database, ENTITIES) == [("b.py::two", 0)]
    await repository.restore(first, principal=ANYONE)
    assert await fetch(database, ENTITIES) == [("a.py::one", 0), ("b.py::two", 0)]
    assert await repository.soft_delete(DocumentSelection(), principal=ANYONE) == 2
    for table in ("structured_documents", "structural_entities", "structural_entity_backlog"):
        assert await fetch(database, f"SELECT count(*) FROM {table}") == [(0,)]


async def test_a_write_that_fails_leaves_the_former_entities(
    database: Database, repository: PostgresDocumentRepository
) -> None:
    await repository.save_many([code("a.py", "one")], principal=ANYONE)
    twice = structured(written("a.py", "other"), entity("a.py::x"), entity("a.py::x"))
    with pytest.raises(ConflictError):
        await repository.save_many([twice], principal=ANYONE)
    assert await fetch(database, ENTITIES) == [("a.py::one", 0)]


async def test_a_key_that_no_index_takes_is_shortened_and_stays_unique(
    database: Database, repository: PostgresDocumentRepository
) -> None:
    long = "a.md#" + "á" * 5000
    parent = entity(long, EntityKind.SECTION, name="x")
    children = [entity(f"{long}{n}", EntityKind.SECTION, name="x", container=long) for n in range(2)]
    await repository.save_many([structured(written("a.md", "uno"), parent, *children)], principal=ANYONE)
    rows = await fetch(database, "SELECT entity_key, container FROM structural_entities ORDER BY position")
    assert len({key for key, _ in rows}) == 3
    assert [container for _, container in rows] == [None, rows[0][0], rows[0][0]]
    assert all(key.startswith("a.md#áá") for key, _ in rows)


async def test_only_what_is_embedded_for_itself_waits_for_a_vector(
    database: Database, repository: PostgresDocumentRepository, vectors: PostgresEmbeddingBacklog
) -> None:
    section = structured(written("a.md", "uno"), entity("a.md#Uno", EntityKind.SECTION))
    (a, b) = await repository.save_many([section, code("b.py", "one", "two")], principal=ANYONE)
    assert await fetch(database, WAITING) == [("b.py::one",), ("b.py::two",)]
    assert (await vectors.counts(document_id=a.document_id)).pending == 0
    assert (await vectors.counts(document_id=b.document_id)).pending == 2
    assert (await vectors.counts(workspace="elsewhere")).pending == 0
    assert [item.index_text for item in await vectors.claim(limit=9, lease_seconds=60, document_id=b.document_id)] == [
        "def one in b.py",
        "def two in b.py",
    ]
    assert await vectors.claim(limit=9, lease_seconds=60) == []


async def test_equal_entities_keep_their_vectors_when_their_document_is_swapped(
    database: Database, repository: PostgresDocumentRepository, vectors: PostgresEmbeddingBacklog
) -> None:
    await repository.save_many([code("a.py", "one", "two")], principal=ANYONE)
    assert await embed_all(vectors) == 2
    await repository.save_many([code("a.py", "one", "three", salt="2")], principal=ANYONE)
    assert await fetch(database, VECTORS) == [("a.py::one",)]
    assert await fetch(database, WAITING) == [("a.py::three",)]


async def test_a_purge_forgets_vectors_that_no_entity_has(
    database: Database, repository: PostgresDocumentRepository, vectors: PostgresEmbeddingBacklog
) -> None:
    await repository.save_many([code("a.py", "one"), code("b.py", "two")], principal=ANYONE)
    await embed_all(vectors)
    await repository.soft_delete_one("a.py", principal=ANYONE)
    await repository.purge_deleted(older_than_days=0, principal=ANYONE)
    assert await fetch(database, "SELECT count(*) FROM embedding_cache") == [(1,)]
    await repository.save_many([code("b.py", "two", salt="2")], principal=ANYONE)
    assert await fetch(database, VECTORS) == [("b.py::two",)]


async def test_a_vector_of_another_text_is_passed_over(
    database: Database, repository: PostgresDocumentRepository, vectors: PostgresEmbeddingBacklog
) -> None:
    await repository.save_many([code("a.py", "one")], principal=ANYONE)
    (claimed,) = await vectors.claim(limit=9, lease_seconds=60)
    await repository.save_many([code("a.py", "other", salt="2")], principal=ANYONE)
    await vectors.complete({claimed: EAST}, model=TEST_MODEL)
    assert await fetch(database, VECTORS) == []
    assert await fetch(database, WAITING) == [("a.py::other",)]


async def test_failures_are_put_off_given_up_and_listed_again(
    repository: PostgresDocumentRepository, vectors: PostgresEmbeddingBacklog
) -> None:
    await repository.save_many([code("a.py", "one", "two")], principal=ANYONE)
    first, second = await vectors.claim(limit=9, lease_seconds=60)
    await vectors.release([second.chunk_id])
    assert await vectors.claim(limit=9, lease_seconds=60) == [second]
    await vectors.fail([first], reason="rejected", retry_in_seconds=0, max_attempts=1)
    assert ((await vectors.counts()).pending, (await vectors.counts()).failed) == (2, 1)
    assert await vectors.enqueue_missing() == 1
    assert await vectors.claim(limit=9, lease_seconds=60) == [first]


async def test_a_worker_of_another_model_takes_nothing_and_leaves_the_entity_waiting(
    database: Database, repository: PostgresDocumentRepository, vectors: PostgresEmbeddingBacklog
) -> None:
    await repository.save_many([code("a.py", "one")], principal=ANYONE)
    (claimed,) = await vectors.claim(limit=9, lease_seconds=0, model=TEST_MODEL)
    async with database.transaction(EVERY_WORKSPACE) as connection:
        await connection.execute("UPDATE embedding_models SET active = false")
        await connection.execute("INSERT INTO embedding_models (name, dimensions, active) VALUES ('next', 3, true)")
    assert await vectors.claim(limit=9, lease_seconds=0, model=TEST_MODEL) == []
    await vectors.complete({claimed: EAST}, model=TEST_MODEL)
    assert await fetch(database, WAITING) == [("a.py::one",)]


async def test_chunks_and_entities_are_embedded_by_one_worker(
    database: Database, repository: PostgresDocumentRepository, vectors: PostgresEmbeddingBacklog
) -> None:
    await repository.save_many([code("a.py", "one", "two")], principal=ANYONE)
    embedder = HashingEmbedder()
    pending = EmbedPending(embedder=embedder, backlogs=[vectors], cache=PostgresEmbeddingCache(database=database))
    assert (await pending.embed()).embedded == 2
    assert (await pending.counts()).pending == 0
    assert sorted(embedder.embedded) == ["def one in a.py", "def two in a.py"]


async def test_a_workspace_goes_with_its_entities(database: Database, repository: PostgresDocumentRepository) -> None:
    await repository.save_many([code("a.py", "one")], principal=ANYONE)
    await PostgresWorkspaces(database=database).remove("default")
    assert await fetch(database, "SELECT count(*) FROM structural_entities") == [(0,)]

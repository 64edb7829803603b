"""Documents whose entities are out of date, and writers, embedders and refreshers at the same ones."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import psycopg
import pytest

from ragcorp.application.structure.refresh import RefreshedStructure, RefreshStructure
from ragcorp.domain.documents import ParsedText
from ragcorp.domain.exceptions import StorageUnavailableError
from ragcorp.domain.ports.storage import DocumentSelection
from ragcorp.domain.principal import Principal
from ragcorp.domain.structure.entities import DocumentStructure, EntityKind
from ragcorp.infrastructure.postgres.connections.database import EVERY_WORKSPACE, Database
from ragcorp.infrastructure.postgres.embeddings.backlog import PostgresEmbeddingBacklog
from ragcorp.infrastructure.postgres.structure.backlog import FIND, PostgresStructureBacklog
from ragcorp.infrastructure.postgres.tables.embedded import STRUCTURE
from support.models.embedders import TEST_MODEL, HashingEmbedder
from support.parsing.reading import refresh_of
from support.storage.postgres import open_database, repository_over
from support.storage.stored import ANYONE, embed_all, written
from support.structure.entities import code, entity, structured

pytestmark = pytest.mark.anyio

KEYS = "SELECT entity_key FROM structural_entities ORDER BY entity_key"
VECTORS = """
    SELECT e.index_text, v.embedding::text
    FROM structural_entities e LEFT JOIN structural_entity_embeddings v ON v.item_id = e.id
"""


@dataclass(frozen=True)
class WordExtractor:
    """An entity a word."""

    fingerprint: str = "words-1"

    def extract(self, parsed: ParsedText, *, path: str) -> DocumentStructure:
        words = dict.fromkeys(parsed.text.split())
        entities = tuple(entity(f"{path}::{word}", content=f"{word} in {path}") for word in words)
        return DocumentStructure(fingerprint=self.fingerprint, path=path, entities=entities)


@pytest.fixture
async def database(dsn: str) -> AsyncIterator[Database]:
    async with open_database(dsn) as database:
        yield database


@pytest.fixture
def backlog(database: Database) -> PostgresStructureBacklog:
    return PostgresStructureBacklog(database=database)


async def fetch(database: Database, query: str) -> list[Any]:
    async with database.autocommit(EVERY_WORKSPACE) as connection:
        return await (await connection.execute(query)).fetchall()


def refresher(database: Database, extractor: WordExtractor) -> RefreshStructure:
    return refresh_of(PostgresStructureBacklog(database=database), extractor)


async def test_documents_without_entities_or_with_anothers_are_out_of_date(
    database: Database, backlog: PostgresStructureBacklog
) -> None:
    repository = await repository_over(database)
    await repository.save_many([written("a.md", "uno dos", title="A"), code("b.py", "f")], principal=ANYONE)
    await repository.save_many([written("c.md", "tres")], principal=Principal(workspace="other"))
    await repository.save_many([written("gone.md", "x")], principal=ANYONE)
    await repository.soft_delete_one("gone.md", principal=ANYONE)
    assert await backlog.count("test-1") == 2
    assert await backlog.count("words-1") == 3
    results = await backlog.outdated("test-1", limit=9)
    assert sorted((item.path, item.parsed.title or "", item.filename, item.parsed.text) for item in results) == [
        ("a.md", "A", "a.md", "uno dos"),
        ("c.md", "", "c.md", "tres"),
    ]
    assert len(await backlog.outdated("words-1", limit=2)) == 2
    done = await refresher(database, WordExtractor()).refresh()
    assert (done.documents, done.waiting) == (3, 0)
    of_code = [("b.py::...",), ("b.py::def",), ("b.py::f():",)]
    assert await fetch(database, KEYS) == [("a.md::dos",), ("a.md::uno",), *of_code, ("c.md::tres",)]
    assert await fetch(database, "SELECT DISTINCT fingerprint FROM structured_documents") == [("words-1",)]
    assert await fetch(database, "SELECT workspace, count(*) FROM structural_entity_backlog GROUP BY 1 ORDER BY 1") == [
        ("default", 5),
        ("other", 1),
    ]


async def test_what_changed_since_it_was_read_is_left_alone(
    database: Database, backlog: PostgresStructureBacklog
) -> None:
    repository = await repository_over(database)
    names = ("a.md", "b.md", "c.md")
    await repository.save_many([written(name, "uno") for name in names], principal=ANYONE)
    read = await backlog.outdated("words-1", limit=9)
    await repository.save_many([code("a.md", "newer")], principal=ANYONE)
    await repository.soft_delete_one("b.md", principal=ANYONE)
    extractor = WordExtractor()
    made: dict[UUID, tuple[bytes, DocumentStructure]] = {
        item.document_id: (item.content_hash, extractor.extract(item.parsed, path=item.path)) for item in read
    }
    assert await backlog.save(made) == {item.document_id for item in read if item.path == "c.md"}
    assert await fetch(database, KEYS) == [("a.md::newer",), ("c.md::uno",)]
    assert await backlog.count("words-1") == 1
    assert await backlog.save({}) == frozenset()


async def test_another_extractor_keeps_the_vectors_of_equal_entities(database: Database) -> None:
    repository, vectors = await repository_over(database), PostgresEmbeddingBacklog(database=database, table=STRUCTURE)
    await repository.save_many([written("a.md", "uno dos")], principal=ANYONE)
    await refresher(database, WordExtractor()).refresh()
    assert await embed_all(vectors) == 2
    await refresher(database, WordExtractor(fingerprint="words-2")).refresh()
    assert await fetch(database, "SELECT count(*) FROM structural_entity_embeddings") == [(2,)]
    assert (await vectors.counts()).pending == 0


ALL, SOME, NONE = "words-1:t:go,python", "words-1:t:python", "words-1:t:"
NEWER_NONE = "words-2:t:"
FINGERPRINTS = "SELECT path, fingerprint FROM structured_documents ORDER BY path"


async def test_who_has_fewer_grammars_undoes_nothing_and_who_has_more_adds(database: Database) -> None:
    repository, vectors = await repository_over(database), PostgresEmbeddingBacklog(database=database, table=STRUCTURE)
    await repository.save_many([written("a.md", "uno"), written("b.md", "uno dos")], principal=ANYONE)
    await refresher(database, WordExtractor(fingerprint=ALL)).refresh()
    await embed_all(vectors)
    stored = await fetch(database, "SELECT max(id) FROM structural_entities")
    for fewer in (SOME, NONE, "words-1:t:python,rust", "words-0:t:go,python,rust"):
        done = await refresher(database, WordExtractor(fingerprint=fewer)).refresh()
        assert done == RefreshedStructure(documents=0, entities=0, waiting=0), fewer
    assert await fetch(database, "SELECT max(id) FROM structural_entities") == stored
    assert await fetch(database, "SELECT count(*) FROM structural_entity_embeddings") == [(3,)]
    more = f"{ALL},rust"
    done = await refresher(database, WordExtractor(fingerprint=more)).refresh()
    assert (done.documents, done.waiting) == (2, 0)
    assert await fetch(database, FINGERPRINTS) == [("a.md", more), ("b.md", more)]


async def test_a_newer_version_without_grammars_replaces_only_what_has_no_symbols(database: Database) -> None:
    repository = await repository_over(database)
    plain = structured(written("a.md", "uno"), entity("a.md#uno", EntityKind.SECTION), fingerprint=ALL)
    symbols = structured(written("b.py", "f g"), entity("b.py::f"), fingerprint=ALL)
    bare = structured(written("c.py", "h"), entity("c.py::h"), fingerprint=NONE)
    await repository.save_many([plain, symbols, bare], principal=ANYONE)
    done = await refresher(database, WordExtractor(fingerprint=NEWER_NONE)).refresh()
    assert (done.documents, done.waiting) == (2, 0)
    assert await fetch(database, FINGERPRINTS) == [("a.md", NEWER_NONE), ("b.py", ALL), ("c.py", NEWER_NONE)]


async def test_what_another_wrote_with_more_grammars_since_it_was_read_is_kept(
    database: Database, backlog: PostgresStructureBacklog
) -> None:
    repository = await repository_over(database)
    await repository.save_many([written("a.md", "uno")], principal=ANYONE)
    (read,) = await backlog.outdated(NONE, limit=9)
    await refresher(database, WordExtractor(fingerprint=ALL)).refresh()
    fewer = WordExtractor(fingerprint=NONE).extract(read.parsed, path=read.path)
    assert await backlog.save({read.document_id: (read.content_hash, fewer)}) == frozenset()
    assert await fetch(database, FINGERPRINTS) == [("a.md", ALL)]


async def test_a_look_begins_after_an_id_and_reads_no_more_than_it_returns(
    database: Database, backlog: PostgresStructureBacklog, owner_dsn: str
) -> None:
    repository = await repository_over(database)
    await repository.save_many([written("a.md", "uno")], principal=ANYONE)
    await fetch(database, MORE_DOCUMENTS)
    async with await psycopg.AsyncConnection.connect(owner_dsn, autocommit=True) as owner:
        await owner.execute("ANALYZE documents")
    ids = [item for (item,) in await fetch(database, "SELECT id FROM documents ORDER BY id")]
    results, after = [], None
    while batch := await backlog.outdated("words-1", after=after, limit=700):
        results += [item.document_id for item in batch]
        after = results[-1]
    assert results == ids
    values = {"after": ids[9], "limit": 5, "replaced": ["x"], "replaced_without_symbols": []}
    async with database.autocommit(EVERY_WORKSPACE) as connection:
        row = await (await connection.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {FIND}", values)).fetchone()
    assert row is not None
    limit = row[0][0]["Plan"]
    (scan,) = (plan for plan in limit["Plans"] if plan["Parent Relationship"] == "Outer")
    assert (limit["Node Type"], scan["Node Type"], scan["Actual Rows"]) == ("Limit", "Index Scan", 5)


MORE_DOCUMENTS = """
    INSERT INTO documents (
        id, workspace, external_id, text, content_hash, chunker, chunk_count, media_type, filename, size_bytes, title,
        artifact_type, language, sensitivity, visibility_scope)
    SELECT gen_random_uuid(), workspace, number::text, text, content_hash, chunker, 0, media_type, filename, 0, title,
           artifact_type, language, sensitivity, visibility_scope
    FROM documents, generate_series(1, 2000) AS number
    RETURNING id
"""


async def test_a_refresh_that_is_killed_leaves_whole_documents_and_goes_on(database: Database, dsn: str) -> None:
    repository = await repository_over(database)
    await repository.save_many([written(f"{n:02}.md", "uno dos tres") for n in range(25)], principal=ANYONE)

    class Killed(PostgresStructureBacklog):
        async def save(self, structures: Any) -> frozenset[UUID]:
            # the server drops the writer's connection when its second batch is half written
            if await fetch(database, KEYS):
                async with await psycopg.AsyncConnection.connect(dsn) as blocker:
                    await blocker.execute("LOCK TABLE structural_entity_backlog IN ACCESS EXCLUSIVE MODE")
                    writing = asyncio.create_task(super().save(structures))
                    async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as observer:
                        for _ in range(1000):
                            if await (await observer.execute(KILL)).fetchall():
                                break
                            await asyncio.sleep(0.01)
                        else:
                            pytest.fail("the writer does not wait")
                    return await writing
            return await super().save(structures)

    refresh = refresh_of(Killed(database=database), WordExtractor())
    with pytest.raises(StorageUnavailableError):
        await refresh.refresh()
    assert len(await fetch(database, KEYS)) == 20 * 3
    done = await refresher(database, WordExtractor()).refresh()
    assert (done.documents, done.waiting) == (5, 0)
    assert len(await fetch(database, KEYS)) == 25 * 3


KILL = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock' AND pid <> pg_backend_pid()
"""


async def stir(database: Database, *, rounds: int, seed: int) -> None:
    """Let savers, deleters, refreshers and embedders of chunks and entities loose on the same few documents."""
    repository = await repository_over(database)
    entities, chunks = (
        PostgresEmbeddingBacklog(database=database, table=STRUCTURE),
        PostgresEmbeddingBacklog(database=database),
    )
    names = [f"{n}.py" for n in range(8)]
    chance = random.Random(seed)

    async def save() -> None:
        for turn in range(rounds):
            # equal texts in several documents: their vectors share rows of the cache
            batch = [code(name, "one", f"f{turn % 3}", salt=f"{turn % 4}") for name in chance.sample(names, 5)]
            await repository.save_many(batch, principal=ANYONE)

    async def delete() -> None:
        for _ in range(rounds):
            await repository.soft_delete(DocumentSelection(prefix=chance.choice(["0", "3", "5"])), principal=ANYONE)
            await asyncio.sleep(0.001)

    async def refresh() -> None:
        for turn in range(rounds // 3):
            await refresher(database, WordExtractor(fingerprint=f"words-{turn}")).refresh()

    async def embed(backlog: PostgresEmbeddingBacklog) -> None:
        for turn in range(rounds * 2):
            batch = await backlog.claim(limit=6, lease_seconds=0.01)
            chance.shuffle(batch)
            match turn % 4:
                case 0 | 1:
                    made = HashingEmbedder()
                    await backlog.complete({item: made.vector(item.index_text) for item in batch}, model=TEST_MODEL)
                case 2:
                    await backlog.fail(batch, reason="x", retry_in_seconds=0, max_attempts=99)
                case _:
                    await backlog.enqueue_missing()

    async with asyncio.TaskGroup() as group:
        for _ in range(3):
            group.create_task(save())
        group.create_task(delete())
        group.create_task(refresh())
        for backlog in (entities, entities, chunks):
            group.create_task(embed(backlog))


@pytest.mark.parametrize("rounds", [9, pytest.param(100, marks=[pytest.mark.soak, pytest.mark.timeout(900)])])
async def test_writers_embedders_and_refreshers_never_fail_for_one_another_nor_leave_a_wrong_vector(
    database: Database, rounds: int
) -> None:
    async with asyncio.timeout(600):
        await stir(database, rounds=rounds, seed=7)
    entities, embedder = PostgresEmbeddingBacklog(database=database, table=STRUCTURE), HashingEmbedder()
    await entities.enqueue_missing()
    async with database.autocommit(EVERY_WORKSPACE) as connection:
        await connection.execute("UPDATE structural_entity_backlog SET available_at = now()")
    while batch := await entities.claim(limit=99, lease_seconds=60):
        await entities.complete({each: embedder.vector(each.index_text) for each in batch}, model=TEST_MODEL)
    rows = await fetch(database, VECTORS)
    assert rows
    for text, vector in rows:
        stored = [float(number) for number in vector.strip("[]").split(",")]
        assert stored == pytest.approx(embedder.vector(text), abs=1e-6), text
    assert (await entities.counts()).pending == 0
    # entities stand with documents that are there, each once
    assert (
        await fetch(
            database,
            "SELECT s.document_id FROM structured_documents s JOIN documents d ON d.id = s.document_id"
            " WHERE d.deleted_at IS NOT NULL",
        )
        == []
    )

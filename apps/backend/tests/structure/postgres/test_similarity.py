"""Similar entities: symbols by vectors of their own, the others by those of their chunks, in one ranking."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

import pytest

from ragcorp.domain.embeddings import Vector
from ragcorp.domain.ports.storage import DocumentWrite
from ragcorp.domain.ports.structure import SimilarEntity
from ragcorp.domain.principal import Principal
from ragcorp.domain.structure.entities import EntityKind
from ragcorp.infrastructure.postgres.connections.database import EVERY_WORKSPACE, Database
from ragcorp.infrastructure.postgres.embeddings.backlog import PostgresEmbeddingBacklog
from ragcorp.infrastructure.postgres.tables.embedded import STRUCTURE
from support.storage.postgres import open_database, repository_over
from support.storage.stored import ANYONE, EAST, embed_all, towards, where, written
from support.structure.entities import chunked, code, entity, index_over, structured

pytestmark = pytest.mark.anyio

AWAY = towards(-0.5)


@pytest.fixture
async def database(dsn: str) -> AsyncIterator[Database]:
    async with open_database(dsn) as database:
        yield database


async def stored(
    database: Database,
    *writes: DocumentWrite,
    vectors: Mapping[str, Vector],
    default: Vector = AWAY,
    principal: Principal = ANYONE,
) -> None:
    await (await repository_over(database)).save_many(writes, principal=principal)
    await embed_all(PostgresEmbeddingBacklog(database=database, table=STRUCTURE), vectors, default=default)
    await embed_all(PostgresEmbeddingBacklog(database=database), vectors, default=default)


def scored(found: tuple[SimilarEntity, ...]) -> list[tuple[str, float]]:
    return [(item.entity.key, round(item.score, 3)) for item in found]


def prose(path: str, *sections: str) -> DocumentWrite:
    """Return a text of sections, each a line and a chunk of its own."""
    drafts = [
        entity(f"{path}#{name}", EntityKind.SECTION, line=number) for number, name in enumerate(sections, start=1)
    ]
    write = written(path, *sections)
    return structured(chunked(write, [(n, n, name) for n, name in enumerate(sections, start=1)]), *drafts)


async def test_symbols_and_sections_stand_in_one_ranking(database: Database) -> None:
    await stored(
        database,
        code("a.py", "one", "two"),
        prose("b.md", "uno", "dos"),
        vectors={
            "def one in a.py": towards(0.9),
            "def two in a.py": towards(0.3),
            "uno": towards(0.6),
            "dos": towards(0.95),
            # the chunk of a file of code stands for none of its symbols
            "def one(): ...\ndef two(): ...": EAST,
        },
    )
    index = await index_over(database)
    result = await index.similar(EAST, principal=ANYONE, limit=9)
    assert scored(result) == [("b.md#dos", 0.95), ("a.py::one", 0.9), ("b.md#uno", 0.6), ("a.py::two", 0.3)]
    assert scored(await index.similar(EAST, principal=ANYONE, limit=2)) == [("b.md#dos", 0.95), ("a.py::one", 0.9)]
    assert await index.similar(EAST, principal=ANYONE, limit=0) == ()
    assert await (await index_over(database, model=None)).similar(EAST, principal=ANYONE, limit=9) == ()


async def test_equal_scores_stand_by_path_and_position(database: Database) -> None:
    writes = [code("b.py", "x", "y"), code("B.py", "x"), code("a.py", "x")]
    await stored(database, *writes, vectors={}, default=towards(0.5))
    result = await (await index_over(database)).similar(EAST, principal=ANYONE, limit=9)
    assert [key for key, _ in scored(result)] == ["B.py::x", "a.py::x", "b.py::x", "b.py::y"]


async def test_an_entity_has_the_score_of_its_best_chunk_and_long_ones_crowd_none_out(database: Database) -> None:
    long = structured(
        chunked(written("long.md", *map(str, range(40))), [(n, n, f"long {n}") for n in range(1, 41)]),
        entity("long.md#Long", EntityKind.SECTION, line_start=1, line_end=40),
    )
    others = [prose(f"o{n}.md", f"other {n}") for n in range(3)]
    vectors = {f"long {n}": towards(0.6 + n / 1000) for n in range(1, 41)}
    vectors |= {f"other {n}": towards(0.5 - n / 10) for n in range(3)}
    await stored(database, long, *others, vectors=vectors)
    result = await (await index_over(database)).similar(EAST, principal=ANYONE, limit=3)
    assert scored(result) == [("long.md#Long", 0.64), ("o0.md#other 0", 0.5), ("o1.md#other 1", 0.4)]


async def test_filters_and_visibility_leave_the_limit_filled(database: Database) -> None:
    """Of 3,000 nearer ones that do not pass, none takes the place of one that does."""
    near = [
        code(f"near{n}.py", *(f"f{m}" for m in range(300)), language="en", owner="ana", visibility_scope="private")
        for n in range(10)
    ]
    far = [code("far.py", "one", "two", "three"), prose("far.md", "uno", "dos", "tres")]
    await stored(database, *near, vectors={}, default=towards(0.9), principal=Principal(subject="ana"))
    await stored(database, *far, vectors={}, default=towards(0.1))
    index = await index_over(database)
    expected = {"far.py::one", "far.py::two", "far.py::three", "far.md#uno", "far.md#dos", "far.md#tres"}
    beto, ana = Principal(subject="beto"), Principal(subject="ana")
    assert {key for key, _ in scored(await index.similar(EAST, principal=beto, limit=6))} == expected
    narrowed = await index.similar(EAST, principal=ana, filters=where(language="es"), limit=6)
    assert {key for key, _ in scored(narrowed)} == expected
    assert {score for _, score in scored(await index.similar(EAST, principal=ana, limit=6))} == {0.9}


async def test_what_documents_lack_leaves_nothing(database: Database) -> None:
    await stored(database, code("a.py", "one"), vectors={})
    index = await index_over(database)
    assert await index.similar(EAST, principal=ANYONE, filters=where(session="s1"), limit=9) == ()
    assert await index.similar(EAST, principal=ANYONE, filters=where(collection="memory"), limit=9) == ()
    assert await index.named(["symbol:one"], principal=ANYONE, filters=where(session="s1"), limit=9) == {}
    kept = await index.named(["symbol:one"], principal=ANYONE, filters=where(collection="artifact_chunks"), limit=9)
    assert set(kept) == {"symbol:one"}


async def test_of_the_stored_models_the_active_one_is_asked(database: Database) -> None:
    await stored(database, code("a.py", "one"), vectors={"def one in a.py": towards(0.9)})
    async with database.transaction(EVERY_WORKSPACE) as connection:
        await connection.execute("INSERT INTO embedding_models (name, dimensions) VALUES ('next', 8)")
        await connection.execute("""
            INSERT INTO structural_entity_embeddings (item_id, model_id, workspace, embedding)
            SELECT item_id, m.id, workspace, '[1,0,0,0,0,0,0,0]'
            FROM structural_entity_embeddings, embedding_models m WHERE m.name = 'next'
        """)
    result = await (await index_over(database)).similar(EAST, principal=ANYONE, limit=9)
    assert scored(result) == [("a.py::one", 0.9)]


async def test_deleted_documents_are_not_similar(database: Database) -> None:
    await stored(database, code("a.py", "one"), prose("b.md", "uno"), vectors={})
    repository = await repository_over(database)
    index = await index_over(database)
    assert len(await index.similar(EAST, principal=ANYONE, limit=9)) == 2
    await repository.soft_delete_one("b.md", principal=ANYONE)
    await repository.save_many([code("a.py", "two", salt="2")], principal=ANYONE)
    assert await index.similar(EAST, principal=ANYONE, limit=9) == ()

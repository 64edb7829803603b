"""Entities are found by name, by place and by what calls what; hand-worked, in total orders."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from ragcorp.domain.principal import Sensitivity
from ragcorp.domain.structure.entities import EntityDraft, EntityIdentity, EntityKind, EntityRef
from ragcorp.domain.text.entity_names import clause_name, file_name, heading_name, stem_name, symbol_name
from ragcorp.infrastructure.postgres.connections.database import EVERY_WORKSPACE, Database
from ragcorp.infrastructure.postgres.documents.repository import PostgresDocumentRepository
from ragcorp.infrastructure.postgres.structure.index import PostgresStructureIndex
from support.storage.postgres import open_database, repository_over
from support.storage.stored import ANYONE, where, written
from support.structure.entities import chunked, code, entity, index_over, structured

pytestmark = pytest.mark.anyio


@pytest.fixture
async def database(dsn: str) -> AsyncIterator[Database]:
    async with open_database(dsn) as database:
        yield database


@pytest.fixture
async def repository(database: Database) -> PostgresDocumentRepository:
    return await repository_over(database)


@pytest.fixture
async def index(database: Database) -> PostgresStructureIndex:
    return await index_over(database)


def keys(entities: tuple[EntityRef, ...]) -> list[str]:
    return [item.key for item in entities]


async def one(index: PostgresStructureIndex, key: str) -> EntityRef:
    """Return the entity of a file of ``code``."""
    name = symbol_name(key.rpartition("::")[2])
    results = (await index.named([name], principal=ANYONE, limit=1000))[name].items
    (entity,) = [item for item in results if item.key == key]
    return entity


async def test_files_are_found_by_name_and_stem_in_the_order_of_their_paths(
    repository: PostgresDocumentRepository, index: PostgresStructureIndex
) -> None:
    paths = ["z/auth.go", "Z/auth.go", "a/auth.go", "a/auth.py"]
    await repository.save_many([code(path, "f") for path in paths], principal=ANYONE)
    prose = structured(written("a/auth.md", "uno"), entity("a/auth.md", EntityKind.FILE))
    await repository.save_many([prose], principal=ANYONE)
    results = await index.files([file_name("auth.go"), stem_name("auth"), "file:none.go"], principal=ANYONE, limit=2)
    assert set(results) == {"file:auth.go", "stem:auth"}
    assert [file.path for file in results["file:auth.go"].items] == ["Z/auth.go", "a/auth.go"]
    assert results["file:auth.go"].matches == 3
    assert [(file.path, file.is_code) for file in results["stem:auth"].items] == [
        ("Z/auth.go", True),
        ("a/auth.go", True),
    ]
    every = (await index.files(["stem:auth"], principal=ANYONE, limit=9))["stem:auth"]
    assert [(file.path, file.is_code) for file in every.items][2:4] == [("a/auth.md", False), ("a/auth.py", True)]
    assert (await index.files([], principal=ANYONE, limit=9)) == {}


async def test_entities_are_found_by_any_of_their_names(
    repository: PostgresDocumentRepository, index: PostgresStructureIndex
) -> None:
    names = (symbol_name("validate"), symbol_name("Session.validate"))
    method = entity("b.py::Session.validate", EntityKind.METHOD, names=names, container="b.py::Session", line=7)
    contract = structured(
        written("doc.md", "uno"),
        entity("doc.md#Plazo", EntityKind.SECTION, names=(heading_name("Plazo"),)),
        entity("doc.md#clause 4.2", EntityKind.CLAUSE, names=(clause_name("4.2"), heading_name("Pago"))),
    )
    await repository.save_many(
        [structured(written("b.py", "x"), method), code("a.py", "validate"), contract], principal=ANYONE
    )
    results = await index.named([*names, "clause:4.2", "heading:pago", "clause:9"], principal=ANYONE, limit=9)
    assert {name: keys(named.items) for name, named in results.items()} == {
        "symbol:validate": ["a.py::validate", "b.py::Session.validate"],
        "symbol:session.validate": ["b.py::Session.validate"],
        "clause:4.2": ["doc.md#clause 4.2"],
        "heading:pago": ["doc.md#clause 4.2"],
    }
    (ref,) = results["symbol:session.validate"].items
    assert (ref.kind, ref.name, ref.container, ref.path, ref.external_id) == (
        EntityKind.METHOD, "Session.validate", "b.py::Session", "b.py", "b.py",
    )  # fmt: skip
    assert (ref.position, ref.line_start, ref.line_end, ref.token_count, ref.head_tokens) == (0, 7, 7, 10, 5)


async def test_of_very_many_matches_the_first_are_given_and_a_thousand_counted(
    repository: PostgresDocumentRepository, index: PostgresStructureIndex
) -> None:
    for start in range(0, 1010, 101):
        writes = [code(f"f{number:04}.py", "run") for number in range(start, start + 101)]
        await repository.save_many(writes, principal=ANYONE)
    found = (await index.named(["symbol:run"], principal=ANYONE, limit=3))["symbol:run"]
    assert found.matches == 1000
    assert keys(found.items) == ["f0000.py::run", "f0001.py::run", "f0002.py::run"]
    # what a filter leaves of them is found, wherever it stands
    last = (await index.named(["symbol:run"], principal=ANYONE, filters=where(external_id="f1009.py"), limit=3))[
        "symbol:run"
    ]
    assert (last.matches, keys(last.items)) == (1, ["f1009.py::run"])
    # among so many, a call means the one of its own file
    caller = entity("c.py::caller", calls=(symbol_name("run"),))
    await repository.save_many([structured(written("c.py", "x"), caller, entity("c.py::run"))], principal=ANYONE)
    ref = await one(index, "c.py::caller")
    assert keys((await index.neighbours([ref], principal=ANYONE, limit=9))[ref.id].calls) == ["c.py::run"]


async def test_a_document_shows_its_entities_in_text_order_without_identifiers(
    repository: PostgresDocumentRepository, index: PostgresStructureIndex
) -> None:
    write = structured(
        written("a.md", "uno"),
        entity("a.md", EntityKind.FILE),
        entity("a.md#Uno", EntityKind.SECTION),
        entity("a.md#Dos", EntityKind.SECTION),
        entity("a.md#FAC-1", EntityKind.IDENTIFIER),
    )
    a, b = await repository.save_many([write, code("b.py", "one")], principal=ANYONE)
    result = await index.of_documents([b.document_id, a.document_id], principal=ANYONE, limit=9)
    assert {document_id: keys(entities) for document_id, entities in result.items()} == {
        b.document_id: ["b.py::one"],
        a.document_id: ["a.md", "a.md#Uno", "a.md#Dos"],
    }
    assert keys((await index.of_documents([a.document_id], principal=ANYONE, limit=2))[a.document_id]) == [
        "a.md",
        "a.md#Uno",
    ]


async def test_what_is_inside_an_entity_is_found_at_any_depth(
    repository: PostgresDocumentRepository, index: PostgresStructureIndex
) -> None:
    def section(key: str, container: str | None = None) -> EntityDraft:
        return entity(f"a.md#{key}", EntityKind.SECTION, container=container and f"a.md#{container}")

    write = structured(
        written("a.md", "uno"),
        section("1"),
        section("1.1", "1"),
        section("1.1.1", "1.1"),
        section("2"),
        section("1.2", "1"),
        entity("a.md#X-1", EntityKind.IDENTIFIER, container="a.md#1"),
        section("loop", "loop2"),
        section("loop2", "loop"),
    )
    (outcome,) = await repository.save_many([write], principal=ANYONE)
    every = (await index.of_documents([outcome.document_id], principal=ANYONE, limit=20))[outcome.document_id]
    by_key = {ref.key: ref for ref in every}
    results = await index.within(every, principal=ANYONE, limit=9)
    assert {ref.key: keys(results[ref.id]) for ref in every if ref.id in results} == {
        "a.md#1": ["a.md#1.1", "a.md#1.1.1", "a.md#1.2"],
        "a.md#1.1": ["a.md#1.1.1"],
        "a.md#loop": ["a.md#loop2"],
        "a.md#loop2": ["a.md#loop"],
    }
    first = by_key["a.md#1"]
    assert keys((await index.within([first], principal=ANYONE, limit=2))[first.id]) == ["a.md#1.1", "a.md#1.1.1"]


async def test_an_identity_outlives_a_write(
    repository: PostgresDocumentRepository, index: PostgresStructureIndex
) -> None:
    (outcome,) = await repository.save_many([code("a.py", "one", "two")], principal=ANYONE)
    one, two, gone = (
        EntityIdentity(document_id=outcome.document_id, key=f"a.py::{name}") for name in ("one", "two", "x")
    )
    before = await index.existing([one, two, gone], principal=ANYONE)
    assert set(before) == {one, two}
    await repository.save_many([code("a.py", "zero", "one", salt="2")], principal=ANYONE)
    after = await index.existing([one, two, gone], principal=ANYONE)
    assert set(after) == {one}
    assert (before[one].position, after[one].position) == (0, 1)
    assert after[one].id != before[one].id


async def test_neighbours_are_the_nearest_of_the_same_language(
    repository: PostgresDocumentRepository, index: PostgresStructureIndex
) -> None:
    caller = entity("src/auth/login.py::login", line=2, calls=(symbol_name("check"), symbol_name("none")))
    writes = [
        structured(
            written("src/auth/login.py", "x"),
            entity("src/auth/login.py", EntityKind.FILE, language="python", index_text="x"),
            caller,
            entity("src/auth/login.py::logout", line=3, calls=(symbol_name("login"), symbol_name("logout"))),
            entity("src/auth/login.py::X-1", EntityKind.IDENTIFIER),
        ),
        code("src/auth/tokens.py", "check"),
        code("src/auth/deep/check.py", "check"),
        code("src/pay/check.py", "check"),
        code("other/check.py", "check"),
        structured(written("src/auth/c.go", "x"), entity("src/auth/c.go::check", language="go")),
        structured(
            written("src/app.py", "x"),
            entity("src/app.py", EntityKind.FILE, language="python", index_text="x", calls=(symbol_name("login"),)),
        ),
        structured(written("notes.md", "x"), entity("notes.md#login", EntityKind.SECTION, names=("symbol:check",))),
    ]
    await repository.save_many(writes, principal=ANYONE)
    login = await one(index, "src/auth/login.py::login")
    result = (await index.neighbours([login], principal=ANYONE, limit=3))[login.id]
    assert keys(result.calls) == ["src/auth/tokens.py::check"]
    assert keys(result.called_by) == ["src/auth/login.py::logout", "src/app.py"]
    assert keys(result.same_file) == ["src/auth/login.py", "src/auth/login.py::logout"]
    logout = await one(index, "src/auth/login.py::logout")
    both = await index.neighbours([login, logout], principal=ANYONE, limit=1)
    assert keys(both[logout.id].calls) == ["src/auth/login.py::login"]
    assert both[logout.id].called_by == ()
    assert keys(both[login.id].calls) == ["src/auth/tokens.py::check"]
    narrowed = await index.neighbours(
        [login], principal=ANYONE, filters=where(external_id=["src/auth/login.py"]), limit=3
    )
    assert narrowed[login.id].calls == ()
    (section,) = [
        ref
        for ref in (await index.named(["symbol:check"], principal=ANYONE, limit=9))["symbol:check"].items
        if ref.kind is EntityKind.SECTION
    ]
    assert await index.neighbours([section], principal=ANYONE, limit=3) == {}


async def test_a_chunk_has_the_entities_whose_own_text_it_holds(
    database: Database, repository: PostgresDocumentRepository, index: PostgresStructureIndex
) -> None:
    write = structured(
        written("a.md", "c0", "c1", "c2", "c3"),
        entity("a.md", EntityKind.FILE, line_start=1, line_end=12),
        entity("a.md#1", EntityKind.SECTION, line_start=3, line_end=9),
        entity("a.md#1.1", EntityKind.SECTION, line_start=5, line_end=7, container="a.md#1"),
        entity("a.md#1.2", EntityKind.SECTION, line_start=8, line_end=9, container="a.md#1"),
        entity("a.md#X-1", EntityKind.IDENTIFIER, line_start=5, line_end=5),
        entity("a.md#2", EntityKind.SECTION, line_start=11, line_end=12),
    )
    spans = [
        (1, 4, "preámbulo\n\n# 1\ntexto"),
        (6, 8, "de 1.1\nde 1.1\n## 1.2"),
        # line 10 is blank: none of the file's own text
        (9, 11, "de 1.2\n \n# 2"),
        (12, 12, "de 2"),
    ]
    await repository.save_many([chunked(write, spans)], principal=ANYONE)
    async with database.autocommit(EVERY_WORKSPACE) as connection:
        rows = await (await connection.execute("SELECT id::text FROM chunks ORDER BY chunk_index")).fetchall()
    chunk_ids = [row[0] for row in rows]
    results = await index.at_chunks([*chunk_ids, "no chunk"], principal=ANYONE)
    assert [keys(results[chunk_id]) for chunk_id in chunk_ids] == [
        ["a.md", "a.md#1"],
        ["a.md#1.1", "a.md#1.2"],
        ["a.md#1.2", "a.md#2"],
        ["a.md#2"],
    ]
    texts = await index.texts([ref.id for refs in results.values() for ref in refs] + [10**9], principal=ANYONE)
    begins = {ref.key: texts[ref.id].chunk_id for refs in results.values() for ref in refs}
    assert begins == {
        "a.md": chunk_ids[0],
        "a.md#1": chunk_ids[0],
        # no chunk holds its first line: the first that holds any
        "a.md#1.1": chunk_ids[1],
        "a.md#1.2": chunk_ids[1],
        "a.md#2": chunk_ids[2],
    }


async def test_texts_say_what_is_shown_and_of_which_version(
    repository: PostgresDocumentRepository, index: PostgresStructureIndex
) -> None:
    write = structured(
        written("a.py", "uno", title="Uno", language="es", sensitivity=Sensitivity.CONFIDENTIAL),
        entity("a.py::f", content="def f():\n  ...", head="def f():", cut=True),
    )
    await repository.save_many([write], principal=ANYONE)
    ref = await one(index, "a.py::f")
    (text,) = (await index.texts([ref.id], principal=ANYONE)).values()
    assert (text.content, text.head, text.cut, text.title, text.language, text.sensitivity) == (
        "def f():\n  ...", "def f():", True, "Uno", "es", Sensitivity.CONFIDENTIAL,
    )  # fmt: skip
    assert text.artifact_hash == write.content_hash

"""Of many entities of one name the nearest are kept, and a call means the nearest definition; hand-worked."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator
from typing import Any

import pytest

from ragcorp.domain.documents import VisibilityScope
from ragcorp.domain.ports.storage import DocumentWrite
from ragcorp.domain.ports.structure import SyntaxNeighbours
from ragcorp.domain.principal import Principal
from ragcorp.domain.structure.entities import DocumentStructure, EntityKind, EntityRef
from ragcorp.domain.text.entity_names import clause_name, stem_name, symbol_name
from ragcorp.domain.text.place_words import place_words
from ragcorp.infrastructure.postgres.connections.database import Database
from ragcorp.infrastructure.postgres.documents.repository import PostgresDocumentRepository
from ragcorp.infrastructure.postgres.structure.backlog import PostgresStructureBacklog
from ragcorp.infrastructure.postgres.structure.index import PostgresStructureIndex
from support.storage.postgres import open_database, repository_over
from support.storage.stored import ANYONE, where, written
from support.structure.entities import FINGERPRINT, code, entity, index_over, structured

pytestmark = pytest.mark.anyio

CLAUSE = clause_name("4")


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


def contract(path: str, title: str = "", **attributes: Any) -> DocumentWrite:
    clause = entity(f"{path}#clause 4", EntityKind.CLAUSE, names=(CLAUSE,))
    return structured(written(path, path, title=title, **({"language": "es"} | attributes)), clause)


def paths(found: tuple[EntityRef, ...]) -> list[str]:
    return [item.path for item in found]


def callers(path: str, name: str, *calls: str) -> DocumentWrite:
    return structured(written(path, path), entity(f"{path}::{name}", calls=tuple(map(symbol_name, calls))))


async def symbol(index: PostgresStructureIndex, key: str) -> EntityRef:
    name = symbol_name(key.rpartition("::")[2])
    results = (await index.named([name], principal=ANYONE, limit=1000))[name].items
    (one,) = [item for item in results if item.key == key]
    return one


async def calls(index: PostgresStructureIndex, key: str) -> list[str]:
    ref = await symbol(index, key)
    return [item.key for item in (await index.neighbours([ref], principal=ANYONE, limit=8))[ref.id].calls]


async def called_by(index: PostgresStructureIndex, key: str) -> list[str]:
    ref = await symbol(index, key)
    result = (await index.neighbours([ref], principal=ANYONE, limit=8)).get(ref.id, SyntaxNeighbours())
    return [item.key for item in result.called_by]


async def test_the_limit_keeps_what_a_query_names_by_folder_word_or_title(
    repository: PostgresDocumentRepository, index: PostgresStructureIndex
) -> None:
    await repository.save_many(
        [contract(f"a/contrato-empresa{number:02}.md") for number in range(50)], principal=ANYONE
    )
    others = [
        contract("zzz/largo/mas/contrato-vidrieras-cristales.md"),
        contract("suministro-tecnovia.md"),
        contract("x/2024-0031.md", title="Contrato de mantenimiento: Ascensores Bravo"),
        contract("z/Ñandú.md"),
    ]
    await repository.save_many(others, principal=ANYONE)

    async def first(query: str) -> tuple[str, int]:
        named = (await index.named([CLAUSE], principal=ANYONE, limit=3, near=place_words(query)))[CLAUSE]
        assert len(named.items) == len(named.nearness) == 3
        assert sorted(named.nearness, reverse=True) == list(named.nearness)
        return named.items[0].path, named.matches

    assert await first("cláusula 4 de zzz/largo/mas") == ("zzz/largo/mas/contrato-vidrieras-cristales.md", 54)
    assert await first("la cláusula 4 de vidrieras") == ("zzz/largo/mas/contrato-vidrieras-cristales.md", 54)
    # nearly all have "contrato": it weighs little beside a name that one has
    assert await first("cláusula 4 del contrato de Tecnovía") == ("suministro-tecnovia.md", 54)
    assert await first("la cláusula 4 del contrato con ascensores bravo") == ("x/2024-0031.md", 54)
    assert await first("cláusula 4 de ÑANDU") == ("z/Ñandú.md", 54)
    assert await first("cláusula 4 de contrato-empresa49") == ("a/contrato-empresa49.md", 54)
    assert await first("cláusula 4") == ("a/contrato-empresa00.md", 54)


async def test_words_weigh_by_how_few_of_a_name_have_them_and_what_was_shown_decides_between_equals(
    repository: PostgresDocumentRepository, index: PostgresStructureIndex
) -> None:
    named = ["a/rojo.md", "a/gris.md", "x/rojo.md", "x/lila.md"]
    await repository.save_many([contract(path) for path in named], principal=ANYONE)

    async def found(near: tuple[str, ...] = (), shown: tuple[str, ...] = ()) -> tuple[list[str], list[float]]:
        of_name = (await index.named([CLAUSE], principal=ANYONE, limit=9, near=near, shown=shown))[CLAUSE]
        return paths(of_name.items), list(of_name.nearness)

    rare, half = round(math.log(4), 6), round(math.log(2), 6)
    assert await found(("lila", "rojo", "x", "otro")) == (
        ["x/lila.md", "a/rojo.md", "x/rojo.md", "a/gris.md"],
        [rare, half, half, 0],
    )
    assert await found(("rojo",), ("gris", "x")) == (
        ["a/rojo.md", "x/rojo.md", "a/gris.md", "x/lila.md"],
        [half, half, 0, 0],
    )
    assert await found(("gris",), ("rojo",)) == (["a/gris.md", "a/rojo.md", "x/rojo.md", "x/lila.md"], [rare, 0, 0, 0])
    assert await found(shown=("lila",)) == (["x/lila.md", "a/gris.md", "a/rojo.md", "x/rojo.md"], [])
    assert await found() == (["a/gris.md", "a/rojo.md", "x/lila.md", "x/rojo.md"], [])


async def test_files_of_one_name_are_kept_by_nearness_too(
    repository: PostgresDocumentRepository, index: PostgresStructureIndex
) -> None:
    await repository.save_many([code(f"a{number:02}/auth.py", "f") for number in range(20)], principal=ANYONE)
    await repository.save_many([code("zeta/pagos/auth.py", "f")], principal=ANYONE)
    name = stem_name("auth.py")
    files = (await index.files([name], principal=ANYONE, limit=2, near=place_words("auth en zeta/pagos")))[name]
    assert [file.path for file in files.items] == ["zeta/pagos/auth.py", "a00/auth.py"]
    assert (files.matches, files.nearness) == (21, (round(2 * math.log(21), 6), 0))


async def test_what_may_not_be_read_or_is_filtered_out_has_no_weight(
    repository: PostgresDocumentRepository, index: PostgresStructureIndex
) -> None:
    hidden = contract("obra/oculto.md", visibility_scope=VisibilityScope.PRIVATE, owner="ana")
    await repository.save_many([hidden], principal=Principal(subject="ana"))
    await repository.save_many([contract("obra/a.md"), contract("b.md")], principal=ANYONE)
    of_name = (await index.named([CLAUSE], principal=ANYONE, limit=9, near=("obra", "oculto")))[CLAUSE]
    assert (paths(of_name.items), of_name.nearness) == (["obra/a.md", "b.md"], (round(math.log(2), 6), 0))
    left = await index.named(
        [CLAUSE], principal=ANYONE, filters=where(external_id="obra/a.md"), limit=9, near=("obra", "oculto")
    )
    assert (paths(left[CLAUSE].items), left[CLAUSE].nearness) == (["obra/a.md"], (0,))


async def test_a_title_is_known_after_a_refresh_and_a_new_one_after_an_edit(
    database: Database, repository: PostgresDocumentRepository, index: PostgresStructureIndex
) -> None:
    plain = written("z/1.md", "z", title="Ascensores Bravo")
    await repository.save_many([contract("a.md"), plain], principal=ANYONE)
    backlog = PostgresStructureBacklog(database=database)
    ((document),) = await backlog.outdated(FINGERPRINT, limit=9)
    structure = contract("z/1.md").structure
    assert isinstance(structure, DocumentStructure)
    await backlog.save({document.document_id: (document.content_hash, structure)})

    async def first(word: str) -> str:
        return (await index.named([CLAUSE], principal=ANYONE, limit=1, near=(word,)))[CLAUSE].items[0].path

    assert await first("bravo") == "z/1.md"
    await repository.save_many([contract("z/1.md", title="Montacargas Delta", salt="2")], principal=ANYONE)
    assert (await first("bravo"), await first("delta")) == ("a.md", "z/1.md")


async def test_a_call_means_the_nearest_definition_and_none_else(
    repository: PostgresDocumentRepository, index: PostgresStructureIndex
) -> None:
    libraries = [code(f"lib/{folder}/h.py", "ayuda") for folder in "abcde"]
    users = [callers(f"lib/{folder}/llama.py", f"llama_{folder}", "ayuda", "none") for folder in "abd"]
    far = callers("main.py", "main", "ayuda")
    await repository.save_many([*libraries, *users, far], principal=ANYONE)
    for folder in "abd":
        assert await calls(index, f"lib/{folder}/llama.py::llama_{folder}") == [f"lib/{folder}/h.py::ayuda"]
    # none is nearer to main.py than another: the first by path, and any of them may be meant
    assert await calls(index, "main.py::main") == ["lib/a/h.py::ayuda"]
    assert await called_by(index, "lib/b/h.py::ayuda") == ["lib/b/llama.py::llama_b", "main.py::main"]
    assert await called_by(index, "lib/c/h.py::ayuda") == ["main.py::main"]


async def test_the_same_folder_is_nearer_than_one_below_it_and_the_same_file_nearer_than_both(
    repository: PostgresDocumentRepository, index: PostgresStructureIndex
) -> None:
    writes = [code("src/a/deep/x.py", "run"), code("src/a/y.py", "run"), code("src/ab/z.py", "run")]
    await repository.save_many([*writes, callers("src/a/caller.py", "caller", "run")], principal=ANYONE)
    assert await calls(index, "src/a/caller.py::caller") == ["src/a/y.py::run"]
    here = structured(
        written("src/a/w.py", "w"), entity("src/a/w.py::go", calls=("symbol:run",)), entity("src/a/w.py::run")
    )
    await repository.save_many([here], principal=ANYONE)
    assert await calls(index, "src/a/w.py::go") == ["src/a/w.py::run"]
    assert "src/a/w.py::go" not in await called_by(index, "src/a/y.py::run")


async def test_who_calls_itself_calls_no_other_of_its_name(
    repository: PostgresDocumentRepository, index: PostgresStructureIndex
) -> None:
    await repository.save_many(
        [callers("a/one.py", "walk", "walk", "step"), code("b/two.py", "walk"), code("b/three.py", "step")],
        principal=ANYONE,
    )
    assert await calls(index, "a/one.py::walk") == ["b/three.py::step"]
    assert await called_by(index, "b/two.py::walk") == []


async def test_a_call_through_its_class_means_no_nearer_method_of_another(
    repository: PostgresDocumentRepository, index: PostgresStructureIndex
) -> None:
    def method(path: str, of: str) -> DocumentWrite:
        names = (symbol_name("close"), symbol_name(f"{of}.close"))
        return structured(written(path, path), entity(f"{path}::{of}.close", EntityKind.METHOD, names=names))

    await repository.save_many(
        [
            method("a/client.py", "Client"),
            method("z/session.py", "Session"),
            callers("a/through.py", "through", "close", "Session.close"),
            callers("a/variable.py", "variable", "close", "it.close"),
            callers("a/both.py", "both", "close", "Session.close", "Client.close"),
        ],
        principal=ANYONE,
    )
    assert await calls(index, "a/through.py::through") == ["z/session.py::Session.close"]
    assert await calls(index, "a/variable.py::variable") == ["a/client.py::Client.close"]
    assert await calls(index, "a/both.py::both") == ["a/client.py::Client.close", "z/session.py::Session.close"]
    assert await called_by(index, "a/client.py::Client.close") == ["a/both.py::both", "a/variable.py::variable"]
    assert await called_by(index, "z/session.py::Session.close") == ["a/both.py::both", "a/through.py::through"]

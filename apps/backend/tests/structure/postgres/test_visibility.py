"""No method of the index tells of entities whose documents the principal may not read, or that are gone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from ragcorp.domain.filters import Filters
from ragcorp.domain.principal import Principal, Sensitivity
from ragcorp.domain.structure.entities import EntityRef
from ragcorp.domain.text.entity_names import file_name, symbol_name
from ragcorp.infrastructure.postgres.connections.database import EVERY_WORKSPACE, Database
from ragcorp.infrastructure.postgres.embeddings.backlog import PostgresEmbeddingBacklog
from ragcorp.infrastructure.postgres.structure.index import PostgresStructureIndex
from ragcorp.infrastructure.postgres.tables.embedded import STRUCTURE
from support.storage.postgres import open_database, repository_over
from support.storage.stored import EAST, embed_all, where, written
from support.structure.entities import code, entity, index_over, structured

pytestmark = pytest.mark.anyio

ANA = Principal(subject="ana", groups=frozenset({"legal"}), clearance=Sensitivity.RESTRICTED)

HIDDEN: dict[str, tuple[dict[str, Any], Principal]] = {
    "sensitivity": ({"sensitivity": Sensitivity.RESTRICTED}, Principal(clearance=Sensitivity.CONFIDENTIAL)),
    "private": ({"visibility_scope": "private", "owner": "ana"}, Principal(subject="beto")),
    "group": ({"visibility_scope": "group", "owner": "legal"}, Principal(groups=frozenset({"sales"}))),
    "workspace": ({}, Principal(workspace="other", subject="ana")),
}


@pytest.fixture
async def database(dsn: str) -> AsyncIterator[Database]:
    async with open_database(dsn) as database:
        yield database


async def saved(database: Database, **attributes: Any) -> None:
    """Store one file: a class, a method in it, and a function that calls the method and that the class calls."""
    path = "src/a.py"
    drafts = [
        entity(f"{path}::C", name="C", calls=(symbol_name("helper"),)),
        entity(f"{path}::C.m", name="m", container=f"{path}::C", line=2),
        entity(f"{path}::helper", calls=(symbol_name("C"),), line=3),
    ]
    write = structured(written(path, "a\nb\nc", **attributes), *drafts)
    await (await repository_over(database)).save_many([write], principal=ANA)
    await embed_all(PostgresEmbeddingBacklog(database=database, table=STRUCTURE))
    await embed_all(PostgresEmbeddingBacklog(database=database))


async def told(
    index: PostgresStructureIndex, refs: list[EntityRef], chunks: list[str], principal: Principal, filters: Filters
) -> dict[str, bool]:
    """Return of each method whether it tells anything; ``within`` and ``texts`` take no filters."""
    asked: dict[str, Any] = {"principal": principal, "filters": filters}
    documents = [ref.document_id for ref in refs]
    answers = {
        "files": await index.files([file_name("a.py")], **asked, limit=9),
        "named": await index.named([symbol_name("C")], **asked, limit=9),
        "of_documents": await index.of_documents(documents, **asked, limit=9),
        "known": await index.existing([ref.identity for ref in refs], **asked),
        "neighbours": await index.neighbours(refs, **asked, limit=9),
        "similar": await index.similar(EAST, **asked, limit=9),
        "at_chunks": await index.at_chunks(chunks, **asked),
    }
    if not filters:
        answers["within"] = await index.within(refs, principal=principal, limit=9)
        answers["texts"] = await index.texts([ref.id for ref in refs], principal=principal)
    return {name: bool(answer) for name, answer in answers.items()}


async def everything(database: Database, index: PostgresStructureIndex) -> tuple[list[EntityRef], list[str]]:
    (file,) = (await index.files([file_name("a.py")], principal=ANA, limit=9))["file:a.py"].items
    refs = list((await index.of_documents([file.document_id], principal=ANA, limit=9))[file.document_id])
    async with database.autocommit(EVERY_WORKSPACE) as connection:
        rows = await (await connection.execute("SELECT id::text FROM chunks")).fetchall()
    return refs, [row[0] for row in rows]


@pytest.mark.parametrize("name", HIDDEN)
async def test_what_is_hidden_is_told_of_nowhere(database: Database, name: str) -> None:
    attributes, stranger = HIDDEN[name]
    await saved(database, **attributes)
    index = await index_over(database)
    refs, chunks = await everything(database, index)
    assert set((await told(index, refs, chunks, ANA, ())).values()) == {True}
    assert set((await told(index, refs, chunks, stranger, ())).values()) == {False}


async def test_filters_narrow_every_method(database: Database) -> None:
    await saved(database, language="es")
    index = await index_over(database)
    refs, chunks = await everything(database, index)
    for passing in (where(language="es"), where(external_id=["src/a.py"])):
        assert set((await told(index, refs, chunks, ANA, passing)).values()) == {True}
    for failing in (where(language="en"), where(external_id=["b.py"]), where(session="s1")):
        assert set((await told(index, refs, chunks, ANA, failing)).values()) == {False}


async def test_a_deleted_document_is_told_of_nowhere(database: Database) -> None:
    await saved(database)
    index = await index_over(database)
    refs, chunks = await everything(database, index)
    await (await repository_over(database)).soft_delete_one("src/a.py", principal=ANA)
    assert set((await told(index, refs, chunks, ANA, ())).values()) == {False}


async def test_neighbours_are_only_those_that_may_be_read(database: Database) -> None:
    await saved(database)
    hidden = structured(
        written("src/b.py", "x", visibility_scope="private", owner="ana"),
        entity("src/b.py::near"),
        entity("src/b.py::uses", calls=(symbol_name("C"),)),
    )
    asking = structured(written("src/c.py", "x"), entity("src/c.py::asking", calls=(symbol_name("near"),)))
    repository = await repository_over(database)
    await repository.save_many([hidden, asking, code("far/d.py", "near")], principal=ANA)
    index = await index_over(database)
    (ref,) = (await index.named([symbol_name("C")], principal=ANA, limit=9))["symbol:c"].items
    (caller,) = (await index.named([symbol_name("asking")], principal=ANA, limit=9))["symbol:asking"].items
    seen = {}
    for who, principal in {"ana": ANA, "beto": Principal(subject="beto")}.items():
        of = await index.neighbours([ref, caller], principal=principal, limit=9)
        lists = (of[ref.id].calls, of[ref.id].called_by, of[caller.id].calls)
        seen[who] = [[item.key for item in refs] for refs in lists]
    assert seen == {
        "ana": [["src/a.py::helper"], ["src/a.py::helper", "src/b.py::uses"], ["src/b.py::near"]],
        # what is hidden takes no call from what is not
        "beto": [["src/a.py::helper"], ["src/a.py::helper"], ["far/d.py::near"]],
    }

"""Stored passages of every collection by key: described, compared, read, and with their neighbours."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from uuid import UUID, uuid4

import pytest

from ragcorp.domain.collections import GRAPH, Collection
from ragcorp.domain.documents import VisibilityScope
from ragcorp.domain.principal import Principal, Sensitivity
from ragcorp.domain.retrieval import HitKey
from ragcorp.domain.search.candidates import Features
from ragcorp.infrastructure.postgres.connections.database import EVERY_WORKSPACE, Database
from ragcorp.infrastructure.postgres.tables.collections import OPENING
from support.memory.collections import NOON, backlog_of, fill, save, store_over
from support.storage.postgres import open_database, repository_over
from support.storage.stored import ANYONE, EAST, embed_all, towards, written

pytestmark = pytest.mark.anyio

INSERT_FACT = """
    WITH ends AS (
        INSERT INTO entities (workspace, external_id, name, declared, content_hash)
        VALUES ('default', 'rajesh', 'Rajesh', true, ''), ('default', 'priya', 'Priya', true, '') RETURNING id, name)
    INSERT INTO facts (workspace, external_id, subject_id, object_id, predicate, valid_from, valid_to)
    SELECT 'default', 'fact', s.id, o.id, 'planning vacation to Goa', %(noon)s, %(end)s
    FROM ends s, ends o WHERE s.name = 'Rajesh' AND o.name = 'Priya'
    RETURNING id
"""


@pytest.fixture
async def database(dsn: str) -> AsyncIterator[Database]:
    async with open_database(dsn) as database:
        yield database


async def stored_keys(database: Database) -> dict[str, HitKey]:
    """Return a key of each collection, by external id."""
    async with database.autocommit(EVERY_WORKSPACE) as connection:
        rows = await (
            await connection.execute(
                """
                SELECT d.external_id, d.id::text, 'artifacts' FROM documents d
                UNION ALL SELECT d.external_id || '#' || c.chunk_index, c.id::text, '' FROM chunks c
                JOIN documents d ON d.id = c.document_id
                UNION ALL SELECT external_id, id::text, 'memory' FROM memory_items
                UNION ALL SELECT external_id, id::text, 'history' FROM history_turns
                UNION ALL SELECT external_id, id::text, 'graph' FROM facts
                """
            )
        ).fetchall()
    return {name: (key, collection, 0) for name, key, collection in rows}


async def one_of_each(database: Database) -> dict[str, HitKey]:
    repository = await repository_over(database)
    document = written(
        "doc", "La planta embotelladora.", "Cierra en marzo.", title="Planta", occurred_at=NOON, metadata={"n": 1}
    )
    await repository.save_many([document], principal=ANYONE)
    await save(
        database,
        Collection.MEMORY,
        "Rajesh prefiere\nel mar.",
        name="memory",
        artifact_type="preference",
        entities=["Rajesh"],
        sensitivity=Sensitivity.CONFIDENTIAL,
        metadata={"k": "v"},
    )
    await save(database, Collection.HISTORY, "¿Vamos a Goa?", name="turn", session="s1", speaker="Priya", language="en")
    async with database.autocommit(EVERY_WORKSPACE) as connection:
        await connection.execute(INSERT_FACT, {"noon": NOON, "end": NOON + timedelta(days=9)})
    return await stored_keys(database)


async def test_each_is_described(database: Database) -> None:
    keys = await one_of_each(database)
    store = await store_over(database)
    asked = [*keys.values(), ("99", "", 0), ("99", "memory", 0), ("x", "memory", 0), ("1", "foreign", 0), ("", "x", 3)]
    described = await store.describe(asked, principal=ANYONE)
    assert described.keys() == set(keys.values())
    document_id = keys["doc"][0]
    results = {name: described[key] for name, key in keys.items()}
    assert [(results[name].collection, results[name].kind, results[name].artifact) for name in ("doc", "doc#0")] == [
        ("artifacts", "document", document_id),
        ("artifact_chunks", "document", document_id),
    ]
    assert [
        (results[name].collection, results[name].kind, results[name].artifact) for name in ("memory", "turn", "fact")
    ] == [("memory", "preference", None), ("history", "fact", None), (GRAPH, "fact", None)]
    memory = results["memory"]
    assert (memory.workspace, memory.sensitivity, memory.language) == ("default", Sensitivity.CONFIDENTIAL, "es")
    assert (memory.visibility_scope, memory.owner) == (VisibilityScope.WORKSPACE, "")
    assert {name: (item.occurred_at, item.ages_from) for name, item in results.items()} == {
        "doc": (NOON, NOON),
        "doc#0": (NOON, NOON),
        "doc#1": (NOON, NOON),
        "memory": (NOON, NOON),
        "turn": (NOON, NOON),
        "fact": (NOON, NOON + timedelta(days=9)),
    }


async def test_each_reads_as_a_passage(database: Database) -> None:
    keys = await one_of_each(database)
    read = await (await store_over(database)).read(list(keys.values()), principal=ANYONE)
    passages = {name: read[key] for name, key in keys.items()}
    assert {name: passage.key for name, passage in passages.items()} == keys
    assert {name: passage.content for name, passage in passages.items()} == {
        "doc": "La planta embotelladora.\n\nCierra en marzo.",
        "doc#0": "La planta embotelladora.",
        "doc#1": "Cierra en marzo.",
        "memory": "Rajesh prefiere\nel mar.",
        "turn": "¿Vamos a Goa?",
        "fact": "Rajesh -> Priya: planning vacation to Goa",
    }
    lines = {name: (passage.line_start, passage.line_end) for name, passage in passages.items()}
    assert lines == {
        "doc": (1, 3), "doc#0": (1, 1), "doc#1": (3, 3), "memory": (1, 2), "turn": (1, 1), "fact": (1, 1),
    }  # fmt: skip
    chunk, whole = passages["doc#1"], passages["doc"]
    assert (chunk.document_id, chunk.chunk_index, chunk.external_id) == (UUID(keys["doc"][0]), 1, "doc")
    for passage in (chunk, whole):
        assert (passage.title, passage.path, passage.metadata) == ("Planta", "doc", {"n": 1})
        assert (passage.occurred_at, passage.of_document) == (NOON, True)
    memory, turn, fact = (passages[name] for name in ("memory", "turn", "fact"))
    assert (memory.artifact_type, memory.sensitivity, memory.entities) == (
        "preference",
        Sensitivity.CONFIDENTIAL,
        ("Rajesh",),
    )
    assert (turn.session, turn.speaker, turn.language, turn.external_id) == ("s1", "Priya", "en", "turn")
    assert (fact.entities, fact.collection, fact.of_document) == (("Rajesh", "Priya"), GRAPH, False)
    assert len({passage.document_id for passage in (whole, memory, turn, fact)}) == 4
    again = await (await store_over(database)).read([keys["memory"]], principal=ANYONE)
    assert again == {keys["memory"]: memory}


async def test_chunks_read_the_same_through_the_repository(database: Database) -> None:
    keys = await one_of_each(database)
    read = await (await store_over(database)).read([keys["doc#0"], keys["doc#1"]], principal=ANYONE)
    repository = await repository_over(database)
    chunk_ids = [keys["doc#0"][0], keys["doc#1"][0]]
    assert {
        (key, "", 0): chunk for key, chunk in (await repository.get_chunks(chunk_ids, principal=ANYONE)).items()
    } == read


async def test_of_a_long_document_its_opening_is_read(database: Database) -> None:
    await save(database, Collection.ARTIFACTS, "línea\n" * 2000, name="long")
    keys = await stored_keys(database)
    (passage,) = (await (await store_over(database)).read([keys["long"]], principal=ANYONE)).values()
    assert passage.content == ("línea\n" * 2000)[:OPENING]
    assert passage.line_end == passage.content.count("\n") + 1


async def test_features_are_cosines_and_where_there_is_none_lexemes(database: Database) -> None:
    keys = await one_of_each(database)
    vectors = {"Planta. La planta embotelladora.": EAST, "Planta. Cierra en marzo.": towards(0.6)}
    await embed_all(backlog_of(database, Collection.ARTIFACTS), vectors)
    await embed_all(backlog_of(database, Collection.MEMORY), default=towards(0.0))
    store = await store_over(database)
    pool = [keys["doc#0"], keys["doc#1"], keys["memory"], keys["doc"]]
    features = await store.features(pool, principal=ANYONE)
    assert features.lexemes == {}
    mean = towards((1 + 0.6) / (2 * ((1.6 / 2) ** 2 + (0.8 / 2) ** 2) ** 0.5))
    whole = sum(a * b for a, b in zip(mean, towards(0.6), strict=True))
    expected = {
        ("doc#0", "doc#1"): 0.6,
        ("doc#0", "memory"): 0.0,
        ("doc#1", "memory"): 0.8,
        ("doc", "doc#0"): mean[0],
        ("doc", "doc#1"): whole,
        ("doc", "memory"): mean[1],
    }
    for pair, cosine in expected.items():
        smaller, larger = sorted(keys[name] for name in pair)
        assert features.cosines[smaller, larger] == pytest.approx(cosine, abs=1e-6), pair
    assert len(features.cosines) == len(expected)
    mixed = await store.features([*pool, keys["fact"], keys["turn"]], principal=ANYONE)
    assert mixed.cosines == features.cosines
    assert mixed.lexemes.keys() == {*pool, keys["fact"], keys["turn"]}
    assert mixed.lexemes[keys["doc"]] == frozenset({"plant"})
    assert {"goa", "rajesh", "priy"} <= mixed.lexemes[keys["fact"]]
    alone = await store.features([keys["fact"]], principal=ANYONE)
    assert (alone.cosines, alone.lexemes) == ({}, {})


async def test_neighbours_respect_the_ends_of_the_document(database: Database) -> None:
    repository = await repository_over(database)
    await repository.save_many(
        [written("six", *(f"trozo {n}" for n in range(6))), written("two", "uno", "dos")], principal=ANYONE
    )
    keys = await stored_keys(database)
    six, two = UUID(keys["six"][0]), UUID(keys["two"][0])
    store = await store_over(database)

    async def around(*centres: tuple[UUID, int], distance: int = 1) -> list[tuple[UUID, int]]:
        return sorted(await store.neighbours(centres, distance=distance, principal=ANYONE))

    assert await around((six, 3)) == [(six, 2), (six, 3), (six, 4)]
    assert await around((six, 0)) == [(six, 0), (six, 1)]
    assert await around((six, 5)) == [(six, 4), (six, 5)]
    assert await around((six, 1), (six, 2), (two, 1)) == sorted([(six, n) for n in range(4)] + [(two, 0), (two, 1)])
    assert await around((six, 3), distance=0) == [(six, 3)]
    assert await around((uuid4(), 0)) == []
    assert await around() == []
    results = await store.neighbours([(six, 3)], distance=1, principal=ANYONE)
    assert [results[six, n].content for n in (2, 3, 4)] == ["trozo 2", "trozo 3", "trozo 4"]


async def test_what_is_hidden_is_not_there(database: Database) -> None:
    await fill(database, Collection.ARTIFACTS, {"default": ["aguja"]})
    await save(database, Collection.MEMORY, "aguja", name="private", visibility_scope="private", owner="ana")
    keys = await stored_keys(database)
    store = await store_over(database)
    for principal in (Principal(workspace="other"), Principal(subject="beto", clearance=Sensitivity.PUBLIC)):
        asked = list(keys.values())
        assert await store.describe(asked, principal=principal) == {}
        assert await store.read(asked, principal=principal) == {}
        assert await store.features(asked, principal=principal) == Features()
        assert await store.neighbours([(UUID(keys["000"][0]), 0)], distance=1, principal=principal) == {}
    beto = await store.describe([keys["private"], keys["000"]], principal=Principal(subject="beto"))
    assert beto.keys() == {keys["000"]}

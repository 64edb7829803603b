"""The traversal against scores that are worked out by hand: strength * weight * 0.5^(hop - 1) * (1 + share) / 2."""

from __future__ import annotations

import time

import pytest

from ragcorp.domain.embeddings import Vector
from ragcorp.domain.exceptions import StorageUnavailableError
from ragcorp.domain.graph import GraphSelection
from ragcorp.domain.principal import Principal
from ragcorp.infrastructure.postgres.connections.database import EVERY_WORKSPACE, Database
from ragcorp.infrastructure.postgres.embeddings.backlog import PostgresEmbeddingBacklog
from ragcorp.infrastructure.postgres.graph.repository import PostgresGraphRepository
from ragcorp.infrastructure.postgres.tables.embedded import ENTITIES
from support.graph.facts import day, entity, found, graph_search, named, said
from support.storage.stored import ANYONE, EAST, embed_all, towards, where

pytestmark = pytest.mark.anyio

GOA = said("Rajesh", "planning vacation to Goa in March", "Priya", language="en", weight=0.8)
SISTER = said("Priya", "sister of", "Anil", language="en")
WORK = said("Anil", "works at", "Zafiro", language="en")


async def test_one_hop_and_two_by_hand(database: Database, graph: PostgresGraphRepository) -> None:
    await graph.save_facts([GOA, SISTER, WORK], principal=ANYONE)
    search = await graph_search(database)
    # lexemes of the query: rajesh, goa; both stand in the first fact, none in the second; the third is three hops off
    assert await found(search, graph, "Rajesh Goa") == pytest.approx(
        {
            "Rajesh -> Priya: planning vacation to Goa in March": 0.8 * (1 + 2 / 2) / 2,
            "Priya -> Anil: sister of": 1.0 * 0.5 * (1 + 0 / 2) / 2,
        }
    )
    nearby = await graph_search(database, hops=1)
    assert list(await found(nearby, graph, "Rajesh Goa")) == ["Rajesh -> Priya: planning vacation to Goa in March"]
    # of two ways to a fact the better counts
    both = await found(search, graph, "Rajesh Anil")
    assert both["Priya -> Anil: sister of"] == pytest.approx(1.0 * (1 + 1 / 2) / 2)
    assert both["Anil -> Zafiro: works at"] == pytest.approx(1.0 * (1 + 1 / 2) / 2)


async def test_cycles_and_loops_end_and_name_each_fact_once(database: Database, graph: PostgresGraphRepository) -> None:
    names = ["Ana", "Bea", "Carla"]
    ring = [said(a, "conoce", b) for a in names for b in names]
    await graph.save_facts(ring, principal=ANYONE)
    scores = await found(await graph_search(database), graph, "Ana")
    assert len(scores) == 9
    # ana of {ana}: all facts on Ana hold it; the other four come from the second hop
    assert sorted(scores.values(), reverse=True) == pytest.approx([1.0] * 5 + [0.25] * 4)


@pytest.mark.parametrize("query", ["¿Qué hace maría pérez?", "MARÍA   PÉREZ", "maria-perez", "la jefa", "La Jéfa hoy"])
async def test_names_and_aliases_stand_in_a_query_without_accents_and_case(
    database: Database, graph: PostgresGraphRepository, query: str
) -> None:
    await graph.save_entities([entity("María Pérez", kind="person", aliases=("La Jefa",))], principal=ANYONE)
    await graph.save_facts(
        [said("maria perez", "dirige", "Zafiro"), said("Otra Pérez", "vende", "Ópalo")], principal=ANYONE
    )
    assert list(await found(await graph_search(database), graph, query)) == ["María Pérez -> Zafiro: dirige"]


async def test_a_name_of_one_stop_word_is_not_read_into_every_query(
    database: Database, graph: PostgresGraphRepository
) -> None:
    await graph.save_facts([said("Ella", "canta", "Jazz"), said("Ella Fitz", "canta", "Blues")], principal=ANYONE)
    search = await graph_search(database)
    assert await found(search, graph, "¿qué sabe ella de pagos?") == {}
    assert list(await found(search, graph, "ella fitz")) == ["Ella Fitz -> Blues: canta"]


async def test_entities_near_the_query_lead_on_from_a_threshold(
    database: Database, graph: PostgresGraphRepository
) -> None:
    await graph.save_facts([said("Priya", "vive en", "Goa"), said("Anil", "vive en", "Lima")], principal=ANYONE)
    vectors: dict[str, Vector] = {"Priya": towards(0.9), "Anil": towards(0.8)}
    backlog = PostgresEmbeddingBacklog(database=database, table=ENTITIES)
    assert await embed_all(backlog, vectors, default=towards(0.0)) == 4
    search = await graph_search(database, similarity=0.85)
    # nothing is named; viv, of the query's two lexemes, stands in the fact
    assert await found(search, graph, "donde vive alguien", embedding=EAST) == pytest.approx(
        {"Priya -> Goa: vive en": 0.9 * (1 + 1 / 2) / 2}, abs=1e-6
    )
    assert await found(search, graph, "donde vive alguien") == {}


async def test_what_is_over_comes_after_what_is_true_of_equal_score(
    database: Database, graph: PostgresGraphRepository
) -> None:
    facts = [
        said("Ana", "trabaja en", "Uno", external_id="0", valid_from=day(2020), valid_to=day(2021)),
        said("Ana", "trabaja en", "Dos", external_id="1", valid_from=day(2021), valid_to=day(2030)),
        said("Ana", "trabaja en", "Tres", external_id="2", valid_from=day(2022)),
    ]
    await graph.save_facts(facts, principal=ANYONE)
    search = await graph_search(database)
    then = list(await found(search, graph, "Ana", now=day(2025)))
    assert [text.split()[2] for text in then] == ["Dos:", "Tres:", "Uno:"]
    later = list(await found(search, graph, "Ana", now=day(2040)))
    assert [text.split()[2] for text in later] == ["Tres:", "Uno:", "Dos:"]


async def test_filters_choose_what_is_shown_not_what_leads_on(
    database: Database, graph: PostgresGraphRepository
) -> None:
    await graph.save_facts(
        [
            said("Ana", "conoce", "Bea", metadata={"origen": "acta"}, valid_from=day(2020), valid_to=day(2022)),
            said("Bea", "conoce", "Eva", metadata={"origen": "mail"}, language="en", valid_from=day(2024)),
            said("Bea", "conoce", "Paz", metadata={"origen": "mail"}),
        ],
        principal=ANYONE,
    )
    search = await graph_search(database)

    async def shown(**filters: object) -> set[str]:
        return {text.split()[2] for text in await found(search, graph, "Ana", filters=where(**filters))}

    assert await shown() == {"Bea:", "Eva:", "Paz:"}
    assert await shown(origen="mail") == {"Eva:", "Paz:"}
    assert await shown(language="en") == {"Eva:"}
    # the validity overlaps the range; a fact without one is always true
    assert await shown(occurred_at={"gte": "2023-01-01"}) == {"Eva:", "Paz:"}
    assert await shown(occurred_at={"gte": "2021-01-01", "lt": "2022-01-01"}) == {"Bea:", "Paz:"}
    assert await shown(collection="graph") == {"Bea:", "Eva:", "Paz:"}
    assert await shown(collection="memory") == set()


async def statement_timeouts(database: Database) -> set[str]:
    """Return the timeout that statements have on each of the pool's connections that were used."""
    found = set()
    for _ in range(10):
        async with database.autocommit(EVERY_WORKSPACE) as connection:
            row = await (await connection.execute("SHOW statement_timeout")).fetchone()
            assert row
            found.add(row[0])
    return found


async def test_a_node_with_ten_thousand_facts_is_bounded_and_still_answers(
    database: Database, graph: PostgresGraphRepository
) -> None:
    await graph.save_facts(
        [
            said("Zafiro", "patrocina el maratón", "Ajedrez Club", weight=0.8),
            said("Cliente 7", "compite con", "Cliente 8"),
        ],
        principal=ANYONE,
    )
    async with database.transaction(EVERY_WORKSPACE) as connection:
        await connection.execute("""
            INSERT INTO entities (workspace, external_id, name, content_hash)
            SELECT 'default', 'customer:' || n, 'Cliente ' || n, '' FROM generate_series(11, 10_008) AS n
        """)
        await connection.execute("""
            INSERT INTO facts (workspace, external_id, subject_id, object_id, predicate)
            SELECT 'default', 'order:' || c.id, z.id, c.id, 'factura el pedido ' || c.id
            FROM entities z, entities c
            WHERE z.name = 'Zafiro' AND starts_with(c.external_id, 'customer:')
        """)
    search = await graph_search(database)
    started = time.perf_counter()
    ranked = await search.find_facts("zafiro maratón", None, principal=ANYONE, limit=100)
    assert time.perf_counter() - started < 1.0
    hasty = await graph_search(database, timeout_ms=1)
    with pytest.raises(StorageUnavailableError) as caught:
        for _ in range(20):  # a look at so many may be that fast once
            await hasty.find_facts("zafiro cliente maratón", None, principal=ANYONE, limit=100)
    assert caught.value.reason == "timeout"
    assert await statement_timeouts(database) == {"30s"}
    # a fact that holds a word of the query is seen behind thousands that weigh more: .8 * (1 + 2/2) / 2 beside
    # 1 * (1 + 1/2) / 2
    fact = (await graph.list_facts(GraphSelection(entity=named("ajedrez club")), principal=ANYONE, limit=2)).items[0]
    assert fact.text == "Zafiro -> Ajedrez Club: patrocina el maratón"
    narrow = await graph_search(database, facts_per_node=5, nodes=4, facts_looked_at=5)
    few = (await narrow.find_facts("zafiro maratón", None, principal=ANYONE, limit=1000)).hits
    assert len(few) <= 5 + 3 * 10
    assert {hit.item_id: hit.score for hit in few}[fact.id] == pytest.approx(0.8)
    assert len(ranked.hits) == 50


async def test_the_head_is_the_same_for_every_limit(database: Database, graph: PostgresGraphRepository) -> None:
    await graph.save_facts([said("Ana", f"dato {n}", f"Cosa {n % 7}") for n in range(30)], principal=ANYONE)
    search = await graph_search(database)
    whole = (await search.find_facts("Ana", None, principal=ANYONE, limit=100)).hits
    for limit in (1, 5, 29):
        assert (await search.find_facts("Ana", None, principal=ANYONE, limit=limit)).hits == whole[:limit]
    other = Principal(workspace="other")
    assert not (await search.find_facts("Ana", None, principal=other, limit=9)).hits

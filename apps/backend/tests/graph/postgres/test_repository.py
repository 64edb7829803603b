"""Entities and facts in the database: idempotence, names, provenance, what goes with what."""

from __future__ import annotations

import asyncio

import pytest

from ragcorp.domain.documents import IngestStatus, WriteFailure
from ragcorp.domain.exceptions import ConflictError, NotFoundError
from ragcorp.domain.graph import EntityReference, FactDraft, GraphSelection, Provenance
from ragcorp.domain.principal import Principal, Sensitivity
from ragcorp.infrastructure.postgres.connections.database import EVERY_WORKSPACE, Database
from ragcorp.infrastructure.postgres.graph.repository import PostgresGraphRepository
from ragcorp.infrastructure.postgres.workspaces.registry import PostgresWorkspaces
from support.graph.facts import day, entity, named, reader, said
from support.storage.postgres import repository_over
from support.storage.stored import ANYONE, where, written

pytestmark = pytest.mark.anyio

CREATED, UPDATED, UNCHANGED = IngestStatus.CREATED, IngestStatus.UPDATED, IngestStatus.UNCHANGED


def failure_of(outcome: object) -> Exception:
    assert isinstance(outcome, WriteFailure)
    return outcome.error


async def entity_names(graph: PostgresGraphRepository, principal: Principal = ANYONE, **selection: str) -> list[str]:
    page = await graph.list_entities(GraphSelection(**selection), principal=principal, limit=100)
    return [one.name for one in page.items]


async def rows(database: Database, table: str) -> int:
    async with database.autocommit(EVERY_WORKSPACE) as connection:
        row = await (await connection.execute(f"SELECT count(*) FROM {table}")).fetchone()
    assert row
    return int(row[0])


async def statuses(graph: PostgresGraphRepository, *drafts: object) -> list[object]:
    entities = [draft for draft in drafts if not isinstance(draft, FactDraft)]
    saved = await graph.save_entities(entities, principal=ANYONE) if entities else []
    facts = [draft for draft in drafts if isinstance(draft, FactDraft)]
    saved += await graph.save_facts(facts, principal=ANYONE) if facts else []
    return [getattr(outcome, "status", outcome) for outcome in saved]


async def test_what_is_stored_twice_is_stored_once(graph: PostgresGraphRepository) -> None:
    ana = entity("Ana López", kind="person", aliases=("Anita",))
    assert await statuses(graph, ana) == [CREATED]
    assert await statuses(graph, ana, entity("ANA  LOPEZ", kind="person", aliases=("Anita",))) == [UPDATED, UPDATED]
    assert await statuses(graph, ana, entity("Ana López", kind="place")) == [UPDATED, CREATED]
    fact = said("Anita", "dirige", "Zafiro", valid_from=day(2025))
    assert await statuses(graph, fact, fact) == [CREATED, UNCHANGED]
    assert await statuses(graph, said("ana lopez", "Dirige", "ZAFIRO", valid_from=day(2025))) == [UPDATED]
    assert await statuses(graph, said("Anita", "dirige", "Zafiro", valid_from=day(2026))) == [CREATED]
    page = await graph.list_facts(GraphSelection(), principal=ANYONE, limit=100)
    assert {(one.subject.external_id, one.object.external_id) for one in page.items} == {
        (named("ana lopez", kind="person"), named("zafiro"))
    }


async def test_of_two_drafts_with_one_name_the_later_stands(graph: PostgresGraphRepository) -> None:
    drafts = [entity("Uno", external_id="x"), entity("Dos", external_id="x")]
    await graph.save_entities(drafts, principal=ANYONE)
    assert await entity_names(graph) == ["Dos"]
    facts = [said("A", "uno", "B", external_id="f"), said("C", "dos", "D", external_id="f")]
    await graph.save_facts(facts, principal=ANYONE)
    assert (await graph.get_fact("f", principal=ANYONE)).text == "C -> D: dos"
    # nobody names A and B any more, and nobody declared them
    assert await entity_names(graph) == ["C", "D", "Dos"]


async def test_names_are_found_without_accents_and_case_and_tell_signs_apart(graph: PostgresGraphRepository) -> None:
    await graph.save_entities(
        [
            entity("Peña Ñúñez", kind="person", aliases=("El Güero",)),
            entity("C++", kind="language"),
            entity("C", kind="language"),
            entity("東京", kind="place"),
        ],
        principal=ANYONE,
    )
    for name in ("peña ñuñez", "PEÑA ÑÚÑEZ", "el guero", "El   Güero"):
        assert await entity_names(graph, name=name) == ["Peña Ñúñez"]
    assert await entity_names(graph, name="東京") == ["東京"]
    assert await entity_names(graph, name="%") == []
    await graph.save_facts([said("c++", "deriva de", "c"), said("🚀", "vuela sobre", "東京")], principal=ANYONE)
    page = await graph.list_facts(GraphSelection(), principal=ANYONE, limit=10)
    assert {one.text for one in page.items} == {"C++ -> C: deriva de", "🚀 -> 東京: vuela sobre"}


async def test_a_kind_that_is_named_must_be_that_of_the_entity(graph: PostgresGraphRepository) -> None:
    await graph.save_entities([entity("Córdoba", kind="place")], principal=ANYONE)

    def living(kind: str | None) -> FactDraft:
        return FactDraft(
            subject=EntityReference(name="Ana"),
            object=EntityReference(name="cordoba", kind=kind, field="object"),
            predicate=f"vive en {kind}",
        )

    await graph.save_facts([living(None), living("place"), living("person")], principal=ANYONE)
    page = await graph.list_facts(GraphSelection(entity=named("cordoba", kind="place")), principal=ANYONE, limit=10)
    assert len(page.items) == 2
    assert (await graph.get_entity(named("cordoba", kind="person"), principal=ANYONE)).declared is False


async def test_a_fact_is_cited_to_its_document_and_goes_when_that_does(
    database: Database, graph: PostgresGraphRepository
) -> None:
    documents = await repository_over(database)
    await documents.save_many([written("a.md", "Ana dirige Zafiro.", "Y más.")], principal=ANYONE)
    outcomes = await graph.save_facts(
        [
            said("Ana", "dirige", "Zafiro", external_id="ok", provenance=Provenance(document="a.md", chunk_index=1)),
            said("Ana", "dirige", "Zafiro", provenance=Provenance(document="b.md")),
            said("Ana", "dirige", "Zafiro", provenance=Provenance(document="a.md", chunk_index=2)),
            said("Ana", "dirige", "Zafiro", provenance=Provenance(chunk_id="999999")),
        ],
        principal=ANYONE,
    )
    assert [getattr(failure_of(outcome), "field", None) for outcome in outcomes[1:]] == [
        "provenance.document",
        "provenance.chunk_index",
        "provenance.chunk_id",
    ]
    fact = await graph.get_fact("ok", principal=ANYONE)
    assert (fact.document, fact.chunk_index) == ("a.md", 1)
    again = said("Ana", "dirige", "Zafiro", external_id="ok", provenance=Provenance(chunk_id=fact.chunk_id))
    assert [getattr(one, "status", one) for one in await graph.save_facts([again], principal=ANYONE)] == [UNCHANGED]
    # another text under the name: the document still says so, the chunk is no more
    await documents.save_many([written("a.md", "Otra cosa.")], principal=ANYONE)
    fact = await graph.get_fact("ok", principal=ANYONE)
    assert (fact.document, fact.chunk_id, fact.chunk_index) == ("a.md", None, None)
    await documents.soft_delete_one("a.md", principal=ANYONE)
    with pytest.raises(NotFoundError):
        await graph.get_fact("ok", principal=ANYONE)
    assert await entity_names(graph) == []
    await documents.purge_deleted(older_than_days=0, principal=ANYONE)
    assert await rows(database, "facts") == 0


async def test_pages_follow_one_another_and_filters_narrow_them(graph: PostgresGraphRepository) -> None:
    facts = [said("Ana", f"dato {n}", "Bea", external_id=f"f/{n}", metadata={"n": n % 2}) for n in range(5)]
    await graph.save_facts(facts, principal=ANYONE)
    first = await graph.list_facts(GraphSelection(prefix="f/"), principal=ANYONE, limit=3)
    assert [one.external_id for one in first.items] == ["f/0", "f/1", "f/2"]
    rest = await graph.list_facts(GraphSelection(prefix="f/"), principal=ANYONE, limit=3, after=first.next_after)
    assert ([one.external_id for one in rest.items], rest.next_after) == (["f/3", "f/4"], None)
    odd = await graph.list_facts(GraphSelection(filters=where(n=1)), principal=ANYONE, limit=9)
    assert [one.external_id for one in odd.items] == ["f/1", "f/3"]
    nobody = await graph.list_facts(GraphSelection(prefix="f/%"), principal=ANYONE, limit=9)
    assert nobody.items == ()


async def test_an_entity_goes_with_its_facts_and_what_only_they_named(
    database: Database, graph: PostgresGraphRepository
) -> None:
    await graph.save_entities([entity("Ana"), entity("Bea")], principal=ANYONE)
    facts = [said("Ana", "conoce", "Bea"), said("Ana", "conoce", "Eva"), said("Bea", "conoce", "Paz")]
    await graph.save_facts(facts, principal=ANYONE)
    await graph.delete_entity(named("ana"), principal=ANYONE)
    assert await entity_names(graph) == ["Bea", "Paz"]
    with pytest.raises(NotFoundError):
        await graph.delete_entity(named("ana"), principal=ANYONE)
    assert await rows(database, "entities") == 2
    # a new name is in the text of the facts at once, and in their lexemes
    await graph.save_entities([entity("Beatriz", external_id=named("bea"))], principal=ANYONE)
    async with database.autocommit(EVERY_WORKSPACE) as connection:
        cursor = await connection.execute("SELECT lexemes @@ to_tsquery('simple', 'beatriz') FROM facts")
        assert await cursor.fetchall() == [(True,)]


async def test_what_others_may_read_stays_when_it_is_deleted_by_one_who_may_not(
    database: Database, graph: PostgresGraphRepository
) -> None:
    await graph.save_entities([entity("Ana", description="Pública.")], principal=ANYONE)
    secret = said("Ana", "investiga a", "Eva", external_id="s", sensitivity=Sensitivity.RESTRICTED)
    await graph.save_facts([secret, said("Ana", "conoce", "Bea")], principal=ANYONE)
    low = reader(Sensitivity.NORMAL)
    await graph.delete_entity(named("ana"), principal=low)
    assert await entity_names(graph, low) == []
    with pytest.raises(NotFoundError):
        await graph.get_entity(named("ana"), principal=low)
    left = await graph.get_entity(named("ana"), principal=ANYONE)
    assert (left.declared, left.description) == (False, "")
    assert (await graph.get_fact("s", principal=ANYONE)).text == "Ana -> Eva: investiga a"
    # for one who sees nothing of it, it is a new one
    (outcome,) = await graph.save_entities([entity("Ana")], principal=low)
    assert getattr(outcome, "status", None) is CREATED


async def test_names_that_are_taken_by_what_is_hidden(graph: PostgresGraphRepository) -> None:
    low = reader(Sensitivity.NORMAL)
    hidden = entity("Topo", kind="person", external_id="person:topo", sensitivity=Sensitivity.RESTRICTED)
    await graph.save_entities([hidden], principal=ANYONE)
    secret = said("Ana", "conoce", "Bea", external_id="mine", sensitivity=Sensitivity.RESTRICTED)
    await graph.save_facts([secret], principal=ANYONE)
    # a name of one's own that is taken is said, as of documents
    (taken,) = await graph.save_entities([entity("Otro", external_id="person:topo")], principal=low)
    assert isinstance(failure_of(taken), ConflictError)
    (taken,) = await graph.save_facts([said("A", "b", "C", external_id="mine")], principal=low)
    assert isinstance(failure_of(taken), ConflictError)
    # a name that we make tells nothing
    (stored,) = await graph.save_entities([entity("Topo", kind="person")], principal=low)
    assert getattr(stored, "status", None) is CREATED
    assert await entity_names(graph, low) == ["Topo"]
    fact = FactDraft(
        subject=EntityReference(name="topo", kind="person"),
        object=EntityReference(name="Ana", field="object"),
        predicate="saluda a",
    )
    (stored,) = await graph.save_facts([fact], principal=low)
    page = await graph.list_facts(GraphSelection(), principal=low, limit=9)
    assert [one.text for one in page.items] == ["Topo -> Ana: saluda a"]
    unknown = FactDraft(
        subject=EntityReference(external_id="person:topo"),
        object=EntityReference(name="B", field="object"),
        predicate="x",
    )
    (refused,) = await graph.save_facts([unknown], principal=low)
    assert getattr(failure_of(refused), "field", None) == "subject.external_id"


async def test_a_workspace_is_removed_with_its_graph(database: Database, graph: PostgresGraphRepository) -> None:
    other = Principal(workspace="other")
    for principal in (ANYONE, other):
        await graph.save_facts([said("Ana", "conoce", "Bea")], principal=principal)
    await PostgresWorkspaces(database=database).remove("other")
    assert [await rows(database, table) for table in ("entities", "facts", "entity_backlog")] == [2, 1, 2]


async def test_writers_side_by_side_make_one_entity_of_a_name(
    database: Database, graph: PostgresGraphRepository
) -> None:
    def batch(writer: int) -> list[FactDraft]:
        order = range(20) if writer % 2 else reversed(range(20))
        return [said(f"Persona {n}", f"conoce {writer % 3}", f"Persona {(n * 7) % 20}") for n in order]

    outcomes = await asyncio.gather(*(graph.save_facts(batch(writer), principal=ANYONE) for writer in range(8)))
    assert not [one for many in outcomes for one in many if isinstance(one, WriteFailure)]
    assert [await rows(database, table) for table in ("entities", "facts")] == [20, 60]

"""What one writer stores neither hides nor rewords what another one has, and tells nothing of it."""

from __future__ import annotations

from typing import Any

import pytest

from ragcorp.domain.documents import DocumentAttributes, IngestStatus, VisibilityScope, WriteFailure, WriteOutcome
from ragcorp.domain.exceptions import ConflictError, InvalidInputError, NotFoundError
from ragcorp.domain.graph import EntityReference, Fact, FactDraft, GraphSelection, Readers, fact_name
from ragcorp.domain.principal import Principal, Sensitivity
from ragcorp.infrastructure.postgres.connections.database import Database
from ragcorp.infrastructure.postgres.graph.repository import PostgresGraphRepository
from support.graph.facts import entity, found, graph_search, named, said

pytestmark = pytest.mark.anyio

ALICE = Principal(subject="alice", clearance=Sensitivity.NORMAL)
MALLORY = Principal(subject="mallory", clearance=Sensitivity.NORMAL)
HERS: dict[str, Any] = {"visibility_scope": VisibilityScope.PRIVATE, "owner": "alice"}
MINE: dict[str, Any] = {"visibility_scope": VisibilityScope.PRIVATE, "owner": "mallory"}


async def stored(graph: PostgresGraphRepository, draft: Any, principal: Principal) -> WriteOutcome:
    save = graph.save_facts if isinstance(draft, FactDraft) else graph.save_entities
    (outcome,) = await save([draft], principal=principal)
    assert isinstance(outcome, WriteOutcome), outcome
    return outcome


async def refusal(graph: PostgresGraphRepository, draft: Any, principal: Principal) -> tuple[type[Exception], object]:
    save = graph.save_facts if isinstance(draft, FactDraft) else graph.save_entities
    (outcome,) = await save([draft], principal=principal)
    assert isinstance(outcome, WriteFailure)
    assert getattr(outcome.error, "remedy", None)
    return type(outcome.error), getattr(outcome.error, "field", None)


async def facts(graph: PostgresGraphRepository, principal: Principal) -> list[Fact]:
    return list((await graph.list_facts(GraphSelection(), principal=principal, limit=100)).items)


async def texts(graph: PostgresGraphRepository, principal: Principal) -> list[str]:
    return sorted(fact.text for fact in await facts(graph, principal))


async def names(graph: PostgresGraphRepository, principal: Principal) -> list[tuple[str, bool]]:
    page = await graph.list_entities(GraphSelection(), principal=principal, limit=100)
    return sorted((one.name, one.declared) for one in page.items)


async def test_an_entity_of_a_hidden_fact_cannot_be_taken_over(graph: PostgresGraphRepository) -> None:
    await stored(graph, said("Bermúdez", "será despedido de", "Acme", **HERS), ALICE)
    outcome = await stored(graph, entity("BERMUDEZ", **MINE), MALLORY)
    assert (outcome.status, outcome.external_id) == (IngestStatus.CREATED, named("bermudez", **MINE))
    assert await names(graph, MALLORY) == [("BERMUDEZ", True)]
    await stored(graph, entity("bermudez"), MALLORY)
    assert await texts(graph, ALICE) == ["Bermúdez -> Acme: será despedido de"]
    (again,) = await graph.save_facts([said("Bermúdez", "será despedido de", "Acme", **HERS)], principal=ALICE)
    assert isinstance(again, WriteOutcome)
    assert len(await facts(graph, ALICE)) == 1


async def test_a_shared_entity_that_is_renamed_leaves_hidden_facts_as_they_read(
    database: Database, graph: PostgresGraphRepository
) -> None:
    await stored(graph, entity("Goya", external_id="goya", aliases=("Paco",)), ALICE)
    await stored(graph, said("goya", "firmó con", "Beta", **HERS), ALICE)
    await stored(graph, said("goya", "pintó", "Majas"), ALICE)
    assert (await stored(graph, entity("Falso", external_id="goya"), MALLORY)).status is IngestStatus.UPDATED
    assert await texts(graph, ALICE) == ["Falso -> Majas: pintó", "Goya -> Beta: firmó con"]
    assert await texts(graph, MALLORY) == ["Falso -> Majas: pintó"]
    assert await names(graph, MALLORY) == [("Falso", True), ("Majas", False)]
    # the words by which it is found are its own still
    search = await graph_search(database, hops=1)
    for name, score in (("goya", 1), ("paco", 0.5)):
        assert await found(search, graph, name, principal=ALICE) == {"Goya -> Beta: firmó con": score}
    # and so are they where the kind changes, or who may read it
    await stored(graph, said("falso", "teme a", "Roma", **HERS), ALICE)
    await stored(graph, entity("Falso", external_id="goya", kind="person"), MALLORY)
    (fact,) = [one for one in await facts(graph, ALICE) if one.predicate == "teme a"]
    assert fact.subject.kind == "entity"


async def test_who_reads_all_its_facts_may_rename_an_entity(graph: PostgresGraphRepository) -> None:
    await stored(graph, said("Marai", "vive en", "Goa"), ALICE)
    await stored(graph, entity("María", external_id=named("marai")), MALLORY)
    assert await texts(graph, ALICE) == ["María -> Goa: vive en"]
    # the name that it had is free again, and told by what one can read
    await stored(graph, said("Marai", "vive en", "Pune"), ALICE)
    await stored(graph, said("marai", "vive en", "Lima"), MALLORY)
    assert await texts(graph, ALICE) == ["Marai -> Lima: vive en", "Marai -> Pune: vive en", "María -> Goa: vive en"]


async def test_an_entity_is_not_narrowed_over_facts_that_more_may_read(graph: PostgresGraphRepository) -> None:
    await stored(graph, entity("Goya", external_id="goya"), ALICE)
    fact = said("Goya", "pintó", "Majas", external_id="f")
    await stored(graph, fact, ALICE)
    narrow = entity("Goya", external_id="goya", **MINE)
    assert await refusal(graph, narrow, MALLORY) == (ConflictError, "visibility_scope")
    await graph.delete_fact("f", principal=ALICE)
    # what cannot be seen is no hindrance, and stays
    await stored(graph, said("Goya", "firmó con", "Beta", **HERS), ALICE)
    assert (await stored(graph, narrow, MALLORY)).status is IngestStatus.UPDATED
    assert await texts(graph, ALICE) == ["Goya -> Beta: firmó con"]
    assert await names(graph, ALICE) == [("Beta", False), ("Goya", False)]
    # and wider it may become at any time
    await stored(graph, said("Goya", "vive en", "Roma", **MINE), MALLORY)
    await stored(graph, entity("Goya", external_id="goya"), MALLORY)
    assert await texts(graph, MALLORY) == ["Goya -> Roma: vive en"]


async def test_a_made_name_keeps_its_readers_and_is_nobodys_to_choose(graph: PostgresGraphRepository) -> None:
    goya = (await stored(graph, entity("Goya"), ALICE)).external_id
    fact = (await stored(graph, said("Goya", "pintó", "Majas"), ALICE)).external_id
    hidden = (await stored(graph, entity("Topo", **HERS), ALICE)).external_id
    assert await refusal(graph, entity("Goya", external_id=goya, **MINE), MALLORY) == (
        InvalidInputError,
        "visibility_scope",
    )
    again = said("Goya", "pintó", "Majas", external_id=fact, **MINE)
    assert await refusal(graph, again, MALLORY) == (InvalidInputError, "visibility_scope")
    # of the form of a made name: the same is said where there is one and where there is none
    for name in (hidden, named("nada", **HERS)):
        assert await refusal(graph, entity("Topo", external_id=name), MALLORY) == (InvalidInputError, "external_id")
    secret = (await stored(graph, said("A", "b", "C", **HERS), ALICE)).external_id
    for name in (secret, f"fact:{'0' * 32}"):
        refused = await refusal(graph, said("A", "b", "C", external_id=name), MALLORY)
        assert refused == (InvalidInputError, "external_id")
    # one's own, sent along, is as good as none
    assert (await stored(graph, entity("Goya", external_id=goya), ALICE)).status is IngestStatus.UNCHANGED
    assert (await stored(graph, entity("Luz", external_id=named("luz")), ALICE)).status is IngestStatus.CREATED


@pytest.mark.parametrize("hidden", [True, False])
async def test_the_name_and_status_of_a_write_tell_nothing(graph: PostgresGraphRepository, *, hidden: bool) -> None:
    if hidden:
        await stored(graph, entity("Adquisición", kind="proyecto", **HERS), ALICE)
        await stored(graph, said("JUAN", "cobra", "900", **HERS), ALICE)
    project = await stored(graph, entity("Adquisición", kind="proyecto"), MALLORY)
    assert (project.external_id, project.status) == (named("adquisicion", kind="proyecto"), IngestStatus.CREATED)
    fact = await stored(graph, said("Juan", "cobra", "900"), MALLORY)
    follows = fact_name(
        subject=named("juan"), predicate="cobra", object=named("900"), valid_from=None, document_id=None,
        chunk_index=None, readers=Readers.of(DocumentAttributes()),
    )  # fmt: skip
    assert (fact.external_id, fact.status) == (follows, IngestStatus.CREATED)
    juan = await graph.get_entity(named("juan"), principal=MALLORY)
    stored_fact = await graph.get_fact(fact.external_id, principal=MALLORY)
    assert (juan.name, juan.created_at) == ("Juan", stored_fact.created_at)
    assert (await stored(graph, entity("Juan", description="d"), MALLORY)).status is IngestStatus.UPDATED
    assert len(await facts(graph, ALICE)) == 1 + hidden


async def test_what_hidden_facts_left_of_an_open_entity_gives_way(graph: PostgresGraphRepository) -> None:
    """Alice's fact is put on an entity of an open one, which goes: what is left is hers, and does not show."""
    await stored(graph, said("ACME", "opera en", "Lima", external_id="open"), ALICE)
    await stored(graph, said("Acme", "debe a", "Lima", **HERS), ALICE)
    await graph.delete_fact("open", principal=ALICE)
    assert await names(graph, MALLORY) == []
    await stored(graph, said("Acme", "opera en", "Roma"), MALLORY)
    made = await graph.get_entity(named("acme"), principal=MALLORY)
    (fact,) = await facts(graph, MALLORY)
    assert (made.name, made.created_at) == ("Acme", fact.created_at)
    assert await texts(graph, ALICE) == ["ACME -> Lima: debe a", "Acme -> Roma: opera en"]
    # said again it is the same fact, on the entity that now has the name
    await stored(graph, said("Acme", "debe a", "Lima", **HERS), ALICE)
    assert await texts(graph, ALICE) == ["Acme -> Lima: debe a", "Acme -> Roma: opera en"]


async def test_an_entity_that_is_deleted_stays_as_it_was_for_hidden_facts(graph: PostgresGraphRepository) -> None:
    group: dict[str, Any] = {"visibility_scope": VisibilityScope.GROUP, "owner": "legal"}
    lawyer, boss = (
        Principal(subject=name, groups=frozenset(groups), clearance=clearance)
        for name, groups, clearance in (("l", ["legal"], Sensitivity.NORMAL), ("b", [], Sensitivity.RESTRICTED))
    )
    head = Principal(subject="h", groups=frozenset(["legal"]), clearance=Sensitivity.RESTRICTED)
    await stored(graph, entity("Caso", kind="case", external_id="caso", description="d", **group), lawyer)
    await stored(graph, said("Caso", "oculta", "Pago", sensitivity=Sensitivity.RESTRICTED), head)
    await graph.delete_entity("caso", principal=lawyer)
    with pytest.raises(NotFoundError):
        await graph.get_entity("caso", principal=lawyer)
    (left,) = await facts(graph, head)
    assert (left.text, left.subject.kind) == ("Caso -> Pago: oculta", "case")
    # whose group's it was is still so
    assert await texts(graph, boss) == []
    assert (await stored(graph, entity("Otro", external_id="caso", **group), lawyer)).status is IngestStatus.CREATED
    assert await texts(graph, head) == ["Caso -> Pago: oculta"]


async def test_a_fact_takes_the_entity_that_all_its_readers_may_read(graph: PostgresGraphRepository) -> None:
    await stored(graph, said("Acme", "debe a", "Zeta", **HERS), ALICE)
    await stored(graph, said("Acme", "opera en", "Lima"), ALICE)
    assert await texts(graph, MALLORY) == ["Acme -> Lima: opera en"]
    # a private fact goes to the open entity of that name, where there is no private one
    await stored(graph, said("Lima", "aloja a", "Yara", **HERS), ALICE)
    on_lima = await graph.list_facts(GraphSelection(entity=named("lima")), principal=ALICE, limit=9)
    assert len(on_lima.items) == 2
    # declared in private, the name is secret, also where an open fact says it
    await stored(graph, entity("Plan B", external_id="plan", **HERS), ALICE)
    by_id = FactDraft(
        subject=EntityReference(external_id="plan"),
        object=EntityReference(name="Norte", field="object"),
        predicate="empieza en",
        attributes=DocumentAttributes(artifact_type="fact"),
    )
    await stored(graph, by_id, ALICE)
    assert await names(graph, MALLORY) == [("Acme", False), ("Lima", False)]
    await stored(graph, said("NORTE", "limita con", "Lima"), ALICE)
    assert ("NORTE", False) in await names(graph, MALLORY)

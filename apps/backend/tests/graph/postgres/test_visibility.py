"""Nothing of what a caller may not read shows anywhere: against a graph that never held it (random policies)."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragcorp.domain.documents import WriteFailure
from ragcorp.domain.exceptions import NotFoundError
from ragcorp.domain.graph import GraphSelection, Provenance
from ragcorp.domain.principal import Principal, Sensitivity
from ragcorp.infrastructure.postgres.connections.database import EVERY_WORKSPACE, Database
from ragcorp.infrastructure.postgres.embeddings.backlog import PostgresEmbeddingBacklog
from ragcorp.infrastructure.postgres.graph.repository import PostgresGraphRepository
from ragcorp.infrastructure.postgres.tables.embedded import ENTITIES
from support.graph.facts import entity, graph_search, named, said
from support.storage.postgres import open_database, repository_over
from support.storage.stored import EAST, embed_all, written

NAMES = ("Ana", "Bea", "Carla", "Dora")
DOCUMENTS = ("a.md", "b.md")


@dataclass(frozen=True, slots=True)
class Policy:
    sensitivity: int
    scope: str
    owner: str

    def admits(self, principal: Principal) -> bool:
        if self.sensitivity > principal.clearance:
            return False
        match self.scope:
            case "group":
                return self.owner in principal.groups
            case "private":
                return self.owner == principal.subject
        return True


OPEN = Policy(0, "workspace", "")
POLICIES = st.builds(
    Policy, st.integers(0, 3), st.sampled_from(["workspace", "group", "private"]), st.sampled_from(["ana", "legal", ""])
)


@dataclass(frozen=True, slots=True)
class World:
    """Documents with their policy (None: deleted), declared entities, and facts (subject, object, document)."""

    documents: Mapping[str, Policy | None]
    declared: Mapping[str, Policy]
    facts: Sequence[tuple[str, str, str | None, Policy]]

    def readable_facts(self, principal: Principal) -> set[int]:
        def document_is(name: str | None) -> bool:
            policy = OPEN if name is None else self.documents[name]
            return policy is not None and policy.admits(principal)

        return {
            number
            for number, (subject, target, document, policy) in enumerate(self.facts)
            if policy.admits(principal)
            and document_is(document)
            and all(self.declared.get(name, OPEN).admits(principal) for name in (subject, target))
        }


WORLDS = st.builds(
    World,
    st.fixed_dictionaries({name: st.one_of(POLICIES, st.none()) for name in DOCUMENTS}),
    st.dictionaries(st.sampled_from(NAMES), POLICIES, max_size=4),
    st.lists(
        st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES), st.sampled_from([*DOCUMENTS, None, None]), POLICIES),
        max_size=8,
    ),
)
READERS = st.builds(
    Principal,
    workspace=st.just("default"),
    subject=st.sampled_from(["ana", "luis"]),
    groups=st.sampled_from([frozenset(), frozenset({"legal"})]),
    clearance=st.sampled_from(list(Sensitivity)),
)

numbers = itertools.count()


async def build(database: Database, world: World, workspace: str, *, only: set[int] | None = None) -> None:
    """Store the world, or what its readable facts alone would have made of it; the policies come last."""
    writer = Principal(workspace=workspace)
    graph = PostgresGraphRepository(database=database)
    documents = await repository_over(database)
    await documents.save_many([written(name, "texto") for name in DOCUMENTS], principal=writer)
    await graph.save_entities([entity(name) for name in world.declared], principal=writer)
    facts = [
        said(
            subject,
            f"relación {number}",
            target,
            external_id=f"f{number}",
            provenance=None if document is None else Provenance(document=document),
        )
        for number, (subject, target, document, _) in enumerate(world.facts)
        if only is None or number in only
    ]
    await graph.save_facts(facts, principal=writer)

    def columns(policy: Policy) -> dict[str, Any]:
        return {"s": policy.sensitivity, "v": policy.scope, "o": policy.owner, "w": workspace}

    change = "UPDATE {} SET sensitivity = %(s)s, visibility_scope = %(v)s, owner = %(o)s WHERE workspace = %(w)s AND {}"
    async with database.transaction(EVERY_WORKSPACE) as connection:
        for name, policy in world.declared.items():
            await connection.execute(
                change.format("entities", "declared AND name = %(name)s"), columns(policy) | {"name": name}
            )
        for number, fact in enumerate(world.facts):
            await connection.execute(
                change.format("facts", "external_id = %(name)s"), columns(fact[3]) | {"name": f"f{number}"}
            )
        for name, document in world.documents.items():
            await connection.execute(
                change.format("documents", "external_id = %(name)s"), columns(document or OPEN) | {"name": name}
            )
            if document is None:
                await connection.execute(
                    "UPDATE documents SET deleted_at = now() WHERE workspace = %(w)s AND external_id = %(name)s",
                    {"w": workspace, "name": name},
                )


async def seen(database: Database, principal: Principal) -> object:
    """Return all that a reader can learn, without ids and times. Every entity is near to a query that names none."""
    await embed_all(PostgresEmbeddingBacklog(database=database, table=ENTITIES))
    graph = PostgresGraphRepository(database=database)
    search = await graph_search(database)
    entities = (await graph.list_entities(GraphSelection(), principal=principal, limit=200)).items
    facts = (await graph.list_facts(GraphSelection(), principal=principal, limit=200)).items
    texts = {fact.id: fact.text for fact in facts}
    by_name = {
        name: [
            results.external_id
            for results in (await graph.list_entities(GraphSelection(name=name), principal=principal, limit=200)).items
        ]
        for name in NAMES
    }
    on_entity = {
        name: [
            fact.external_id
            for fact in (
                await graph.list_facts(GraphSelection(entity=named(name.lower())), principal=principal, limit=200)
            ).items
        ]
        for name in NAMES
    }
    walked = {
        query: sorted(
            (texts[str(hit.item_id)], hit.score)
            for hit in (await search.find_facts(query, embedding, principal=principal, limit=100)).hits
        )
        for query, embedding in (*((name, None) for name in NAMES), ("ana bea relación 1", None), ("algo", EAST))
    }
    results: dict[object, object] = {}
    for number in range(8):
        try:
            results[number] = (await graph.get_fact(f"f{number}", principal=principal)).text
        except NotFoundError as error:
            results[number] = error.message
    for name in NAMES:
        try:
            results[name] = (await graph.get_entity(named(name.lower()), principal=principal)).declared
        except NotFoundError as error:
            results[name] = error.message
    listed = [(one.external_id, one.name, one.declared, one.attributes.sensitivity) for one in entities]
    return listed, sorted(texts.values()), by_name, on_entity, walked, results


@pytest.mark.hypothesis
def test_what_may_not_be_read_might_as_well_not_be_there(dsn: str) -> None:
    async def compare(database: Database, world: World, reader: Principal) -> None:
        whole, part = f"w{next(numbers)}", f"w{next(numbers)}"
        readable = world.readable_facts(reader)
        visible = World(
            documents=world.documents,
            declared={name: policy for name, policy in world.declared.items() if policy.admits(reader)},
            facts=world.facts,
        )
        await build(database, world, whole)
        await build(database, visible, part, only=readable)
        in_whole, in_part = (
            Principal(workspace=name, subject=reader.subject, groups=reader.groups, clearance=reader.clearance)
            for name in (whole, part)
        )
        assert await seen(database, in_whole) == await seen(database, in_part)
        # and what the reader writes by name goes through without a word of what is hidden
        (outcome,) = await PostgresGraphRepository(database=database).save_facts(
            [said("Ana", "ve", "Dora")], principal=in_whole
        )
        assert not isinstance(outcome, WriteFailure)

    async def run() -> None:
        async with open_database(dsn) as database:
            loop = asyncio.get_running_loop()

            @settings(suppress_health_check=list(HealthCheck))
            @given(world=WORLDS, reader=READERS)
            def check(world: World, reader: Principal) -> None:
                asyncio.run_coroutine_threadsafe(compare(database, world, reader), loop).result(60)

            await asyncio.to_thread(check)

    asyncio.run(run())

"""What a caller may not read appears in no list, description, passage, neighbour, comparison or count."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import psycopg
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragcorp.domain.collections import GRAPH, Collection
from ragcorp.domain.principal import Principal, Sensitivity
from ragcorp.domain.retrieval import CHUNK_COLLECTION, HitKey
from ragcorp.infrastructure.postgres.collections.counts import PostgresFacetCounts
from support.memory.collections import WITH_CHANNELS, channels_over, store_over
from support.storage.postgres import open_database
from support.storage.stored import EAST

PEOPLE, GROUPS, WORKSPACES = ["ana", "beto"], ["legal", "ventas"], ["default", "other"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    workspace: str
    sensitivity: int
    visibility_scope: str
    owner: str

    def admits(self, principal: Principal) -> bool:
        owned = {"workspace": True, "group": self.owner in principal.groups, "private": self.owner == principal.subject}
        return (
            self.workspace == principal.workspace
            and self.sensitivity <= principal.clearance
            and owned[self.visibility_scope]
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A passage and the policies that must all admit its reader: a fact's own, and its document's."""

    key: HitKey
    policies: tuple[Policy, ...]

    @property
    def collection(self) -> str:
        return self.key[1] or CHUNK_COLLECTION


POLICIES = st.builds(
    Policy,
    workspace=st.sampled_from(WORKSPACES),
    sensitivity=st.integers(0, 3),
    visibility_scope=st.sampled_from(["workspace", "group", "private"]),
    owner=st.sampled_from(PEOPLE + GROUPS),
)
PRINCIPALS = st.builds(
    Principal,
    workspace=st.sampled_from(WORKSPACES),
    subject=st.sampled_from(PEOPLE),
    groups=st.frozensets(st.sampled_from(GROUPS)),
    clearance=st.sampled_from(Sensitivity),
)
COLUMNS = "workspace, sensitivity, visibility_scope, owner"


def replace_all(
    connection: psycopg.Connection[Any], documents: Sequence[Policy], items: Sequence[Policy], facts: Sequence[Policy]
) -> list[Stored]:
    """Store a document of one chunk, an item of each collection and a fact for each policy, with equal vectors."""
    for table in ("facts", "entities", "documents", "memory_items", "history_turns"):
        connection.execute(f"DELETE FROM {table}")  # type: ignore[call-overload]
    stored: list[Stored] = []

    def insert(statement: str, policy: Policy, *values: object) -> Any:
        shared = (policy.workspace, policy.sensitivity, policy.visibility_scope, policy.owner)
        row = connection.execute(statement, (*shared, *values)).fetchone()  # type: ignore[call-overload]
        assert row is not None
        return row[0]

    ids = []
    for number, policy in enumerate(documents):
        document_id = insert(
            f"INSERT INTO documents ({COLUMNS}, external_id, id, text, content_hash, chunker, chunk_count, media_type,"
            " filename, size_bytes) VALUES (%s, %s, %s, %s, %s, gen_random_uuid(), 'aguja', '', '', 1, '', '', 0)"
            " RETURNING id",
            policy,
            str(number),
        )
        chunk_id = insert(
            f"INSERT INTO chunks ({COLUMNS}, document_id, chunk_index, content, line_start, line_end, token_count,"
            " content_hash) VALUES (%s, %s, %s, %s, %s, 0, 'aguja', 1, 1, 1, '') RETURNING id",
            policy,
            document_id,
        )
        ids.append(document_id)
        stored += [Stored(key=(str(document_id), "artifacts", 0), policies=(policy,))]
        stored += [Stored(key=(str(chunk_id), "", 0), policies=(policy,))]
    for collection, table in (("memory", "memory_items"), ("history", "history_turns")):
        for number, policy in enumerate(items):
            item_id = insert(
                f"INSERT INTO {table} ({COLUMNS}, external_id, text, content_hash)"
                " VALUES (%s, %s, %s, %s, %s, 'aguja', '') RETURNING id",
                policy,
                str(number),
            )
            stored.append(Stored(key=(str(item_id), collection, 0), policies=(policy,)))
    for number, policy in enumerate(facts):
        behind = number % len(documents) if documents else None
        fact_id = insert(
            "WITH ends AS (INSERT INTO entities (workspace, external_id, name, declared, sensitivity, content_hash)"
            " VALUES (%s, gen_random_uuid()::text, 'X', false, 0, '') RETURNING id, workspace)"
            " INSERT INTO facts (workspace, sensitivity, visibility_scope, owner, external_id, document_id, subject_id,"
            " object_id, predicate) SELECT workspace, %s, %s, %s, %s, %s, id, id, 'aguja' FROM ends RETURNING id",
            policy,
            str(number),
            None if behind is None else ids[behind],
        )
        policies = (policy,) if behind is None else (policy, documents[behind])
        stored.append(Stored(key=(str(fact_id), GRAPH, 0), policies=policies))
    east = str(list(EAST))
    for vectors, key, rows in (
        ("chunk_embeddings", "chunk_id", "chunks"),
        ("document_embeddings", "document_id", "documents"),
        ("memory_embeddings", "item_id", "memory_items"),
        ("history_embeddings", "item_id", "history_turns"),
    ):
        connection.execute(
            f"INSERT INTO {vectors} ({key}, model_id, workspace, embedding) SELECT id, 1, workspace, %s FROM {rows}",  # type: ignore[call-overload]
            (east,),
        )
    return stored


def test_nobody_sees_what_no_policy_admits_them_to(dsn: str, owner_dsn: str) -> None:
    async def run() -> None:
        async with open_database(dsn) as database:
            channels = {name: await channels_over(database, name) for name in WITH_CHANNELS}
            store, facets = await store_over(database), PostgresFacetCounts(database)
            loop = asyncio.get_running_loop()

            async def look(stored: Sequence[Stored], principal: Principal) -> None:
                readable = {item.key for item in stored if all(policy.admits(principal) for policy in item.policies)}
                for name, item in channels.items():
                    expected = {key for key in readable if key[1] == name}
                    similar = await item.similar(EAST, principal=principal, filters=(), limit=99)
                    matching, _ = await item.matching("aguja", principal=principal, filters=(), limit=99)
                    assert {hit.key for hit in similar.ranked_list} == expected
                    assert {hit.key for hit in matching} == expected
                keys = [item.key for item in stored]
                assert (await store.describe(keys, principal=principal)).keys() == readable
                assert (await store.read(keys, principal=principal)).keys() == readable
                features = await store.features(keys, principal=principal)
                assert {key for pair in features.cosines for key in pair} | features.lexemes.keys() <= readable
                whole = [UUID(key[0]) for key in keys if key[1] == Collection.ARTIFACTS]
                centres = [(document_id, 0) for document_id in whole]
                near = await store.neighbours(centres, distance=1, principal=principal)
                assert {chunk.key for chunk in near.values()} == {key for key in readable if not key[1]}
                counted = await facets.count(principal=principal)
                assert counted.counts["collection"] == Counter(
                    item.collection for item in stored if item.key in readable
                )

            def check(
                documents: list[Policy], items: list[Policy], facts: list[Policy], principals: list[Principal]
            ) -> None:
                with psycopg.connect(owner_dsn, autocommit=True) as connection:
                    stored = replace_all(connection, documents, items, facts)
                for principal in principals:
                    asyncio.run_coroutine_threadsafe(look(stored, principal), loop).result(60)

            fuzz = settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))(
                given(
                    st.lists(POLICIES, max_size=4),
                    st.lists(POLICIES, max_size=4),
                    st.lists(POLICIES, max_size=3),
                    st.lists(PRINCIPALS, min_size=1, max_size=3),
                )(check)
            )
            await asyncio.to_thread(fuzz)

    asyncio.run(run())


def test_the_collections_with_channels_are_those_beside_the_chunks() -> None:
    assert {*WITH_CHANNELS, Collection.ARTIFACT_CHUNKS} == set(Collection)

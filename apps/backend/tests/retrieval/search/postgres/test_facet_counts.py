"""Counts by facet over every collection: what the caller may read, and what the filters leave."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta, timezone

import psycopg
import pytest

from ragcorp.domain.collections import Collection
from ragcorp.domain.exceptions import StorageUnavailableError
from ragcorp.domain.principal import Principal, Sensitivity
from ragcorp.infrastructure.postgres.collections.counts import PostgresFacetCounts
from ragcorp.infrastructure.postgres.connections.database import EVERY_WORKSPACE, Database
from support.memory.collections import NOON, save
from support.storage.postgres import open_database, repository_over
from support.storage.stored import ANYONE, where, written

pytestmark = pytest.mark.anyio


@pytest.fixture
async def database(dsn: str) -> AsyncIterator[Database]:
    async with open_database(dsn) as database:
        repository = await repository_over(database)
        await repository.save_many(
            [
                written("a", "uno", "dos", "tres", artifact_type="policy", metadata={"n": 1}),
                written("b", "one", language="en", occurred_at=NOON, sensitivity=Sensitivity.RESTRICTED),
                written("gone", "cuatro"),
            ],
            principal=ANYONE,
        )
        await repository.soft_delete_one("gone", principal=ANYONE)
        await save(database, Collection.MEMORY, "uno", name="m", artifact_type="person", metadata={"n": 1})
        # still February in UTC
        spring = datetime(2026, 3, 1, 0, 30, tzinfo=timezone(timedelta(hours=1)))
        for name, session in (("h", "s1"), ("i", "s2")):
            await save(
                database,
                Collection.HISTORY,
                "uno",
                name=name,
                session=session,
                artifact_type="turn",
                occurred_at=spring,
            )
        async with database.autocommit(EVERY_WORKSPACE) as connection:
            await connection.execute(
                "WITH ends AS (INSERT INTO entities (workspace, external_id, name, declared, content_hash)"
                " VALUES ('default', 'x', 'X', true, ''), ('default', 'y', 'Y', true, '') RETURNING id)"
                " INSERT INTO facts (workspace, external_id, subject_id, object_id, predicate, valid_from)"
                " SELECT 'default', 'f', min(id), max(id), 'knows', %s FROM ends",
                (datetime(2026, 1, 5, tzinfo=UTC),),
            )
        await save(database, Collection.MEMORY, "ajeno", name="m", principal=Principal(workspace="other"))
        yield database


async def test_every_facet_counts_what_may_be_read(database: Database) -> None:
    counted = PostgresFacetCounts(database)
    everything = await counted.count(principal=ANYONE)
    assert everything.counts == {
        "collection": {"artifact_chunks": 4, "artifacts": 2, "graph": 1, "history": 2, "memory": 1},
        "artifact_type": {"document": 2, "fact": 1, "person": 1, "policy": 4, "turn": 2},
        "language": {"en": 2, "es": 8},
        "month": {"2026-01": 1, "2026-02": 2, "2026-03": 3},
    }
    assert list(everything.counts) == ["collection", "artifact_type", "language", "month"]
    clerk = await counted.count(principal=Principal(clearance=Sensitivity.NORMAL))
    assert clerk.counts["collection"] == {"artifact_chunks": 3, "artifacts": 1, "graph": 1, "history": 2, "memory": 1}
    assert clerk.counts["language"] == {"es": 8}
    other = await counted.count(principal=Principal(workspace="other"))
    assert other.counts["collection"] == {"memory": 1}
    nobody = await counted.count(principal=Principal(workspace="third"))
    assert nobody.counts == {"collection": {}, "artifact_type": {}, "language": {}, "month": {}}


async def test_filters_narrow_and_a_collection_that_cannot_apply_one_is_left_out(database: Database) -> None:
    counted = PostgresFacetCounts(database)

    async def collections(**filters: object) -> dict[str, int]:
        return dict((await counted.count(principal=ANYONE, filters=where(**filters))).counts["collection"])

    assert await collections(session="s1") == {"history": 1}
    assert await collections(n=1) == {"artifact_chunks": 3, "artifacts": 1, "memory": 1}
    assert await collections(external_id="b") == {"artifact_chunks": 1, "artifacts": 1}
    assert await collections(collection=["memory", "graph"]) == {"memory": 1, "graph": 1}
    # a fact counts as long as it is valid
    assert await collections(occurred_at={"gte": "2026-03-01T00:00:00Z"}) == {
        "artifact_chunks": 1,
        "artifacts": 1,
        "graph": 1,
        "memory": 1,
    }
    assert await collections(occurred_at={"lt": "2026-01-05T00:00:00Z"}) == {}
    either = {
        "$or": [
            {"$and": [{"collection": "memory"}, {"artifact_type": "person"}]},
            {"$and": [{"collection": "history"}, {"session": "s2"}]},
            {"$and": [{"collection": "artifacts"}, {"language": "en"}]},
        ]
    }
    assert await collections(**either) == {"memory": 1, "history": 1, "artifacts": 1}


async def test_a_count_that_takes_too_long_is_ended(database: Database, owner_dsn: str) -> None:
    hasty = PostgresFacetCounts(database, timeout_ms=100)
    with psycopg.connect(owner_dsn) as holder:
        holder.execute("LOCK TABLE history_turns IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(StorageUnavailableError) as ended:
            await hasty.count(principal=ANYONE)
        assert ended.value.reason == "timeout"
    assert (await hasty.count(principal=ANYONE)).counts["collection"]["history"] == 2
    async with database.autocommit(EVERY_WORKSPACE) as connection:
        row = await (await connection.execute("SHOW statement_timeout")).fetchone()
    assert row == ("30s",)

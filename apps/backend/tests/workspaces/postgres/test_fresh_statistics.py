"""Search statistics of chunks that came past the library: estimated at once, refreshed in the background, reported."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from ragcorp.application.status.checks import content_checks
from ragcorp.domain.diagnosis import CheckStatus
from ragcorp.domain.principal import Principal
from ragcorp.infrastructure.postgres.administration.inspection import inspect_contents
from ragcorp.infrastructure.postgres.collections.counts import PostgresContentCounts
from ragcorp.infrastructure.postgres.workspaces.search_statistics import PostgresSearchStatistics
from ragcorp.main.opening.library import make_rag
from support.retrieval.bm25 import frequencies, insert_chunks
from support.storage.postgres import open_database

pytestmark = pytest.mark.anyio

HOME = "default"
TEXTS = [f"El contrato número {number} vence en marzo" for number in range(40)]

STALE = "SELECT is_stale FROM search_statistics WHERE workspace = %s"
COUNTED = "SELECT chunks, refreshed_at FROM bm25_workspaces WHERE workspace = %s"
HELD = "SELECT s.key, s.levels[1] FROM bm25_statistics s JOIN bm25_workspaces w ON w.id = s.workspace_id"

LOG_REFRESHES = """
    CREATE TABLE refreshes (n int);
    GRANT INSERT ON refreshes TO PUBLIC;
    CREATE FUNCTION log_refresh() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN INSERT INTO refreshes VALUES (1); RETURN NULL; END $$;
    CREATE TRIGGER log_refresh AFTER UPDATE OF refreshed_at ON bm25_workspaces
        FOR EACH ROW EXECUTE FUNCTION log_refresh()
"""

VECTORS = """
    INSERT INTO chunk_embeddings (chunk_id, model_id, workspace, embedding)
    SELECT c.id, m.id, c.workspace, array_fill(1, ARRAY[m.dimensions])::vector
    FROM chunks c, embedding_models m WHERE m.active
"""


@pytest.fixture
def connection(dsn: str) -> Iterator[Connection[TupleRow]]:
    with psycopg.connect(dsn, autocommit=True) as connection:
        yield connection


def one(connection: Connection[TupleRow], statement: str, *values: object) -> Any:
    row = connection.execute(statement, values or None).fetchone()
    return None if row is None else row[0]


async def fresh(connection: Connection[TupleRow]) -> None:
    async with asyncio.timeout(60):
        while one(connection, STALE, HOME) is not False:  # noqa: ASYNC110 - no event tells of a row
            await asyncio.sleep(0.05)


async def test_the_first_search_after_a_load_has_everything_refreshed_in_the_background(
    connection: Connection[TupleRow], make_container: Callable[..., Any]
) -> None:
    rag = make_rag(await make_container(enable_hybrid_search=True))
    insert_chunks(connection, HOME, TEXTS, language="es")
    connection.execute(VECTORS)
    assert one(connection, STALE, HOME) is True
    assert (await rag.search("contrato", mode="sparse")).hits
    await fresh(connection)
    assert one(connection, COUNTED, HOME) == len(TEXTS)
    assert one(connection, "SELECT count(*) FROM lexicon WHERE word = 'contrato'") == 1
    assert one(connection, "SELECT chunks FROM workspace_means") == len(TEXTS)
    assert (await rag.search("contarto", mode="sparse")).hits


async def test_words_of_few_new_chunks_and_late_vectors_are_noticed_too(
    connection: Connection[TupleRow], make_container: Callable[..., Any], dsn: str
) -> None:
    insert_chunks(connection, HOME, TEXTS, language="es")
    async with open_database(dsn) as database:
        assert await PostgresSearchStatistics(database=database).refresh_if_stale(HOME)
    before = one(connection, "SELECT refreshed_at FROM bm25_workspaces")
    insert_chunks(connection, HOME, ["Una escafandra"], language="es")
    rag = make_rag(await make_container())
    await rag.search("contrato", mode="sparse")
    await fresh(connection)
    assert one(connection, "SELECT count(*) FROM lexicon WHERE word = 'escafandra'") == 1
    assert one(connection, "SELECT refreshed_at FROM bm25_workspaces") == before  # 1 of 40 is less than 5 %
    connection.execute(VECTORS)
    assert one(connection, STALE, HOME) is True


async def test_many_processes_count_once(connection: Connection[TupleRow], dsn: str, owner_dsn: str) -> None:
    with psycopg.connect(owner_dsn, autocommit=True) as owner:
        owner.execute(LOG_REFRESHES)
    insert_chunks(connection, HOME, TEXTS)
    async with open_database(dsn) as first, open_database(dsn) as second:
        keepers = [PostgresSearchStatistics(database=database) for database in (first, second) * 3]
        await asyncio.gather(*(keeper.refresh_if_stale(HOME) for keeper in keepers))
    with psycopg.connect(owner_dsn, autocommit=True) as owner:
        assert one(owner, "SELECT count(*) FROM refreshes") == 1


async def test_a_session_that_waited_for_the_lock_counts_no_second_time(connection: Connection[TupleRow]) -> None:
    insert_chunks(connection, HOME, TEXTS)
    assert one(connection, "SELECT bm25_refresh(%s, true)", HOME) is True
    assert one(connection, "SELECT bm25_refresh(%s, true)", HOME) is False
    assert one(connection, "SELECT bm25_refresh(%s)", HOME) is True


async def test_doctor_and_status_name_outdated_statistics(connection: Connection[TupleRow], dsn: str) -> None:
    async with open_database(dsn) as database:
        counts = PostgresContentCounts(database)
        for size, doctors, statuss in ((999, True, False), (1, True, True), (0, False, False)):
            insert_chunks(connection, HOME, ["zorro"] * size)
            if not doctors:
                await PostgresSearchStatistics(database=database).refresh_if_stale(HOME)
            assert (await counts.count(principal=Principal(workspace=HOME))).statistics_are_stale is statuss
            assert not (await counts.count(principal=Principal(workspace="other"))).statistics_are_stale
            contents = inspect_contents(dsn)
            assert contents.stale_statistics == ((HOME,) if doctors else ())
            check = {check.name: check for check in content_checks(contents, None)}["search statistics"]
            assert check.status is (CheckStatus.WARNING if doctors else CheckStatus.OK)
            assert (HOME in check.detail) is doctors


# estimates


def ids_sampled(connection: Connection[TupleRow], mask: int) -> int:
    return int(one(connection, f"SELECT count(*) FROM bm25_chunks WHERE hashint8(chunk_id) & {mask} = 0"))


def test_a_large_write_leaves_an_estimate(connection: Connection[TupleRow]) -> None:
    insert_chunks(connection, HOME, ["zorro luna"] * 999)
    assert connection.execute(HELD).fetchall() == []
    insert_chunks(connection, HOME, ["zorro nube"] * 3001)
    # 4,000 chunks, of which one in two is counted
    sampled = ids_sampled(connection, 1)
    assert sampled == pytest.approx(2000, abs=200)
    counts = sorted(levels for _, levels in connection.execute(HELD).fetchall())
    assert counts[-1] == 2 * sampled
    assert sum(counts[:-1]) == 2 * sampled
    assert one(connection, COUNTED, HOME) == 0
    assert one(connection, STALE, HOME) is True
    # a search takes the estimate for a common word, and counts a rare one
    insert_chunks(connection, HOME, ["duna"])
    assert frequencies(connection, HOME, ["zorro", "duna"]) == {"zorro": 2 * sampled, "duna": 1}


def test_the_estimate_is_repeated_when_the_workspace_has_doubled(connection: Connection[TupleRow]) -> None:
    for size, estimated in ((1000, 1000), (999, 1000), (1000, 2999), (1000, 2999)):
        insert_chunks(connection, HOME, ["zorro"] * size)
        assert one(connection, "SELECT estimated_chunks FROM bm25_workspaces") == estimated
    assert one(connection, "SELECT bm25_refresh(%s)", HOME) is True
    assert one(connection, "SELECT estimated_chunks FROM bm25_workspaces") == 0
    insert_chunks(connection, HOME, ["zorro"] * 1000)
    assert one(connection, "SELECT estimated_chunks FROM bm25_workspaces") == 0


def test_no_writer_waits_or_fails_for_an_estimate(dsn: str, connection: Connection[TupleRow]) -> None:
    insert_chunks(connection, HOME, ["luna"])
    with psycopg.connect(dsn) as busy:
        busy.execute("SELECT bm25_refresh(%s)", (HOME,))
        connection.execute("SET lock_timeout = '100ms'")
        insert_chunks(connection, HOME, ["zorro"] * 1000)
    with psycopg.connect(dsn) as old:
        old.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        old.execute("SELECT 1")
        connection.execute("SELECT bm25_refresh(%s)", (HOME,))
        insert_chunks(old, HOME, ["zorro"] * 3000)
    assert one(connection, "SELECT estimated_chunks FROM bm25_workspaces") == 0

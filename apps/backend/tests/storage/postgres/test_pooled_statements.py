"""What a pooled connection sends for a statement, and that it knows its workspace whatever went before."""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from psycopg import pq, waiting

from ragcorp.domain.exceptions import RagcorpError
from ragcorp.infrastructure.postgres.connections.database import Database, DatabaseOptions

pytestmark = pytest.mark.anyio

WHOSE = "SELECT current_setting('ragcorp.workspace', true)"
SENT = re.compile(r"^F\t\d+\t(\w+)", re.MULTILINE)


@pytest.fixture
async def database(dsn: str) -> AsyncIterator[Database]:
    """A database whose pool has one connection: what one leaves on it, the next one finds."""
    database = Database(dsn, options=DatabaseOptions(pool_size=1))
    await database.open()
    yield database
    await database.close()


async def workspace_of(database: Database, workspace: str) -> object:
    async with database.autocommit(workspace) as connection:
        row = await (await connection.execute(WHOSE)).fetchone()
    assert row is not None
    return row[0]


async def test_a_statement_is_sent_in_one_piece_with_its_workspace_and_parsed_no_more(database: Database) -> None:
    for workspace in ("a", "b", "c"):
        assert await workspace_of(database, workspace) == workspace
    with tempfile.NamedTemporaryFile() as written:
        async with database.autocommit("d") as connection:
            connection.pgconn.trace(written.fileno())
            connection.pgconn.set_trace_flags(pq.Trace.SUPPRESS_TIMESTAMPS)
            await connection.execute(WHOSE)
            connection.pgconn.untrace()
        sent = SENT.findall(Path(written.name).read_text())
    assert sent == ["Bind", "Describe", "Execute"] * 2 + ["Sync"]


async def test_the_workspace_is_known_after_a_rollback_an_error_and_a_cancelled_statement(database: Database) -> None:
    for _ in range(2):
        assert await workspace_of(database, "a") == "a"
    with pytest.raises(ValueError, match="mine"):
        async with database.transaction("a") as connection:
            await connection.execute("SELECT 1", prepare=True)
            raise ValueError("mine")  # psycopg forgets what was prepared, here and on the server
    for workspace in ("b", "c"):
        assert await workspace_of(database, workspace) == workspace
    with pytest.raises(RagcorpError):
        async with database.autocommit("c") as connection:
            await connection.execute("SELECT 1 / 0")
    for workspace in ("d", "e"):
        assert await workspace_of(database, workspace) == workspace
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.2), database.autocommit("e") as connection:
            await connection.execute("SELECT pg_sleep(60)")
    for workspace in ("f", "g"):
        assert await workspace_of(database, workspace) == workspace
    async with database.autocommit("g") as connection, connection.pipeline():
        one = await connection.execute(WHOSE)
        assert await one.fetchone() == ("g",)
        two = await connection.execute(WHOSE)
    assert await two.fetchone() == ("g",)


async def test_what_is_sent_and_what_comes_back_may_both_be_more_than_sockets_hold(database: Database) -> None:
    texts = [letter * 5_000_000 for letter in "abcd"]
    async with asyncio.timeout(60), database.autocommit("a") as connection:
        async with connection.pipeline():
            cursors = [await connection.execute("SELECT %s::text", [text]) for text in texts]
        for cursor, text in zip(cursors, texts, strict=True):
            assert await cursor.fetchone() == (text,)


async def test_who_is_cancelled_at_whatever_turn_leaves_nothing_to_the_next(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "MAX_BUSY_TIME", 0)  # psycopg gives way, as it does where the loop is busy

    async def piped() -> None:
        async with database.autocommit("piped") as connection, connection.pipeline():
            await connection.execute("SELECT 1")
            assert await (await connection.execute(WHOSE)).fetchone() == ("piped",)

    async def nested() -> None:
        async with database.autocommit("nested") as connection, connection.pipeline():
            await connection.execute("SELECT 1")
            async with connection.pipeline():
                assert await (await connection.execute(WHOSE)).fetchone() == ("nested",)

    async def begun() -> None:
        async with database.transaction("begun") as connection:
            assert await (await connection.execute(WHOSE)).fetchone() == ("begun",)

    for work in (piped, nested, begun):
        turns, is_over = 0, False
        while not is_over:
            task = asyncio.create_task(work())
            for _ in range(turns):
                await asyncio.sleep(0)
            is_over = not task.cancel()
            await asyncio.wait([task])
            turns += 1
            async with database.autocommit("next") as connection:
                assert connection.pgconn.pipeline_status == pq.PipelineStatus.OFF, (work.__name__, turns)
            assert await workspace_of(database, "next") == "next", (work.__name__, turns)
            await begun()

"""Named placeholders become numbered ones: each name once, percent signs as they are meant."""

from __future__ import annotations

import psycopg
import pytest

from ragcorp.infrastructure.postgres.connections.statement_text import execute, positional

pytestmark = pytest.mark.anyio


def test_each_name_has_one_number() -> None:
    text, names = positional("SELECT %(b)s, %(a)s, %(b)s, 7 %% 4")
    assert (text, names) == ("SELECT $1, $2, $1, 7 % 4", ("b", "a"))


async def test_it_gives_what_the_named_statement_gives(dsn: str) -> None:
    statement = "SELECT %(a)s::text || '%%', %(b)s::int + %(b)s::int, 7 %% 4, %(a)s::text" + " " * 5000
    values = {"a": "x%s %(b)s $1", "b": 3, "unused": object()}
    async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as connection:
        cursor = await execute(connection, statement, values)
        assert await cursor.fetchall() == [("x%s %(b)s $1%", 6, 3, "x%s %(b)s $1")]
        existing = await connection.execute(statement, {"a": values["a"], "b": 3})
        assert await existing.fetchall() == [("x%s %(b)s $1%", 6, 3, "x%s %(b)s $1")]

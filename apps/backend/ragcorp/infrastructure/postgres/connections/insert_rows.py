"""Inserts many rows with few statements. PostgreSQL refuses COPY FROM on tables under row-level security."""

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from psycopg import AsyncCursor

STATEMENT_ROWS = 1000
"""Rows per statement: all those of a large document would exceed the statement timeout."""


async def insert_rows(
    cursor: AsyncCursor[Any], table: str, columns: Mapping[str, str], rows: Sequence[Sequence[object]]
) -> None:
    """Insert rows with values in the order of ``columns`` (name to type), sent as JSON: the driver's arrays take twice
    the time.

    Statement-level triggers run once per STATEMENT_ROWS rows. Without rows nothing is sent.
    """
    names = tuple(columns)
    statement = _statement(table, tuple(columns.items()))
    for start in range(0, len(rows), STATEMENT_ROWS):
        objects = [dict(zip(names, row, strict=True)) for row in rows[start : start + STATEMENT_ROWS]]
        await cursor.execute(statement, {"rows": json.dumps(objects, default=_written, ensure_ascii=False)})


@lru_cache(maxsize=16)
def _statement(table: str, columns: tuple[tuple[str, str], ...]) -> str:
    names = ", ".join(name for name, _ in columns)
    typed = ", ".join(f"{name} {kind}" for name, kind in columns)
    return f"INSERT INTO {table} ({names}) SELECT {names} FROM json_to_recordset(%(rows)s::json) AS given ({typed})"


def _written(value: object) -> str:
    """Return bytes, times and UUIDs as PostgreSQL reads them."""
    return f"\\x{value.hex()}" if isinstance(value, bytes) else str(value)

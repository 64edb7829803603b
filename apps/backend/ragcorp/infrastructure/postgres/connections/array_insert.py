"""Inserts many rows with few statements. PostgreSQL refuses COPY FROM on tables under row-level security."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from psycopg import AsyncCursor

STATEMENT_ROWS = 1000
"""Rows per statement: all those of a large document would exceed the statement timeout."""

LISTS = "text[]"
"""The only column type of lists. Lists travel as text, since unnest() flattens nested arrays."""


async def insert_rows(
    cursor: AsyncCursor[Any], table: str, columns: Mapping[str, str], rows: Sequence[Sequence[object]]
) -> None:
    """Insert rows with values in the order of ``columns`` (name to type), sent as one array per column.

    Statement-level triggers run once per STATEMENT_ROWS rows. Without rows nothing is sent.
    """
    statement = _statement(table, tuple(columns.items()))
    for start in range(0, len(rows), STATEMENT_ROWS):
        values: dict[str, object] = {}
        columns_of_rows = zip(*rows[start : start + STATEMENT_ROWS], strict=True)
        for (name, kind), column in zip(columns.items(), columns_of_rows, strict=True):
            values[name] = [_written(value) for value in column] if kind == LISTS else list(column)
        await cursor.execute(statement, values)


@lru_cache(maxsize=16)
def _statement(table: str, columns: tuple[tuple[str, str], ...]) -> str:
    names = ", ".join(name for name, _ in columns)
    read = ", ".join(f"{name}::{kind}" if kind == LISTS else name for name, kind in columns)
    arrays = ", ".join(f"%({name})s::{'text' if kind == LISTS else kind}[]" for name, kind in columns)
    return f"INSERT INTO {table} ({names}) SELECT {read} FROM unnest({arrays}) AS given ({names})"


def _written(value: object) -> str | None:
    """Return a list of texts as a literal of an array."""
    if not isinstance(value, list):
        return None
    quoted = (str(text).replace("\\", "\\\\").replace('"', '\\"') for text in value)
    return "{" + ",".join(f'"{text}"' for text in quoted) + "}"

"""Prepares the text of long statements: psycopg parses one of more than 4096 bytes at each execution.

That costs the client a millisecond or more. So white space is folded, and ``%(name)s`` becomes ``$n`` once.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from psycopg import AsyncConnection, AsyncRawCursor
from psycopg.rows import TupleRow

_PLACEHOLDER = re.compile(r"%(?:%|\((\w+)\)s)")


def single_line(statement: str) -> str:
    """Return the statement with each run of white space as one space; a third of ours is white space."""
    return " ".join(statement.split())


Statement = tuple[str, Mapping[str, object]]
"""The text of a statement, and its named values."""


@lru_cache(maxsize=512)
def positional(statement: str) -> tuple[str, tuple[str, ...]]:
    """Return the statement with ``$n`` for each name, ``%`` for ``%%``, and the names in the order of their numbers."""
    names: dict[str, int] = {}

    def number(placeholder: re.Match[str]) -> str:
        if placeholder[1] is None:
            return "%"
        return f"${names.setdefault(placeholder[1], len(names) + 1)}"

    return _PLACEHOLDER.sub(number, statement), tuple(names)


async def execute(
    connection: AsyncConnection[Any], statement: str, values: Mapping[str, object]
) -> AsyncRawCursor[TupleRow]:
    """Execute a statement with named values, prepared and in binary; values that it does not name are ignored."""
    text, names = positional(statement)
    cursor: AsyncRawCursor[TupleRow] = AsyncRawCursor(connection)
    await cursor.execute(text, [values[name] for name in names], prepare=True, binary=True)
    return cursor

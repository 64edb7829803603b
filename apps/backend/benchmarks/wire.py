"""Counts what goes over psycopg's connections, by libpq's own trace."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import IO, Any

import psycopg
from psycopg import pq

MESSAGE = re.compile(r"^([FB])\t(\d+)\t(\w+)", re.MULTILINE)
"""Direction (to the server or back), length without the type's byte, and kind."""
NAMED = re.compile(r'\s*(?:"[^"]*" )?"([^"]*)"')
"""The statement's name: of Parse the first word, of Bind the second, after the portal's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """``statements`` are those carried out, in order; ``round_trips`` the times the server was waited for."""

    statements: tuple[str, ...]
    round_trips: int
    sent_bytes: int
    received_bytes: int


class _Recording:
    def __init__(self, connection: psycopg.AsyncConnection[Any], written: IO[bytes], read: IO[bytes]) -> None:
        self.prepared: dict[str, str] = {}
        self._connection, self._written, self._read = connection, written, read
        self._start()

    def _start(self) -> None:
        self._connection.pgconn.trace(self._written.fileno())
        self._connection.pgconn.set_trace_flags(pq.Trace.SUPPRESS_TIMESTAMPS)

    def take(self) -> str:
        if self._connection.closed:
            return ""
        self._connection.pgconn.untrace()  # libpq keeps the last lines to itself until then
        said = self._read.read().decode(errors="replace")
        self._start()
        return said


@dataclass(slots=True)
class Trace:
    """The messages of the connections that were opened while it was recording."""

    _recordings: list[_Recording] = field(default_factory=list)

    def add(self, connection: psycopg.AsyncConnection[Any], written: IO[bytes], read: IO[bytes]) -> None:
        self._recordings.append(_Recording(connection, written, read))

    def take(self) -> Traffic:
        """Return what went over the wire since the last call, connection after connection."""
        statements: list[str] = []
        sizes, round_trips = {"F": 0, "B": 0}, 0
        for recording in self._recordings:
            said, prepared = recording.take(), recording.prepared
            bound = ""
            # contents may hold line breaks, so a message goes on until the next one's head
            heads = list(MESSAGE.finditer(said))
            for head, following in zip_longest(heads, heads[1:]):
                direction, length, kind = head.groups()
                rest = said[head.end() : following.start() if following else None]
                sizes[direction] += int(length) + 1
                if kind == "Parse":
                    name, _, text = rest.strip().partition(" ")
                    prepared[name.strip('"')] = " ".join(text.split())
                elif kind == "Bind" and direction == "F" and (named := NAMED.match(rest)):
                    bound = prepared.get(named[1], "")
                elif kind == "Execute":
                    statements.append(bound)
                elif kind == "Query":
                    statements.append(" ".join(rest.split()))
                round_trips += kind == "ReadyForQuery"
        return Traffic(
            statements=tuple(statements), round_trips=round_trips, sent_bytes=sizes["F"], received_bytes=sizes["B"]
        )


@contextmanager
def traced() -> Iterator[Trace]:
    """Trace every asynchronous connection that is opened inside the block."""
    original = psycopg.AsyncConnection.__dict__["connect"]
    trace = Trace()
    with ExitStack() as stack:

        async def connect(kind: type[Any], *args: Any, **kwargs: Any) -> psycopg.AsyncConnection[Any]:
            connection: psycopg.AsyncConnection[Any] = await original.__func__(kind, *args, **kwargs)
            written = stack.enter_context(tempfile.NamedTemporaryFile())
            # a file description of its own: reading must not move where libpq writes
            read = stack.enter_context(open(written.name, "rb", buffering=0))  # noqa: PTH123, ASYNC230
            trace.add(connection, written, read)
            return connection

        psycopg.AsyncConnection.connect = classmethod(connect)  # type: ignore[method-assign, assignment]
        try:
            yield trace
        finally:
            psycopg.AsyncConnection.connect = original  # type: ignore[method-assign]

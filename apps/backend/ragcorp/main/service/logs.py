"""Logging of a service: structured lines through a handler that never blocks."""

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from urllib.parse import parse_qsl, unquote, urlsplit

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict
from pydantic import SecretStr

from ragcorp.infrastructure.logs.bounded_handler import BoundedHandler
from ragcorp.infrastructure.logs.records import JsonLines, RecordReader, TextLines
from ragcorp.interface.cli.console.services import Target
from ragcorp.interface.http.protocol.request_scope import current_request_id
from ragcorp.main.process.logs import set_levels
from ragcorp.main.process.standard_streams import wait_for_no_reader
from ragcorp.main.settings.rows import DSN_SECRETS
from ragcorp.main.settings.schema import Settings

FLUSH_SECONDS = 1.0
SHORTEST_SECRET = 6
"""A shorter one is not masked: it would blot out words that only look like it."""


@contextmanager
def service_logs(settings: Settings, target: Target, *, worker: str | None = None) -> Iterator[None]:
    """Send all log lines to one handler in the format of LOG_FORMAT; from now on, stderr waits for no reader.

    ``worker`` names this process in each line.
    """
    wait_for_no_reader()
    reader = RecordReader(request_id=current_request_id, secrets=secrets_of(settings), worker=worker)
    handler = BoundedHandler()
    handler.setFormatter(JsonLines(reader) if settings.log_format == "json" else TextLines(reader))
    root = logging.getLogger()
    before = root.handlers[:]
    root.handlers[:] = [handler]
    _leave_to_root(logging.root.manager.loggerDict)
    set_levels("debug" if target.verbose else settings.log_level)
    try:
        yield
    finally:
        handler.end(FLUSH_SECONDS)
        root.handlers[:] = before


def dropped_lines() -> int:
    """Return how many lines found no room, or no sink, since the service began to log."""
    return sum(handler.dropped for handler in logging.getLogger().handlers if isinstance(handler, BoundedHandler))


def secrets_of(settings: Settings) -> frozenset[str]:
    """Return the values that no line may contain: keys, passwords, and the secret parts of addresses."""
    values: set[str] = set()
    for name in type(settings).model_fields:
        value = getattr(settings, name)
        if isinstance(value, SecretStr):
            values |= {value.get_secret_value(), *_of_dsn(value.get_secret_value())}
        elif isinstance(value, str) and "://" in value:
            values |= set(_of_url(value))
    return frozenset(secret for secret in values if len(secret) >= SHORTEST_SECRET)


def _of_dsn(text: str) -> Iterator[str]:
    if "://" in text:
        yield from _of_url(text)
    try:
        parts = conninfo_to_dict(text.replace("postgresql+psycopg://", "postgresql://", 1))
    except ProgrammingError:
        return
    yield from (str(value) for key, value in parts.items() if key in DSN_SECRETS)


def _of_url(url: str) -> Iterator[str]:
    try:
        parts = urlsplit(url)
        password = parts.password
    except ValueError:
        return
    if password:
        yield from (password, unquote(password))
    for _, value in parse_qsl(parts.query):
        yield value


def _leave_to_root(loggers: Iterable[str]) -> None:
    """Take the handlers off that libraries gave their loggers: a line goes to one place, in one format."""
    for name in list(loggers):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler for handler in logger.handlers if isinstance(handler, logging.NullHandler)]
        logger.propagate = True

"""Logging of the commands: the standard library's, to stderr."""

import asyncio
import logging
import sys
from typing import TextIO

from ragcorp.infrastructure.logs.records import FIELDS, escaped

FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"

NOISY = {
    "alembic": logging.WARNING,
    "httpcore2": logging.WARNING,
    "httpx": logging.WARNING,
    "httpx2": logging.WARNING,  # one line per request, with the URL and its secrets
    "mcp": logging.WARNING,  # ids of sessions
    "openai": logging.WARNING,
    "opentelemetry": logging.ERROR,  # each batch that a collector did not take
    "psycopg.pool": logging.ERROR,  # each failed attempt is a warning; the error itself is raised and reported
    "uvicorn": logging.WARNING,
    "watchfiles": logging.WARNING,
}


class _StderrHandler(logging.StreamHandler[TextIO]):
    """Writes to the current sys.stderr: a progress bar puts its own stream there and stays below the lines."""

    def __init__(self) -> None:
        super().__init__(sys.stderr)

    def emit(self, record: logging.LogRecord) -> None:
        self.stream = sys.stderr
        super().emit(record)


class _WithFields(logging.Formatter):
    """Appends a record's fields to its message, as a service's lines do."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        fields = getattr(record, FIELDS, None) or {}
        named = [f"{name}={value}" for name, value in fields.items() if value is not None]
        return escaped(" ".join([super().formatMessage(record), *named]))


def _is_relevant(record: logging.LogRecord) -> bool:
    """Drop the traceback of a request that is cancelled at shutdown: the server logs a line about it."""
    return record.exc_info is None or not isinstance(record.exc_info[1], asyncio.CancelledError)


def configure_logging(level: str) -> None:
    """Log from ``level`` (debug, info, ...) on; debug is for ragcorp alone, as libraries would log whole documents."""
    handler = _StderrHandler()
    handler.setFormatter(_WithFields(FORMAT))
    logging.basicConfig(handlers=[handler], force=True)
    set_levels(level)


def set_levels(level: str) -> None:
    """Set the level, and higher levels for verbose libraries."""
    logging.getLogger().setLevel("INFO" if level == "debug" else level.upper())
    logging.getLogger("ragcorp").setLevel(level.upper())
    for name, least in NOISY.items():
        logging.getLogger(name).setLevel(least)
    logging.getLogger("uvicorn.error").addFilter(_is_relevant)

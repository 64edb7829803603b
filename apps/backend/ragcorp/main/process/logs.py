"""Logging of the commands: the standard library's, to stderr."""

from __future__ import annotations

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
    "httpx2": logging.WARNING,  # one line a request, with the URL and whatever secret is in it
    "mcp": logging.WARNING,  # ids of sessions
    "openai": logging.WARNING,
    "opentelemetry": logging.ERROR,  # each batch that a collector did not take
    "psycopg.pool": logging.ERROR,  # each failed attempt is a warning; what it means is raised and reported
    "uvicorn": logging.WARNING,
    "watchfiles": logging.WARNING,
}


class _StderrHandler(logging.StreamHandler[TextIO]):
    """Writes to what sys.stderr is at that moment: a progress bar puts its own stream there and stays below."""

    def __init__(self) -> None:
        super().__init__(sys.stderr)

    def emit(self, record: logging.LogRecord) -> None:
        self.stream = sys.stderr
        super().emit(record)


class _WithFields(logging.Formatter):
    """What a record counts or names beside its message stands behind it, as in the lines of a service."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        fields = getattr(record, FIELDS, None) or {}
        named = [f"{name}={value}" for name, value in fields.items() if value is not None]
        return escaped(" ".join([super().formatMessage(record), *named]))


def _is_told(record: logging.LogRecord) -> bool:
    """Pass over the traceback of a request that was ended as the service stops: the server tells of it in a line."""
    return record.exc_info is None or not isinstance(record.exc_info[1], asyncio.CancelledError)


def configure_logging(level: str) -> None:
    """Log from ``level`` (debug, info, ...) on; debug is for ragcorp alone, as libraries would log whole documents."""
    handler = _StderrHandler()
    handler.setFormatter(_WithFields(FORMAT))
    logging.basicConfig(handlers=[handler], force=True)
    set_levels(level)


def set_levels(level: str) -> None:
    """Let lines pass from ``level`` on; those of talkative libraries from where they say what somebody needs."""
    logging.getLogger().setLevel("INFO" if level == "debug" else level.upper())
    logging.getLogger("ragcorp").setLevel(level.upper())
    for name, least in NOISY.items():
        logging.getLogger(name).setLevel(least)
    logging.getLogger("uvicorn.error").addFilter(_is_told)

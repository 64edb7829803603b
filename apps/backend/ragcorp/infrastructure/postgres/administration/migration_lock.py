"""Serialises migrations of a database: schema, indexes and embedding model."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from sqlalchemy import Engine, NullPool, create_engine, text

from ragcorp.infrastructure.postgres.connections.database import of_every_workspace

ADVISORY_LOCK = 7_246_725_367
"""An arbitrary constant."""

LOCK_TIMEOUT = "10s"
"""How long a migration waits for a table: later queries queue behind a waiting ALTER TABLE."""


def owner_dsn(dsn: str) -> str:
    """Return the DSN for libpq, of sessions that see every workspace: policies also apply to the owner of a table."""
    return of_every_workspace(dsn.replace("postgresql+psycopg://", "postgresql://", 1))


def owner_engine(dsn: str) -> Engine:
    """Return an engine for any DSN of libpq, without pooled connections. It sees every workspace."""
    return create_engine("postgresql+psycopg://", poolclass=NullPool, creator=lambda: psycopg.connect(owner_dsn(dsn)))


@contextmanager
def migration_lock(dsn: str) -> Iterator[None]:
    """Hold the lock for the block, on a separate connection."""
    with owner_engine(dsn).connect().execution_options(isolation_level="AUTOCOMMIT") as guard:
        # not pg_advisory_lock(): its snapshot would block the winner's CREATE INDEX CONCURRENTLY
        while not guard.execute(text("select pg_try_advisory_lock(:key)"), {"key": ADVISORY_LOCK}).scalar_one():
            time.sleep(0.2)
        yield

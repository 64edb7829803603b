"""One migrator at a time in a database, whatever is migrated: schema, indexes or the embedding model."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from sqlalchemy import Engine, NullPool, create_engine, text

from ragcorp.infrastructure.postgres.connections.database import of_every_workspace

ADVISORY_LOCK = 7_246_725_367
"""Any fixed number of ours."""

LOCK_TIMEOUT = "10s"
"""How long a migration waits for a table: a waiting ALTER TABLE holds up every query that comes after it."""


def owner_engine(dsn: str) -> Engine:
    """Return an engine over any form of DSN that libpq takes; NullPool leaves no connection behind.

    Its connections see every workspace: a policy binds the owner of a table, too.
    """
    plain = dsn.replace("postgresql+psycopg://", "postgresql://", 1)
    return create_engine(
        "postgresql+psycopg://", poolclass=NullPool, creator=lambda: psycopg.connect(of_every_workspace(plain))
    )


@contextmanager
def migration_lock(dsn: str) -> Iterator[None]:
    """Wait for the lock and hold it, on a connection of its own, for the block."""
    with owner_engine(dsn).connect().execution_options(isolation_level="AUTOCOMMIT") as guard:
        # a waiting pg_advisory_lock() would hold a snapshot, on which the winner's CREATE INDEX CONCURRENTLY waits
        while not guard.execute(text("select pg_try_advisory_lock(:key)"), {"key": ADVISORY_LOCK}).scalar_one():
            time.sleep(0.2)
        yield

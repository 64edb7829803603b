"""Runs the migrations: under an advisory lock on a connection of its own, with a lock timeout.

`ragcorp migrate` calls it with the owner's DSN in ``config.attributes["dsn"]``; a bare `alembic` command of a
developer reads DATABASE_URL.
"""

from __future__ import annotations

import os
import time
from typing import Any

from alembic import context
from sqlalchemy import create_engine, pool, text
from sqlalchemy.engine import make_url

from ragcorp.infrastructure.postgres.tables import metadata

ADVISORY_LOCK = 7_246_725_367
"""Any fixed number of ours: one migrator at a time in a database."""


def include_object(obj: Any, name: str | None, type_: str, reflected: bool, compare_to: Any) -> bool:
    """Leave the HNSW indexes of the embedding models out of the comparison: one is made for each model in use."""
    return not (type_ == "index" and reflected and (name or "").startswith("ix_chunk_embeddings_hnsw_"))


def main() -> None:
    dsn = context.config.attributes.get("dsn") or os.environ["DATABASE_URL"]
    url = make_url(dsn).set(drivername="postgresql+psycopg")
    # connections come one after another; NullPool leaves none behind
    engine = create_engine(url, poolclass=pool.NullPool)
    lock_timeout = context.config.attributes.get("lock_timeout", "10s")
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as guard:
        # a waiting pg_advisory_lock() would hold a snapshot, on which the winner's CREATE INDEX CONCURRENTLY waits
        while not guard.execute(text("select pg_try_advisory_lock(:key)"), {"key": ADVISORY_LOCK}).scalar_one():
            time.sleep(0.2)
        with engine.connect() as connection:
            connection.execute(text("select set_config('lock_timeout', :value, false)"), {"value": lock_timeout})
            connection.commit()
            context.configure(
                connection=connection,
                target_metadata=metadata,
                include_object=include_object,
                transaction_per_migration=True,
                compare_type=True,
            )
            with context.begin_transaction():
                context.run_migrations()
        guard.execute(text("select pg_advisory_unlock(:key)"), {"key": ADVISORY_LOCK})


main()

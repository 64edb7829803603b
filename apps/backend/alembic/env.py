"""Runs the migrations: under an advisory lock on a connection of its own, with a lock timeout.

`ragcorp migrate` calls it with the owner's DSN in ``config.attributes["dsn"]``; a bare `alembic` command of a
developer reads DATABASE_URL.
"""

from __future__ import annotations

import os

from alembic import context
from sqlalchemy import text

from ragcorp.infrastructure.postgres.administration.migration_lock import LOCK_TIMEOUT, migration_lock, owner_engine


def main() -> None:
    dsn = context.config.attributes.get("dsn") or os.environ["DATABASE_URL"]
    lock_timeout = context.config.attributes.get("lock_timeout", LOCK_TIMEOUT)
    with migration_lock(dsn), owner_engine(dsn).connect() as connection:
        connection.execute(text("select set_config('lock_timeout', :value, false)"), {"value": lock_timeout})
        connection.commit()
        context.configure(connection=connection, transaction_per_migration=True)
        with context.begin_transaction():
            context.run_migrations()


main()

"""Turns row-level security off where a server cannot make it fast, and on again (ADR-043).

Nothing else remembers the choice: it is how most of the tables with a policy stand, so that one that was changed by
hand, or that a migration brought, decides nothing. The policies stay defined.
"""

from __future__ import annotations

from typing import LiteralString

from psycopg import Connection, sql
from psycopg.rows import TupleRow

from ragcorp.infrastructure.postgres.connections.database import EVERY_WORKSPACE, Database

REVISION = "016"
"""The migration that turned it on: processes of before name no workspace, and see no rows after it."""

TABLES: LiteralString = """
    SELECT n.nspname, c.relname, c.relrowsecurity, c.relforcerowsecurity
    FROM pg_policy p
    JOIN pg_class c ON c.oid = p.polrelid
    JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE p.polname = 'of_workspace'
      AND n.oid = (SELECT relnamespace FROM pg_class WHERE oid = to_regclass('documents'))
    ORDER BY c.relname
"""

IS_ON: LiteralString = """
    SELECT count(*) FILTER (WHERE c.relrowsecurity) > 0 FROM pg_policy p JOIN pg_class c ON c.oid = p.polrelid
    WHERE p.polname = 'of_workspace'
      AND c.relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = to_regclass('documents'))
"""

ON: LiteralString = "ALTER TABLE {} ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY"
OFF: LiteralString = "ALTER TABLE {} DISABLE ROW LEVEL SECURITY, NO FORCE ROW LEVEL SECURITY"


def chosen_off(connection: Connection[TupleRow]) -> bool:
    """Return whether most of the tables with a policy stand without it."""
    on = [row[2] for row in connection.execute(TABLES).fetchall()]
    return on.count(False) > on.count(True)


def switch(connection: Connection[TupleRow], *, on: bool) -> None:
    """Turn it on, or off, for every table with a policy: all of them, or none where a lock is not to be had."""
    with connection.transaction():
        for schema, table, enabled, forced in connection.execute(TABLES).fetchall():
            if (enabled, forced) != (on, on):
                connection.execute(sql.SQL(ON if on else OFF).format(sql.Identifier(schema, table)))


async def is_off(database: Database) -> bool:
    """Return whether it is in force for no table: conditions of the statements alone keep workspaces apart."""
    async with database.autocommit(EVERY_WORKSPACE) as connection:
        row = await (await connection.execute(IS_ON)).fetchone()
    return not (row and row[0])

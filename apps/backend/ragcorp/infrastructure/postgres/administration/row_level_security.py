"""Turns row-level security off on servers that cannot make it fast, and on again (ADR-043).

The choice is stored nowhere else: the state of most tables with a policy decides, so that one table changed by hand
or added by a migration does not. The policies stay defined.
"""

from typing import LiteralString

from psycopg import Connection, sql
from psycopg.rows import TupleRow

from ragcorp.infrastructure.postgres.connections.database import EVERY_WORKSPACE, Database

REVISION = "016"
"""The migration that turned it on: older processes set no workspace, and see no rows after it."""

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
    """Return whether row-level security is off for most of the tables with a policy."""
    on = [row[2] for row in connection.execute(TABLES).fetchall()]
    return on.count(False) > on.count(True)


def switch(connection: Connection[TupleRow], *, on: bool) -> None:
    """Turn it on or off for every table with a policy; for none if a lock times out."""
    with connection.transaction():
        for schema, table, enabled, forced in connection.execute(TABLES).fetchall():
            if (enabled, forced) != (on, on):
                connection.execute(sql.SQL(ON if on else OFF).format(sql.Identifier(schema, table)))


async def is_off(database: Database) -> bool:
    """Return whether it is off for every table: then only the statements' conditions separate workspaces."""
    async with database.autocommit(EVERY_WORKSPACE) as connection:
        row = await (await connection.execute(IS_ON)).fetchone()
    return not (row and row[0])

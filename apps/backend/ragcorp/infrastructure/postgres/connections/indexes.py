"""Builds and rebuilds indexes; CONCURRENTLY needs an autocommit connection."""

from sqlalchemy import Connection, text

INVALID_INDEXES = """
    SELECT c.relname
    FROM pg_index i
    JOIN pg_class c ON c.oid = i.indexrelid
    JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE NOT i.indisvalid AND n.nspname = current_schema()
"""
"""Leftovers of an interrupted CREATE INDEX CONCURRENTLY: they cost every write and serve no read."""


INVALID_INDEXES_IN_USE = f"""{INVALID_INDEXES}
    AND NOT EXISTS (
        SELECT FROM embedding_models m
        WHERE NOT m.active AND c.relname ~ ('_hnsw_' || m.id || '(_ccnew[0-9]*|_ccold[0-9]*)?$'))
"""
"""Without indexes of inactive models: a re-embedding builds those, and repairs them itself."""


def create_index(connection: Connection, name: str, definition: str) -> None:
    connection.execute(text(f'CREATE INDEX IF NOT EXISTS "{name}" {definition}'))


def create_index_concurrently(connection: Connection, name: str, definition: str) -> None:
    """Create the index unless a valid one of that name exists; an INVALID one is rebuilt."""
    if name in set(connection.execute(text(INVALID_INDEXES)).scalars()):
        drop_index_concurrently(connection, name)
    connection.execute(text(f'CREATE INDEX CONCURRENTLY IF NOT EXISTS "{name}" {definition}'))


def drop_index_concurrently(connection: Connection, name: str) -> None:
    connection.execute(text(f'DROP INDEX CONCURRENTLY IF EXISTS "{name}"'))


def rebuild_invalid_indexes(connection: Connection) -> list[str]:
    """Rebuild the INVALID indexes in use and return their names."""
    names = list(connection.execute(text(INVALID_INDEXES_IN_USE)).scalars())
    for name in names:
        if name.endswith("_ccnew"):
            drop_index_concurrently(connection, name)
        else:
            connection.execute(text(f'REINDEX INDEX CONCURRENTLY "{name}"'))
    return names

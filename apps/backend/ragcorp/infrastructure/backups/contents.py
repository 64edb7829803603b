"""Inspects a database before a backup or a restore."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, LiteralString

import psycopg
from psycopg import sql
from psycopg.rows import TupleRow

from ragcorp.domain.exceptions import ConfigurationError, StorageUnavailableError

EVERY_ROW = "-c ragcorp.workspace=*"
"""Makes row-level security show all workspaces to the session."""

NO_CONTENT = frozenset((
    "alembic_version", "embedding_models", "item_name_key", "key_secret", "bm25_workspaces", "workspace_means",
    "lexicon_progress", "bm25_statistics",
))  # fmt: skip
"""Tables that have rows in an empty database: seeds of migrations, and statistics."""

_TABLES: LiteralString = """
    SELECT relname FROM pg_class
    WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition ORDER BY relname
"""
EXTENSIONS: LiteralString = "SELECT extname FROM pg_extension WHERE extname <> 'plpgsql' ORDER BY extname"
OTHER_SESSIONS: LiteralString = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND usesysid IS NOT NULL
"""
"""Not by backend_type: a role sees only that of its own sessions. The server's workers have no user."""
BYPASSES_ROW_SECURITY: LiteralString = "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user"


@contextmanager
def connected(dsn: str) -> Iterator[psycopg.Connection[TupleRow]]:
    """Raises ConfigurationError for a refused login, StorageUnavailableError for the rest."""
    try:
        with psycopg.connect(
            dsn,
            autocommit=True,
            connect_timeout=10,
            application_name="ragcorp-backup",
            options=f"{EVERY_ROW} -c statement_timeout=0 -c lock_timeout=10s",
        ) as connection:
            yield connection
    except (psycopg.errors.InvalidPassword, psycopg.errors.InvalidAuthorizationSpecification) as error:
        raise ConfigurationError(
            "The database refuses the login.", field="DATABASE_OWNER_URL", remedy="Correct the role and the password."
        ) from error
    except psycopg.Error as error:
        raise StorageUnavailableError(
            f"The database could not be read (SQLSTATE {error.sqlstate or 'none: no connection'}).",
            reason="backup",
            remedy="Check it with: ragcorp doctor",
        ) from error


def scalar(connection: psycopg.Connection[TupleRow], query: LiteralString | sql.Composed) -> Any:
    """Return the first column of the first row, or None."""
    row = connection.execute(query).fetchone()
    return row[0] if row else None


def count_rows(connection: psycopg.Connection[TupleRow]) -> dict[str, int]:
    """Return the number of rows of every table."""
    return {
        name: scalar(connection, sql.SQL("SELECT count(*) FROM public.{}").format(sql.Identifier(name)))
        for (name,) in connection.execute(_TABLES).fetchall()
    }


def has_content(counts: dict[str, int]) -> bool:
    return any(count and name not in NO_CONTENT for name, count in counts.items())

"""Functions that must be LEAKPROOF, so that conditions with them can use an index under row-level security (ADR-043).

PostgreSQL evaluates a condition after the policy, and so without an index, if an error or side effect of it could
reveal a hidden row. These functions only compare their arguments and fail on no value.
"""

from collections.abc import Sequence

import psycopg
from psycopg import Connection, sql
from psycopg.conninfo import make_conninfo
from psycopg.rows import TupleRow

from ragcorp.infrastructure.postgres.connections.errors import translate

NEEDED = (
    "arrayoverlap(anyarray, anyarray)",
    "arraycontains(anyarray, anyarray)",
    "ts_match_vq(tsvector, tsquery)",
    "jsonb_contains(jsonb, jsonb)",
    "similarity_op(text, text)",
    "bm25_impacts(integer[], integer)",
    "path_key(text)",
)
"""Functions in indexed conditions: operators of GIN indexes, and the functions of two expression indexes."""

UNMARKED = """
    SELECT n.nspname, p.proname, pg_get_function_identity_arguments(p.oid)
    FROM unnest(%s::text[]) WITH ORDINALITY AS needed (name, place)
    JOIN pg_proc p ON p.oid = to_regprocedure(needed.name)
    JOIN pg_namespace n ON n.oid = p.pronamespace
    WHERE NOT p.proleakproof
    ORDER BY needed.place
"""

IS_SUPERUSER = "SELECT rolsuper FROM pg_roles WHERE rolname = current_user"


def unmarked(connection: Connection[TupleRow]) -> list[tuple[str, str, str]]:
    """Return schema, name and arguments of the needed functions that are not LEAKPROOF."""
    return [(row[0], row[1], row[2]) for row in connection.execute(UNMARKED, (list(NEEDED),)).fetchall()]


def statements(functions: Sequence[tuple[str, str, str]]) -> list[str]:
    """Return the statements, for a superuser, that mark the functions."""
    return [
        sql.SQL("ALTER FUNCTION {}({}) LEAKPROOF").format(sql.Identifier(schema, name), sql.SQL(arguments)).as_string()
        for schema, name, arguments in functions
    ]


def mark_leakproof(dsn: str, *, superuser_dsn: str | None = None) -> list[str]:
    """Mark the functions, as the role of ``dsn`` if it is a superuser, else through ``superuser_dsn``. Blocking.

    Returns the statements that an administrator has to run; until then searches are slow, but correct. Raises
    ConfigurationError or StorageUnavailableError.
    """
    try:
        with psycopg.connect(dsn, autocommit=True) as connection:
            left = statements(unmarked(connection))
            if not left:
                return []
            row = connection.execute(IS_SUPERUSER).fetchone()
            if row is not None and row[0]:
                _run(connection, left)
                return []
        if superuser_dsn is None:
            return left
        # a superuser must not resolve a name to an object that others created in a schema
        safe = make_conninfo(superuser_dsn, options="-c search_path=pg_catalog")
        with psycopg.connect(safe, autocommit=True) as connection:
            _run(connection, left)
    except psycopg.Error as error:
        raise translate(error) from error
    return []


def _run(connection: Connection[TupleRow], marking: Sequence[str]) -> None:
    for statement in marking:
        connection.execute(statement.encode())

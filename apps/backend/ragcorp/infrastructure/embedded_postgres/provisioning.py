"""Roles, database, extensions. Every statement may run again: an interrupted setup is completed at the next start."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import LiteralString

import psycopg
from psycopg import sql

from ragcorp.domain.exceptions import StorageUnavailableError
from ragcorp.infrastructure.embedded_postgres.credentials import APP, OWNER, SUPERUSER, Credentials
from ragcorp.infrastructure.embedded_postgres.endpoint import DATABASE, Endpoint
from ragcorp.infrastructure.embedded_postgres.failures import disk_full

_MAINTENANCE_DATABASE = "postgres"
_EXTENSIONS: tuple[LiteralString, ...] = ("vector", "unaccent", "pg_trgm", "intarray")
_DONE = "ragcorp embedded, roles 2"
"""The database comment that marks a complete setup. Change it when the statements change."""

_DONE_QUERY: LiteralString = "SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = %s"

_DATABASE_STATEMENTS: tuple[LiteralString, ...] = (
    "REVOKE ALL ON DATABASE ragcorp FROM PUBLIC",
    "REVOKE CONNECT, TEMPORARY ON DATABASE postgres, template1 FROM PUBLIC",
    "ALTER DATABASE ragcorp OWNER TO ragcorp_owner",
    "GRANT CONNECT ON DATABASE ragcorp TO ragcorp_app",
)

_ROLE_STATEMENTS: tuple[LiteralString, ...] = (
    "ALTER ROLE ragcorp_app SET statement_timeout = '1min'",
    "ALTER ROLE ragcorp_app SET lock_timeout = '30s'",
    "ALTER ROLE ragcorp_app SET idle_in_transaction_session_timeout = '2min'",
)
"""Timeouts of every connection of the application role; its own pool overrides them with those of the settings."""

_SCHEMA_STATEMENTS: tuple[LiteralString, ...] = (
    "ALTER SCHEMA public OWNER TO ragcorp_owner",
    "REVOKE CREATE ON SCHEMA public FROM PUBLIC",
    "GRANT USAGE ON SCHEMA public TO ragcorp_app",
    """ALTER DEFAULT PRIVILEGES FOR ROLE ragcorp_owner IN SCHEMA public
       GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO ragcorp_app""",
    "ALTER DEFAULT PRIVILEGES FOR ROLE ragcorp_owner IN SCHEMA public GRANT USAGE, SELECT ON SEQUENCES TO ragcorp_app",
    "ALTER DEFAULT PRIVILEGES FOR ROLE ragcorp_owner IN SCHEMA public GRANT EXECUTE ON FUNCTIONS TO ragcorp_app",
)

_OUTDATED_EXTENSIONS: LiteralString = (
    "SELECT name FROM pg_available_extensions WHERE installed_version <> default_version AND name = ANY(%s)"
)


def ensure_provisioned(endpoint: Endpoint, credentials: Credentials, *, fresh_start: bool, deadline: float) -> None:
    """Complete the setup; a ``fresh_start`` also updates extensions. Raises StorageUnavailableError."""
    with _database_errors_translated():
        with _connect(endpoint, credentials, _MAINTENANCE_DATABASE, deadline) as connection:
            complete = connection.execute(_DONE_QUERY, (DATABASE,)).fetchone() == (_DONE,)
            if not complete:
                _create_roles(connection, credentials)
                for statement in _ROLE_STATEMENTS:
                    connection.execute(statement)
                _create_database(connection)
        if complete and not fresh_start:
            return
        with _connect(endpoint, credentials, DATABASE, deadline) as connection:
            if not complete:
                _prepare_schema(connection)
            for (name,) in connection.execute(_OUTDATED_EXTENSIONS, (list(_EXTENSIONS),)).fetchall():
                connection.execute(sql.SQL("ALTER EXTENSION {} UPDATE").format(sql.Identifier(name)))


def _create_roles(connection: psycopg.Connection, credentials: Credentials) -> None:
    for role, password in ((OWNER, credentials.owner), (APP, credentials.app)):
        if connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (role,)).fetchone() is None:
            connection.execute(sql.SQL("CREATE ROLE {}").format(sql.Identifier(role)))
        # Encrypted on our side, so that the server never sees, and cannot log, the password itself.
        encrypted = connection.pgconn.encrypt_password(password.encode(), role.encode(), b"scram-sha-256")
        connection.execute(
            sql.SQL(
                "ALTER ROLE {} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS PASSWORD {}"
            ).format(sql.Identifier(role), sql.Literal(encrypted.decode()))
        )


def _create_database(connection: psycopg.Connection) -> None:
    if connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (DATABASE,)).fetchone() is None:
        connection.execute("CREATE DATABASE ragcorp OWNER ragcorp_owner")
    for statement in _DATABASE_STATEMENTS:
        connection.execute(statement)


def _prepare_schema(connection: psycopg.Connection) -> None:
    with connection.transaction():
        for name in _EXTENSIONS:
            connection.execute(sql.SQL("CREATE EXTENSION IF NOT EXISTS {} SCHEMA public").format(sql.Identifier(name)))
        for statement in _SCHEMA_STATEMENTS:
            connection.execute(statement)
        connection.execute(sql.SQL("COMMENT ON DATABASE ragcorp IS {}").format(sql.Literal(_DONE)))


def _connect(endpoint: Endpoint, credentials: Credentials, database: str, deadline: float) -> psycopg.Connection:
    return psycopg.connect(
        endpoint.dsn(user=SUPERUSER, password=credentials.superuser, database=database),
        autocommit=True,
        connect_timeout=max(2, int(deadline - time.monotonic())),
        application_name="ragcorp-launcher",
        # The owner role may create functions in public; a superuser must not pick them up by name.
        options="-c search_path=pg_catalog",
    )


@contextmanager
def _database_errors_translated() -> Iterator[None]:
    try:
        yield
    except psycopg.errors.DiskFull as error:
        raise disk_full() from error
    except psycopg.Error as error:
        refused = isinstance(error, psycopg.OperationalError) and error.sqlstate is None
        raise StorageUnavailableError(
            "The embedded PostgreSQL refuses the connection of its own launcher."
            if refused
            else f"The embedded PostgreSQL could not set up its roles (SQLSTATE {error.sqlstate}).",
            reason="setup_failed",
            remedy="See the server's log; `ragcorp doctor` shows its path.",
        ) from error

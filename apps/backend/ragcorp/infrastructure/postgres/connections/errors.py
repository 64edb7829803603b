"""Translates errors of the driver into the domain's, without the server's messages, which may contain values."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg
from psycopg import errors as pg
from psycopg_pool import PoolClosed, PoolTimeout, TooManyRequests

from ragcorp.domain.exceptions import ConfigurationError, ConflictError, RagcorpError, StorageUnavailableError

REACH_REMEDY = "Check that PostgreSQL runs and that DATABASE_URL names it; `ragcorp doctor` tells more."

POLICY_CHECKS = frozenset({"ExecWithCheckOptions", "check_enable_rls"})
"""Server functions that raise 42501 for a policy, not a missing right; the message text depends on the locale."""


@asynccontextmanager
async def translated() -> AsyncIterator[None]:
    """Raise the domain's error for any error of psycopg or its pool inside the block."""
    try:
        yield
    except (psycopg.Error, PoolTimeout, TooManyRequests, PoolClosed) as error:
        raise translate(error) from error


def translate(error: BaseException) -> RagcorpError:
    """Return the domain's error for one of the driver's."""
    match error:
        case PoolTimeout() | TooManyRequests():
            return StorageUnavailableError(
                "No database connection became free in time.",
                reason="pool_exhausted",
                remedy="Try again; raise DATABASE_POOL_SIZE if this lasts.",
            )
        case PoolClosed():
            return StorageUnavailableError("The database pool is closed.", reason="closed")
        case pg.QueryCanceled() | pg.LockNotAvailable():
            return StorageUnavailableError("A database statement took too long.", reason="timeout")
        case pg.ReadOnlySqlTransaction():
            return StorageUnavailableError(
                "The database accepts no writes at the moment.", reason="read_only", remedy="Try again later."
            )
        case pg.DiskFull():
            return StorageUnavailableError(
                "The database's disk is full.", reason="disk_full", remedy="Free space, then try again."
            )
        case pg.TooManyConnections() | pg.ConfigurationLimitExceeded():
            return StorageUnavailableError(
                "The server has no connection left.",
                reason="too_many_connections",
                remedy="Lower DATABASE_POOL_SIZE or raise the server's max_connections.",
            )
        case pg.InvalidPassword() | pg.InvalidAuthorizationSpecification():
            return login_refused()
        case pg.InvalidCatalogName():
            return ConfigurationError(
                "The database that DATABASE_URL names does not exist.",
                field="DATABASE_URL",
                remedy="Create the database, or correct the name.",
            )
        case pg.UndefinedTable() | pg.UndefinedColumn() | pg.UndefinedObject():
            return StorageUnavailableError(
                "The database schema is not the one that this version needs.",
                reason="schema",
                remedy="Run `ragcorp migrate`.",
            )
        case pg.InsufficientPrivilege() if error.diag.source_function in POLICY_CHECKS:
            return StorageUnavailableError(
                "Row-level security refused the statement: it is about another workspace than the request's.",
                reason="row_security",
                remedy="Nothing was changed. Rights would not help: it is a fault of the program, or of a policy that "
                "was added; report it with the line of the log.",
            )
        case pg.InsufficientPrivilege():
            return StorageUnavailableError(
                "The database role may not do this.",
                reason="privilege",
                remedy="Run `ragcorp migrate` as the owner; it grants what the application role needs.",
            )
        case pg.UniqueViolation() | pg.ForeignKeyViolation() | pg.DeadlockDetected() | pg.SerializationFailure():
            return ConflictError("Another write got in the way.", remedy="Try again.")
        case psycopg.ProgrammingError() if error.sqlstate is None:  # libpq could not read the connection string
            return ConfigurationError(
                "DATABASE_URL is no connection string of PostgreSQL.",
                field="DATABASE_URL",
                remedy="Write it as postgresql://user:password@host:5432/database.",
            )
        case psycopg.OperationalError():
            return operational(error)
        case psycopg.InterfaceError():
            return StorageUnavailableError("The database connection was lost.", reason="connection_lost")
        case _:
            state = getattr(error, "sqlstate", None)  # None: libpq could not read the server's answer
            return StorageUnavailableError(
                "The database could not carry out the request.", reason=f"sqlstate_{state}" if state else "unreachable"
            )


def operational(error: psycopg.OperationalError) -> RagcorpError:
    """Distinguish a refused login, an unreachable server and a lost connection: libpq gives no SQLSTATE."""
    message = str(error).lower()
    if "password authentication failed" in message or ("role" in message and "does not exist" in message):
        return login_refused()
    if "database" in message and "does not exist" in message:
        return translate(pg.InvalidCatalogName())
    if "too many clients" in message or "too many connections" in message or "connection slots are reserved" in message:
        return translate(pg.TooManyConnections())
    if isinstance(error, psycopg.errors.ConnectionTimeout) or "translate host" in message or "resolve host" in message:
        return StorageUnavailableError("PostgreSQL did not answer.", reason="unreachable", remedy=REACH_REMEDY)
    if (
        "connection is bad" in message
        or "connection failed" in message
        or "refused" in message
        or "no such file" in message
    ):
        return StorageUnavailableError("PostgreSQL cannot be reached.", reason="unreachable", remedy=REACH_REMEDY)
    return StorageUnavailableError("The database connection was lost.", reason="connection_lost", remedy=REACH_REMEDY)


def login_refused() -> ConfigurationError:
    return ConfigurationError(
        "PostgreSQL refused the login.", field="DATABASE_URL", remedy="Check user and password in DATABASE_URL."
    )

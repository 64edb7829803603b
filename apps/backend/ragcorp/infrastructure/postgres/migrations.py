"""Runs Alembic as a library call, and tells how far a database is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import psycopg
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from ragcorp.domain.exceptions import ConfigurationError, StorageUnavailableError
from ragcorp.infrastructure.postgres.embedding_models import DEFAULT_MODEL, ensure_active_indexes, ensure_model
from ragcorp.infrastructure.postgres.errors import translate
from ragcorp.infrastructure.postgres.indexes import rebuild_invalid_indexes
from ragcorp.infrastructure.postgres.leakproof import mark_leakproof
from ragcorp.infrastructure.postgres.migration_lock import LOCK_TIMEOUT, migration_lock, owner_engine

VERSION = "SELECT version_num FROM alembic_version"
HAS_VERSION_TABLE = "SELECT to_regclass('alembic_version') IS NOT NULL"

GRANT_TO_APPLICATION = """
    GRANT USAGE ON SCHEMA public TO "{role}";
    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO "{role}";
    GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO "{role}";
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrationState:
    """The schema revision of a database (None: empty) and the newest one that this version carries."""

    current: str | None
    head: str

    @property
    def up_to_date(self) -> bool:
        return self.current == self.head


def scripts_folder() -> Path:
    """Return the folder of the migrations: inside the installed package, else beside it in a checkout."""
    package = Path(__file__).resolve().parents[2]
    for folder in (package / "_alembic", package.parent / "alembic"):
        if (folder / "env.py").is_file():
            return folder
    raise ConfigurationError("The migrations are missing from this installation.", remedy="Install ragcorp again.")


def alembic_config(dsn: str, *, embedding_model: tuple[str, int] = DEFAULT_MODEL) -> Config:
    config = Config()
    config.set_main_option("script_location", str(scripts_folder()).replace("%", "%%"))
    config.attributes["dsn"] = dsn
    config.attributes["embedding_model"] = embedding_model
    return config


def migrate(
    dsn: str,
    *,
    embedding_model: tuple[str, int] | None,
    application_dsn: str | None = None,
    superuser_dsn: str | None = None,
) -> MigrationState:
    """Bring the database up to the newest revision, prepared for the model. Blocking; safe to run side by side.

    ``dsn`` is the owner's. INVALID indexes are rebuilt; ``application_dsn``'s role gets what it needs; functions are
    marked LEAKPROOF, for which it takes a superuser.
    Raises ConfigurationError, IncompatibleEmbeddingsError or StorageUnavailableError.
    """
    try:
        command.upgrade(alembic_config(dsn, embedding_model=embedding_model or DEFAULT_MODEL), "head")
        with (
            migration_lock(dsn),
            owner_engine(dsn).connect().execution_options(isolation_level="AUTOCOMMIT") as connection,
        ):
            connection.execute(text("select set_config('lock_timeout', :value, false)"), {"value": LOCK_TIMEOUT})
            rebuild_invalid_indexes(connection)
            if embedding_model is None:
                ensure_active_indexes(connection)
            else:
                ensure_model(connection, name=embedding_model[0], dimensions=embedding_model[1])
            role = conninfo_to_dict(application_dsn).get("user") if application_dsn else None
            if role and role != conninfo_to_dict(dsn).get("user"):
                connection.execute(text(GRANT_TO_APPLICATION.format(role=str(role).replace('"', '""'))))
            mark_leakproof(dsn, superuser_dsn=superuser_dsn)
    except (SQLAlchemyError, psycopg.Error) as error:
        raise translate(_driver_error(error)) from error
    return state(dsn)


def head_revision() -> str:
    """Return the newest revision that this version carries. Blocking."""
    head = ScriptDirectory(str(scripts_folder())).get_current_head()
    if head is None:
        raise StorageUnavailableError("This installation carries no migrations.", reason="schema")
    return head


def known_revisions() -> frozenset[str]:
    """Return every revision that this version can migrate from, the newest too. Blocking."""
    return frozenset(script.revision for script in ScriptDirectory(str(scripts_folder())).walk_revisions())


def state(dsn: str) -> MigrationState:
    """Return how far the database is. Blocking."""
    head = head_revision()
    try:
        with owner_engine(dsn).connect() as connection:
            if not connection.execute(text(HAS_VERSION_TABLE)).scalar_one():
                return MigrationState(current=None, head=head)
            return MigrationState(current=connection.execute(text(VERSION)).scalar_one_or_none(), head=head)
    except (SQLAlchemyError, psycopg.Error) as error:
        raise translate(_driver_error(error)) from error


def _driver_error(error: BaseException) -> BaseException:
    """Return the driver's error behind one of SQLAlchemy's, which may be about the rollback that came after it."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, psycopg.Error):
            return cause
        cause = (cause.orig if isinstance(cause, DBAPIError) else None) or cause.__cause__ or cause.__context__
    return error

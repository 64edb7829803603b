"""Runs Alembic as a library, and reads the schema revision of a database."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
from psycopg import errors as pg
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from ragcorp.domain.exceptions import ConfigurationError, RagcorpError, StorageUnavailableError
from ragcorp.infrastructure.postgres.administration import row_level_security
from ragcorp.infrastructure.postgres.administration.leakproof import mark_leakproof
from ragcorp.infrastructure.postgres.administration.migration_lock import (
    LOCK_TIMEOUT,
    migration_lock,
    owner_dsn,
    owner_engine,
)
from ragcorp.infrastructure.postgres.connections.errors import translate
from ragcorp.infrastructure.postgres.connections.indexes import rebuild_invalid_indexes
from ragcorp.infrastructure.postgres.models.embedding_models import DEFAULT_MODEL, ensure_active_indexes, ensure_model

if TYPE_CHECKING:
    from alembic.config import Config

VERSION = "SELECT version_num FROM alembic_version"
HAS_VERSION_TABLE = "SELECT to_regclass('alembic_version') IS NOT NULL"

ADD_VECTOR = "CREATE EXTENSION IF NOT EXISTS vector"

STOP_OLDER_PROCESSES = (
    f"Migration {row_level_security.REVISION} turns row-level security on: a process of an older version sees no rows "
    "from now on, and reports no error. Stop all of them."
)

logger = logging.getLogger(__name__)

GRANT_TO_APPLICATION = """
    GRANT USAGE ON SCHEMA public TO "{role}";
    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO "{role}";
    GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO "{role}";
    REVOKE INSERT, UPDATE, DELETE ON alembic_version, key_secret, item_name_key FROM "{role}";
"""
"""Only the owner writes the secrets: with another one every key would be void, or a forged key valid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrationState:
    """The schema revision of a database (None: empty) and the newest revision of this version.

    ``newer``: a newer version migrated the database to a revision that this one does not know.
    """

    current: str | None
    head: str
    newer: bool = False

    @property
    def up_to_date(self) -> bool:
        return self.current == self.head

    def require_known(self) -> None:
        """Raises ConfigurationError for a database that a newer version migrated."""
        if self.newer:
            raise ConfigurationError(self.says_newer, remedy=INSTALL_NEWER)

    @property
    def says_newer(self) -> str:
        return (
            f"This database was migrated by a newer version of ragcorp: its schema revision is {self.current}, "
            f"and this version knows those up to {self.head}."
        )


INSTALL_NEWER = "Install that version, or a newer one."


@dataclass(frozen=True, slots=True, kw_only=True)
class Migrated(MigrationState):
    """State of a database after a migration from revision ``before``.

    ``left`` are statements for a superuser: without them conditions under policies use no index. There are none if
    row-level security is ``off``.
    """

    before: str | None
    left: tuple[str, ...]
    off: bool

    @property
    def turned_on(self) -> bool:
        """Whether this migration added the policies to a database with an older schema."""
        return _brings_policies(self.before)


def _brings_policies(before: str | None) -> bool:
    return before is not None and before < row_level_security.REVISION


def scripts_folder() -> Path:
    """Return the folder of the migrations: inside the installed package, else next to it in a checkout."""
    package = Path(__file__).resolve().parents[3]
    for folder in (package / "_alembic", package.parent / "alembic"):
        if (folder / "env.py").is_file():
            return folder
    raise ConfigurationError("The migrations are missing from this installation.", remedy="Install ragcorp again.")


def alembic_config(dsn: str, *, embedding_model: tuple[str, int] = DEFAULT_MODEL) -> Config:
    from alembic.config import Config

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
    protect: bool | None = None,
) -> Migrated:
    """Upgrade the database to the newest revision and prepare it for the model. Blocking; concurrent calls are safe.

    ``dsn`` is the owner's. Rebuilds INVALID indexes, grants the role of ``application_dsn`` its rights, and marks
    functions LEAKPROOF, which takes a superuser. ``protect`` turns row-level security on or off; None keeps the
    current choice, also for tables that a migration adds.
    Raises ConfigurationError, IncompatibleEmbeddingsError or StorageUnavailableError.
    """
    previous = state(dsn)
    previous.require_known()
    if _brings_policies(previous.current):
        logger.warning(STOP_OLDER_PROCESSES)
    try:
        off = _prepare(dsn)
        if not previous.up_to_date:
            _upgrade(dsn, embedding_model or DEFAULT_MODEL)
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
            if protect is not None or off:
                off = not protect
                _protect(dsn, on=not off)
            left = mark_leakproof(dsn, superuser_dsn=superuser_dsn)
    except (SQLAlchemyError, psycopg.Error) as error:
        raise _refusal(_driver_error(error)) from error
    after = state(dsn)
    return Migrated(
        current=after.current,
        head=after.head,
        newer=after.newer,
        before=previous.current,
        left=() if off else tuple(left),
        off=off,
    )


def _upgrade(dsn: str, embedding_model: tuple[str, int]) -> None:
    from alembic import command  # a sixth of the time that a command takes to start

    command.upgrade(alembic_config(dsn, embedding_model=embedding_model), "head")


def _prepare(dsn: str) -> bool:
    """Create the extension that migrations need; return whether row-level security was turned off."""
    with migration_lock(dsn), psycopg.connect(owner_dsn(dsn), autocommit=True) as connection:
        try:
            connection.execute(ADD_VECTOR)
        except (pg.InsufficientPrivilege, pg.UndefinedFile, pg.FeatureNotSupported) as error:
            raise ConfigurationError(
                "The database lacks the extension 'vector', and the role that migrates may not add it.",
                field="DATABASE_OWNER_URL",
                remedy="Install pgvector on the server, and run in this database as a superuser: "
                "CREATE EXTENSION vector; then run `ragcorp migrate` again.",
            ) from error
        return row_level_security.chosen_off(connection)


def _protect(dsn: str, *, on: bool) -> None:
    with psycopg.connect(owner_dsn(dsn), autocommit=True) as connection:
        connection.execute("SELECT set_config('lock_timeout', %s, false)", (LOCK_TIMEOUT,))
        row_level_security.switch(connection, on=on)


def _refusal(error: BaseException) -> RagcorpError:
    if isinstance(error, pg.InsufficientPrivilege):
        return StorageUnavailableError(
            "The role that migrates may not change this schema.",
            reason="privilege",
            remedy="Let DATABASE_OWNER_URL (default: DATABASE_URL) name the owner of the database and of its tables.",
        )
    return translate(error)


def head_revision() -> str:
    """Return the newest revision of this version. Blocking."""
    return max(known_revisions())


def known_revisions() -> frozenset[str]:
    """Return all revisions that this version knows, from the names of their files. Blocking."""
    return frozenset(file.name.partition("_")[0] for file in scripts_folder().glob("versions/*.py"))


def state(dsn: str) -> MigrationState:
    """Return the state of the database. Blocking."""
    head = head_revision()
    try:
        with owner_engine(dsn).connect() as connection:
            if not connection.execute(text(HAS_VERSION_TABLE)).scalar_one():
                return MigrationState(current=None, head=head)
            current = connection.execute(text(VERSION)).scalar_one_or_none()
            newer = current not in (None, head) and current not in known_revisions()
            return MigrationState(current=current, head=head, newer=newer)
    except (SQLAlchemyError, psycopg.Error) as error:
        raise translate(_driver_error(error)) from error


def _driver_error(error: BaseException) -> BaseException:
    """Return the driver's error that caused one of SQLAlchemy, which may describe a later rollback."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, psycopg.Error):
            return cause
        cause = (cause.orig if isinstance(cause, DBAPIError) else None) or cause.__cause__ or cause.__context__
    return error

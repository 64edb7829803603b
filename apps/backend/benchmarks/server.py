"""The database that a benchmark runs on: an embedded server of its own, or the server that DATABASE_URL names."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from ragcorp.infrastructure.embedded_postgres.launcher import EmbeddedPostgres
from ragcorp.infrastructure.postgres.connections.database import of_every_workspace

SHARED_BUFFERS = "512MB"
"""They hold 100k chunks with their indexes, as a server's would."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """``admin_dsn`` may create databases; the other two are the roles that ragcorp works as."""

    admin_dsn: str
    owner_dsn: str
    application_dsn: str

    def database(self, name: str) -> tuple[str, str]:
        """Make the database unless it is there; return the DSNs of who fills it and of the application.

        It is filled by the superuser: COPY is refused to whom a policy binds. The application is bound, and a plain
        session of its DSN sees every workspace.
        """
        owner = conninfo_to_dict(self.owner_dsn).get("user")
        with psycopg.connect(self.admin_dsn, autocommit=True) as connection:
            if not connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]).fetchone():
                connection.execute(f'CREATE DATABASE "{name}"' + (f' OWNER "{owner}"' if owner else ""))
        with psycopg.connect(self.admin_dsn, dbname=name, autocommit=True) as connection:
            connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
            if owner:
                connection.execute(f'ALTER SCHEMA public OWNER TO "{owner}"')
        return (
            make_conninfo(self.admin_dsn, dbname=name),
            of_every_workspace(make_conninfo(self.application_dsn, dbname=name)),
        )

    def drop(self, name: str) -> None:
        with psycopg.connect(self.admin_dsn, autocommit=True) as connection:
            connection.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder that root's server, which runs as another user, can pass through: else it keeps its files elsewhere."""
    with tempfile.TemporaryDirectory(prefix="ragcorp-bench-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


@contextmanager
def open_server(*, data_dir: Path | None = None, shared_buffers: str = SHARED_BUFFERS) -> Iterator[Server]:
    """Use DATABASE_URL (a role that may create databases; they are kept) or start a server.

    Without ``data_dir`` the embedded server's files go at the end; with it a second run finds its corpus loaded.
    """
    url = os.environ.get("DATABASE_URL")
    if url:
        yield Server(admin_dsn=url, owner_dsn=url, application_dsn=url)
        return
    with ExitStack() as stack:
        folder = data_dir or stack.enter_context(temporary_folder()) / "data"
        settings = {"shared_buffers": shared_buffers, "max_wal_size": "4GB"}
        running = stack.enter_context(EmbeddedPostgres(data_dir=folder, settings=settings))
        password = json.loads((folder / "credentials.json").read_text())["postgres"]
        yield Server(
            admin_dsn=make_conninfo(running.owner_dsn, user="postgres", password=password, dbname="postgres"),
            owner_dsn=running.owner_dsn,
            application_dsn=running.app_dsn,
        )

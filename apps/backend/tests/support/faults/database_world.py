"""A PostgreSQL of a test's own that may be killed, filled and starved, a proxy before it, and a service over both."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo

from ragcorp.infrastructure.embedded_postgres.launcher import EmbeddedPostgres, EmbeddedServer
from ragcorp.infrastructure.postgres.administration.migrations import migrate
from ragcorp.main.opening.library import make_rag
from ragcorp.main.settings.schema import load_settings
from ragcorp.main.wiring.base import Parts
from ragcorp.main.wiring.container import Container, open_container
from support.faults.proxy import FaultProxy, fault_proxy
from support.faults.service_probes import Probes, probed
from support.models.embedders import TEST_MODEL, HashingEmbedder

MAX_CONNECTIONS = 40
POOL = 10
TEXT = "# Contrato marco\n\nEl plazo de entrega es de 30 días hábiles desde la firma del pedido.\n"


@dataclass(slots=True, kw_only=True)
class OwnServer:
    """A server of this module's tests alone. Its template is migrated for the test embedder."""

    launcher: EmbeddedPostgres
    running: EmbeddedServer
    folder: Path
    databases: int = 0

    def dsn(self, database: str, role: str) -> str:
        passwords = json.loads((self.folder / "data" / "credentials.json").read_text())
        return make_conninfo(
            host=self.running.host, port=self.running.port, dbname=database, user=role, password=passwords[role]
        )

    def superuser(self, database: str = "postgres") -> psycopg.Connection[Any]:
        return psycopg.connect(self.dsn(database, "postgres"), autocommit=True)

    def new_database(self, *, tablespace: str | None = None) -> str:
        self.databases += 1
        name = f"w{self.databases}"
        where = f'TABLESPACE "{tablespace}"' if tablespace else ""
        with self.superuser() as connection:
            connection.execute(f'CREATE DATABASE "{name}" TEMPLATE ragcorp OWNER ragcorp_owner {where}')  # type: ignore[arg-type]
        return name

    def drop(self, name: str) -> None:
        with self.superuser() as connection:
            connection.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')  # type: ignore[arg-type]


@contextmanager
def own_server() -> Iterator[OwnServer]:
    folder = Path(tempfile.mkdtemp(prefix="ragcorp-test-"))
    folder.chmod(0o755)
    settings = {"fsync": "off", "max_connections": str(MAX_CONNECTIONS), "superuser_reserved_connections": "3"}
    launcher = EmbeddedPostgres(data_dir=folder / "data", settings=settings)
    try:
        running = launcher.start()
        migrate(
            running.owner_dsn, embedding_model=(TEST_MODEL.name, TEST_MODEL.dimensions), application_dsn=running.app_dsn
        )
        yield OwnServer(launcher=launcher, running=running, folder=folder)
    finally:
        launcher.release()
        shutil.rmtree(folder, ignore_errors=True)


@dataclass(slots=True, kw_only=True)
class World:
    """A service over a database of its own, behind the proxy."""

    server: OwnServer
    database: str
    proxy: FaultProxy
    container: Container
    probes: Probes

    @property
    def owner_dsn(self) -> str:
        return self.server.dsn(self.database, "ragcorp_owner")

    async def terminate(self) -> None:
        """End every connection of the service."""
        with self.server.superuser() as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s AND pid <> pg_backend_pid()",
                (self.database,),
            )
        await asyncio.sleep(0)


@asynccontextmanager
async def open_world(server: OwnServer, *, tablespace: str | None = None, **settings: Any) -> AsyncIterator[World]:
    name = await asyncio.to_thread(lambda: server.new_database(tablespace=tablespace))
    tree = server.folder / "tree"
    tree.mkdir(exist_ok=True)
    (tree / "marco.md").write_text(TEXT)
    chosen = {
        "embedding_provider": "none",
        "enable_hybrid_search": True,
        "database_pool_size": POOL,
        "database_pool_timeout_seconds": 0.5,
        "source_timeout_seconds": 0.8,
        "search_timeout_seconds": 1.0,
        "request_timeout_seconds": 2.5,
        "allowed_paths": str(tree),
    } | settings
    try:
        async with fault_proxy(server.running.host, server.running.port) as proxy:
            dsn = proxy.dsn(server.dsn(name, "ragcorp_app"))
            parts = Parts(embedder=HashingEmbedder())
            async with open_container(load_settings(chosen), dsn, parts=parts) as container:
                rag = make_rag(container)
                await rag.ingest_text("marco.md", TEXT)
                await rag.embed_pending()
                async with probed(container) as probes:
                    yield World(server=server, database=name, proxy=proxy, container=container, probes=probes)
    finally:
        await asyncio.to_thread(server.drop, name)


def is_root() -> bool:
    return os.geteuid() == 0

"""One embedded PostgreSQL a test run; each test gets a database cloned from a migrated template."""

from __future__ import annotations

import functools
import gc
import json
import os
import shutil
import ssl
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fastapi.dependencies.models
import psycopg
import pytest
from hypothesis import settings as hypothesis_settings
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import TupleRow

from ragcorp.infrastructure.embedded_postgres.credentials import Credentials
from ragcorp.infrastructure.embedded_postgres.endpoint import Endpoint
from ragcorp.infrastructure.embedded_postgres.launcher import EmbeddedPostgres
from ragcorp.infrastructure.embedded_postgres.provisioning import ensure_provisioned
from ragcorp.infrastructure.postgres.administration.migrations import migrate
from ragcorp.infrastructure.postgres.connections.database import of_every_workspace
from ragcorp.main.settings.schema import load_settings
from ragcorp.main.wiring.base import Parts
from ragcorp.main.wiring.container import Container, open_container
from support.models.embedders import TEST_MODEL, HashingEmbedder
from support.storage.places import memory_folder

pytest_plugins = [
    "support.fixtures.command_line",
    "support.fixtures.http",
    "support.fixtures.library",
    "support.fixtures.migrations",
]

# Whatever the shell says: else each worker compiles all tests, and each command that a test starts the whole package.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

EVAL_DIR = "RAGCORP_EVAL_DIR"
GIVEN_SERVER = os.environ.get("RAGCORP_TEST_DATABASE_URL")
"""The superuser `postgres` of a server to test on, in place of the embedded one."""

if (folder := memory_folder()) is not None:
    # data folders and servers of tests; pytest's own folders, which outlive the run, stay on the disk
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", tempfile.gettempdir())
    os.environ["TMPDIR"] = tempfile.tempdir = str(folder)

# No deadlines: a busy machine is no fault of what is tested. `make soak` takes the profile `thorough`.
hypothesis_settings.register_profile("quick", deadline=None, max_examples=25)
hypothesis_settings.register_profile("thorough", deadline=None, max_examples=400)
hypothesis_settings.load_profile("quick")

GARBAGE_THRESHOLD = 5000
"""Of objects, in place of 700: an application alone is thousands of them."""


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """What is collected stays to the end: no search for garbage looks at it again. They took a quarter of the time."""
    gc.disable()
    outcome = yield
    gc.collect()
    gc.freeze()
    gc.set_threshold(GARBAGE_THRESHOLD, 10, 10)
    gc.enable()
    return outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class TestServer:
    """A running server and how to reach it as superuser, owner and application."""

    __test__ = False

    data_dir: Path
    host: str
    port: int
    passwords: dict[str, str]

    def dsn(self, database: str, *, role: str = "ragcorp_app") -> str:
        """Return a DSN whose plain sessions see every workspace; the pool of ``Database`` opens its own with none."""
        return of_every_workspace(
            make_conninfo(host=self.host, port=self.port, dbname=database, user=role, password=self.passwords[role])
        )

    def superuser(self, database: str = "postgres") -> psycopg.Connection[TupleRow]:
        return psycopg.connect(self.dsn(database, role="postgres"), autocommit=True)


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session", autouse=True)
def clean_environment() -> Iterator[None]:
    """No setting of the developer's shell reaches a test."""
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            prefixes = (
                "RAGCORP_",
                "DATABASE_",
                "EMBEDDING_",
                "OPENAI_",
                "ANSWER_",
                "ENABLE_",
                "HYBRID_",
                "RRF_",
                "SEMANTIC_",
                "HYDRATION_",
            )
            if name.startswith(prefixes) and name != EVAL_DIR:
                patch.delenv(name)
        yield


@pytest.fixture(scope="session", autouse=True)
def one_tls_context() -> Iterator[None]:
    """All HTTP clients share it: no test speaks TLS, and loading the certificates takes 28 ms."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ssl, "create_default_context", functools.cache(ssl.create_default_context))
        yield


@pytest.fixture(autouse=True)
def forget_applications() -> Iterator[None]:
    """FastAPI remembers without bound what kind each route is, and with that every application of a test: 0.8 MB."""
    yield
    for remembered in vars(fastapi.dependencies.models).values():
        if hasattr(remembered, "cache_clear"):
            remembered.cache_clear()


def _given_server(superuser_dsn: str) -> TestServer:
    """A server of another version, on 127.0.0.1, that is thrown away afterwards; for one worker."""
    parts = conninfo_to_dict(superuser_dsn)
    made = Credentials(superuser=str(parts["password"]), owner=os.urandom(16).hex(), app=os.urandom(16).hex())
    endpoint = Endpoint(socket_dir=None, port=int(parts["port"] or 5432))
    ensure_provisioned(endpoint, made, fresh_start=False, deadline=time.monotonic() + 60)
    passwords = {"postgres": made.superuser, "ragcorp_owner": made.owner, "ragcorp_app": made.app}
    return TestServer(data_dir=Path("/nonexistent"), host=endpoint.host, port=endpoint.port, passwords=passwords)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[TestServer]:
    if GIVEN_SERVER is not None:
        yield _given_server(GIVEN_SERVER)
        return
    # not below pytest's tmp_path: as root, the server's user could not reach it
    folder = Path(tempfile.mkdtemp(prefix="ragcorp-test-"))
    folder.chmod(0o755)
    data_dir = folder / "data"
    settings = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
    settings["scram_iterations"] = "1"  # a third of what a connection costs
    settings["authentication_timeout"] = "10s"  # a drop of a database waits for connections that stopped half-way
    try:
        with EmbeddedPostgres(data_dir=data_dir, settings=settings) as server:
            yield TestServer(
                data_dir=data_dir,
                host=server.host,
                port=server.port,
                passwords=json.loads((data_dir / "credentials.json").read_text()),
            )
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def template_database(postgres_server: TestServer) -> str:
    """The name of a database that is migrated for the test embedder and holds no rows."""
    migrate(
        postgres_server.dsn("ragcorp", role="ragcorp_owner"),
        embedding_model=(TEST_MODEL.name, TEST_MODEL.dimensions),
        application_dsn=postgres_server.dsn("ragcorp"),
        superuser_dsn=postgres_server.dsn("ragcorp", role="postgres"),
    )
    return "ragcorp"


class Administration:
    """One connection of the superuser that all tests share, since a connection costs more than what it is for."""

    def __init__(self, server: TestServer) -> None:
        self._server = server
        self._connection: psycopg.Connection[TupleRow] | None = None

    def execute(self, statement: str) -> None:
        if self._connection is None or self._connection.closed:
            self._connection = self._server.superuser()
        try:
            self._connection.execute(statement)
        except psycopg.OperationalError:  # a test ended all connections
            self._connection.close()
            self._connection = self._server.superuser()
            self._connection.execute(statement)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()


@pytest.fixture(scope="session")
def administration(postgres_server: TestServer) -> Iterator[Administration]:
    administration = Administration(postgres_server)
    yield administration
    administration.close()


@contextmanager
def _databases(server: TestServer, administration: Administration) -> Iterator[Callable[..., str]]:
    made: list[str] = []

    def make(template: str = "template1") -> str:
        name = f"test_{os.getpid()}_{len(made)}_{os.urandom(4).hex()}"
        administration.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}" OWNER ragcorp_owner STRATEGY file_copy')
        if template == "template1":
            with server.superuser(name) as connection:
                for extension in ("vector", "unaccent", "pg_trgm", "intarray"):
                    connection.execute(f"CREATE EXTENSION IF NOT EXISTS {extension}")
                connection.execute("ALTER SCHEMA public OWNER TO ragcorp_owner")
        made.append(name)
        return name

    yield make
    for name in made:
        administration.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')


@pytest.fixture
def make_database(postgres_server: TestServer, administration: Administration) -> Iterator[Callable[..., str]]:
    """Clone a database and return its name; all clones go at the end of the test."""
    with _databases(postgres_server, administration) as make:
        yield make


@pytest.fixture(scope="session")
def keep_database(postgres_server: TestServer, administration: Administration) -> Iterator[Callable[..., str]]:
    """Clone a database for many tests, which clone it again once it is filled; it goes at the end of the session."""
    with _databases(postgres_server, administration) as make:
        yield make


@pytest.fixture
def database_name(make_database: Callable[..., str], template_database: str) -> str:
    return make_database(template_database)


@pytest.fixture
def dsn(postgres_server: TestServer, database_name: str) -> str:
    """The application role's DSN of an empty, migrated database."""
    return postgres_server.dsn(database_name)


@pytest.fixture
def owner_dsn(postgres_server: TestServer, database_name: str) -> str:
    return postgres_server.dsn(database_name, role="ragcorp_owner")


@pytest.fixture
async def make_container(dsn: str) -> AsyncIterator[Callable[..., Any]]:
    """Open containers over the test's database, with the test embedder unless ``parts`` say otherwise."""
    async with AsyncExitStack() as stack:

        async def make(*, parts: Parts | None = None, **settings: Any) -> Container:
            settings.setdefault("embedding_provider", "none")
            return await stack.enter_async_context(
                open_container(load_settings(settings), dsn, parts=parts or Parts(embedder=HashingEmbedder()))
            )

        yield make


@pytest.fixture(scope="session")
def eval_dir() -> Path:
    """The folder of the evaluation sets. Unset: a loud skip; set and missing: a failure."""
    value = os.environ.get(EVAL_DIR)
    if not value:
        pytest.skip(f"{EVAL_DIR} is not set: the evaluation sets are NOT tested")
    folder = Path(value)
    if not folder.is_dir():
        pytest.fail(f"{EVAL_DIR} is set, but there is no such folder")
    return folder

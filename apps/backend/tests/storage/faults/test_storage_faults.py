"""PostgreSQL that refuses, is gone, is full, or dies in the middle: the right error, and service again afterwards."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import signal
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from ragcorp.domain.documents import IngestStatus
from ragcorp.domain.exceptions import (
    AllSourcesFailedError,
    ConfigurationError,
    RagcorpError,
    SourceUnavailableError,
    StorageUnavailableError,
)
from ragcorp.infrastructure.embedded_postgres.launcher import EmbeddedPostgres
from ragcorp.infrastructure.postgres.administration.migrations import migrate, state
from ragcorp.interface.library.rag import Rag
from ragcorp.main.opening.library import make_rag
from ragcorp.main.settings.schema import load_settings
from ragcorp.main.wiring.base import Parts
from ragcorp.main.wiring.container import open_container
from support.models.embedders import TEST_MODEL, HashingEmbedder

pytestmark = pytest.mark.anyio

SECRET = "s3cret-p4ss"
SQL = ("SELECT", "INSERT", "UPDATE", "FROM ", "COPY ", "embedding_backlog")


def said_safely(error: RagcorpError, dsn: str, caplog: pytest.LogCaptureFixture | None = None) -> None:
    parts = conninfo_to_dict(dsn)
    hidden = [SECRET, str(parts.get("password")), str(parts.get("host")), *SQL]
    hidden += [str(parts["dbname"])] if parts.get("dbname") != "ragcorp" else []  # the product's own name
    for text in (str(error), repr(error), error.message, str(error.remedy), str(getattr(error, "reason", ""))):
        assert not [part for part in hidden if part in text], text
    if caplog:
        assert SECRET not in caplog.text
        assert str(parts.get("password")) not in caplog.text


async def refused(dsn: str) -> RagcorpError:
    settings = load_settings({"embedding_provider": "none"})
    with pytest.raises(RagcorpError) as caught:
        async with open_container(settings, dsn, parts=Parts(embedder=HashingEmbedder())):
            pass
    return caught.value


@pytest.mark.parametrize(
    ("change", "kind", "reason"),
    [
        ({"password": SECRET}, ConfigurationError, None),
        ({"user": "nobody_here", "password": SECRET}, ConfigurationError, None),
        ({"dbname": "no_such_database"}, ConfigurationError, None),
        ({"host": "/nowhere/at/all"}, StorageUnavailableError, "unreachable"),
        ({"host": "127.0.0.1", "port": "9"}, StorageUnavailableError, "unreachable"),
        ({"host": "no-such-host.invalid"}, StorageUnavailableError, "unreachable"),
    ],
    ids=["password", "user", "database", "socket", "port", "name"],
)
async def test_a_database_that_cannot_be_opened(
    dsn: str,
    owner_dsn: str,
    change: dict[str, str],
    kind: type[RagcorpError],
    reason: str | None,
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.DEBUG):
        wrong = make_conninfo(**(conninfo_to_dict(dsn) | change))
        errors = [await refused(wrong)]
        wrong_owner = make_conninfo(**(conninfo_to_dict(owner_dsn) | change))
        for call in (lambda: migrate(wrong_owner, embedding_model=None), lambda: state(wrong_owner)):
            with pytest.raises(RagcorpError) as caught:
                await asyncio.to_thread(call)
            errors.append(caught.value)
    for error in errors:
        assert type(error) is kind
        assert error.remedy
        assert getattr(error, "reason", None) == reason
        said_safely(error, wrong, caplog)


async def test_a_database_without_a_schema_is_told_to_migrate(
    postgres_server: Any, make_database: Callable[..., str]
) -> None:
    error = await refused(postgres_server.dsn(make_database()))
    assert isinstance(error, StorageUnavailableError)
    assert error.reason == "schema"
    assert "ragcorp migrate" in str(error)


# in the middle of a request


@pytest.fixture
async def rag(make_container: Callable[..., Any]) -> Rag:
    container = await make_container(
        enable_hybrid_search=True, source_timeout_seconds=20, search_timeout_seconds=20, embed_wait_seconds=0
    )
    rag = make_rag(container)
    await rag.ingest_text("a.md", "aguja en el pajar")
    return rag


@asynccontextmanager
async def locked(owner_dsn: str, table: str) -> AsyncIterator[None]:
    """Hold the tables; whoever has them meanwhile goes on and lets go of them, as the loop runs."""
    async with await psycopg.AsyncConnection.connect(owner_dsn) as connection:
        await connection.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")  # type: ignore[arg-type]
        yield


def terminate(postgres_server: Any, dsn: str, *, waiting: bool) -> int:
    condition = "AND wait_event_type = 'Lock'" if waiting else ""
    with postgres_server.superuser() as connection:
        return len(
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                f" WHERE datname = %s AND application_name = 'ragcorp' {condition}",
                (conninfo_to_dict(dsn)["dbname"],),
            ).fetchall()
        )


async def terminated_while_waiting(postgres_server: Any, dsn: str, *, least: int = 1) -> None:
    deadline = time.monotonic() + 15
    killed = 0
    while killed < least:
        assert time.monotonic() < deadline
        await asyncio.sleep(0.05)
        killed += terminate(postgres_server, dsn, waiting=True)


async def test_a_search_whose_backend_is_killed_is_asked_again(
    rag: Rag, postgres_server: Any, dsn: str, owner_dsn: str
) -> None:
    async with locked(owner_dsn, "chunks"):
        searching = asyncio.create_task(rag.search("aguja"))
        await terminated_while_waiting(postgres_server, dsn, least=2)
    response = await searching
    assert [hit.chunk.external_id for hit in response.hits] == ["a.md"]
    assert {report.reason for report in response.degraded} <= {"vectors_pending"}


async def test_a_write_whose_backend_is_killed_fails_whole(
    rag: Rag, postgres_server: Any, dsn: str, owner_dsn: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with locked(owner_dsn, "chunks"):
        writing = asyncio.create_task(rag.ingest_text("b.md", "otra aguja"))
        await terminated_while_waiting(postgres_server, dsn)
        with pytest.raises(StorageUnavailableError) as caught:
            await writing
    assert caught.value.reason == "connection_lost"
    said_safely(caught.value, dsn, caplog)
    assert [document.external_id for document in (await rag.documents())[0]] == ["a.md"]
    assert (await rag.ingest_text("b.md", "otra aguja")).status is IngestStatus.CREATED


async def test_connections_that_died_while_idle_cost_readers_nothing_and_writers_one_error(
    rag: Rag, postgres_server: Any, dsn: str, owner_dsn: str
) -> None:
    async def grow() -> None:
        async with locked(owner_dsn, "chunks"):
            many = [asyncio.create_task(rag.search("aguja", mode="sparse")) for _ in range(6)]
            await asyncio.sleep(0.5)
        await asyncio.gather(*many)
        assert terminate(postgres_server, dsn, waiting=False) >= 4

    reads: list[Callable[[], Awaitable[Any]]] = [
        lambda: rag.search("aguja"),
        lambda: rag.ask("¿Dónde está la aguja?"),
        rag.documents,
        lambda: rag.document("a.md"),
        lambda: rag.source("a.md"),
        rag.pending,
    ]
    for read in reads:
        await grow()
        await read()
    await grow()
    failures = 0
    for number in range(6):
        try:
            await rag.ingest_text(f"w{number}.md", f"aguja {number}")
        except StorageUnavailableError as error:
            assert error.reason == "connection_lost"
            failures += 1
    assert failures <= 1


async def test_a_pool_without_a_free_connection_says_so_and_recovers(
    make_container: Callable[..., Any], owner_dsn: str
) -> None:
    container = await make_container(database_pool_size=2, database_pool_timeout_seconds=0.3, embed_wait_seconds=0)
    rag = make_rag(container)
    await rag.ingest_text("a.md", "aguja")
    async with locked(owner_dsn, "chunks"):
        holders = [asyncio.create_task(rag.ingest_text(f"h{n}.md", "aguja")) for n in range(2)]
        await asyncio.sleep(0.5)
        for call in (rag.documents, lambda: rag.ingest_text("b.md", "aguja")):
            with pytest.raises(StorageUnavailableError) as caught:
                await call()
            assert caught.value.reason == "pool_exhausted"
        with pytest.raises(AllSourcesFailedError) as out:
            await rag.search("aguja", mode="sparse")
        assert out.value.reason == "full_text:pool_exhausted"
    await asyncio.gather(*holders)
    assert len((await rag.search("aguja", mode="sparse")).hits) == 3


async def test_requests_that_are_cancelled_give_their_connections_back(
    make_container: Callable[..., Any], owner_dsn: str
) -> None:
    container = await make_container(database_pool_size=2, database_pool_timeout_seconds=5, embed_wait_seconds=0)
    rag = make_rag(container)
    await rag.ingest_text("a.md", "aguja")
    calls: list[Callable[[], Awaitable[Any]]] = [
        lambda: rag.search("aguja", mode="sparse"),
        rag.documents,
        lambda: rag.ingest_text("b.md", "aguja"),
        lambda: rag.delete("a.md"),
        rag.embed_pending,
    ]
    for delay in (0.0, 0.001, 0.01, 0.1):
        async with locked(owner_dsn, "documents, chunks, embedding_backlog"):
            for call in calls:
                tasks = [asyncio.ensure_future(call()) for _ in range(3)]
                await asyncio.sleep(delay)
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
    assert [document.external_id for document in (await rag.documents())[0]] == ["a.md"]
    assert len(await asyncio.gather(*(rag.search("aguja", mode="sparse") for _ in range(8)))) == 8


async def test_a_statement_that_takes_too_long_is_ended(make_container: Callable[..., Any], owner_dsn: str) -> None:
    rag = make_rag(await make_container(database_statement_timeout_seconds=0.3, embed_wait_seconds=0))
    await rag.ingest_text("a.md", "aguja")
    async with locked(owner_dsn, "chunks"):
        with pytest.raises(StorageUnavailableError) as caught:
            await rag.ingest_text("b.md", "aguja")
        assert caught.value.reason == "timeout"
    assert (await rag.ingest_text("b.md", "aguja")).status is IngestStatus.CREATED


async def test_a_database_that_takes_no_writes_still_answers(
    rag: Rag, postgres_server: Any, dsn: str, owner_dsn: str
) -> None:
    name = conninfo_to_dict(dsn)["dbname"]
    with postgres_server.superuser() as connection:
        connection.execute(f'ALTER DATABASE "{name}" SET default_transaction_read_only = on')
    terminate(postgres_server, dsn, waiting=False)
    assert (await rag.search("aguja", mode="sparse")).hits
    with pytest.raises(StorageUnavailableError) as caught:
        await rag.ingest_text("b.md", "aguja")
    assert caught.value.reason == "read_only"
    said_safely(caught.value, dsn)
    with postgres_server.superuser() as connection:
        connection.execute(f'ALTER DATABASE "{name}" RESET default_transaction_read_only')
    terminate(postgres_server, dsn, waiting=False)
    assert (await rag.search("aguja", mode="sparse")).hits
    assert (await rag.ingest_text("b.md", "aguja")).status is IngestStatus.CREATED


# the whole server


@asynccontextmanager
async def own_server() -> AsyncIterator[EmbeddedPostgres]:
    folder = Path(tempfile.mkdtemp(prefix="ragcorp-test-"))
    folder.chmod(0o755)
    server = EmbeddedPostgres(data_dir=folder / "data", settings={"fsync": "off"})
    try:
        yield server
    finally:
        await asyncio.to_thread(server.release)
        shutil.rmtree(folder, ignore_errors=True)


async def test_a_server_that_is_killed_and_comes_back(caplog: pytest.LogCaptureFixture) -> None:
    async with own_server() as postgres:
        running = await asyncio.to_thread(postgres.start)
        model = (TEST_MODEL.name, TEST_MODEL.dimensions)
        await asyncio.to_thread(
            lambda: migrate(running.owner_dsn, embedding_model=model, application_dsn=running.app_dsn)
        )
        settings = load_settings(
            {"embedding_provider": "none", "enable_hybrid_search": True, "database_pool_timeout_seconds": 0.5}
        )
        async with open_container(settings, running.app_dsn, parts=Parts(embedder=HashingEmbedder())) as container:
            rag = make_rag(container)
            await rag.ingest_text("a.md", "aguja en el pajar")
            await asyncio.gather(*(rag.search("aguja") for _ in range(5)))
            os.kill(running.server_pid, signal.SIGKILL)
            await asyncio.sleep(0.5)
            for _ in range(2):
                with pytest.raises(AllSourcesFailedError) as out:
                    await rag.search("aguja")
                assert out.value.reason in (
                    "dense:unreachable,full_text:unreachable",
                    "dense:connection_lost,full_text:connection_lost",
                    "dense:timeout,full_text:timeout",
                )
                said_safely(out.value, running.app_dsn, caplog)
                for call in (rag.documents, lambda: rag.ingest_text("b.md", "x")):
                    with pytest.raises(SourceUnavailableError) as caught:
                        await call()
                    assert caught.value.reason in ("unreachable", "connection_lost")
                    said_safely(caught.value, running.app_dsn, caplog)
            again = await asyncio.to_thread(postgres.start)
            assert again.server_pid != running.server_pid
            deadline = time.monotonic() + 20
            while True:
                try:
                    response = await rag.search("aguja")
                    break
                except AllSourcesFailedError:
                    assert time.monotonic() < deadline
                    await asyncio.sleep(0.1)
            assert [hit.chunk.external_id for hit in response.hits] == ["a.md"]
            assert (await rag.ingest_text("b.md", "otra aguja")).pending == 0

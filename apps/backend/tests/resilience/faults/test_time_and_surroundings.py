"""A clock that goes backwards, a schema that is newer than the application, and a log that nobody reads."""

from __future__ import annotations

import ast
import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

import ragcorp
from ragcorp.application.answering import conversations
from ragcorp.application.memory import save_items
from ragcorp.application.retrieval.search import plan
from support.faults.service_probes import WELL, probed
from support.processes.command_line import environment

pytestmark = pytest.mark.anyio

LOGGED_REQUESTS = 600
"""Far more lines than the 64 KiB of a pipe hold."""

WALL_CLOCK = {"time.time", "time.time_ns", "datetime.now", "datetime.utcnow", "date.today"}
MEASURED_AGAINST_FILES = {
    "infrastructure/files/folder.py",
    "infrastructure/embedded_postgres/installation.py",
    "infrastructure/embedded_postgres/server.py",
}
"""The times of files are the wall clock's, so what is compared with them has to be."""


class Backwards(datetime):
    """Each look at it is an hour before the last."""

    looks = 0

    @classmethod
    def now(cls, tz: Any = None) -> Backwards:
        cls.looks += 1
        earlier = datetime(2026, 6, 1, tzinfo=UTC) - timedelta(hours=cls.looks)
        return cls.fromtimestamp(earlier.timestamp(), tz)


PATIENT: dict[str, Any] = {
    "enable_hybrid_search": True,
    "database_pool_timeout_seconds": 30,
    "source_timeout_seconds": 30,
    "search_timeout_seconds": 30,
    "request_timeout_seconds": 60,
    "grep_timeout_seconds": 60,
}
"""A busy machine is no fault of what is tested."""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "a.md").write_text("El plazo.")
    return tmp_path


async def test_a_clock_that_goes_backwards(
    make_container: Callable[..., Any], tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (conversations, save_items, plan):
        monkeypatch.setattr(module, "datetime", Backwards)
    container = await make_container(allowed_paths=str(tree), **PATIENT)
    async with probed(container) as probes:
        for number in range(3):
            assert (await probes.client.put(f"/documents/{number}.txt", json={"text": "El plazo es corto."})).is_success
        first = await probes.client.post("/search", json={"query": "plazo"})
        assert first.status_code == 200, first.text
        again = await probes.client.post("/search", json={"query": "plazo"})
        assert [matches["external_id"] for matches in first.json()["results"]] == [
            matches["external_id"] for matches in again.json()["results"]
        ]
        assert len(first.json()["results"]) >= 3
        page = (await probes.client.post("/search", json={"query": "plazo", "limit": 1})).json()
        if cursor := page.get("next_cursor"):
            following = await probes.client.post("/search", json={"query": "plazo", "limit": 1, "cursor": cursor})
            assert following.json()["results"][0]["external_id"] != page["results"][0]["external_id"]
        assert await probes.all() == WELL
    assert Backwards.looks > 3, "nothing looked at the clock"


def test_only_what_is_compared_with_files_measures_by_the_wall_clock() -> None:
    """A duration, a deadline or an age of the process's own is monotonic: the wall clock may be set at any time."""
    root = Path(ragcorp.__file__).parent
    result = set()
    for path in root.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if any(isinstance(part, ast.Call) and ast.unparse(part.func) in WALL_CLOCK for part in _operands(node)):
                result.add(str(path.relative_to(root)))
    assert result <= MEASURED_AGAINST_FILES | {"infrastructure/postgres/administration/inspection.py"}


def _operands(node: ast.AST) -> list[ast.expr]:
    match node:
        case ast.BinOp(op=ast.Add() | ast.Sub()):
            return [node.left, node.right]
        case ast.Compare():
            return [node.left, *node.comparators]
        case _:
            return []


async def test_an_application_on_a_schema_that_is_newer(
    make_container: Callable[..., Any], tree: Path, owner_dsn: str
) -> None:
    """Migrations add; an instance of the version before serves on until it is replaced, and says that it is ready."""
    container = await make_container(allowed_paths=str(tree), **PATIENT)
    async with probed(container) as probes:
        assert await probes.all() == WELL
        with psycopg.connect(owner_dsn) as connection:
            for table in ("documents", "chunks", "chunk_embeddings", "embedding_backlog", "embedding_models"):
                connection.execute(f"ALTER TABLE {table} ADD COLUMN of_tomorrow text")  # type: ignore[arg-type]
            connection.execute("CREATE TABLE things_of_tomorrow (id bigint PRIMARY KEY)")
            connection.execute("UPDATE alembic_version SET version_num = '999'")
        await asyncio.sleep(1.1)  # what /readyz found is kept for a second
        assert await probes.all() == WELL
        assert (await probes.client.delete("/documents/w1.txt")).is_success
        with psycopg.connect(owner_dsn) as connection:
            connection.execute("UPDATE alembic_version SET version_num = '001'")
        await asyncio.sleep(1.1)
        assert await probes.ready() == "503 schema"


async def test_a_log_that_nobody_reads(dsn: str) -> None:
    process = subprocess.Popen(  # noqa: ASYNC220
        [sys.executable, "-m", "ragcorp", "serve", "--port", "0", "--json"],
        env=environment({"DATABASE_URL": dsn, "LOG_LEVEL": "info", "SHUTDOWN_GRACE_SECONDS": "5"}),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,  # and nobody reads it
        stdin=subprocess.DEVNULL,
    )
    assert process.stdout is not None
    try:
        url = await asyncio.to_thread(_url, process)
        limits = httpx.Limits(max_connections=8)
        async with httpx.AsyncClient(base_url=url, timeout=60, limits=limits) as client:
            assert (await client.put("/documents/a.txt", json={"text": "El plazo."})).status_code == 201
            for _ in range(LOGGED_REQUESTS // 50):
                answers = await asyncio.gather(*(client.get("/nowhere") for _ in range(50)))
                assert {answer.status_code for answer in answers} == {404}
            assert (await client.post("/search", json={"query": "plazo"})).json()["results"]
        process.send_signal(signal.SIGTERM)
        assert await asyncio.to_thread(process.wait, 60) == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        assert process.stderr is not None
        process.stderr.close()


def _url(process: subprocess.Popen[bytes]) -> str:
    assert process.stdout is not None
    text = b""
    while True:
        text += process.stdout.readline()
        try:
            return str(json.loads(text)["url"])
        except json.JSONDecodeError:
            assert process.poll() is None

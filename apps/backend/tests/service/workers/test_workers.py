"""`ragcorp serve --workers 2` as processes: common limits and metrics, a killed worker, and the end of all."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import httpx
import pytest

from ragcorp.application.keys.create import CreateKey, KeyRequest
from ragcorp.domain.keys import EVERY_SCOPE
from ragcorp.infrastructure.postgres.connections.database import Database, DatabaseOptions
from ragcorp.infrastructure.postgres.keys.store import PostgresKeyStore
from ragcorp.main.settings.schema import load_settings
from ragcorp.main.wiring.keys import make_digests, utc_now
from support.processes.serving_apart import Served, served

pytestmark = pytest.mark.anyio

LIMITS = {"RATE_LIMIT_PER_MINUTE": "1", "RATE_LIMIT_BURST": "4", "LOG_FORMAT": "json"}


async def keys_of(dsn: str, count: int) -> list[dict[str, str]]:
    """Create keys and return the headers that carry them."""
    database = Database(dsn, options=DatabaseOptions(pool_size=2))
    await database.open()
    try:
        store = PostgresKeyStore(database=database)
        digests = make_digests(load_settings({"embedding_provider": "none"}), store)
        create = CreateKey(store=store, digests=digests, random=os.urandom, now=utc_now)
        created = [await create.create(KeyRequest(scopes=EVERY_SCOPE, workspace="default")) for _ in range(count)]
        return [{"Authorization": f"Bearer {key.credential}"} for key in created]
    finally:
        await database.close()


def worker_of(response: httpx.Response) -> str:
    return response.headers["x-request-id"].partition("-")[0]


@asynccontextmanager
async def one_client_each(service: Served) -> AsyncIterator[dict[str, httpx.AsyncClient]]:
    """Yield clients by worker: a connection stays with the worker that accepted it."""
    clients: dict[str, httpx.AsyncClient] = {}
    async with AsyncExitStack() as stack, asyncio.timeout(60):
        while len(clients) < 2:
            client = await stack.enter_async_context(service.client())
            clients.setdefault(worker_of(await client.get("/healthz")), client)
        yield clients


def children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def workers_of(service: Served) -> list[int]:
    """Return the processes in the order of their start: background, 1, 2."""
    (forker,) = children_of(service.running.process.pid)
    return children_of(forker)


async def until_stopping(service: Served) -> None:
    """Wait until no worker takes a new request."""
    async with service.client() as client, asyncio.timeout(30):
        while True:
            try:
                if (await client.get("/readyz", headers={"Connection": "close"})).status_code == 200:
                    continue
            except httpx.ConnectError:
                return
            except httpx.HTTPError:  # closed as it was accepted
                continue


def sample(exposition: str, name: str) -> float:
    return float(next(line.rpartition(" ")[2] for line in exposition.splitlines() if line.startswith(f"{name} ")))


async def test_two_workers_are_one_service(dsn: str) -> None:
    key, admin, later = await keys_of(dsn, 3)
    async with served(dsn, WORKERS="2", **LIMITS) as service:
        async with one_client_each(service) as clients:
            assert set(clients) == {"1", "2"}
            for name, client in clients.items():
                assert (await client.get("/status", headers=later)).json()["worker"] == name
            turns = [clients[name] for name in ("1", "2", "1", "2", "1", "2")]
            statuses = [(await client.get("/documents", headers=key)).status_code for client in turns]
            assert statuses == [200] * 4 + [429] * 2
            counted = [(await client.get("/metrics", headers=admin)).text for client in clients.values()]
        for text in counted:
            assert sample(text, 'http_requests_total{method="GET",route="/documents",status="200"}') == 4
            assert sample(text, 'http_refusals_total{reason="rate"}') == 2
            for process in ("background", "1", "2"):
                assert sample(text, f'process_resident_memory_bytes{{worker="{process}"}}') > 1e6

        background, killed, other = workers_of(service)
        os.kill(killed, signal.SIGKILL)
        await asyncio.to_thread(service.running.wait_for, rf"worker 1 \(process {killed}\) ended")
        async with one_client_each(service) as clients:
            assert set(clients) == {"1", "2"}
            assert workers_of(service)[:2] == [background, other]
            text = (await clients["1"].get("/metrics", headers=admin)).text
            assert sample(text, 'http_requests_total{method="GET",route="/documents",status="200"}') == 4
            assert (await clients["1"].get("/documents", headers=key)).status_code == 429

        body = json.dumps({"query": "plazo"}).encode()
        reader, writer = await asyncio.open_connection("127.0.0.1", int(service.url.rpartition(":")[2]))
        head = f"POST /search HTTP/1.1\r\nHost: localhost\r\nAuthorization: {admin['Authorization']}\r\n"
        writer.write(f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n".encode())
        writer.write(b"Expect: 100-continue\r\n\r\n")
        assert b" 100 " in await reader.readuntil(b"\r\n\r\n")  # the service waits for the body
        processes = workers_of(service)
        service.running.process.send_signal(signal.SIGTERM)
        await until_stopping(service)
        writer.write(body)
        assert (await reader.readline()).startswith(b"HTTP/1.1 200")
        writer.close()
        done = await service.ended()
        assert done.code == 0
        assert "Traceback" not in done.err
        assert not any(Path(f"/proc/{pid}").exists() for pid in processes)
    lines = [json.loads(line) for line in done.err.splitlines() if line.startswith("{")]
    assert {line["worker"] for line in lines if line["message"] == "request"} == {"1", "2"}

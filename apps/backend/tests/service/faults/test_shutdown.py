"""The service is told to stop: what is open ends in order, nothing new begins, and the process ends in time."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import httpx
import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from support.faults.proxy import Fault, fault_proxy
from support.models.openai_server import FakeOpenAI, openai_server
from support.processes.command_line import environment
from support.processes.serving_apart import Served, Stream, read_stream, served

pytestmark = pytest.mark.anyio

STREAMS = 5
CALLERS = 4
DOCUMENT = {"text": "El plazo de entrega es de 30 días hábiles."}
QUESTION = {"query": "¿Cuál es el plazo de entrega?", "stream": True}
SOAK = [None, *(pytest.param(number, marks=pytest.mark.soak) for number in range(19))]


@pytest.fixture
async def provider() -> AsyncIterator[FakeOpenAI]:
    """A model that goes on speaking for minutes."""
    async with openai_server() as fake:
        fake.pieces = ["palabra "] * 600
        fake.piece_delay = 0.3
        yield fake


def model(provider: FakeOpenAI) -> dict[str, str]:
    return {"ANSWER_PROVIDER": "openai", "OPENAI_BASE_URL": provider.base_url, "OPENAI_API_KEY": "sk-test"}


async def stored(client: httpx.AsyncClient, name: str = "a.txt") -> int:
    return (await client.put(f"/documents/{name}", json=DOCUMENT)).status_code


class Callers:
    """Ask for a search again and again, over connections that are kept, until the service is gone."""

    def __init__(self) -> None:
        self.statuses: Counter[int] = Counter()
        self.refusals: list[httpx.Response] = []
        self.lost: Counter[str] = Counter()

    async def run(self, service: Served) -> None:
        async with service.client() as client:
            while service.running.process.poll() is None:
                try:
                    response = await client.post("/search", json={"query": "plazo de entrega"})
                except httpx.HTTPError as error:
                    self.lost[type(error).__name__] += 1
                    await asyncio.sleep(0.02)
                    continue
                self.statuses[response.status_code] += 1
                if response.status_code != httpx.codes.OK:
                    self.refusals.append(response)


async def open_streams(service: Served, client: httpx.AsyncClient) -> tuple[list[Stream], list[asyncio.Task[None]]]:
    streams = [Stream() for _ in range(STREAMS)]
    reading = [asyncio.create_task(read_stream(client, stream, "/ask", QUESTION)) for stream in streams]
    async with asyncio.timeout(30):
        await asyncio.gather(*(stream.began.wait() for stream in streams))
    return streams, reading


def ended_in_order(streams: list[Stream]) -> None:
    for stream in streams:
        assert stream.error is None
        assert [name for name, _ in stream.events].count("error") == 1
        name, problem = stream.events[-1]
        assert (name, problem["code"], problem["status"]) == ("error", "stopping", 503)
        assert problem["request_id"]


@pytest.mark.parametrize("again", SOAK)
async def test_a_service_under_load_that_is_told_to_stop(
    dsn: str, owner_dsn: str, provider: FakeOpenAI, again: int | None
) -> None:
    del again
    callers = Callers()
    async with served(dsn, SHUTDOWN_GRACE_SECONDS="6", **model(provider)) as service, service.client() as client:
        assert await stored(client) == 201
        streams, reading = await open_streams(service, client)
        async with await psycopg.AsyncConnection.connect(owner_dsn) as other:
            await other.execute("LOCK TABLE chunks IN SHARE MODE")
            short = asyncio.create_task(stored(client, "b.txt"))
            calling = [asyncio.create_task(callers.run(service)) for _ in range(CALLERS)]
            await until_waiting_for_a_lock(owner_dsn)
            while callers.statuses[200] < 20:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            service.running.process.send_signal(signal.SIGTERM)
            await refused(service)
            await other.rollback()
        assert await short == 201
        done = await service.ended()
        await asyncio.gather(*reading, *calling)
    assert done.code == 0, done.err
    assert "Stopped." in done.err
    assert "Traceback" not in done.err
    ended_in_order(streams)
    assert set(callers.statuses) <= {200, 503}
    for refusal in callers.refusals:
        assert refusal.json()["code"] == "stopping"
        assert refusal.headers["retry-after"]
        assert refusal.headers["connection"] == "close"
    with psycopg.connect(owner_dsn) as connection:
        result = connection.execute("SELECT external_id FROM documents ORDER BY 1").fetchall()
    assert result == [("a.txt",), ("b.txt",)]


async def until_waiting_for_a_lock(owner_dsn: str) -> None:
    query = "SELECT count(*) FROM pg_locks WHERE NOT granted"
    async with asyncio.timeout(30), await psycopg.AsyncConnection.connect(owner_dsn, autocommit=True) as connection:
        while (await (await connection.execute(query)).fetchone() or (0,))[0] == 0:  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def refused(service: Served) -> None:
    """Wait until nobody new gets in."""
    async with asyncio.timeout(30):
        while True:
            try:
                async with service.client() as client:
                    response = await client.get("/readyz")
            except httpx.HTTPError:
                return
            assert response.status_code in (200, 503)
            await asyncio.sleep(0.02)


async def test_a_second_signal_ends_what_is_open_at_once(dsn: str, provider: FakeOpenAI) -> None:
    async with served(dsn, SHUTDOWN_GRACE_SECONDS="600", **model(provider)) as service, service.client() as client:
        assert await stored(client) == 201
        streams, reading = await open_streams(service, client)
        service.running.process.send_signal(signal.SIGTERM)
        await refused(service)
        assert service.running.process.poll() is None
        service.running.process.send_signal(signal.SIGTERM)
        done = await service.ended()  # the grace is ten times as long
        await asyncio.gather(*reading)
    assert done.code == 0, done.err
    ended_in_order(streams)


async def test_a_database_that_hangs_does_not_hold_the_end_up(dsn: str) -> None:
    place: dict[str, Any] = conninfo_to_dict(dsn)
    async with (
        fault_proxy(str(place["host"]), int(place["port"])) as proxy,
        served(proxy.dsn(dsn), SHUTDOWN_GRACE_SECONDS="2") as service,
        service.client() as client,
    ):
        assert await stored(client) == 201
        proxy.switch(Fault.HANG)
        waiting = [asyncio.create_task(stored(client, f"{number}.txt")) for number in range(3)]
        await asyncio.sleep(0.5)
        service.running.process.send_signal(signal.SIGTERM)
        done = await service.ended(seconds=30)
        answers = await asyncio.gather(*waiting, return_exceptions=True)
    assert done.code in (0, 1), done.err
    assert "Traceback" not in done.err
    for answer in answers:
        assert answer == 503 or isinstance(answer, httpx.HTTPError)


@pytest.mark.parametrize(
    ("inside", "after", "code"),
    [("time.sleep(300)", "", 1), ("", "threading.Thread(target=time.sleep, args=(300,)).start()", 0)],
    ids=["what must be closed hangs", "a thread hangs afterwards"],
)
def test_the_last_resort(inside: str, after: str, code: int) -> None:
    script = (
        "import threading, time\n"
        "from ragcorp.main.service.shutdown import Shutdown\n"
        "with Shutdown(0.5) as shutdown:\n"
        "    shutdown.begin()\n"
        f"    {inside or 'pass'}\n"
        f"{after}\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment(), capture_output=True, timeout=60, check=False
    )
    assert done.returncode == code
    assert (b"SHUTDOWN_GRACE_SECONDS" in done.stderr) is (code == 1)

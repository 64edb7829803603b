"""What a service says while its database is at fault, endpoint by endpoint, and that it serves again afterwards.

The table of docs/operations.md ("What happens when the database is at fault") says the same in words.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psycopg
import pytest

from ragcorp.application.keys.create import CreateKey, KeyRequest
from ragcorp.domain.keys import EVERY_SCOPE
from ragcorp.infrastructure.postgres.connections.database import EVERY_WORKSPACE
from ragcorp.infrastructure.postgres.keys.store import PostgresKeyStore
from ragcorp.main.wiring.keys import make_digests, utc_now
from support.faults.database_world import MAX_CONNECTIONS, OwnServer, World, is_root, open_world, own_server
from support.faults.proxy import Fault
from support.faults.service_probes import WELL

pytestmark = pytest.mark.anyio

RECOVERY_SECONDS = 10

GIVEN_BACK_SECONDS = 60
"""When all connections are back in the pool. psycopg waits 5 s for a cancellation, and 5 s for what it cancelled; a
worker of the background waits for a reply as long as a statement may take, and 5 s more."""


@pytest.fixture(scope="module")
def server() -> Iterator[OwnServer]:
    with own_server() as result:
        yield result


@pytest.fixture(scope="module")
async def world(server: OwnServer) -> AsyncIterator[World]:
    """One service for all faults: what one of them left behind would show in the next."""
    async with open_world(server) as result:
        yield result


@asynccontextmanager
async def killed(world: World) -> AsyncIterator[None]:
    os.kill(world.server.running.server_pid, signal.SIGKILL)
    await asyncio.sleep(0.3)
    yield
    world.server.running = await asyncio.to_thread(world.server.launcher.start)
    world.proxy.target = (world.server.running.host, world.server.running.port)


def by_proxy(
    fault: Fault, *, seconds: float = 0.0, amount: int = 0
) -> Callable[[World], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def switched(world: World) -> AsyncIterator[None]:
        world.proxy.switch(fault, seconds=seconds, amount=amount)
        yield
        world.proxy.switch(Fault.PASS)

    return switched


@asynccontextmanager
async def read_only(world: World) -> AsyncIterator[None]:
    with world.server.superuser() as connection:
        connection.execute(f'ALTER DATABASE "{world.database}" SET default_transaction_read_only = on')
    await world.terminate()
    yield
    with world.server.superuser() as connection:
        connection.execute(f'ALTER DATABASE "{world.database}" RESET default_transaction_read_only')
    await world.terminate()


@asynccontextmanager
async def pool_exhausted(world: World) -> AsyncIterator[None]:
    async with AsyncExitStack() as stack:
        for _ in range(world.container.settings.database_pool_size):
            await stack.enter_async_context(world.container.database.autocommit(EVERY_WORKSPACE))
        yield


@asynccontextmanager
async def too_many_connections(world: World) -> AsyncIterator[None]:
    """Others hold every connection of the server."""
    dsn = world.owner_dsn
    world.proxy.switch(Fault.REFUSE)
    await world.terminate()
    async with AsyncExitStack() as stack:
        for _ in range(MAX_CONNECTIONS):
            try:
                connection = await psycopg.AsyncConnection.connect(dsn)
            except psycopg.OperationalError:
                break
            stack.push_async_callback(connection.close)
        world.proxy.switch(Fault.PASS)
        async with asyncio.timeout(RECOVERY_SECONDS):
            while await world.probes.ready() != "503 too_many_connections":  # noqa: ASYNC110
                await asyncio.sleep(0.1)
        yield


@asynccontextmanager
async def locked(world: World) -> AsyncIterator[None]:
    async with await psycopg.AsyncConnection.connect(world.owner_dsn) as other:
        await other.execute("LOCK TABLE chunks, documents IN ACCESS EXCLUSIVE MODE")
        yield


@asynccontextmanager
async def frozen(world: World) -> AsyncIterator[None]:
    """Every process of the server stands still, with its connections open: it takes no cancellation either."""
    postmaster = world.server.running.server_pid
    children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
    processes = [postmaster, *map(int, children)]
    for process in processes:
        os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        for process in processes:
            os.kill(process, signal.SIGCONT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A fault, and what is said meanwhile: ``reasons`` are those that a 503 may give, ``other`` is unlike ``DOWN``."""

    fault: Callable[[World], AbstractAsyncContextManager[None]]
    reasons: frozenset[str] = frozenset()
    other: Mapping[str, str] = field(default_factory=dict)


DOWN = {**dict.fromkeys(WELL, "503"), "/healthz": "200", "/metrics": "200", "/mcp": "tool error"}
"""The database cannot be used: the process is alive and counts, and every other endpoint says so."""

NO_CONNECTION = frozenset({"unreachable", "connection_lost", "timeout", "pool_exhausted", "circuit_open", "busy"})
"""Which of them depends on when the fault meets a request."""

READY = {"/readyz": "200"}
READS = {name: word for name, word in WELL.items() if name != "PUT /documents"}

ROWS = {
    "killed": Row(fault=killed, reasons=NO_CONNECTION),
    "refused": Row(fault=by_proxy(Fault.REFUSE), reasons=NO_CONNECTION),
    "dropped in the middle": Row(fault=by_proxy(Fault.DROP), reasons=NO_CONNECTION),
    "cut after some bytes": Row(fault=by_proxy(Fault.CUT, amount=150), reasons=NO_CONNECTION),
    "hanging": Row(fault=by_proxy(Fault.HANG), reasons=NO_CONNECTION),
    "dripping": Row(fault=by_proxy(Fault.DRIP, seconds=0.05, amount=5), reasons=NO_CONNECTION),
    "corrupt": Row(fault=by_proxy(Fault.CORRUPT, amount=9), reasons=NO_CONNECTION),
    "slow": Row(fault=by_proxy(Fault.DELAY, seconds=0.01), other=WELL),
    "locked": Row(fault=locked, reasons=frozenset({"timeout", "circuit_open", "busy"}), other=READY),
    "pool exhausted": Row(fault=pool_exhausted, reasons=frozenset({"pool_exhausted", "circuit_open", "busy"})),
    "too many connections": Row(
        fault=too_many_connections, reasons=frozenset({"too_many_connections", "timeout", "circuit_open", "busy"})
    ),
    "read-only": Row(fault=read_only, reasons=frozenset({"read_only"}), other=READS),
}


def agrees(said: str, expected: str, reasons: frozenset[str]) -> bool:
    if expected != "503":
        return said == expected
    status, _, given = said.partition(" ")
    return status == "503" and {part.rpartition(":")[2] for part in given.split(",")} <= reasons


async def serves_again(world: World) -> None:
    deadline = time.monotonic() + RECOVERY_SECONDS
    while (said := await world.probes.all()) != WELL:
        assert time.monotonic() < deadline, said
        await asyncio.sleep(0.1)
    deadline = time.monotonic() + GIVEN_BACK_SECONDS
    while (pool := world.container.database.statistics())["pool_available"] < pool["pool_size"]:
        assert time.monotonic() < deadline, pool
        await asyncio.sleep(0.05)


@pytest.mark.parametrize("again", [0, *(pytest.param(number, marks=pytest.mark.soak) for number in range(1, 20))])
@pytest.mark.parametrize("fault", ROWS)
async def test_what_is_said_meanwhile_and_service_again_afterwards(world: World, fault: str, again: int) -> None:
    del again
    row = ROWS[fault]
    await serves_again(world)
    async with row.fault(world):
        said = await world.probes.all()
        expected = DOWN | row.other
        # what /readyz found is kept for a second
        for _ in range(50):
            if agrees(said["/readyz"], expected["/readyz"], row.reasons):
                break
            await asyncio.sleep(0.1)
            said["/readyz"] = await world.probes.ready()
        wrong = {name: word for name, word in said.items() if not agrees(word, expected[name], row.reasons)}
        assert not wrong
    await serves_again(world)


FAR_BEYOND_SECONDS = 12
"""Lookups of keys end after 2 s here and requests after 2.5; a frozen server kept callers for 17 s and longer."""


async def test_a_known_key_is_answered_while_the_server_is_frozen(server: OwnServer) -> None:
    async with open_world(server, key_cache_seconds=0) as world:
        store = PostgresKeyStore(database=world.container.database)
        create = CreateKey(
            store=store, digests=make_digests(world.container.settings, store), random=os.urandom, now=utc_now
        )
        created = await create.create(KeyRequest(scopes=EVERY_SCOPE, workspace="default"))
        existing = {"Authorization": f"Bearer {created.credential}"}
        client = world.probes.client

        async def get(path: str, headers: Mapping[str, str]) -> int:
            async with asyncio.timeout(FAR_BEYOND_SECONDS):
                return (await client.get(path, headers=headers)).status_code

        async def search() -> int:
            async with asyncio.timeout(FAR_BEYOND_SECONDS):
                return (await client.post("/search", json={"query": "plazo de entrega"}, headers=existing)).status_code

        async def write() -> int:
            async with asyncio.timeout(FAR_BEYOND_SECONDS):
                return (await client.put("/documents/a", json={"text": "uno"}, headers=existing)).status_code

        assert await search() == 200
        async with frozen(world):
            wrong = [{"Authorization": f"Bearer {created.key.id}.{number:043d}"} for number in range(120)]
            flood = [asyncio.create_task(get("/documents", headers)) for headers in wrong]
            await asyncio.sleep(0.1)
            said = await asyncio.gather(search(), get("/documents", existing), get("/metrics", existing), write())
            assert said == [503, 503, 200, 503]
            assert set(await asyncio.gather(*flood)) == {503}
            assert await get("/metrics", existing) == 200
        async with asyncio.timeout(RECOVERY_SECONDS):
            while await search() != 200:  # noqa: ASYNC110
                await asyncio.sleep(0.1)


@pytest.fixture
def small_disk(server: OwnServer) -> Iterator[Path]:
    """A file system of some megabytes, on which a tablespace of the server lies."""
    if not is_root() or shutil.which("mount") is None:
        pytest.skip("a small file system can only be mounted as root: a full disk is NOT tested")
    folder = server.folder / "small"
    folder.mkdir(exist_ok=True)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=48m", "tmpfs", str(folder)], check=False).returncode:
        pytest.skip("nothing can be mounted here: a full disk is NOT tested")
    space = folder / "space"
    try:
        space.mkdir()
        owner = Path(f"/proc/{server.running.server_pid}").stat()
        os.chown(space, owner.st_uid, owner.st_gid)
        with server.superuser() as connection:
            connection.execute(f"CREATE TABLESPACE small LOCATION '{space}'")
        yield folder
        with server.superuser() as connection:
            connection.execute("DROP TABLESPACE small")
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=False)


UNHURRIED = {
    "database_pool_timeout_seconds": 20,
    "source_timeout_seconds": 20,
    "search_timeout_seconds": 20,
    "request_timeout_seconds": 40,
}


async def test_a_full_disk_takes_writes_only(server: OwnServer, small_disk: Path) -> None:
    async with open_world(server, tablespace="small", **UNHURRIED) as world:
        await serves_again(world)
        filler = small_disk / "filler"
        with filler.open("wb") as file, contextlib.suppress(OSError):
            while True:
                file.write(b"x" * 65_536)
                file.flush()
        full = await written_until_full(world)
        assert full == "503 disk_full"
        said = await world.probes.all()
        assert {name: word for name, word in said.items() if name != "PUT /documents"} == READS
        filler.unlink()
        await serves_again(world)


async def written_until_full(world: World) -> str:
    """Write until the pages that were free are used up."""
    for _ in range(200):
        answer = await world.probes.write(words=2000)
        if answer.status_code != httpx.codes.CREATED:
            return f"{answer.status_code} {answer.json().get('reason')}"
    raise AssertionError("the disk is not full")

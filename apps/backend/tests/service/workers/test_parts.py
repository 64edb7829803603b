"""Parts of a service of several processes: dealt connections, MCP without sessions, and one background."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from ragcorp.interface.http.call import WorkerLink
from ragcorp.interface.http.layers.admission import Limiters
from ragcorp.interface.http.protocol.limits import HttpLimits
from ragcorp.main.service.app import run_app
from ragcorp.main.service.background import run_background
from ragcorp.main.wiring.base import Parts
from ragcorp.main.workers.connections import ConnectionDealer
from support.fixtures.http import Serve
from support.mcp.serving import INITIALIZE, JSON_AND_EVENTS, SESSION
from support.models.embedders import HashingEmbedder

pytestmark = pytest.mark.anyio


async def test_connections_are_dealt_in_turns_to_the_workers_that_there_are() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        dealer = ConnectionDealer(listener)
        pairs = [socket.socketpair() for _ in range(3)]
        for ours, theirs in pairs:
            ours.setblocking(False)
            theirs.settimeout(30)
            dealer.add(ours)
        ended, one, two = (theirs for _, theirs in pairs)
        ended.close()
        clients = [socket.create_connection(listener.getsockname()) for _ in range(4)]
        await asyncio.sleep(0)
        names = [client.getsockname() for client in clients]
        received = []
        for worker in (one, two, one, two):
            _, descriptors, _, _ = await asyncio.to_thread(socket.recv_fds, worker, 1, 1)
            with socket.socket(fileno=descriptors[0]) as connection:
                received.append(connection.getpeername())
        assert received == names
        address = listener.getsockname()
        dealer.close()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(address)
        for end in (*clients, *(end for pair in pairs for end in pair)):
            end.close()


async def test_a_worker_does_no_background_work_and_keeps_no_mcp_sessions(
    make_container: Callable[..., Any], serve: Serve
) -> None:
    container = await make_container(parts=Parts(embedder=HashingEmbedder()))

    async def none() -> dict[str, Any]:
        return {}

    link = WorkerLink(name="1", limiters=lambda on_busy: Limiters.of(HttpLimits(), on_busy=on_busy), snapshots=none)
    async with (
        run_app(container, wake_embedding=lambda: None, worker=link) as app,
        serve(app) as url,
        httpx.AsyncClient(base_url=url, headers=JSON_AND_EVENTS, timeout=30) as client,
    ):
        assert not workers_of(asyncio.all_tasks())
        assert (await client.get("/mcp")).status_code == 405
        opened = await client.post("/mcp", json=INITIALIZE)
        assert (opened.status_code, SESSION in opened.headers) == (200, False)
        listed = await client.post("/mcp", json={"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
        assert "hybrid_search" in listed.text
    async with run_background(container):
        assert {"embedding worker", "structure worker"} <= workers_of(asyncio.all_tasks())


def workers_of(tasks: set[asyncio.Task[Any]]) -> set[str]:
    """Return the names of the tasks that work in background; those of the connection pool have other names."""
    return {task.get_name() for task in tasks if " worker" in task.get_name()}

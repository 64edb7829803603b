"""Streamable HTTP, by the SDK's client and by hand: sessions, their bounds, and how they end."""

from __future__ import annotations

import asyncio
from typing import Any

import anyio
import httpx
import pytest
from mcp import Client

from ragcorp.domain.keys import EVERY_SCOPE, Caller
from ragcorp.domain.principal import Principal, Sensitivity
from ragcorp.interface.mcp.server import make_mcp_server
from ragcorp.interface.mcp.services import McpLimits, McpServices
from support.mcp.fakes import Behaviour, Log, fake_services, server_over, text_of
from support.mcp.serving import INITIALIZE, JSON_AND_EVENTS, SESSION, message_of, open_session, serving_endpoint

pytestmark = pytest.mark.anyio

CANARY = "canario-7f3a"
with_each_protocol = pytest.mark.parametrize("mode", ["legacy", "auto"])


@pytest.fixture
def behaviour() -> Behaviour:
    return Behaviour()


@with_each_protocol
async def test_tools_are_listed_and_called_and_say_how_they_went(behaviour: Behaviour, mode: str) -> None:
    log = Log()
    async with (
        serving_endpoint(server_over(fake_services(behaviour))) as (url, _),
        Client(url, mode=mode, logging_callback=log, log_level="info") as client,
    ):
        assert len((await client.list_tools()).tools) == 7
        result = await client.call_tool("grep_search", {"query": "plazo"})
    assert text_of(result).startswith("Found 1 passages in 1 files:")
    assert [said["message"] for said in log.said] == ["grep_search: 1 passage in 1 file, 13 characters"]


@with_each_protocol
async def test_the_same_path_below_v1(mode: str) -> None:
    async with (
        serving_endpoint(server_over(fake_services(Behaviour()))) as (url, _),
        Client(url.replace("/mcp", "/v1/mcp"), mode=mode) as client,
    ):
        assert not (await client.call_tool("ask", {"query": "x"})).is_error


async def test_two_sessions_at_once_do_not_meet(behaviour: Behaviour) -> None:
    behaviour.gate = asyncio.Event()
    first, second = Log(), Log()
    async with (
        serving_endpoint(server_over(fake_services(behaviour))) as (url, _),
        Client(url, mode="legacy", logging_callback=first) as one,
        Client(url, mode="legacy", logging_callback=second) as other,
        anyio.create_task_group() as calls,
    ):
        calls.start_soon(one.call_tool, "grep_search", {"query": "uno"})
        await behaviour.entered.wait()
        behaviour.entered.clear()
        calls.start_soon(other.call_tool, "vector_search", {"query": "dos"})
        await behaviour.entered.wait()
        behaviour.gate.set()
    assert [said["tool"] for said in first.said] == ["grep_search"]
    assert [said["tool"] for said in second.said] == ["vector_search"]


@with_each_protocol
async def test_a_client_that_gives_up_cancels_the_use_case(behaviour: Behaviour, mode: str) -> None:
    behaviour.gate = asyncio.Event()
    async with serving_endpoint(server_over(fake_services(behaviour))) as (url, _), Client(url, mode=mode) as client:
        async with anyio.create_task_group() as calls:
            calls.start_soon(client.call_tool, "ask", {"query": "x"})
            await behaviour.entered.wait()
            calls.cancel_scope.cancel()
        with anyio.fail_after(10):
            await behaviour.cancelled.wait()
        behaviour.gate = None
        assert not (await client.call_tool("ask", {"query": "x"})).is_error


async def test_a_session_that_its_client_ends_is_gone() -> None:
    async with serving_endpoint(server_over(fake_services(Behaviour()))) as (url, _), httpx.AsyncClient() as client:
        session = (await open_session(client, url)).headers[SESSION]
        headers = {**JSON_AND_EVENTS, SESSION: session, "MCP-Protocol-Version": "2025-11-25"}
        ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
        assert (await client.post(url, json=ping, headers=headers)).status_code == 200
        assert (await client.delete(url, headers=headers)).status_code == 200
        assert (await client.post(url, json=ping, headers=headers)).status_code == 404
        assert (await client.post(url, json=ping, headers={**headers, SESSION: "0" * 32})).status_code == 404


async def test_the_end_of_a_session_cancels_what_it_asked(behaviour: Behaviour) -> None:
    behaviour.gate = asyncio.Event()
    async with serving_endpoint(server_over(fake_services(behaviour))) as (url, _), httpx.AsyncClient() as client:
        session = (await open_session(client, url)).headers[SESSION]
        headers = {**JSON_AND_EVENTS, SESSION: session, "MCP-Protocol-Version": "2025-11-25"}
        params = {"name": "ask", "arguments": {"query": "x"}}
        call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}
        asking = asyncio.create_task(client.post(url, json=call, headers=headers))
        await behaviour.entered.wait()
        assert (await client.delete(url, headers=headers)).status_code == 200
        with anyio.fail_after(30):
            await behaviour.cancelled.wait()
            await asking


def of_session(opened: httpx.Response, *, key: str | None = None) -> dict[str, str]:
    headers = {**JSON_AND_EVENTS, SESSION: opened.headers[SESSION], "MCP-Protocol-Version": "2025-11-25"}
    return headers if key is None else {**headers, "X-Key": key}


PING = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
ASKING = {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "ask", "arguments": {"query": "x"}}}


async def test_above_the_bound_the_session_that_was_idle_longest_ends() -> None:
    async with (
        serving_endpoint(server_over(fake_services(Behaviour())), max_sessions=2) as (url, _),
        httpx.AsyncClient() as client,
    ):
        first, second = [of_session(await open_session(client, url)) for _ in range(2)]
        assert (await client.post(url, json=PING, headers=first)).status_code == 200
        third = of_session(await open_session(client, url))
        answers = [await client.post(url, json=PING, headers=headers) for headers in (first, second, third)]
        assert [answer.status_code for answer in answers] == [200, 404, 200]


async def test_where_all_sessions_are_in_use_a_new_one_is_refused_until_one_ends(behaviour: Behaviour) -> None:
    behaviour.gate = asyncio.Event()
    async with (
        serving_endpoint(server_over(fake_services(behaviour)), max_sessions=2) as (url, _),
        httpx.AsyncClient(timeout=30) as client,
    ):
        first, second = [of_session(await open_session(client, url)) for _ in range(2)]
        asking = asyncio.create_task(client.post(url, json=ASKING, headers=first))
        await behaviour.entered.wait()
        async with client.stream("GET", url, headers={**second, "Accept": "text/event-stream"}) as stream:
            assert stream.status_code == 200
            refused = await open_session(client, url)
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "10")
            assert refused.json()["error"]["message"] == (
                "Too many sessions are open, and none of yours is idle. End one, or try again later. "
                "(limit: 2 sessions)"
            )
            assert (await client.delete(url, headers=second)).status_code == 200
        assert (await open_session(client, url)).status_code == 200
        behaviour.gate.set()
        assert not message_of(await asking)["result"]["isError"]


async def test_a_key_that_opens_sessions_ends_its_own_and_nobody_elses(behaviour: Behaviour) -> None:
    behaviour.gate = asyncio.Event()
    server = server_over(fake_services(behaviour))
    async with (
        serving_endpoint(server, max_sessions=4, max_sessions_of_key=2) as (url, _),
        httpx.AsyncClient(timeout=30) as client,
    ):

        async def alive(headers: dict[str, str]) -> bool:
            return (await client.post(url, json=PING, headers=headers)).status_code == 200

        as_a = of_session(await open_session(client, url, key="a"), key="a")
        first, second, third = [of_session(await open_session(client, url, key="b"), key="b") for _ in range(3)]
        assert [await alive(item) for item in (as_a, first, second, third)] == [True, False, True, True]
        asking = [asyncio.create_task(client.post(url, json=ASKING, headers=item)) for item in (second, third)]
        while len(behaviour.asked) < 2:  # noqa: ASYNC110 - nothing tells of it
            await asyncio.sleep(0.01)
        refused = await open_session(client, url, key="b")
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "10")
        assert refused.json()["error"]["message"] == (
            "Too many sessions of the key are open, and none of yours is idle. End one, or try again later. "
            "(limit: 2 sessions of one key)"
        )
        as_c = of_session(await open_session(client, url, key="c"), key="c")
        full = await open_session(client, url, key="d")  # four are open, and those that are idle are others'
        assert (full.status_code, "4 sessions" in full.text) == (503, True)
        another = of_session(await open_session(client, url, key="c"), key="c")  # in the place of its own
        assert [await alive(item) for item in (as_a, as_c, another)] == [True, False, True]
        behaviour.gate.set()
        await asyncio.gather(*asking)


async def test_a_client_that_vanished_gives_its_place_away() -> None:
    async with (
        serving_endpoint(server_over(fake_services(Behaviour())), max_sessions=1) as (url, _),
        httpx.AsyncClient(timeout=30) as client,
    ):
        async with httpx.AsyncClient() as vanishing:
            left = of_session(await open_session(vanishing, url))
            async with vanishing.stream("GET", url, headers={**left, "Accept": "text/event-stream"}):
                assert (await open_session(client, url)).status_code == 503
        with anyio.fail_after(30):
            while (await open_session(client, url)).status_code != 200:  # noqa: ASYNC110 - the server is told by TCP
                await asyncio.sleep(0.02)


async def test_requests_that_open_no_session_take_nobodys_place() -> None:
    async with (
        serving_endpoint(server_over(fake_services(Behaviour())), max_sessions=1) as (url, _),
        httpx.AsyncClient() as client,
    ):
        only = of_session(await open_session(client, url))
        await client.post(url, json=PING, headers=JSON_AND_EVENTS)
        await client.post(url, json=PING, headers={**JSON_AND_EVENTS, SESSION: "unknown"})
        await client.post(url, json=INITIALIZE, headers={**JSON_AND_EVENTS, "Accept": "text/html", SESSION: "unknown"})
        assert (await client.post(url, json=PING, headers=only)).status_code == 200


async def test_a_call_that_runs_when_the_service_stops_is_told(behaviour: Behaviour) -> None:
    behaviour.gate, stopping = asyncio.Event(), asyncio.Event()
    server = server_over(fake_services(behaviour), stopping=stopping)
    async with (
        serving_endpoint(server, stopping=stopping, stop_seconds=30) as (url, endpoint),
        httpx.AsyncClient(timeout=30) as client,
    ):
        session = of_session(await open_session(client, url))
        asking = asyncio.create_task(client.post(url, json=ASKING, headers=session))
        await behaviour.entered.wait()
        await endpoint.end_sessions()
        error = message_of(await asking)["error"]
        assert (error["code"], error["message"]) == (-32603, "The service is stopping.")
        assert behaviour.cancelled.is_set()


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
async def test_the_name_of_an_unknown_method_is_not_repeated(version: str) -> None:
    meta = {
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientInfo": {"name": "x", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    call = {"jsonrpc": "2.0", "id": 2, "method": CANARY, "params": {"_meta": meta}}
    async with serving_endpoint(server_over(fake_services(Behaviour()))) as (url, _), httpx.AsyncClient() as client:
        headers = {**of_session(await open_session(client, url)), "MCP-Protocol-Version": version, "Mcp-Method": CANARY}
        answer = await client.post(url, json=call, headers=headers)
        assert message_of(answer)["error"]["code"] == -32601, answer.text
        assert CANARY not in answer.text


async def test_an_idle_session_ends() -> None:
    async with (
        serving_endpoint(server_over(fake_services(Behaviour())), idle_seconds=0.05) as (url, _),
        httpx.AsyncClient() as client,
    ):
        session = of_session(await open_session(client, url))
        with anyio.fail_after(60):
            while (await client.post(url, json=PING, headers=session)).status_code != 404:  # noqa: ASYNC110
                await asyncio.sleep(0.2)  # a request keeps a session alive: it has to be left alone


async def test_ending_all_sessions_ends_open_streams_and_refuses_further_requests() -> None:
    async with (
        serving_endpoint(server_over(fake_services(Behaviour()))) as (url, endpoint),
        httpx.AsyncClient(timeout=20) as client,
    ):
        session = (await open_session(client, url)).headers[SESSION]
        headers = {"Accept": "text/event-stream", SESSION: session, "MCP-Protocol-Version": "2025-11-25"}
        async with client.stream("GET", url, headers=headers) as stream:
            assert stream.status_code == 200
            await endpoint.end_sessions()
            await stream.aread()
        stopped = await open_session(client, url)
        assert stopped.status_code == 503
        assert stopped.json()["error"]["message"] == "The service is stopping."


async def test_each_request_tells_who_asks() -> None:
    behaviour = Behaviour()
    services = fake_services(behaviour)
    levels = {"publica": Sensitivity.PUBLIC, "todo": Sensitivity.RESTRICTED}

    async def opened() -> McpServices:
        return services

    def caller_of(request: Any) -> Caller:
        who = request.headers.get("x-who", "publica")
        return Caller(principal=Principal(subject=who, clearance=levels[who]), scopes=EVERY_SCOPE)

    server = make_mcp_server(opened, caller_of=caller_of, limits=McpLimits(), version="1")
    async with serving_endpoint(server) as (url, _), httpx.AsyncClient() as client:
        headers = {**JSON_AND_EVENTS, SESSION: (await open_session(client, url)).headers[SESSION]}
        for number, who in enumerate(levels, start=2):
            params = {"name": "vector_search", "arguments": {"query": "x"}}
            call = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
            await client.post(url, json=call, headers={**headers, "x-who": who})
    assert [(who.subject, who.clearance) for _, who in behaviour.asked] == list(levels.items())


async def test_a_wrong_method_or_kind_is_refused_and_leaves_no_session() -> None:
    async with (
        serving_endpoint(server_over(fake_services(Behaviour())), max_sessions=1) as (url, _),
        httpx.AsyncClient() as client,
    ):
        refused = [
            await client.put(url, json=INITIALIZE, headers=JSON_AND_EVENTS),
            await client.get(url, headers={"Accept": "text/event-stream"}),
            await client.post(url, json=INITIALIZE, headers={**JSON_AND_EVENTS, "Content-Type": "text/plain"}),
            await client.post(url, json=INITIALIZE, headers={**JSON_AND_EVENTS, "Accept": "text/html"}),
        ]
        assert all(400 <= answer.status_code < 500 for answer in refused), refused
        assert (await open_session(client, url)).status_code == 200

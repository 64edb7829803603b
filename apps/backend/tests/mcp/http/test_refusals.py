"""Streamable HTTP: callers and bodies that are refused, and what is said of them."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import anyio
import httpx
import pytest

from support.mcp.fakes import Behaviour, fake_services, server_over
from support.mcp.serving import INITIALIZE, JSON_AND_EVENTS, SESSION, message_of, open_session, serving_endpoint

pytestmark = pytest.mark.anyio

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
CANARY = "canario-7f3a"


@pytest.fixture
def behaviour() -> Behaviour:
    return Behaviour()


CALLERS: list[tuple[dict[str, str], int]] = [
    ({"Host": "evil.test"}, 421),
    ({"Host": "localhost.evil.test"}, 421),
    ({"Host": "localhost:1234"}, 200),
    ({"Host": "[::1]:8000"}, 200),
    ({"Origin": "http://localhost:3000"}, 200),
    ({"Origin": "https://evil.test"}, 403),
    ({"Origin": "http://localhost.evil.test"}, 403),
    ({"Origin": "null"}, 403),
    ({"Origin": "file://localhost"}, 403),
    ({"Origin": "http://[::1"}, 403),
]


async def test_pages_of_strangers_are_refused() -> None:
    modern = {"MCP-Protocol-Version": "2026-07-28"}
    async with (
        serving_endpoint(server_over(fake_services(Behaviour())), allowed_hosts=LOOPBACK) as (url, _),
        httpx.AsyncClient() as client,
    ):
        for headers, status in CALLERS:
            answer = await client.post(url, json=INITIALIZE, headers={**JSON_AND_EVENTS, **headers})
            assert answer.status_code == status, headers
            answer = await client.post(url, json=INITIALIZE, headers={**JSON_AND_EVENTS, **headers, **modern})
            assert (answer.status_code in (421, 403)) == (status != 200), headers


PAGE = "https://app.example.com"


@pytest.mark.parametrize(
    ("origins", "origin", "key", "status"),
    [
        ({PAGE}, PAGE, None, 200),
        ({PAGE}, PAGE.upper(), "a", 200),
        ({PAGE}, "https://evil.test", "a", 403),
        ({PAGE}, f"{PAGE}:444", "a", 403),
        ({PAGE}, f"{PAGE}.evil.test", "a", 403),
        ({"*"}, "https://any.test", "a", 200),
        ({"*"}, "https://any.test", None, 403),  # without a key any page would act as the local user
        ({"*"}, "*", None, 403),
        ({"*"}, "http://localhost:3000", None, 200),
    ],
)
async def test_pages_that_may_call_the_service_may_use_its_tools(
    origins: set[str], origin: str, key: str | None, status: int
) -> None:
    limits = {"allowed_hosts": LOOPBACK, "allowed_origins": frozenset(origins)}
    headers = {**JSON_AND_EVENTS, "Origin": origin, **({} if key is None else {"X-Key": key})}
    async with (
        serving_endpoint(server_over(fake_services(Behaviour())), **limits) as (url, _),
        httpx.AsyncClient() as client,
    ):
        assert (await client.post(url, json=INITIALIZE, headers=headers)).status_code == status


NO_MESSAGES: list[tuple[bytes, int]] = [
    (f'{{"{CANARY}'.encode(), -32700),
    (b"\xff\xfe", -32700),
    (b"", -32700),
    (b"[" * 100_000, -32700),
    (b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"a": NaN}}', -32700),
    (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "ask\\ud800"}}', -32700),
    (f'{{"jsonrpc": "1.0", "id": 1, "method": "{CANARY}"}}'.encode(), -32600),
    (f'["{CANARY}"]'.encode(), -32600),
    (f'"{CANARY}"'.encode(), -32600),
    (b'{"jsonrpc": "2.0", "id": {}, "method": "ping"}', -32600),
    (b'{"jsonrpc": "2.0", "id": 5.5, "method": "ping"}', -32600),
    (b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}, {"jsonrpc": "2.0", "id": 2, "method": "ping"}]', -32600),
]


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
async def test_a_body_that_is_no_message_is_refused_without_a_word_of_it(version: str) -> None:
    async with (
        serving_endpoint(server_over(fake_services(Behaviour())), max_sessions=1) as (url, _),
        httpx.AsyncClient() as client,
    ):
        for body, code in NO_MESSAGES:
            answer = await client.post(url, content=body, headers={**JSON_AND_EVENTS, "MCP-Protocol-Version": version})
            assert (answer.status_code, answer.json()["error"]["code"]) == (400, code), body[:80]
            assert CANARY not in answer.text
        assert (await open_session(client, url)).status_code == 200


async def test_arguments_that_are_no_object_are_refused_without_a_word_of_them(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    async with serving_endpoint(server_over(fake_services(Behaviour()))) as (url, _), httpx.AsyncClient() as client:
        headers = {**JSON_AND_EVENTS, SESSION: (await open_session(client, url)).headers[SESSION]}
        for params in (
            {"name": "ask", "arguments": [CANARY]},
            {"name": 7, "arguments": {}},
            {"arguments": {}},
            [CANARY],
        ):
            call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}
            answer = await client.post(url, json=call, headers=headers)
            assert "error" in message_of(answer)
            assert CANARY not in answer.text
    assert CANARY not in caplog.text


@pytest.mark.parametrize("chunked", [False, True])
async def test_a_body_above_the_bound_is_refused(chunked: bool) -> None:
    body = b" " * 20_000

    async def pieces() -> Any:
        for _ in range(20):
            yield body[:1000]

    async with (
        serving_endpoint(server_over(fake_services(Behaviour())), max_body_bytes=10_000) as (url, _),
        httpx.AsyncClient() as client,
    ):
        answer = await client.post(url, content=pieces() if chunked else body, headers=JSON_AND_EVENTS)
        assert answer.status_code == 413
        assert "10000 bytes (MAX_BODY_BYTES)" in answer.json()["error"]["message"]
        assert (await open_session(client, url)).status_code == 200


async def test_a_body_that_does_not_come_is_not_waited_for() -> None:
    async with serving_endpoint(server_over(fake_services(Behaviour())), upload_seconds=0.05) as (url, _):
        host, port = url.removeprefix("http://").removesuffix("/mcp").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        head = f"POST /mcp HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{{"
        writer.write(head.encode())
        with anyio.fail_after(20):
            status = await reader.readline()
        assert status.split()[1] == b"408"
        writer.close()

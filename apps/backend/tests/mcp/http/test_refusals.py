"""Streamable HTTP: callers and bodies that are refused, and what is said of them."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import anyio
import httpx
import pytest

from support.mcp.fakes import Behaviour, fake_services, server_over
from support.mcp.serving import JSON_AND_EVENTS, SESSION, message_of, open_session, serving_endpoint

pytestmark = pytest.mark.anyio

CANARY = "canario-7f3a"


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

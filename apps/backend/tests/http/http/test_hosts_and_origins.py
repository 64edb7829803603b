"""REST and /mcp pass one gate: what one refuses, the other refuses with the same answer."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest
from mcp.server import Server

from ragcorp.interface.http.app import create_app
from ragcorp.interface.http.protocol.limits import HttpLimits
from ragcorp.interface.http.system.page_routes import UnlistedRoute
from ragcorp.interface.mcp.endpoint import EndpointLimits, McpEndpoint
from support.fixtures.http import Serve
from support.http.callers import KnownCallers, bearer
from support.http.fakes import World
from support.mcp.serving import INITIALIZE, JSON_AND_EVENTS

pytestmark = pytest.mark.anyio

HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})
APP = "https://app.example.com"
EVIL = "https://evil.test"
KEY = bearer("one.secret")
PAGE_OF_ANOTHER = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors"}

REQUESTS: list[tuple[list[tuple[str, str]], int]] = [
    ([], 200),
    ([("Host", "localhost:1234")], 200),
    ([("Host", "LOCALHOST")], 200),
    ([("Host", "[::1]:8000")], 200),
    ([("Host", "evil.test")], 421),
    ([("Host", "localhost.evil.test")], 421),
    ([("Host", "localhost@evil.test")], 421),
    ([("Host", "localhost:evil")], 421),
    ([("Host", "::1")], 421),
    ([("Host", "evil.test"), *KEY.items()], 421),
    ([("Host", "localhost:8000"), ("Origin", "http://localhost:8000")], 200),
    ([("Host", "localhost"), ("Origin", "https://localhost:443")], 200),
    ([("Host", "localhost:8000"), ("Origin", "http://localhost:3000")], 403),
    ([("Host", "localhost:8000"), ("Origin", "http://localhost:8000.evil.test")], 403),
    ([("Origin", APP)], 200),
    ([("Origin", APP.upper())], 200),
    ([("Origin", f"{APP}:444")], 403),
    ([("Origin", f"{APP}.evil.test")], 403),
    ([("Origin", APP), ("Origin", EVIL)], 403),
    ([("Origin", EVIL)], 403),
    ([("Origin", EVIL), *KEY.items()], 200),  # a browser sends no key by itself
    ([("Origin", "*")], 403),
    ([("Origin", "null")], 403),
    ([("Origin", "file://localhost")], 403),
    ([("Origin", "http://[::1")], 403),
    ([("Origin", "")], 403),
    (list(PAGE_OF_ANOTHER.items()), 403),
    ([*PAGE_OF_ANOTHER.items(), *KEY.items()], 200),
    ([("Sec-Fetch-Site", "same-origin")], 200),
    ([("Sec-Fetch-Site", "none")], 200),
]


@pytest.fixture
async def client(world: World, serve: Serve) -> AsyncIterator[httpx.AsyncClient]:
    limits = HttpLimits(allowed_hosts=HOSTS, cors_origins=(APP,))
    app = create_app(world.services(authenticator=KnownCallers()), limits)
    endpoint = McpEndpoint(Server("test"), limits=EndpointLimits())
    app.router.routes.append(UnlistedRoute("/mcp", endpoint=endpoint, include_in_schema=False))
    async with endpoint.running(), serve(app) as url, httpx.AsyncClient(base_url=url, timeout=30) as client:
        yield client
        await endpoint.end_sessions()


async def test_rest_and_mcp_answer_alike(client: httpx.AsyncClient) -> None:
    for headers, status in REQUESTS:
        rest = await client.post("/search", json={"query": "plazo"}, headers=headers)
        mcp = await client.post("/mcp", json=INITIALIZE, headers=[*JSON_AND_EVENTS.items(), *headers])
        assert (rest.status_code, mcp.status_code) == (status, status), headers
        if status != 200:
            refusals = [{**answer.json(), "request_id": ""} for answer in (rest, mcp)]
            assert refusals[0] == refusals[1], headers
            assert refusals[0]["code"] == {421: "unknown_host", 403: "foreign_origin"}[status]
            assert "evil" not in mcp.text


async def test_any_origin_is_open_to_keys_alone(world: World, serve: Serve) -> None:
    app = create_app(world.services(authenticator=KnownCallers()), HttpLimits(cors_origins=("*",)))
    endpoint = McpEndpoint(Server("test"), limits=EndpointLimits())
    app.router.routes.append(UnlistedRoute("/mcp", endpoint=endpoint, include_in_schema=False))
    async with endpoint.running(), serve(app) as url, httpx.AsyncClient(base_url=url, timeout=30) as client:
        for path, body in (("/search", {"query": "plazo"}), ("/mcp", INITIALIZE)):
            foreign = {**JSON_AND_EVENTS, "Origin": EVIL}
            assert (await client.post(path, json=body, headers=foreign)).status_code == 403
            assert (await client.post(path, json=body, headers={**foreign, **KEY})).status_code == 200
        await endpoint.end_sessions()

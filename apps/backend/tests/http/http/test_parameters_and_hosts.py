"""Query parameters that a route does not take, and hosts that the service is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from ragcorp.main.service.app import http_limits
from ragcorp.main.settings.schema import load_settings
from support.fixtures.http import MakeApp

pytestmark = pytest.mark.anyio

HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})


async def test_a_repeated_parameter_deletes_nothing(client: httpx.AsyncClient) -> None:
    for name in ("a", "b"):
        await client.put(f"/documents/{name}", json={"text": "Hola."})
    answer = await client.delete("/documents?prefix=a&prefix=b")
    assert answer.status_code == 422
    assert answer.json()["errors"] == [
        {"field": "prefix", "message": "The parameter is given twice.", "remedy": "Give it once."}
    ]
    assert len((await client.get("/documents")).json()["documents"]) == 2


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/documents"),
        ("GET", "/context"),
        ("DELETE", "/documents"),
        ("GET", "/documents/a"),
        ("GET", "/documents/a/content"),
        ("PUT", "/documents/a"),
        ("DELETE", "/documents/a"),
        ("POST", "/documents/a/restore"),
        ("POST", "/documents/bulk"),
        ("POST", "/search"),
        ("POST", "/ask"),
        ("GET", "/healthz"),
        ("GET", "/metrics"),
        ("GET", "/openapi.json"),
    ],
)
async def test_an_unknown_parameter_is_refused_and_not_repeated(
    client: httpx.AsyncClient, method: str, path: str
) -> None:
    answer = await client.request(method, path, params={"secret": "1"})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == "query"
    assert "secret" not in answer.text


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200),
        ("LOCALHOST:8000", 200),
        ("127.0.0.1:1", 200),
        ("[::1]:8000", 200),
        ("[::1]", 200),
        ("evil.example", 421),
        ("evil.example:8000", 421),
        ("localhost.evil.example", 421),
        ("127.0.0.1.evil.example", 421),
        ("localhost@evil.example", 421),
        ("localhost:evil", 421),
        ("::1", 421),
        ("", 421),
    ],
)
async def test_only_known_hosts_are_answered(
    make_app: MakeApp, make_client: Callable[[Any], httpx.AsyncClient], host: str, status: int
) -> None:
    async with make_client(make_app(allowed_hosts=HOSTS)) as client:
        for path in ("/documents", "/docs/assets/favicon.png", "/v1/healthz"):
            answer = await client.get(path, headers={"Host": host})
            assert answer.status_code == status
    if status == 421:
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["code"] == "unknown_host"
        assert "x-request-id" in answer.headers
        assert "evil" not in answer.text


async def test_two_hosts_are_none(make_app: MakeApp, make_client: Callable[[Any], httpx.AsyncClient]) -> None:
    async with make_client(make_app(allowed_hosts=HOSTS)) as client:
        answer = await client.get("/healthz", headers=[("Host", "localhost"), ("Host", "evil.example")])
    assert answer.status_code == 421


def test_the_service_knows_the_loopback_and_its_own_address() -> None:
    assert http_limits(load_settings({"host": "127.0.0.2"})).allowed_hosts == HOSTS | {"127.0.0.2"}

"""Which pages of other origins may call, and that no header tells of it where none may."""

from __future__ import annotations

import httpx
import pytest

from ragcorp.domain.exceptions import ConfigurationError
from ragcorp.interface.http.app import create_app
from ragcorp.interface.http.layers.cors import parse_origins
from ragcorp.interface.http.protocol.limits import HttpLimits
from ragcorp.main.service.app import http_limits
from ragcorp.main.settings.schema import load_settings
from support.fixtures.http import MakeApp, Serve
from support.http.callers import KnownCallers, bearer
from support.http.fakes import World

pytestmark = pytest.mark.anyio

APP = "https://app.example.com"
PREFLIGHT = {
    "Origin": APP,
    "Access-Control-Request-Method": "PUT",
    "Access-Control-Request-Headers": "authorization, content-type, last-event-id",
}


def cors_headers(answer: httpx.Response) -> set[str]:
    return {name for name in answer.headers if name.startswith("access-control-")}


async def test_without_origins_there_is_no_header_of_it(make_app: MakeApp, serve: Serve) -> None:
    async with serve(make_app()) as url, httpx.AsyncClient(base_url=url) as client:
        for answer in (
            await client.get("/documents", headers={"Origin": APP}),
            await client.options("/documents/a", headers=PREFLIGHT),
        ):
            assert cors_headers(answer) == set()


async def test_a_page_that_may_calls_with_its_key_and_reads_what_it_needs(world: World, serve: Serve) -> None:
    services = world.services(authenticator=KnownCallers(local=False))
    app = create_app(services, HttpLimits(cors_origins=(APP,)))
    async with serve(app) as url, httpx.AsyncClient(base_url=url) as client:
        preflight = await client.options("/documents/a", headers=PREFLIGHT)  # a browser sends no key with it
        assert preflight.status_code == 204
        assert preflight.headers["access-control-allow-origin"] == APP
        assert "PUT" in preflight.headers["access-control-allow-methods"]
        assert "access-control-allow-credentials" not in preflight.headers
        answer = await client.get("/documents", headers={"Origin": APP, **bearer("one.secret")})
        assert answer.status_code == 200
        assert answer.headers["access-control-allow-origin"] == APP
        exposed = answer.headers["access-control-expose-headers"].lower().split(", ")
        assert {"retry-after", "x-request-id", "location"} <= set(exposed)
        assert "Origin" in answer.headers["vary"]
        for refused in (
            await client.get("/documents", headers={"Origin": APP}),  # no key
            await client.post("/search", content=b"{", headers={"Origin": APP, **bearer("one.secret")}),
        ):
            assert refused.status_code in (401, 415)
            assert refused.headers["content-type"] == "application/problem+json"
            assert refused.headers["access-control-allow-origin"] == APP


async def test_a_page_that_may_reads_that_something_failed(world: World, serve: Serve) -> None:
    world.repository.fault.error = ZeroDivisionError()
    for origins, origin in (((APP,), APP), (("*",), "*")):
        app = create_app(world.services(authenticator=KnownCallers()), HttpLimits(cors_origins=origins))
        async with serve(app) as url, httpx.AsyncClient(base_url=url, headers=bearer("one.secret")) as client:
            answer = await client.get("/documents", headers={"Origin": APP})
            assert (answer.status_code, answer.json()["code"]) == (500, "internal")
            assert answer.headers.get_list("access-control-allow-origin") == [origin]
            assert answer.headers.get_list("x-content-type-options") == ["nosniff"]
            assert "x-request-id" in answer.headers["access-control-expose-headers"].lower()
            stranger = await client.get("/documents", headers={"Origin": "https://evil.example"})
            assert stranger.headers.get("access-control-allow-origin") == ("*" if origin == "*" else None)


async def test_a_page_that_may_not_is_told_nothing(world: World, serve: Serve) -> None:
    app = create_app(world.services(), HttpLimits(cors_origins=(APP,)))
    async with serve(app) as url, httpx.AsyncClient(base_url=url) as client:
        for origin in ("https://evil.example", "https://app.example.com.evil.example", "null", f"{APP}:444"):
            preflight = await client.options("/documents/a", headers={**PREFLIGHT, "Origin": origin})
            assert preflight.status_code == 400
            assert preflight.json()["code"] == "cors_refused"
            assert origin not in preflight.text
            assert "access-control-allow-origin" not in preflight.headers
            answer = await client.get("/documents", headers={"Origin": origin})
            assert "access-control-allow-origin" not in answer.headers


async def test_credentials_and_any_origin(world: World, serve: Serve) -> None:
    with_credentials = create_app(world.services(), HttpLimits(cors_origins=(APP,), cors_credentials=True))
    async with serve(with_credentials) as url, httpx.AsyncClient(base_url=url) as client:
        answer = await client.get("/documents", headers={"Origin": APP})
        assert answer.headers["access-control-allow-credentials"] == "true"
    of_any = create_app(world.services(authenticator=KnownCallers()), HttpLimits(cors_origins=("*",)))
    async with serve(of_any) as url, httpx.AsyncClient(base_url=url) as client:
        for key, status in ((bearer("one.secret"), 200), ({}, 403)):
            answer = await client.get("/documents", headers={"Origin": "https://any.example", **key})
            assert answer.status_code == status
            assert answer.headers["access-control-allow-origin"] == "*"


@pytest.mark.parametrize(
    ("text", "origins"),
    [
        ("", ()),
        (" , ", ()),
        ("*", ("*",)),
        ("https://a.example, http://LOCALHOST:5173,https://a.example", ("https://a.example", "http://localhost:5173")),
        ("http://[::1]:8080", ("http://[::1]:8080",)),
    ],
)
def test_origins_that_are_some(text: str, origins: tuple[str, ...]) -> None:
    assert parse_origins(text, credentials=False) == origins


@pytest.mark.parametrize(
    "text",
    ["pages.example", "https://a.example/", "https://a.example/path", "ftp://a.example", "null", "*,https://a.example",
     "https://*.example.com", "https://a.example b", "https://user@a.example", "https://a.example?x", "https://:1"],
)  # fmt: skip
def test_origins_that_are_none_end_the_start(text: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        http_limits(load_settings({"cors_origins": text}))
    assert refused.value.field == "CORS_ORIGINS"
    assert text not in str(refused.value)


def test_any_origin_with_credentials_ends_the_start() -> None:
    with pytest.raises(ConfigurationError) as refused:
        http_limits(load_settings({"cors_origins": "*", "cors_credentials": True}))
    assert "CORS_CREDENTIALS" in str(refused.value)
    assert refused.value.remedy

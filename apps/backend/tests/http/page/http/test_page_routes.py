"""The web page as the service hands it out: open, relative, cached as its names allow, and nothing beside it."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import httpx
import pytest
from fastapi import FastAPI
from starlette.types import ASGIApp, Receive, Scope, Send

from ragcorp.interface.http.app import create_app
from ragcorp.interface.http.protocol.limits import HttpLimits
from support.fixtures.http import Serve
from support.http.callers import KnownCallers, bearer
from support.http.fakes import World
from support.http.serving import raw_exchange
from support.http.waiting import until

pytestmark = pytest.mark.anyio

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)
INDEX = f"""<!doctype html><title>A page</title><!-- {"-" * 500} -->
<link rel="icon" href="./assets/icon-1a.svg"><link rel="stylesheet" href="./assets/index-1a.css">
<script type="module" src="./assets/index-1a.js"></script>"""
SCRIPT = "export const words = ['plazo'];\n" * 4000
FILES = ("/", "/assets/index-1a.js", "/assets/index-1a.css", "/assets/icon-1a.svg")
EVIL = {"Sec-Fetch-Site": "cross-site"}

MakeClient = Callable[[Any], httpx.AsyncClient]


@pytest.fixture
def page(tmp_path: Path) -> Path:
    folder = tmp_path / "page"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text(INDEX, encoding="utf-8")
    (folder / "manifest.json").write_text("{}", encoding="utf-8")
    (folder / "assets" / "index-1a.js").write_text(SCRIPT, encoding="utf-8")
    (folder / "assets" / "index-1a.css").write_text("p { margin: 0 }\n" * 100, encoding="utf-8")
    (folder / "assets" / "icon-1a.svg").write_text("<svg/>", encoding="utf-8")
    return folder


@pytest.fixture
def make_paged(world: World, page: Path) -> Callable[..., FastAPI]:
    def make(authenticator: KnownCallers | None = None, **limits: Any) -> FastAPI:
        services = world.services(authenticator=authenticator or KnownCallers())
        return create_app(services, HttpLimits(**limits), page=page)

    return make


@pytest.fixture
async def client(make_paged: Callable[..., FastAPI], make_client: MakeClient) -> AsyncIterator[httpx.AsyncClient]:
    async with make_client(make_paged()) as client:
        yield client


async def test_the_page_is_at_the_root(client: httpx.AsyncClient) -> None:
    for path in ("/", "/?from=a+mail&from=another", "/v1/"):
        answer = await client.get(path)
        assert (answer.status_code, answer.text) == (200, INDEX)
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        assert answer.headers["cache-control"] == "no-cache"
        assert answer.headers.get_list("content-security-policy") == [POLICY]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["x-frame-options"] == "DENY"


async def test_a_head_says_what_a_get_would(client: httpx.AsyncClient) -> None:
    for path in FILES:
        for headers in ({"Accept-Encoding": "gzip"}, {"Accept-Encoding": "identity"}):
            got, head = await client.get(path, headers=headers), await client.head(path, headers=headers)
            assert (head.status_code, head.content) == (200, b"")
            different = {name for name, value in got.headers.items() if head.headers.get(name) != value}
            assert different == {"x-request-id"}, path


async def test_files_are_kept_for_good_under_their_types(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("starlette.responses.guess_type", lambda *_: ("text/plain", None))  # a machine's odd table
    for path, media_type in (
        ("/assets/index-1a.js", "text/javascript; charset=utf-8"),
        ("/assets/index-1a.css", "text/css; charset=utf-8"),
        ("/assets/icon-1a.svg", "image/svg+xml"),
    ):
        answer = await client.get(path)
        assert answer.status_code == 200
        assert answer.headers["content-type"] == media_type
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert "script-src" not in answer.headers["content-security-policy"]
        assert "last-modified" not in answer.headers  # a part could be asked for by it, of the other form


async def test_what_is_held_is_not_sent_again(client: httpx.AsyncClient) -> None:
    for path in FILES:
        first = await client.get(path)
        etag = first.headers["etag"]
        for condition in (etag, etag.removeprefix("W/"), f'"other", {etag}', "*"):
            again = await client.get(path, headers={"If-None-Match": condition})
            assert (again.status_code, again.content) == (304, b""), (path, condition)
            # they take the place of those that are held
            for name in ("etag", "cache-control", "content-security-policy"):
                assert again.headers.get_list(name) == first.headers.get_list(name), (path, name)
            assert again.headers["vary"] == "Accept-Encoding"
        assert (await client.get(path, headers={"If-None-Match": '"other"'})).status_code == 200


async def test_another_build_is_seen_whatever_its_date_and_length(client: httpx.AsyncClient, page: Path) -> None:
    index = page / "index.html"
    before = await client.get("/")
    date = index.stat().st_mtime
    index.write_text(INDEX.replace("index-1a.js", "index-2b.js"), encoding="utf-8")
    os.utime(index, (date, date))
    for condition in (
        {"If-None-Match": before.headers["etag"]},
        {"If-Modified-Since": "Fri, 31 Dec 2100 00:00:00 GMT"},
    ):
        assert "index-2b.js" in (await client.get("/", headers=condition)).text


async def test_files_come_compressed_to_whoever_takes_that(make_paged: Callable[..., FastAPI], serve: Serve) -> None:
    async with serve(make_paged()) as url, httpx.AsyncClient(base_url=url) as client:
        for path, packed in zip(FILES, (True, True, True, False), strict=True):
            plain = await client.get(path, headers={"Accept-Encoding": "identity"})
            small = await client.get(path, headers={"Accept-Encoding": "gzip, br"})
            assert "content-encoding" not in plain.headers
            assert small.text == plain.text
            if packed:
                assert small.headers["content-encoding"] == "gzip"
                assert plain.headers["vary"] == small.headers["vary"] == "Accept-Encoding"
                assert small.num_bytes_downloaded < plain.num_bytes_downloaded
            assert small.headers["etag"] == plain.headers["etag"]
            assert plain.headers["etag"].startswith("W/")  # one for both forms


async def test_who_asks_for_a_part_gets_the_whole(client: httpx.AsyncClient) -> None:
    for path in (*FILES, "/docs/assets/swagger-ui.css"):
        whole = await client.get(path)
        for part in ("bytes=0-9", "bytes=-5", "bytes=999999999-", "bytes=5-2", "bytes=0-1,5-6", "lines=1-2", "none"):
            answer = await client.get(path, headers={"Range": part})
            assert (answer.status_code, answer.content) == (200, whole.content), (path, part)
            assert "content-range" not in answer.headers


async def test_nothing_else_is_there(client: httpx.AsyncClient, page: Path) -> None:
    (page / "assets" / "sub").mkdir()
    (page / "assets" / "sub" / "in.js").write_text("1", encoding="utf-8")
    (page / "assets" / "link.js").symlink_to("/etc/hostname")
    for path in (
        "/index.html",
        "/manifest.json",
        "/assets",
        "/assets/",
        "/assets/none.js",
        "/assets/%2e%2e",
        "/assets/%2e%2e%2findex.html",
        "/assets/..%5cindex.html",
        "/assets/%2fetc%2fhostname",
        "/assets/sub",
        "/assets/sub/in.js",
        "/assets/link.js",
        "/assets/index-1a.js%00",
        "/assets/index-1a.js/",
        f"/assets/{'x' * 5000}",
        "/ask-page",
    ):
        answer = await client.get(path)
        assert (answer.status_code, answer.json()["code"]) == (404, "no_such_path"), path
        assert answer.headers["cache-control"] == "no-store"


async def test_a_path_is_taken_as_it_is_sent(make_paged: Callable[..., FastAPI], serve: Serve) -> None:
    async with serve(make_paged(KnownCallers(local=False))) as url:
        for path, status in (("/assets/.", 404), ("/assets/..", 404), ("/assets/../index.html", 404), ("//", 401)):
            request = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
            answer = await raw_exchange(url, request.encode())
            assert answer.startswith(f"HTTP/1.1 {status} ".encode()), path


async def test_the_page_is_open_where_all_else_needs_a_key(
    make_paged: Callable[..., FastAPI], make_client: MakeClient
) -> None:
    callers = KnownCallers(local=False)
    async with make_client(make_paged(callers)) as client:
        for headers in ({}, bearer("one.wrong"), {"Authorization": "Basic b25lOndyb25n"}):
            for path in FILES:
                assert (await client.get(path, headers=headers)).status_code == 200, path
        for method, path in (
            ("POST", "/"),
            ("DELETE", "/assets/index-1a.js"),
            ("GET", "/assets/none.js"),
            ("GET", "/assets/%2e%2e/documents"),
            ("DELETE", "/assets/%2e%2e/documents/a"),
            ("POST", "/assets/%2e%2e/search"),
        ):
            assert (await client.request(method, path)).status_code in (404, 405), path
        assert callers.asked == []
        for path in ("/documents", "/none", "/assetsx", "/docs/assets/swagger-ui.css", "/status"):
            assert (await client.get(path)).status_code == 401, path


async def test_no_bind_closes_it(make_paged: Callable[..., FastAPI]) -> None:
    transport = httpx.ASGITransport(_bound(make_paged(), "192.0.2.7"), raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://rag.example") as client:
        assert (await client.get("/documents")).status_code == 401
        for path in FILES:
            assert (await client.get(path)).status_code == 200


def _bound(app: ASGIApp, address: str) -> ASGIApp:
    async def there(scope: Scope, receive: Receive, send: Send) -> None:
        await app({**scope, "server": (address, 8000)}, receive, send)

    return there


async def test_no_limit_of_a_key_and_no_crowd_keeps_it_away(
    world: World, make_paged: Callable[..., FastAPI], serve: Serve
) -> None:
    world.repository.fault.delay = 30.0
    app = make_paged(
        rate_limit_per_minute=1, rate_limit_burst=1, max_concurrent_requests=1, admission_wait_seconds=0.05
    )
    key = bearer("one.secret")
    async with serve(app) as url, httpx.AsyncClient(base_url=url, timeout=30) as client:
        working = asyncio.create_task(client.post("/search", json={"query": "plazo"}, headers=key))
        await until(lambda: app.state.admission.taken == 1)
        assert (await client.get("/documents", headers=key)).status_code == 429
        assert (await client.get("/documents")).status_code == 503
        for path in FILES * 2:
            assert (await client.get(path, headers=key)).status_code == 200
        working.cancel()


async def test_pages_of_others_may_lead_to_it_and_no_more(client: httpx.AsyncClient) -> None:
    assert (await client.get("/", headers={**EVIL, "Sec-Fetch-Mode": "navigate"})).status_code == 200
    own = {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors"}
    for path in FILES:
        assert (await client.get(path, headers=own)).status_code == 200
        for headers in ({**EVIL, "Sec-Fetch-Mode": "no-cors"}, {"Origin": "http://evil.example"}):
            refused = await client.get(path, headers=headers)
            assert (refused.status_code, refused.json()["code"]) == (403, "foreign_origin")
    for method, path in (("GET", "/assets/index-1a.js"), ("POST", "/"), ("GET", "/documents")):
        answer = await client.request(method, path, headers={**EVIL, "Sec-Fetch-Mode": "navigate"})
        assert answer.status_code == 403, path


async def test_a_host_of_anothers_name_is_refused(make_paged: Callable[..., FastAPI], make_client: MakeClient) -> None:
    async with make_client(make_paged(allowed_hosts=frozenset({"localhost"}))) as client:
        for path in FILES:
            assert (await client.get(path)).status_code == 200
            assert (await client.get(path, headers={"Host": "evil.example"})).status_code == 421


async def test_without_its_files_all_else_works(
    world: World, page: Path, tmp_path: Path, make_client: MakeClient
) -> None:
    folder = tmp_path / "none"
    async with make_client(create_app(world.services(), HttpLimits(), page=folder)) as client:
        answer = await client.get("/")
        assert (answer.status_code, answer.json()["code"]) == (503, "page_missing")
        assert "npm run build" in answer.json()["detail"]
        assert (await client.get("/assets/index-1a.js")).status_code == 404
        assert (await client.get("/docs")).status_code == 200
        page.rename(folder)  # built meanwhile
        for path in FILES:
            assert (await client.get(path)).status_code == 200


async def test_its_requests_are_counted_by_route(client: httpx.AsyncClient) -> None:
    for path in (*FILES, "/assets/none.js"):
        await client.get(path)
    counted = (await client.get("/metrics")).text
    assert 'http_requests_total{method="GET",route="/",status="200"} 1.0' in counted
    assert 'http_requests_total{method="GET",route="/assets/{name}",status="200"} 3.0' in counted
    assert 'http_requests_total{method="GET",route="/assets/{name}",status="404"} 1.0' in counted


def behind_prefix(app: ASGIApp, prefix: str) -> ASGIApp:
    """Stand in for a proxy that takes the prefix off, and has nothing elsewhere."""

    async def proxied(scope: Scope, receive: Receive, send: Send) -> None:
        assert scope["path"].startswith(f"{prefix}/"), scope["path"]
        raw = scope["raw_path"].removeprefix(prefix.encode())
        await app({**scope, "path": scope["path"].removeprefix(prefix), "raw_path": raw}, receive, send)

    return proxied


async def test_behind_a_prefix_every_address_leads_to_the_service(
    make_paged: Callable[..., FastAPI], make_client: MakeClient
) -> None:
    async with make_client(behind_prefix(make_paged(), "/rag")) as client:
        for place, count in (("/rag/", 3), ("/rag/docs", 4), ("/rag/v1/docs", 4)):
            text = (await client.get(place)).text
            addresses = re.findall(r"(?:src|href)=\"([^\"]+)\"|url: '([^']+)'", text)
            assert len(addresses) == count
            for address in map("".join, addresses):
                assert (await client.get(urljoin(place, address))).status_code == 200, address
        description = (await client.get("/rag/openapi.json")).json()
        (server,) = description["servers"]
        assert (await client.get(f"{urljoin('/rag/openapi.json', server['url'])}healthz")).status_code == 200

"""Who calls, over a socket: which paths need a key, what is said to one that is none, and what is read of it."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from ragcorp.domain.keys import Scope
from ragcorp.interface.http.app import create_app
from ragcorp.interface.http.protocol.limits import HttpLimits
from support.fixtures.http import Serve
from support.http.fakes import World
from support.http.keys import KeyWorld
from support.http.serving import raw_exchange

pytestmark = pytest.mark.anyio

SECRET = "A" * 43
"""A secret that no key has."""


@pytest.fixture
def keys() -> KeyWorld:
    return KeyWorld()


@pytest.fixture
def app(world: World, keys: KeyWorld) -> FastAPI:
    return create_app(replace(world.services(), authenticator=keys.authenticate), HttpLimits())


@pytest.fixture
async def url(app: FastAPI, serve: Serve) -> AsyncIterator[str]:
    async with serve(app) as url:
        yield url


def bearer(credential: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {credential}"}


async def test_all_is_open_to_this_machine_until_there_is_a_key(url: str, keys: KeyWorld) -> None:
    async with httpx.AsyncClient(base_url=url) as client:
        for path in ("/documents", "/metrics", "/openapi.json", "/docs"):
            assert (await client.get(path)).status_code == 200, path
        created = await keys.key(*Scope)
        keys.seconds = 2.0
        for path in (
            "/documents",
            "/metrics",
            "/openapi.json",
            "/docs",
            "/docs/assets/swagger-ui.css",
            "/none",
            "/assetsx",
        ):
            for given in (path, f"/v1{path}"):
                refused = await client.get(given)
                assert refused.status_code == 401, given
                assert refused.headers["content-type"] == "application/problem+json"
                assert refused.json()["code"] == "unauthenticated"
        assert (await client.get("/documents", headers=bearer(created.credential))).status_code == 200
        assert (await client.get("/none", headers=bearer(created.credential))).status_code == 404
        for path in ("/healthz", "/readyz", "/v1/healthz", "/v1/readyz"):
            assert (await client.get(path)).status_code == 200
            assert (await client.head(path)).status_code == 200


async def test_every_wrong_credential_has_the_same_answer(url: str, keys: KeyWorld) -> None:
    active, revoked, expired = await keys.key(), await keys.key(), await keys.key(days=1)
    await keys.store.revoke(revoked.key.id, at=keys.now())
    keys.seconds = 2 * 86_400.0
    wrong: list[list[tuple[str, str]]] = [
        [],
        [("Authorization", "")],
        [("Authorization", "Bearer")],
        [("Authorization", "Bearer x")],
        [("Authorization", f"Bearer {'x' * 20_000}")],
        [("Authorization", f"Bearer {active.credential}"), ("Authorization", f"Bearer {active.credential}")],
        [("Authorization", f"Basic {base64.b64encode(active.credential.replace('.', ':').encode()).decode()}")],
        [("Authorization", active.credential)],
        [("Authorization", f"Bearer {active.key.id}.{SECRET}")],
        [("Authorization", f"Bearer rk_{'a' * 16}.{SECRET}")],
        [("Authorization", f"Bearer {revoked.credential}")],
        [("Authorization", f"Bearer {expired.credential}")],
    ]
    answers = []
    async with httpx.AsyncClient(base_url=url) as client:
        for headers in wrong:
            answer = await client.get("/documents", headers=[*headers, ("X-Request-ID", "same")])
            answers.append((answer.status_code, answer.headers["www-authenticate"], answer.text))
        assert (await client.get("/documents", headers=bearer(active.credential))).status_code == 403
    assert len(set(answers)) == 1
    assert answers[0][:2] == (401, "Bearer")
    for credential in (active, revoked, expired):
        assert credential.key.id not in answers[0][2]


async def test_a_body_is_not_waited_for_before_the_key_is_known(url: str, keys: KeyWorld) -> None:
    await keys.key()
    answer = await raw_exchange(
        url,
        b"PUT /documents/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900000\r\n"
        b"Expect: 100-continue\r\nConnection: close\r\n\r\n",
    )
    assert answer.startswith(b"HTTP/1.1 401 ")
    assert b"100 Continue" not in answer


async def test_a_browser_opens_the_description_with_basic_and_nothing_else(url: str, keys: KeyWorld) -> None:
    created = await keys.key(*Scope)
    key_id, _, secret = created.credential.partition(".")
    async with httpx.AsyncClient(base_url=url, auth=(key_id, secret)) as client:
        for path in ("/docs", "/openapi.json", "/docs/assets/swagger-ui.css", "/v1/docs"):
            assert (await client.get(path)).status_code == 200, path
        # a browser sends it by itself, also with what the page of a stranger asks for
        assert (await client.get("/documents")).status_code == 401
        assert (await client.post("/documents/a/restore")).status_code == 401
        assert (await client.post("/docs")).status_code == 401
    async with httpx.AsyncClient(base_url=url, auth=(key_id, SECRET)) as client:
        refused = await client.get("/docs")
    assert refused.status_code == 401
    assert refused.headers["www-authenticate"].startswith("Basic ")


async def test_keys_that_cannot_be_looked_up_are_no_401(url: str, keys: KeyWorld) -> None:
    created = await keys.key(*Scope)
    keys.store.out = True
    async with httpx.AsyncClient(base_url=url) as client:
        answer = await client.get("/documents", headers=bearer(created.credential))
        assert (answer.status_code, answer.json()["reason"]) == (503, "unreachable")
        assert int(answer.headers["retry-after"]) >= 1
        assert (await client.get("/healthz")).status_code == 200


@pytest.mark.parametrize(
    ("address", "status"),
    [
        (("127.0.0.1", 80), 200),
        (("::1", 80), 200),
        (("::ffff:127.0.0.1", 80), 200),
        (None, 200),
        (("10.0.0.5", 80), 401),
        (("::ffff:10.0.0.5", 80), 401),
        (("fe80::1%eth0", 80), 401),
        (("elsewhere.example", 80), 401),
    ],
)
async def test_without_a_key_only_a_loopback_address_is_open(
    app: FastAPI, make_client: Callable[[Any], httpx.AsyncClient], address: tuple[str, int] | None, status: int
) -> None:
    """Whatever serves the application, and wherever that listens."""

    async def reached(scope: Any, receive: Any, send: Any) -> None:
        await app({**scope, "server": address}, receive, send)

    async with make_client(reached) as client:
        assert (await client.get("/documents")).status_code == status


async def test_a_key_is_neither_logged_nor_counted_by_name(
    url: str, keys: KeyWorld, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    created = await keys.key(*Scope)
    secret = created.credential.partition(".")[2]
    async with httpx.AsyncClient(base_url=url) as client:
        for headers in (bearer(created.credential), bearer(f"rk_{'a' * 16}.{secret}"), bearer(f"{secret}{secret}")):
            answer = await client.get("/documents", headers=headers)
            assert secret not in answer.text + str(answer.headers)
        metrics = (await client.get("/metrics", headers=bearer(created.credential))).text
    assert secret not in metrics
    assert created.key.id not in metrics
    assert 'http_refusals_total{reason="unauthenticated"} 2.0' in metrics
    ours = [record for record in caplog.records if not record.name.startswith(("httpcore", "httpx"))]
    assert secret not in "".join(record.getMessage() for record in ours)

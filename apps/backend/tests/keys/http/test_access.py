"""Every operation of the description with every key: none, a wrong one, one that ended, and one of each scope alone."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from ragcorp.domain.keys import Scope
from ragcorp.interface.http.app import create_app
from ragcorp.interface.http.layers.access import OPEN_OPERATIONS, SCOPES, scope_of
from ragcorp.interface.http.layers.bounded_route import BoundedRoute
from ragcorp.interface.http.protocol.limits import HttpLimits
from support.fixtures.http import Serve
from support.http.fakes import World
from support.http.keys import KeyWorld

pytestmark = pytest.mark.anyio

METHODS = ("get", "put", "post", "patch", "delete")
VALUES = {"collection": "memory", "external_id": "a", "episode_id": "e"}


@pytest.fixture
def keys() -> KeyWorld:
    return KeyWorld()


@pytest.fixture
def app(world: World, keys: KeyWorld) -> FastAPI:
    return create_app(replace(world.services(), authenticator=keys.authenticate), HttpLimits())


@pytest.fixture
async def client(app: FastAPI, serve: Serve) -> AsyncIterator[httpx.AsyncClient]:
    async with serve(app) as url, httpx.AsyncClient(base_url=url) as client:
        yield client


def operations(description: dict[str, Any]) -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    """Yield method, a path, operation id and description of each."""
    for path, item in description["paths"].items():
        for method in METHODS:
            if method in item:
                yield method.upper(), path.format(**VALUES), item[method]["operationId"], item[method]


async def test_each_operation_needs_its_scope_and_no_other(client: httpx.AsyncClient, keys: KeyWorld) -> None:
    described = list(operations((await client.get("/openapi.json")).json()))
    assert {name for _, _, name, _ in described} <= SCOPES.keys() | OPEN_OPERATIONS
    assert len(described) > 30
    by_scope = {scope: (await keys.key(scope)).credential for scope in Scope}
    revoked, expired = await keys.key(*Scope), await keys.key(*Scope, days=1)
    await keys.store.revoke(revoked.key.id, at=keys.now())
    keys.seconds = 2 * 86_400.0
    wrong = [None, f"rk_{'a' * 16}.{'A' * 43}", revoked.credential, expired.credential]
    for method, path, name, _ in described:
        needed = scope_of(name)

        async def status(credential: str | None, method: str = method, path: str = path) -> tuple[int, str]:
            headers = {} if credential is None else {"Authorization": f"Bearer {credential}"}
            answer = await client.request(method, path, headers=headers)
            return answer.status_code, answer.text

        for credential in wrong:
            assert ((await status(credential))[0] == 401) == (needed is not None), (name, credential)
        for scope, credential in by_scope.items():
            result, text = await status(credential)
            if needed in (None, scope):
                assert result not in (401, 403), (name, scope)
            else:
                assert result == 403, (name, scope)
                assert f"the scope {needed}" in text


async def test_the_description_tells_of_keys(client: httpx.AsyncClient, keys: KeyWorld) -> None:
    description = (await client.get("/openapi.json")).json()
    (name,) = description["components"]["securitySchemes"]
    assert description["components"]["securitySchemes"][name]["scheme"] == "bearer"
    assert description["security"] == [{}, {name: []}]  # none is needed before there is one
    created = await keys.key(Scope.SEARCH)
    keys.seconds += 2.0
    with_key = await client.get("/openapi.json", headers={"Authorization": f"Bearer {created.credential}"})
    assert with_key.json() == {**description, "security": [{name: []}]}
    for _, path, operation, described in operations(description):
        if operation in OPEN_OPERATIONS:
            assert described["security"] == []
            assert "401" not in described["responses"]
        else:
            assert {"401", "403", "429"} <= described["responses"].keys(), path
            assert f"`{SCOPES[operation]}`" in described["description"]


def test_an_operation_that_nobody_decided_on_does_not_start() -> None:
    async def handler() -> None: ...

    for name in ("new_operation", None):
        with pytest.raises(LookupError):
            BoundedRoute("/new", handler, operation_id=name)


async def test_asking_needs_ask_alone_and_reading_more(client: httpx.AsyncClient, keys: KeyWorld) -> None:
    headers = {"Authorization": f"Bearer {(await keys.key(Scope.ASK)).credential}"}
    assert (await client.post("/ask", json={"query": "plazo"}, headers=headers)).status_code == 200
    assert (await client.post("/ask", json={"query": "plazo", "stream": True}, headers=headers)).status_code == 200
    assert (await client.post("/search", json={"query": "plazo"}, headers=headers)).status_code == 403

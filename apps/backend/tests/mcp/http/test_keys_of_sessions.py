"""An assistant's key: what it is shown and may call, whose data it sees, and that its session is nobody else's."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from ragcorp.application.keys.create import CreatedKey, CreateKey, KeyRequest
from ragcorp.domain.keys import Scope
from ragcorp.infrastructure.postgres.keys.store import PostgresKeyStore
from ragcorp.main.service import mcp as main_mcp
from ragcorp.main.service.app import run_service
from ragcorp.main.wiring.container import Container
from ragcorp.main.wiring.keys import make_digests, utc_now
from support.mcp.serving import INITIALIZE, JSON_AND_EVENTS, SESSION, message_of, serving

pytestmark = pytest.mark.anyio

SEARCHES = {"hybrid_search", "vector_search", "memory_search", "context"}
FILES = {"grep_search", "read_file"}
PAGE = "https://app.example.com"
PATIENCE = dict.fromkeys(
    (
        "database_pool_timeout_seconds",
        "source_timeout_seconds",
        "search_timeout_seconds",
        "embed_wait_seconds",
        "request_timeout_seconds",
        "admission_wait_seconds",
    ),
    60.0,
)
"""A busy machine is no fault of what is tested: no deadline ends a request here."""
ARGUMENT = {"hybrid_search": "semantic_query"}


@dataclass(frozen=True)
class Place:
    url: str
    container: Container

    async def key(self, *scopes: Scope, workspace: str = "default") -> CreatedKey:
        store = PostgresKeyStore(database=self.container.database)
        create = CreateKey(
            store=store, digests=make_digests(self.container.settings, store), random=os.urandom, now=utc_now
        )
        return await create.create(KeyRequest(scopes=frozenset(scopes), workspace=workspace))


@pytest.fixture
async def place(make_container: Callable[..., Any]) -> AsyncIterator[Place]:
    container: Container = await make_container(key_cache_seconds=0, cors_origins=PAGE, **PATIENCE)
    async with run_service(container) as app, serving(app) as url:
        yield Place(f"{url}/mcp", container)
        await app.state.mcp.end_sessions()


class Assistant:
    """A client of one key."""

    def __init__(self, client: httpx.AsyncClient, url: str, key: CreatedKey) -> None:
        self._client = client
        self._url = url
        self.headers = {**JSON_AND_EVENTS, "Authorization": f"Bearer {key.credential}"}

    async def start(self) -> str:
        answer = await self._client.post(self._url, json=INITIALIZE, headers=self.headers)
        assert answer.status_code == 200, answer.text
        self.headers[SESSION] = answer.headers[SESSION]
        return answer.headers[SESSION]

    async def send(self, method: str, **params: Any) -> httpx.Response:
        message = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}
        return await self._client.post(self._url, json=message, headers=self.headers)

    async def tools(self) -> set[str]:
        return {tool["name"] for tool in message_of(await self.send("tools/list"))["result"]["tools"]}

    async def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        outcome: dict[str, Any] = message_of(await self.send("tools/call", name=name, arguments=arguments))["result"]
        return outcome


async def test_a_key_is_shown_and_may_call_what_its_scopes_allow(place: Place) -> None:
    async with httpx.AsyncClient(timeout=60) as client:
        for scopes, shown in (
            ((Scope.TOOLS,), FILES),
            ((Scope.TOOLS, Scope.SEARCH), FILES | SEARCHES),
            ((Scope.TOOLS, Scope.ASK), FILES | {"ask"}),
        ):
            assistant = Assistant(client, place.url, await place.key(*scopes))
            await assistant.start()
            assert await assistant.tools() == shown
            for name in sorted((FILES | SEARCHES | {"ask"}) - shown):
                refused = await assistant.call(name, nonsense=1)
                assert refused["isError"]
                assert "lacks the scope" in refused["content"][0]["text"]
        refused_there = Assistant(client, place.url, await place.key(Scope.SEARCH, Scope.ASK))
        answer = await refused_there.send("tools/list")
        assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
        assert (await client.post(place.url, json=INITIALIZE, headers=JSON_AND_EVENTS)).status_code == 401


async def test_a_session_is_its_openers(place: Place) -> None:
    """To another key, of whatever workspace, it is one that there is not; and so it cannot be ended or listened to."""
    async with httpx.AsyncClient(timeout=60) as client:
        owner = Assistant(client, place.url, await place.key(Scope.TOOLS))
        other = Assistant(client, place.url, await place.key(Scope.TOOLS))
        session = await owner.start()
        other.headers[SESSION] = "0" * 32
        unknown = await other.send("tools/list")
        other.headers[SESSION] = session
        foreign = await other.send("tools/list")
        assert (foreign.status_code, foreign.text) == (unknown.status_code, unknown.text)
        assert foreign.status_code == 404
        for method in ("GET", "DELETE"):
            assert (await client.request(method, place.url, headers=other.headers)).status_code == 404
        assert await owner.tools() == FILES


async def test_a_page_that_cors_lets_in_uses_the_tools(place: Place) -> None:
    key = await place.key(Scope.TOOLS)
    async with httpx.AsyncClient(timeout=60) as client:
        asked = {
            "Origin": PAGE,
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "authorization, content-type, mcp-session-id, mcp-protocol-version",
        }
        assert (await client.options(place.url, headers=asked)).status_code == 204
        for origin in (PAGE, "https://evil.test"):  # a browser keeps the second answer from its page
            assistant = Assistant(client, place.url, key)
            answer = await client.post(place.url, json=INITIALIZE, headers={**assistant.headers, "Origin": origin})
            assert answer.status_code == 200
            assert answer.headers.get("access-control-allow-origin") == (PAGE if origin == PAGE else None)
            assert "mcp-session-id" in answer.headers["access-control-expose-headers"].lower()


@pytest.fixture
def few_sessions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(main_mcp, "MAX_SESSIONS", 4)
    monkeypatch.setattr(main_mcp, "MAX_SESSIONS_OF_KEY", 2)


@pytest.mark.usefixtures("few_sessions")
async def test_sessions_of_one_key_end_none_of_anothers(place: Place) -> None:
    async with httpx.AsyncClient(timeout=60) as client:
        owner = Assistant(client, place.url, await place.key(Scope.TOOLS))
        await owner.start()
        key = await place.key(Scope.TOOLS)
        for _ in range(6):
            await Assistant(client, place.url, key).start()
        assert await owner.tools() == FILES


async def test_tools_act_in_the_workspace_of_the_key(place: Place) -> None:
    base = place.url.removesuffix("/mcp")
    everything = tuple(Scope)
    keys = {name: await place.key(*everything, workspace=name) for name in ("compras", "ventas")}
    async with httpx.AsyncClient(timeout=60) as client:
        for name, key in keys.items():
            headers = {"Authorization": f"Bearer {key.credential}"}
            body = {"title": "Plazos", "text": f"El plazo de entrega de {name} es secreto-{name}."}
            assert (await client.put(f"{base}/documents/plazos.md", json=body, headers=headers)).status_code == 201
        for name, key in keys.items():
            assistant = Assistant(client, place.url, key)
            await assistant.start()
            for tool in ("hybrid_search", "vector_search", "ask"):
                said = str(await assistant.call(tool, **{ARGUMENT.get(tool, "query"): "plazo de entrega"}))
                assert f"secreto-{name}" in said, (tool, said)
                assert not {f"secreto-{one}" for one in keys if one != name and f"secreto-{one}" in said}


async def test_a_session_ends_with_its_key(place: Place) -> None:
    key = await place.key(Scope.TOOLS)
    async with httpx.AsyncClient(timeout=60) as client:
        assistant = Assistant(client, place.url, key)
        await assistant.start()
        await PostgresKeyStore(database=place.container.database).revoke(key.key.id, at=utc_now())
        assert (await assistant.send("tools/list")).status_code == 401

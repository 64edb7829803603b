"""Two workspaces whose data look alike: nothing that one asks shows that the other is there.

Every operation of the description, every tool and many errors are asked twice: of a database that holds the asking
workspace alone, and of one that holds its twin too, under the same names and under names of its own. The answers are
the same, and none has a byte of what the twin keeps to itself.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from ragcorp.application.keys.create import CreateKey, KeyRequest
from ragcorp.domain.keys import Scope
from ragcorp.infrastructure.postgres.keys.store import PostgresKeyStore
from ragcorp.interface.mcp.tools import TOOLS
from ragcorp.main.service.app import run_service
from ragcorp.main.settings.schema import load_settings
from ragcorp.main.wiring.base import Parts
from ragcorp.main.wiring.container import Container, open_container
from ragcorp.main.wiring.keys import make_digests, utc_now
from support.http.serving import serving
from support.http.workspace_questions import (
    CANARY,
    OURS,
    TOOL_ARGUMENTS,
    TWIN,
    Ask,
    Names,
    contents,
    names_of_nobody,
    reads,
    writes,
)
from support.models.embedders import HashingEmbedder

pytestmark = pytest.mark.anyio

WORKED = frozenset({200, 201, 204})


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """A service on a socket, and a client for each workspace."""

    ours: httpx.AsyncClient
    twin: httpx.AsyncClient
    theirs: Names
    settle: Callable[[], Awaitable[None]]


@pytest.fixture
def open_world(
    make_database: Callable[[str], str], template_database: str, postgres_server: Any, tmp_path: Path
) -> Callable[..., Any]:
    @asynccontextmanager
    async def opened(*, with_twin: bool) -> AsyncIterator[World]:
        root = tmp_path / ("con" if with_twin else "sin") / "raiz"
        root.mkdir(parents=True)
        if with_twin:
            (root / "secreto.md").write_text(f"El plazo es {CANARY}.", encoding="utf-8")
        settings = load_settings(
            {
                "embedding_provider": "none",
                "allowed_paths": f"raiz={root}",
                "files_workspace": TWIN,
                "enable_hybrid_search": True,
                "embed_wait_seconds": 30.0,
                "request_timeout_seconds": 60.0,
                "rate_limit_per_minute": 0,
            }
        )
        dsn = postgres_server.dsn(make_database(template_database))
        async with open_container(settings, dsn, parts=Parts(embedder=HashingEmbedder())) as container:
            store = PostgresKeyStore(database=container.database)
            create = CreateKey(store=store, digests=make_digests(settings, store), random=os.urandom, now=utc_now)
            keys = [
                (
                    await create.create(
                        KeyRequest(scopes=frozenset(Scope), workspace=workspace, subject="ana", name=f"de {workspace}")
                    )
                ).credential
                for workspace in (OURS, TWIN)
            ]
            async with (
                run_service(container) as app,
                serving(app) as url,
                httpx.AsyncClient(base_url=url, timeout=90, headers=bearer(keys[0])) as ours,
                httpx.AsyncClient(base_url=url, timeout=90, headers=bearer(keys[1])) as twin,
            ):
                for client, workspace in ((twin, TWIN), (ours, OURS)):
                    for method, path, body in contents(workspace) if with_twin or workspace == OURS else ():
                        answer = await client.request(method, path, json=body)
                        assert answer.status_code in WORKED, (method, path, answer.text)
                await settle(container)
                theirs = await names_of(twin) if with_twin else names_of_nobody()
                yield World(ours=ours, twin=twin, theirs=theirs, settle=partial(settle, container))
                await app.state.mcp.end_sessions()

    return opened


async def settle(container: Container) -> None:
    """Wait until everything has its vector: the service's own worker makes them too."""
    embed_pending = container.use_cases.embed_pending
    while (await embed_pending.counts()).pending:
        await embed_pending.embed()


def bearer(credential: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {credential}"}


async def names_of(twin: httpx.AsyncClient) -> Names:
    """Return the twin's ids, which somebody may have told us."""
    chunks = (await twin.get("/collections/artifact_chunks/items")).json()["items"]
    page = (await twin.get("/documents", params={"limit": "1"})).json()
    assert page["next_cursor"]
    document = (await twin.get("/documents/solo.md")).json()
    return {
        **names_of_nobody(),
        "chunk": chunks[0]["external_id"],
        "document_id": document.get("document_id") or document["id"],
        "cursor": page["next_cursor"],
    }


async def sent(client: httpx.AsyncClient, ask: Ask) -> httpx.Response:
    if ask.lines is not None:
        content = json.dumps(ask.lines) + "\n"
        return await client.request(
            ask.method, ask.path, content=content, headers={"Content-Type": "application/x-ndjson"}
        )
    body = {} if ask.body is None else {"json": ask.body}
    return await client.request(ask.method, ask.path, params=dict(ask.params), **body)


UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
BOUNDARY = re.compile(r"MEMORY-[0-9a-f]+")
NUMBER = re.compile(r"\d[\d.]*")
OF_THE_MOMENT = frozenset(
    {"request_id", "next_cursor", "id", "document_id", "degraded", "pending", "reports", "sources"}
    | {"score", "created_at", "updated_at", "occurred_at", "timestamp", "boundary", "context", "elapsed_ms"}
    | {"rank", "rank_before", "rank_after"}
)
"""Fields that differ from run to run: ids, times, ties, and vectors that are made a moment later."""


def plain(answer: httpx.Response) -> Any:
    """Return what an answer says, without order and without what is another one at each request."""
    kind = answer.headers.get("content-type", "")
    if "json" in kind and "ndjson" not in kind:
        return _without_moments(answer.json())
    lines = [line.removeprefix("data: ") for line in answer.text.splitlines() if line and not line.startswith(": ")]
    return sorted(json.dumps(_without_moments(_parsed(line)), sort_keys=True) for line in lines)


def _parsed(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return line


def _without_moments(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {name: _without_moments(inner) for name, inner in value.items() if name not in OF_THE_MOMENT}
        if kept.get("collection") == "history":  # names of the turns of conversations are made up
            kept.pop("external_id", None)
        if "embedding" in kept and "flags" in kept:  # whether vectors wait at the moment makes it ok or degraded
            del kept["status"]
        return kept
    if isinstance(value, list):
        return sorted((_without_moments(inner) for inner in value), key=lambda one: json.dumps(one, sort_keys=True))
    if isinstance(value, str):
        return "\n".join(sorted(NUMBER.sub("N", BOUNDARY.sub("FENCE", UUID.sub("UUID", value))).splitlines()))
    return None if isinstance(value, float) else value


async def heard(world: World, asks: Mapping[str, list[Ask]], operations: set[str]) -> dict[str, Any]:
    """Ask all, look for the twin's words in each answer, and return the answers."""
    answers: dict[str, Any] = {}
    faults: list[str] = []
    for operation, number, ask in (
        (operation, number, ask)
        for operation, each in asks.items()
        if operation in operations
        for number, ask in enumerate(each)
    ):
        answer = await sent(world.ours, ask)
        wrong = (
            CANARY in answer.text + str(answer.headers)
            or (ask.works is not None and (answer.status_code in WORKED) != ask.works)
            or answer.status_code >= 500
        )
        if wrong:
            faults.append(f"{operation} {number}: {answer.status_code} {answer.text[:2000]}")
        if ask.same:
            answers[f"{operation} {number}"] = (answer.status_code, plain(answer))
    assert not faults, "\n".join(faults)
    return answers


async def told_by_tools(world: World) -> dict[str, Any]:
    """Call every tool of an assistant, and return what each said."""
    said: dict[str, Any] = {}
    headers = {"Accept": "application/json, text/event-stream"}
    client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}

    async def send(method: str, params: Mapping[str, Any]) -> httpx.Response:
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return await world.ours.post("/mcp", json=message, headers=headers)

    headers["mcp-session-id"] = (await send("initialize", client)).headers["mcp-session-id"]
    for tool in TOOLS:
        answer = await send("tools/call", {"name": tool.name, "arguments": TOOL_ARGUMENTS[tool.name]})
        assert answer.status_code == 200
        assert CANARY not in answer.text, (tool.name, answer.text)
        said[tool.name] = plain(answer)
    return said


async def held_by(client: httpx.AsyncClient) -> list[str]:
    """Return all that a workspace holds."""
    paths = [
        "/documents",
        "/documents/plazos.md/content",
        *(f"/collections/{name}/items" for name in ("artifact_chunks", "memory", "history")),
        "/graph/entities",
        "/graph/facts",
        "/collections/facets",
        "/introspect/hydration/e-1",
    ]
    return [re.sub(r'"request_id":"[^"]*"', "", (await client.get(path)).text) for path in paths]


async def test_a_workspace_cannot_tell_that_another_is_there(open_world: Callable[..., Any]) -> None:
    async with open_world(with_twin=False) as alone:
        description = (await alone.ours.get("/openapi.json")).json()
        operations = {
            operation["operationId"] for methods in description["paths"].values() for operation in methods.values()
        }
        forgotten = operations - reads(alone.theirs).keys() - writes(alone.theirs).keys()
        assert not forgotten, f"operations that this test does not ask: {forgotten}"
        expected = await heard(alone, reads(alone.theirs), operations)
        await alone.settle()  # a tool says where vectors are missing
        tools = await told_by_tools(alone)
        expected |= await heard(alone, writes(alone.theirs), operations)
    assert "colibri" in str(expected)
    assert "colibri" in str(tools["hybrid_search"])
    async with open_world(with_twin=True) as beside:
        before = await held_by(beside.twin)
        assert CANARY in str(before)
        results = await heard(beside, reads(beside.theirs), operations)
        await beside.settle()
        found_by_tools = await told_by_tools(beside)
        results |= await heard(beside, writes(beside.theirs), operations)
        assert await held_by(beside.twin) == before, "what one workspace wrote changed the other"
    differing = [
        f"{name}: {answer}\nbeside: {results[name]}" for name, answer in expected.items() if results[name] != answer
    ]
    differing += [
        f"{name}: {said}\nbeside: {found_by_tools[name]}"
        for name, said in tools.items()
        if found_by_tools[name] != said
    ]
    assert not differing, "\n\n".join(differing)

"""Two workspaces whose data look alike: nothing that one asks shows that the other is there.

Every operation of the description, every tool and many errors are asked twice: of a database that holds the asking
workspace alone, and of one that holds its twin too, under the same names and under names of its own. The answers are
the same, and none has a byte of what the twin keeps to itself.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import httpx
import pytest

from ragcorp.application.create_key import CreateKey, KeyRequest
from ragcorp.domain.keys import Scope
from ragcorp.infrastructure.postgres.key_store import PostgresKeyStore
from ragcorp.interface.mcp.tools import TOOLS
from ragcorp.main.app import run_app
from ragcorp.main.container import Parts, open_container
from ragcorp.main.key_parts import make_digests, utc_now
from ragcorp.main.settings import load_settings
from support.embedders import HashingEmbedder

from .serving import serving

pytestmark = pytest.mark.anyio

OURS, TWIN = "uno", "dos"
CANARY = "quetzal"
"""In every secret of the twin."""

QUERY = f"plazo de entrega de Acme Corporation {CANARY[:-1]}"
"""A word that the twin alone has, mistyped: what corrects it must not know the twin's words."""

WORKED = frozenset({200, 201, 204})


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """A request of an operation. ``told``: its answer must be the same beside a twin, and have worked or not."""

    method: str
    path: str
    body: Any = None
    lines: Any = None
    params: Mapping[str, str] = field(default_factory=dict)
    same: bool = True
    works: bool | None = True


Names = Mapping[str, str]
"""What only the twin has: names and ids."""


def read(path: str, **params: str) -> Ask:
    return Ask(method="GET", path=path, params=params)


def miss(method: str, path: str, body: Any = None, **params: str) -> Ask:
    return Ask(method=method, path=path, body=body, params=params, works=False)


def write(method: str, path: str, body: Any = None, **params: str) -> Ask:
    return Ask(method=method, path=path, body=body, params=params)


def reads(theirs: Names) -> dict[str, list[Ask]]:
    """What is asked, by operation id, in an order in which nothing is changed."""
    query = {"query": QUERY, "limit": 50}
    their_document = {"document_id": theirs["document_id"]}
    their_cursor = theirs["cursor"]
    documents, memory = "/documents", "/collections/memory/items"
    return {
        "search": [
            *(
                write("POST", "/search", query | {"mode": mode, "explain": True, "facets": True})
                for mode in ("dense", "sparse", "hybrid", "auto")
            ),
            *(
                write("POST", "/search", query | {"profile": profile, "explain": True, "include_memory": True})
                for profile in ("collections", "memory", "code", "files")
            ),
            write("POST", "/search", query | {"filters": their_document}),
            write("POST", "/search", query | {"episode_id": "e-1"}),
            write("POST", "/search", query | {"exact_keywords": "plazo es"}),
            write("POST", "/search", query | {"stream": True}),
            write("POST", "/search", query | {"expand_neighbors": 2, "fusion": {"rank_window_size": 100}}),
        ],
        "ask": [
            write("POST", "/ask", {"query": QUERY}),
            write("POST", "/ask", {"query": QUERY, "stream": True}),
            write("POST", "/ask", {"query": QUERY, "profile": "memory", "conversation_id": "c-1"}),
            write("POST", "/ask", {"query": "¿y cuándo?", "conversation_id": "c-1"}),
            write("POST", "/ask", {"query": QUERY, "episode_id": "e-1"}),
            write("POST", "/ask", {"query": QUERY, "filters": their_document}),
        ],
        "load_context": [read("/context"), read("/context", query=QUERY), read("/context", session="s-1")],
        "introspect_hydration": [
            read("/introspect/hydration/e-1"),
            miss("GET", f"/introspect/hydration/{theirs['episode']}"),
        ],
        "list_documents": [
            read(documents),
            read(documents, prefix="plazos"),
            read(documents, deleted="true"),
            Ask(method="GET", path=documents, params={"cursor": their_cursor}, same=False, works=None),
        ],
        "get_document": [read(f"{documents}/plazos.md"), miss("GET", f"{documents}/{theirs['document']}")],
        "get_document_content": [
            read(f"{documents}/plazos.md/content"),
            miss("GET", f"{documents}/{theirs['document']}/content"),
        ],
        "list_collections": [read("/collections")],
        "count_facets": [read("/collections/facets")],
        "list_items": [
            read(f"/collections/{name}/items") for name in ("artifacts", "artifact_chunks", "memory", "history")
        ],
        "get_item": [
            read(f"{memory}/m-1"),
            read("/collections/history/items/t-1"),
            miss("GET", f"{memory}/{theirs['memory']}"),
            miss("GET", f"/collections/artifact_chunks/items/{quote(theirs['chunk'], safe='')}"),
            miss("GET", f"/collections/artifacts/items/{theirs['document']}"),
        ],
        "list_entities": [read("/graph/entities"), read("/graph/entities", name="Acme Corporation")],
        "get_entity": [read("/graph/entities/acme"), miss("GET", f"/graph/entities/{theirs['entity']}")],
        "list_facts": [read("/graph/facts"), read("/graph/facts", entity="acme")],
        "get_fact": [read("/graph/facts/f-1"), miss("GET", f"/graph/facts/{theirs['fact']}")],
        "grep": [miss("POST", "/grep", {"query": "plazo"})],
        "read_file": [miss("POST", "/files/read", {"path": "raiz/secreto.md"})],
        "status": [read("/status")],
        "metrics": [Ask(method="GET", path="/metrics", same=False)],
        "healthz": [read("/healthz")],
        "readyz": [read("/readyz")],
    }


def writes(theirs: Names) -> dict[str, list[Ask]]:
    """What changes something; the names are the twin's too, or the twin's alone."""
    text = "El plazo de Acme Corporation es de diez días."
    memory = "/collections/memory/items"
    their_chunk = f"/collections/artifact_chunks/items/{quote(theirs['chunk'], safe='')}"
    return {
        "patch_item": [
            write("PATCH", f"{memory}/m-1", {"text": text}),
            miss("PATCH", f"{memory}/{theirs['memory']}", {"text": text}),
            miss("PATCH", their_chunk, {"text": text}),
        ],
        "put_item": [write("PUT", f"{memory}/m-1", {"text": text})],
        "add_item": [write("POST", memory, {"text": text, "external_id": "m-9"})],
        "bulk_items": [Ask(method="POST", path=f"{memory}/bulk", lines={"external_id": "m-8", "text": text})],
        "delete_item": [write("DELETE", f"{memory}/m-1"), miss("DELETE", f"{memory}/{theirs['memory']}")],
        "delete_items": [write("DELETE", memory, prefix="m-")],
        "put_entity": [write("PUT", "/graph/entities/acme", {"name": "Acme Corporation", "description": text})],
        "add_entity": [write("POST", "/graph/entities", {"name": "Luis", "external_id": "luis"})],
        "put_fact": [
            write("PUT", "/graph/facts/f-1", {"subject": "Luis", "predicate": "lleva", "object": "Acme Corporation"}),
            miss(
                "PUT",
                "/graph/facts/f-3",
                {"subject": {"external_id": theirs["entity"]}, "predicate": "lleva", "object": "Luis"},
            ),
        ],
        "add_fact": [write("POST", "/graph/facts", {"subject": "Luis", "predicate": "ve", "object": "Marta"})],
        "bulk_graph": [Ask(method="POST", path="/graph/bulk", lines={"type": "entity", "name": "Pilar"})],
        "extract_facts": [Ask(method="POST", path="/graph/extract", body={"document": "plazos.md"}, works=None)],
        "delete_fact": [write("DELETE", "/graph/facts/f-1"), miss("DELETE", f"/graph/facts/{theirs['fact']}")],
        "delete_entity": [
            write("DELETE", "/graph/entities/acme"),
            miss("DELETE", f"/graph/entities/{theirs['entity']}"),
        ],
        "put_document": [write("PUT", "/documents/plazos.md", {"title": "Plazos", "text": text})],
        "bulk_documents": [
            Ask(method="POST", path="/documents/bulk", lines={"external_id": "masa.md", "title": "Masa", "text": text})
        ],
        "delete_document": [write("DELETE", "/documents/masa.md"), miss("DELETE", f"/documents/{theirs['document']}")],
        "restore_document": [
            write("POST", "/documents/masa.md/restore"),
            miss("POST", f"/documents/{theirs['document']}/restore"),
        ],
        "delete_documents": [write("DELETE", "/documents", prefix="plazos")],
    }


TOOL_ARGUMENTS: Mapping[str, Mapping[str, Any]] = {
    "hybrid_search": {"semantic_query": QUERY, "include_memory": True, "expand_neighbors": True},
    "vector_search": {"query": QUERY},
    "memory_search": {"query": QUERY},
    "grep_search": {"query": "plazo"},
    "read_file": {"path": "raiz/secreto.md"},
    "ask": {"query": QUERY, "include_memory": True},
    "context": {"query": QUERY},
}


def contents(workspace: str) -> Iterator[tuple[str, str, Any]]:
    """Yield what is stored in a workspace: the names are the same in both, what is said is not."""
    secret = CANARY if workspace == TWIN else "colibri"
    said = f"El plazo de entrega de Acme Corporation es de treinta días, clave {secret}."
    for number in range(3 if workspace == TWIN else 1):
        name = "plazos.md" if number == 0 else f"{CANARY}-{number}.md"
        text = f"# Plazos\n\n{said}\n\n## Entrega\n\n{said} Parte {number}.\n"
        yield "PUT", f"/documents/{name}", {"title": "Plazos", "text": text, "metadata": {"clave": secret}}
    if workspace == TWIN:
        yield "PUT", "/documents/solo.md", {"title": secret, "text": said, "path": f"{secret}/solo.md"}
        yield "PUT", "/collections/memory/items/m-2", {"text": said, "speaker": secret}
        yield "PUT", "/graph/entities/sola", {"name": f"Sola {secret}", "description": said}
    yield "PUT", "/collections/memory/items/m-1", {"text": said, "speaker": "Marta", "session": "s-1"}
    yield "PUT", "/collections/history/items/t-1", {"text": said, "session": "s-1", "timestamp": "2026-11-02T10:00:00Z"}
    yield "PUT", "/graph/entities/acme", {"name": "Acme Corporation", "description": said, "aliases": [secret]}
    fact = {"subject": f"Marta {secret}", "predicate": "lleva el contrato de", "object": "Acme Corporation"}
    yield "PUT", "/graph/facts/f-1", fact | {"quote": said}
    if workspace == TWIN:
        yield "PUT", "/graph/facts/f-2", fact | {"predicate": f"guarda {secret} de"}
        yield "POST", "/search", {"query": "plazo", "episode_id": "e-2"}
    yield "POST", "/search", {"query": "plazo", "episode_id": "e-1"}
    yield "POST", "/ask", {"query": f"¿plazo de {secret}?", "conversation_id": "c-1"}


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """A service on a socket, and a client for each workspace."""

    ours: httpx.AsyncClient
    twin: httpx.AsyncClient
    theirs: Names


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
                    await create.execute(
                        KeyRequest(scopes=frozenset(Scope), workspace=workspace, subject="ana", name=f"de {workspace}")
                    )
                ).credential
                for workspace in (OURS, TWIN)
            ]
            async with (
                run_app(container) as app,
                serving(app) as url,
                httpx.AsyncClient(base_url=url, timeout=90, headers=bearer(keys[0])) as ours,
                httpx.AsyncClient(base_url=url, timeout=90, headers=bearer(keys[1])) as twin,
            ):
                for client, workspace in ((twin, TWIN), (ours, OURS)):
                    for method, path, body in contents(workspace) if with_twin or workspace == OURS else ():
                        answer = await client.request(method, path, json=body)
                        assert answer.status_code in WORKED, (method, path, answer.text)
                while not (await container.use_cases.embed_pending.execute()).idle:
                    pass
                yield World(ours=ours, twin=twin, theirs=await names_of(twin) if with_twin else names_of_nobody())
                await app.state.mcp.end_sessions()

    return opened


def bearer(credential: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {credential}"}


def names_of_nobody() -> Names:
    names = {"document": "solo.md", "memory": "m-2", "entity": "sola", "fact": "f-2", "episode": "e-2"}
    return names | {"document_id": str(uuid4()), "chunk": str(uuid4()), "cursor": "x"}


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
    {"request_id", "next_cursor", "id", "document_id", "rank", "degraded", "pending", "reports", "sources"}
    | {"score", "created_at", "updated_at", "occurred_at", "timestamp", "boundary", "context", "elapsed_ms"}
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
        tools = await told_by_tools(alone)
        expected |= await heard(alone, writes(alone.theirs), operations)
    assert "colibri" in str(expected)
    assert "colibri" in str(tools["hybrid_search"])
    async with open_world(with_twin=True) as beside:
        before = await held_by(beside.twin)
        assert CANARY in str(before)
        found = await heard(beside, reads(beside.theirs), operations)
        found_by_tools = await told_by_tools(beside)
        found |= await heard(beside, writes(beside.theirs), operations)
        assert await held_by(beside.twin) == before, "what one workspace wrote changed the other"
    differing = [
        f"{name}: {answer}\nbeside: {found[name]}" for name, answer in expected.items() if found[name] != answer
    ]
    differing += [
        f"{name}: {said}\nbeside: {found_by_tools[name]}"
        for name, said in tools.items()
        if found_by_tools[name] != said
    ]
    assert not differing, "\n\n".join(differing)

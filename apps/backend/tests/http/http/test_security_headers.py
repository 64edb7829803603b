"""What every response tells a browser, and that no request can name a place to connect to."""

from __future__ import annotations

import base64
import hashlib
import re
from typing import Any

import httpx
import pytest

from support.fixtures.http import MakeApp, Serve
from support.http.fakes import World

pytestmark = pytest.mark.anyio

ALWAYS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


async def test_every_response_has_them(client: httpx.AsyncClient, world: World) -> None:
    await client.put("/documents/a", json={"text": "<script>alert(1)</script> El plazo."})
    answers = [
        await client.get("/healthz"),
        await client.get("/v1/healthz"),
        await client.get("/metrics"),
        await client.get("/openapi.json"),
        await client.get("/docs"),
        await client.get("/documents/a/content"),
        await client.get("/no-such-path"),
        await client.request("PATCH", "/search"),
        await client.post("/search", json={"query": "plazo"}),
        await client.post("/search", json={"query": ""}),
        await client.post("/ask", json={"query": "plazo", "stream": True}),
        await client.head("/healthz"),
    ]
    world.repository.fault.error = RuntimeError("x")
    answers.append(await client.post("/search", json={"query": "plazo", "mode": "sparse"}))
    assert {answer.status_code for answer in answers} >= {200, 404, 405, 422}
    for answer in answers:
        headers = answer.headers
        for name, value in ALWAYS.items():
            assert headers.get_list(name) == [value], (answer.request.url, name)
        (policy,) = headers.get_list("content-security-policy")
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy or policy.endswith("; sandbox")
        assert "server" not in headers
        if not answer.headers.get("content-type", "").startswith("text/html"):
            assert "script-src" not in policy


async def test_the_page_of_the_docs_runs_its_own_scripts_only(client: httpx.AsyncClient) -> None:
    answer = await client.get("/docs")
    policy = answer.headers["content-security-policy"]
    inside = re.findall(r"<script>(.*?)</script>", answer.text, re.DOTALL)
    assert inside
    for script in inside:
        assert f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'" in policy
    scripts = policy.split("script-src ")[1].split(";")[0]
    assert "unsafe" not in scripts
    assert "http" not in policy
    assert not re.search(r"(?:src|href)=\"(?:https?:)?//", answer.text)


async def test_no_server_tells_its_name_on_a_socket(make_app: MakeApp, serve: Serve) -> None:
    async with serve(make_app()) as url, httpx.AsyncClient(base_url=url) as client:
        answer = await client.get("/healthz")
    assert answer.headers["cache-control"] == "no-store"


def names_of(schema: Any, components: dict[str, Any], seen: frozenset[str] = frozenset()) -> set[str]:
    """Return the names of all members that a request may have, and the formats of their values."""
    if isinstance(schema, list):
        return set().union(*(names_of(item, components, seen) for item in schema))
    if not isinstance(schema, dict):
        return set()
    result: set[str] = set()
    if isinstance(reference := schema.get("$ref"), str) and reference not in seen:
        result |= names_of(components[reference.rpartition("/")[2]], components, seen | {reference})
    if isinstance(members := schema.get("properties"), dict):
        result |= set(members)
    if isinstance(form := schema.get("format"), str):
        result.add(f"format:{form}")
    for key, value in schema.items():
        if key not in ("example", "examples", "description", "default", "enum", "const"):
            result |= names_of(list(value.values()) if key == "properties" else value, components, seen)
    return result


async def test_no_request_names_a_place_to_connect_to(client: httpx.AsyncClient) -> None:
    description = (await client.get("/openapi.json")).json()
    components = description["components"]["schemas"]
    names: set[str] = set()
    for methods in description["paths"].values():
        for operation in methods.values():
            names |= names_of(operation.get("requestBody", {}), components)
            for parameter in operation.get("parameters", ()):
                names |= {parameter["name"], *names_of(parameter.get("schema"), components)}
    assert {"query", "limit", "text"} <= names
    places = re.compile(
        r"ur[il]|host|endpoint|webhook|callback|proxy|server|address|model|provider|api_?key", re.IGNORECASE
    )
    assert [name for name in sorted(names) if places.search(name)] == []

"""No error repeats what the caller sent: a canary in every place of every request does not come back."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from support.fixtures.http import MakeApp
from support.http.fakes import World

pytestmark = pytest.mark.anyio

CANARY = "canary7f3a9"
LONG = CANARY + "x" * 30_000

SEARCH: dict[str, Any] = {
    "query": "plazo",
    "limit": 5,
    "cursor": None,
    "mode": "hybrid",
    "filters": {"language": "es", "occurred_at": {"gte": "2025-01-01"}, "year": [1, 2]},
    "fusion": {"method": "rrf", "rank_constant": 60, "weights": {"dense": 1.0}, "rank_window_size": 100},
    "explain": False,
}
DOCUMENT: dict[str, Any] = {
    "title": "T",
    "text": "Hola.",
    "metadata": {"a": {"b": [1]}},
    "language": "es",
    "artifact_type": "contract",
    "sensitivity": "normal",
    "visibility_scope": "workspace",
    "owner": "o",
    "occurred_at": "2025-01-01",
    "path": "p",
    "media_type": "text/plain",
}
GREP: dict[str, Any] = {
    "query": "plazo",
    "mode": "literal",
    "case": "smart",
    "globs": ["*.md"],
    "max": 5,
    "gitignore": True,
    "stream": False,
}
READ: dict[str, Any] = {"path": "docs/a.md", "line_start": 1, "line_end": 2}
BAD: list[Any] = [
    CANARY,
    LONG,
    CANARY + "\u0000",
    [CANARY],
    [[CANARY]],
    {CANARY: CANARY},
    {CANARY: {CANARY: [CANARY]}},
    {"gte": CANARY},
    {"gte": "2025-01-01", CANARY: 1},
    {f"{CANARY}{n}": n for n in range(40)},
    {CANARY + "k" * 300: 1},
    {CANARY + "\u0000": 1},
]


def places(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield path
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from places(inner, (*path, name))


def with_bad(value: Any, path: tuple[str, ...], bad: Any) -> Any:
    if not path:
        return bad
    return {name: with_bad(inner, path[1:], bad) if name == path[0] else inner for name, inner in value.items()}


def bad_bodies(good: dict[str, Any]) -> Iterator[Any]:
    for path in places(good):
        for bad in BAD:
            yield with_bad(good, path, bad)
    yield good | {CANARY: CANARY}
    yield good | dict.fromkeys((f"{CANARY}{number}" for number in range(30)), CANARY)


def check(answer: httpx.Response) -> None:
    assert answer.status_code < 500, answer.text
    if answer.status_code >= 400:
        shown = answer.text + repr([value for name, value in answer.headers.items() if name != "x-request-id"])
        assert CANARY not in shown, shown[:2000]
        problem = answer.json()
        assert problem["status"] == answer.status_code
        assert len(answer.content) < 8_000


@pytest.mark.parametrize("path", ["/search", "/ask"])
async def test_search_fields(client: httpx.AsyncClient, path: str) -> None:
    refused = 0
    for body in bad_bodies(SEARCH):
        answer = await client.post(path, json=body)
        check(answer)
        refused += answer.status_code == 422
    assert refused > 100


@pytest.mark.parametrize(("path", "good"), [("/grep", GREP), ("/files/read", READ)])
async def test_file_fields(client: httpx.AsyncClient, path: str, good: dict[str, Any]) -> None:
    refused = 0
    for body in bad_bodies(good):
        answer = await client.post(path, json=body)
        check(answer)
        refused += answer.status_code == 422
    assert refused > 30


async def test_document_fields(client: httpx.AsyncClient) -> None:
    refused = 0
    for body in bad_bodies(DOCUMENT):
        answer = await client.put("/documents/a", json=body)
        check(answer)
        refused += answer.status_code == 422
    assert refused > 80


async def test_bulk_lines(client: httpx.AsyncClient) -> None:
    rows = [
        json.dumps(body | {"external_id": "a"} if isinstance(body, dict) else body) for body in bad_bodies(DOCUMENT)
    ]
    rows += [json.dumps(DOCUMENT | {"external_id": name}) for name in (CANARY + "\u0000", CANARY * 100)]
    rows += [CANARY, "{" + CANARY]
    body = "\n".join(rows).encode()
    answer = await client.post("/documents/bulk", content=body, headers={"Content-Type": "application/x-ndjson"})
    assert '"error":' in answer.text
    assert CANARY not in answer.text


@pytest.mark.parametrize(
    "body",
    [CANARY, f'{{"{CANARY}":', f'{{"query":"{CANARY}",}}', f'{{"{CANARY}":1,"{CANARY}":2}}', f'{{"query":{CANARY}}}'],
)
async def test_broken_json(client: httpx.AsyncClient, body: str) -> None:
    for method, path in (("POST", "/search"), ("POST", "/ask"), ("PUT", "/documents/a")):
        check(await client.request(method, path, content=body.encode(), headers={"Content-Type": "application/json"}))


async def test_forms(client: httpx.AsyncClient) -> None:
    for name in (*DOCUMENT, CANARY):
        for value in (CANARY, LONG, CANARY + "\u0000", f"{{{CANARY}", f'{{"{CANARY}":1,"{CANARY}":1}}', "x" * 70_000):
            check(await client.put("/documents/a", files={"file": ("a.md", b"Hola.")}, data={name: value}))
    for filename, kind in ((CANARY, CANARY), (f"{CANARY}.exe", "application/x"), (f"{CANARY}\u0000", "image/png")):
        check(await client.put("/documents/a", files={"file": (filename, b"Hola.", kind)}))
        check(await client.put("/documents/a", files={CANARY: (filename, b"Hola.", kind)}))


async def test_paths_parameters_methods_and_headers(client: httpx.AsyncClient) -> None:
    for path in (f"/{CANARY}", f"/search/{CANARY}", f"/documents/{CANARY}", f"/documents/{CANARY}/content"):
        for method in ("GET", "POST", "PATCH", "DELETE", CANARY.upper()):
            check(await client.request(method, path))
    for path in (f"/documents/{CANARY}%FF", f"/documents/{CANARY}%00", f"/documents/{CANARY * 100}"):
        check(await client.put(path, json=DOCUMENT))
        check(await client.get(path))
    for name in ("limit", "cursor", "prefix", "filters", "deleted", CANARY):
        for value in (CANARY, LONG, f'{{"{CANARY}":null}}', f'{{"{CANARY}":{{"gte":"{CANARY}"}}}}', CANARY + "\u0000"):
            check(await client.get("/documents", params={name: value}))
            check(await client.delete("/documents", params={name: value}))
    for name in ("Content-Type", "Content-Encoding", "Content-Disposition", "Accept", CANARY):
        for value in (CANARY, CANARY + "; charset=" + CANARY, "multipart/form-data; boundary=" + CANARY):
            for method, path in (("POST", "/search"), ("PUT", "/documents/a"), ("POST", "/documents/bulk")):
                check(await client.request(method, path, content=b"{}", headers={name: value}))


async def test_unexpected_errors(
    world: World, make_app: MakeApp, make_client: Callable[[Any], httpx.AsyncClient]
) -> None:
    world.repository.fault.error = ValueError(f"not a number: {CANARY}")
    async with make_client(make_app()) as client:
        for method, path in (("GET", "/documents/a"), ("GET", "/documents"), ("DELETE", "/documents/a")):
            answer = await client.request(method, path)
            assert answer.status_code == 500
            assert CANARY not in answer.text

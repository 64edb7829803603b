"""Random Unicode through every text that a request can hold: it is taken or refused by name, and breaks nothing.

Every field of the service's own description is tried, so that a new one cannot be forgotten.
"""

from __future__ import annotations

import json
import random
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote_from_bytes

import httpx
import pytest

pytestmark = pytest.mark.anyio

RANGES = (
    (0x00, 0x1F),  # NUL and other controls
    (0x20, 0x7E),
    (0x7F, 0x9F),
    (0xA0, 0x24F),
    (0x300, 0x36F),  # combining
    (0x590, 0x6FF),  # right to left
    (0x1100, 0x11FF),
    (0x200B, 0x200F),  # zero width, marks of direction
    (0x202A, 0x202E),
    (0x2066, 0x2069),
    (0x3040, 0x30FF),
    (0x4E00, 0x9FFF),
    (0xD800, 0xDFFF),  # surrogates
    (0xFDD0, 0xFDEF),  # no characters
    (0xFE00, 0xFE0F),
    (0xFF00, 0xFFEF),
    (0xFFF0, 0xFFFF),
    (0x1F300, 0x1FAFF),
    (0xE0000, 0xE007F),  # tags
    (0x10FFF0, 0x10FFFF),
)
MIN_TOLD = 6
"""A shorter text may stand in an error by chance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a text goes: a parameter of the path or the query, or a way into the body."""

    method: str
    path: str
    kind: str
    name: tuple[str | int, ...]
    body: Any = None
    media_type: str = "application/json"

    def __str__(self) -> str:
        return f"{self.method} {self.path} {self.kind} {'.'.join(map(str, self.name))}"


def random_texts(count: int, *, seed: int = 7) -> list[str]:
    generator = random.Random(seed)
    texts = []
    for number in range(count):
        length = generator.choice((1, 2, 5, 20, 60))
        text = "".join(chr(generator.randint(*generator.choice(RANGES))) for _ in range(length))
        texts.append(unicodedata.normalize("NFD", text) if number % 3 == 0 else text)
    return texts


def places(description: dict[str, Any]) -> Iterator[Place]:
    schemas = description["components"]["schemas"]
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            for parameter in operation.get("parameters", ()):
                if _takes_text(parameter["schema"], schemas) and parameter["in"] in ("path", "query"):
                    yield Place(method=method, path=path, kind=parameter["in"], name=(parameter["name"],))
            for media_type, content in operation.get("requestBody", {}).get("content", {}).items():
                for example in _examples(operation, media_type, content["schema"], schemas):
                    for way in _ways(example):
                        yield Place(
                            method=method, path=path, kind="body", name=way, body=example, media_type=media_type
                        )


def _examples(operation: dict[str, Any], media_type: str, schema: dict[str, Any], schemas: Any) -> Iterator[Any]:
    """Yield an example of each model of a body, with every text that it may have."""
    lines = {
        "bulk_documents": ("BulkDocument",),
        "bulk_items": ("MemoryItem",),
        "bulk_graph": ("EntityBody", "FactBody"),
    }
    names = (
        lines.get(operation["operationId"], ())
        if media_type == "application/x-ndjson"
        else [ref.rpartition("/")[2] for ref in _references(schema)]
        if media_type == "application/json"
        else ()
    )
    for name in names:
        model = schemas.get(name)
        if model is None:
            continue
        example = dict(model.get("examples", [{}])[0])
        for field, described in model["properties"].items():
            if field not in example and _takes_text(described, schemas):
                example[field] = "x"
        yield example


def _references(schema: dict[str, Any]) -> Iterator[str]:
    if "$ref" in schema:
        yield schema["$ref"]
    for part in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        yield from _references(part)


def _takes_text(schema: dict[str, Any], schemas: Any) -> bool:
    if "$ref" in schema:
        return _takes_text(schemas[schema["$ref"].rpartition("/")[2]], schemas)
    return schema.get("type") == "string" or any(_takes_text(part, schemas) for part in schema.get("anyOf", ()))


def _ways(value: Any, way: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if isinstance(value, str):
        yield way
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from _ways(inner, (*way, name))
        if way[-1:] == ("metadata",):
            yield (*way, "*")
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _ways(inner, (*way, number))


def _with(value: Any, way: tuple[str | int, ...], text: str) -> Any:
    if not way:
        return text
    if isinstance(value, list):
        return [_with(inner, way[1:], text) if number == way[0] else inner for number, inner in enumerate(value)]
    if way == ("*",):
        return {**value, text: "x"}
    return {name: _with(inner, way[1:], text) if name == way[0] else inner for name, inner in value.items()}


async def sent(client: httpx.AsyncClient, place: Place, text: str) -> httpx.Response:
    encoded = quote_from_bytes(text.encode("utf-8", "surrogatepass"), safe="")
    path = place.path.replace("{collection}", "memory")
    if place.kind == "path":
        path = path.replace("{" + str(place.name[0]) + "}", encoded)
    for name in ("external_id", "episode_id"):
        path = path.replace("{" + name + "}", "x")
    if place.kind == "query":
        path += f"?{place.name[0]}={encoded}"
    if place.kind != "body":
        return await client.request(place.method.upper(), path)
    return await client.request(
        place.method.upper(),
        path,
        content=json.dumps(_with(place.body, place.name, text)),
        headers={"Content-Type": place.media_type},
    )


async def check(client: httpx.AsyncClient, count: int) -> int:
    description = (await client.get("/openapi.json")).json()
    texts = random_texts(count)
    asked = 0
    for number, place in enumerate(places(description)):
        for text in texts[number % len(texts) :] + texts[: number % len(texts)]:
            answer = await sent(client, place, text)
            asked += 1
            said = f"{place} {text!r}: {answer.status_code} {answer.text[:500]}"
            assert answer.status_code < 500, said
            if answer.status_code >= 400:
                assert answer.headers["content-type"] == "application/problem+json", said
                assert answer.json()["code"], said
                assert len(text) < MIN_TOLD or text not in answer.text, said
            else:
                answer.content.decode()
    return asked


async def test_every_text_of_every_operation_is_tried(database_client: httpx.AsyncClient) -> None:
    description = (await database_client.get("/openapi.json")).json()
    tried = {(place.method, place.path) for place in places(description)}
    untried = {(method, path) for path, methods in description["paths"].items() for method in methods} - tried
    assert (
        untried
        == {("get", "/healthz"), ("get", "/readyz"), ("get", "/status"), ("get", "/metrics"), ("get", "/collections")}
        & untried
    )
    assert len(list(places(description))) > 100


async def test_random_texts_break_nothing(database_client: httpx.AsyncClient) -> None:
    assert await check(database_client, 8) > 800


@pytest.mark.soak
@pytest.mark.timeout(7200)
async def test_a_thousand_random_texts_break_nothing(database_client: httpx.AsyncClient) -> None:
    await check(database_client, 1000)

"""/collections/artifacts/items and /collections/artifact_chunks/items: documents and their passages."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import httpx
import pytest

from support.http.fakes import World
from support.storage.stored import ANYONE, written

pytestmark = pytest.mark.anyio

ARTIFACTS = "/collections/artifacts/items"
CHUNKS = "/collections/artifact_chunks/items"

SECTIONS = [
    f"## Cláusula {number}\n\n" + f"La cláusula {number} trata del plazo de entrega. " * 6 for number in range(6)
]
TEXT = "\n\n".join(section.strip() for section in SECTIONS) + "\n"


async def passages(client: httpx.AsyncClient, **parameters: Any) -> list[dict[str, Any]]:
    answer = await client.get(CHUNKS, params={"limit": 200, **parameters})
    assert answer.status_code == 200, answer.text
    items: list[dict[str, Any]] = answer.json()["items"]
    return items


def quoted(chunk: dict[str, Any]) -> str:
    return str(chunk["id"]).replace("/", "%2F").replace("#", "%23")


async def text_of(client: httpx.AsyncClient, name: str) -> str:
    return (await client.get(f"/documents/{name}/content")).text


@pytest.fixture
async def six(client: httpx.AsyncClient) -> list[dict[str, Any]]:
    """A document of six passages, one a section."""
    assert (await client.put(f"{ARTIFACTS}/c/marco.md", json={"text": TEXT})).status_code == 201
    results = await passages(client, artifact="c/marco.md")
    assert [chunk["chunk_index"] for chunk in results] == list(range(6))
    return results


async def test_artifacts_are_documents(client: httpx.AsyncClient, world: World) -> None:
    made = (await client.post(ARTIFACTS, json={"text": "# Hola", "metadata": {"k": 1}})).json()
    assert (made["collection"], made["status"], made["chunks"]) == ("artifacts", "created", 1)
    again = await client.post(ARTIFACTS, json={"text": "# Hola", "metadata": {"k": 1}})
    assert (again.status_code, again.json()["external_id"]) == (200, made["external_id"])
    named = await client.post(ARTIFACTS, json={"external_id": "a.txt", "text": "Hola."})
    assert named.status_code == 201
    listed = (await client.get(ARTIFACTS, params={"prefix": "a"})).json()["items"]
    assert [(item["collection"], item["external_id"]) for item in listed if item["external_id"] == "a.txt"]
    assert (await client.get(f"{ARTIFACTS}/a.txt")).json()["media_type"] == "text/plain"
    assert (await client.get("/documents/a.txt")).status_code == 200
    assert (await client.delete(f"{ARTIFACTS}/a.txt")).status_code == 204
    assert (await client.post("/documents/a.txt/restore")).status_code == 200
    assert (await client.delete(ARTIFACTS)).status_code == 422
    assert (await client.delete(ARTIFACTS, params={"prefix": "a."})).json() == {"deleted": 1}


async def test_an_artifact_is_patched(client: httpx.AsyncClient) -> None:
    path = f"{ARTIFACTS}/a.md"
    await client.put(path, json={"text": "# Contrato\n\nUno.", "metadata": {"k": 1}, "artifact_type": "contract"})
    title = (await client.get(path)).json()["title"]
    assert (await client.patch(path, json={"metadata": {"k": 2}})).status_code == 200
    item = (await client.get(path)).json()
    assert (item["metadata"], item["artifact_type"], item["title"]) == ({"k": 2}, "contract", title)
    assert (await client.patch(path, json={"text": "# Pliego\n\nDos."})).status_code == 200
    item = (await client.get(path)).json()
    # a title that was found in the text is found anew
    assert item["title"].startswith("Pliego")
    assert await text_of(client, "a.md") == "# Pliego\n\nDos."
    await client.patch(path, json={"title": "Suyo", "text": "# Otro\n\nTres."})
    await client.patch(path, json={"language": "en"})
    item = (await client.get(path)).json()
    assert (item["title"], item["language"], item["path"]) == ("Suyo", "en", "a.md")
    for bad, field in (
        ({}, "body"),
        ({"title": None}, "title"),
        ({"session": "x"}, "body"),
        ({"language": "X"}, "language"),
    ):
        answer = await client.patch(path, json=bad)
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, field)
    assert (await client.patch(f"{ARTIFACTS}/none.md", json={"title": "x"})).status_code == 404


@pytest.mark.parametrize("index", [0, 3, 5])
async def test_a_passage_is_replaced_in_its_text(
    client: httpx.AsyncClient, six: list[dict[str, Any]], index: int
) -> None:
    new = "## Cláusula nueva\n\nEl plazo es de 45 días hábiles."
    answer = await client.put(f"{CHUNKS}/{quoted(six[index])}", json={"text": new})
    assert answer.status_code == 200, answer.text
    edited = answer.json()
    assert (edited["artifact"]["external_id"], edited["artifact"]["status"]) == ("c/marco.md", "updated")
    assert [passage["text"] for passage in edited["passages"]] == [new]
    assert await text_of(client, "c/marco.md") == TEXT.replace(six[index]["text"], new)
    left = await passages(client, artifact="c/marco.md")
    assert [chunk["text"] for chunk in left] == [
        *(c["text"] for c in six[:index]),
        new,
        *(c["text"] for c in six[index + 1 :]),
    ]
    assert edited["artifact"]["chunks"] == 6


async def test_patch_does_what_put_does_and_equal_text_changes_nothing(
    client: httpx.AsyncClient, six: list[dict[str, Any]]
) -> None:
    answer = await client.patch(f"{CHUNKS}/{quoted(six[2])}", json={"text": six[2]["text"]})
    assert (answer.status_code, answer.json()["artifact"]["status"]) == (200, "unchanged")
    assert answer.json()["passages"][0]["id"] == six[2]["id"]


@pytest.mark.parametrize("index", [0, 2, 5])
async def test_a_passage_is_taken_out(client: httpx.AsyncClient, six: list[dict[str, Any]], index: int) -> None:
    answer = await client.delete(f"{CHUNKS}/{quoted(six[index])}")
    assert (answer.status_code, answer.json()["artifact"]["chunks"], answer.json()["passages"]) == (200, 5, [])
    text = await text_of(client, "c/marco.md")
    assert text.strip() == "\n\n".join(chunk["text"] for chunk in six if chunk is not six[index])
    assert "\n\n\n" not in text


async def test_a_passage_is_added_after_another_or_at_the_end(
    client: httpx.AsyncClient, six: list[dict[str, Any]]
) -> None:
    first = await client.post(
        CHUNKS, json={"external_id": "c/marco.md", "text": "## Uno\n\n" + "Texto uno. " * 30, "after": 0}
    )
    assert first.status_code == 201, first.text
    assert first.json()["passages"][0]["chunk_index"] == 1
    last = await client.post(CHUNKS, json={"external_id": "c/marco.md", "text": "## Dos\n\n" + "Texto dos. " * 30})
    assert last.json()["artifact"]["chunks"] >= 8
    text = await text_of(client, "c/marco.md")
    assert text.index("Cláusula 0") < text.index("## Uno") < text.index("## Cláusula 1")
    assert text.index("Cláusula 5") < text.index("## Dos")
    assert "\n\n\n" not in text
    for body, status, field in (
        ({"external_id": "c/marco.md", "text": "x", "after": 99}, 422, "after"),
        ({"external_id": "c/marco.md", "text": "x", "after": -1}, 422, "after"),
        ({"external_id": "c/marco.md", "text": " "}, 422, "text"),
        ({"external_id": "none.md", "text": "x"}, 404, "external_id"),
        ({"text": "x"}, 422, "external_id"),
    ):
        answer = await client.post(CHUNKS, json=body)
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (status, field), body


async def test_the_last_passage_is_not_taken_out(client: httpx.AsyncClient) -> None:
    await client.put(f"{ARTIFACTS}/a.md", json={"text": "Una sola."})
    (only,) = await passages(client, artifact="a.md")
    answer = await client.delete(f"{CHUNKS}/{quoted(only)}")
    assert (answer.status_code, answer.json()["code"]) == (409, "conflict")
    assert "Delete the artifact" in answer.json()["detail"]


async def test_passages_of_a_pdf_or_html_are_not_edited(client: httpx.AsyncClient, world: World) -> None:
    for kind in ("application/pdf", "text/html"):
        write = written("a.txt", "Hola.", salt=kind)
        source = replace(write.source, media_type=kind)
        await world.repository.save_many([replace(write, source=source)], principal=ANYONE)
        (passage,) = await passages(client, artifact="a.txt")
        answer = await client.put(f"{CHUNKS}/{passage['id']}", json={"text": "Adiós."})
        assert (answer.status_code, answer.json()["code"]) == (409, "conflict")
        assert f"comes from a file of type {kind}. Replace the file." in answer.json()["detail"]
        assert (await client.post(CHUNKS, json={"external_id": "a.txt", "text": "x"})).status_code == 409
        assert (await client.delete(f"{CHUNKS}/{passage['id']}")).status_code == 409


async def test_what_is_no_passage(client: httpx.AsyncClient, six: list[dict[str, Any]]) -> None:
    for method, body in (("GET", None), ("PUT", {"text": "x"}), ("DELETE", None)):
        answer = await client.request(method, f"{CHUNKS}/999999", json=body)
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (404, "chunk_id")
    shown = (await client.get(f"{CHUNKS}/{quoted(six[1])}")).json()
    assert shown == six[1]
    assert (await client.delete(CHUNKS, params={"prefix": "c"})).json()["errors"][0]["field"] == "collection"
    answer = await client.post(f"{CHUNKS}/bulk", content=b"{}", headers={"Content-Type": "application/x-ndjson"})
    assert answer.json()["errors"][0]["field"] == "collection"


async def test_passages_are_paged_through(client: httpx.AsyncClient, six: list[dict[str, Any]]) -> None:
    await client.put(f"{ARTIFACTS}/b.md", json={"text": "Otra."})
    seen: list[tuple[str, int]] = []
    cursor = ""
    while True:
        page = (await client.get(CHUNKS, params={"limit": 3, **({"cursor": cursor} if cursor else {})})).json()
        seen += [(item["external_id"], item["chunk_index"]) for item in page["items"]]
        if page["next_cursor"] is None:
            break
        cursor = page["next_cursor"]
    assert seen == [("b.md", 0), *(("c/marco.md", number) for number in range(6))]
    assert [item["external_id"] for item in await passages(client, prefix="b")] == ["b.md"]
    for bad in ("eDph", "OTk5OTk5OTk5OTk5OmE", "%", ""):
        answer = await client.get(CHUNKS, params={"cursor": bad})
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "cursor"), bad

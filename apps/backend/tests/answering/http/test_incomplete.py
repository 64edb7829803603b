"""An answer says where it rests on a document that was not read whole."""

from __future__ import annotations

import httpx
import pytest
from pydantic import TypeAdapter

from ragcorp.interface.shapes.answers import AnswerBody
from support.http.events import events_of
from support.http.fakes import World
from support.parsing.partly_read import archive_with_a_program, pdf_with_scanned_pages

pytestmark = pytest.mark.anyio

PLAZOS = {
    "external_id": "plazos.pdf",
    "title": "plazos",
    "unread": [{"kind": "page", "count": 2, "places": ["2", "4"]}],
}


@pytest.fixture
async def stored(client: httpx.AsyncClient) -> None:
    headers = {"Content-Type": "application/pdf"}
    written = await client.put("/documents/plazos.pdf", content=pdf_with_scanned_pages(), headers=headers)
    assert written.status_code == 201, written.text


@pytest.mark.usefixtures("stored")
async def test_the_cited_documents_are_named(client: httpx.AsyncClient, world: World) -> None:
    await client.put("/documents/b.zip", files={"file": ("b.zip", archive_with_a_program())})
    world.answerer.script = ["El plazo de entrega es de 1 semanas [1]."]
    answer = await client.post("/ask", json={"query": "plazo de entrega del apartado 1"})
    body = answer.json()
    TypeAdapter(AnswerBody).validate_python(body)
    assert [citation["external_id"] for citation in body["citations"]] == ["plazos.pdf"]
    assert body["incomplete"] == [PLAZOS]
    streamed = await client.post("/ask", json={"query": "plazo de entrega del apartado 1", "stream": True})
    name, event = events_of(streamed.text)[-1]
    assert (name, event["incomplete"]) == ("final_answer", [PLAZOS])


@pytest.mark.usefixtures("stored")
async def test_an_abstention_names_the_first_results(client: httpx.AsyncClient, world: World) -> None:
    world.answerer.script = [""]
    body = (await client.post("/ask", json={"query": "plazo de entrega del apartado 2"})).json()
    assert (body["abstained"], body["citations"], body["incomplete"]) == (True, [], [PLAZOS])


async def test_documents_read_whole_are_not_named(client: httpx.AsyncClient) -> None:
    await client.put("/documents/a.md", json={"text": "El plazo es de 30 días."})
    body = (await client.post("/ask", json={"query": "¿plazo?"})).json()
    assert (body["abstained"], body["incomplete"]) == (False, [])


@pytest.mark.usefixtures("stored")
async def test_a_deleted_document_is_not_named(client: httpx.AsyncClient, world: World) -> None:
    await client.delete("/documents/plazos.pdf")
    world.answerer.script = [""]
    body = (await client.post("/ask", json={"query": "plazo de entrega del apartado 2"})).json()
    assert (body["abstained"], body["incomplete"]) == (True, [])

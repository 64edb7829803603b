"""The service recognises scanned pages in the background, and shows how far it is."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from ragcorp.main.service.app import run_service
from ragcorp.main.wiring.base import Parts
from ragcorp.main.wiring.container import Container
from support.http.waiting import until_true
from support.models.embedders import HashingEmbedder
from support.recognition.fakes import ScriptedRecognizer
from support.recognition.half_scanned import GRANT, SCAN
from support.recognition.scans import image_file, pdf_of

pytestmark = pytest.mark.anyio

DONE = {"pages": 1, "done": 1, "failed": 0}


@asynccontextmanager
async def service(container: Container) -> AsyncIterator[httpx.AsyncClient]:
    async with run_service(container) as app:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            yield client


async def test_the_page_and_its_confidence_are_in_results_and_answers(make_container: Any) -> None:
    recognizer = ScriptedRecognizer({2: GRANT}, confidence=0.75)
    async with service(await make_container(parts=Parts(embedder=HashingEmbedder(), recognizer=recognizer))) as client:
        pages = pdf_of("La cooperativa presentó su solicitud en el registro de la consejería.", SCAN)
        headers = {"Content-Type": "application/pdf"}
        stored = (await client.put("/documents/expediente.pdf", content=pages, headers=headers)).json()
        assert stored["unread"] == [{"kind": "page", "count": 1, "places": ["2"]}]

        async def is_read() -> bool:
            return (await client.get("/documents/expediente.pdf")).json()["unread"] == []

        await until_true(is_read)
        assert (await client.get("/documents/expediente.pdf")).json()["recognition"] == DONE
        assert (await client.get("/status")).json()["recognition"] == DONE
        results = (await client.post("/search", json={"query": "ayuda 47.250 euros"})).json()["results"]
        citation = results[0]["citation"]
        assert (citation["page"], citation["recognition_confidence"]) == (2, 0.75)
        answer = (await client.post("/ask", json={"query": "¿De cuánto es la ayuda de la cooperativa?"})).json()
        assert [(shown["page"], shown["recognition_confidence"]) for shown in answer["citations"]] == [(2, 0.75)]


async def test_an_image_is_refused_without_an_engine(make_container: Any) -> None:
    async with service(await make_container(ocr="off")) as client:
        headers = {"Content-Type": "image/png"}
        answer = await client.put("/documents/acta.png", content=image_file(SCAN), headers=headers)
        assert answer.status_code == 422, answer.text
        assert "ragcorp[ocr]" in answer.text

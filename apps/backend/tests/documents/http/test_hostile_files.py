"""A file that attacks its parser is refused the same way over every path, stores nothing, and stops nobody."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from ragcorp.domain.documents import DocumentAttributes, IngestStatus, SourceFile
from ragcorp.domain.exceptions import UnreadableDocumentError
from ragcorp.domain.ingestion import IngestFailure, IngestRequest
from ragcorp.domain.principal import Principal
from ragcorp.infrastructure.sandbox import pool
from ragcorp.main.opening.library import make_rag
from ragcorp.main.service.app import run_service
from ragcorp.main.wiring.container import Container
from support.parsing import hostile, samples
from support.retrieval.corpus import found

pytestmark = pytest.mark.anyio

SETTINGS = {"parse_timeout_seconds": 1.5, "parse_memory_mb": 256, "embed_wait_seconds": 0, "max_concurrent_requests": 2}
LIMITS = ("too_slow", "too_large_in_memory")


@pytest.fixture
async def container(make_container: Callable[..., Any]) -> Container:
    made: Container = await make_container(**SETTINGS)
    return made


@pytest.fixture
async def client(
    container: Container, make_client: Callable[[Any], httpx.AsyncClient]
) -> AsyncIterator[httpx.AsyncClient]:
    async with run_service(container) as app, make_client(app) as client:
        client.timeout = httpx.Timeout(110)
        yield client


async def send(
    client: httpx.AsyncClient, name: str, content: bytes, *, media_type: str, below: str = "/documents"
) -> httpx.Response:
    return await client.put(f"{below}/{name}", content=content, headers={"Content-Type": media_type})


async def names(client: httpx.AsyncClient) -> list[str]:
    return sorted(item["external_id"] for item in (await client.get("/documents")).json()["documents"])


@pytest.mark.parametrize("below", ["/documents", "/collections/artifacts/items"])
async def test_hostile_uploads_and_what_goes_on_meanwhile(client: httpx.AsyncClient, below: str) -> None:
    loop = hostile.form_that_draws_itself_twice()
    uploads = [
        asyncio.create_task(send(client, f"{number}.pdf", loop, media_type="application/pdf", below=below))
        for number in range(6)
    ]
    await asyncio.sleep(1)
    text = await send(client, "nota.md", b"# Nota\n\nEl plazo es de 30 dias.", media_type="text/markdown")
    found = await client.post("/search", json={"query": "plazo"})
    assert not all(upload.done() for upload in uploads)
    good = await send(client, "bueno.pdf", samples.pdf_file(), media_type="application/pdf")
    assert (text.status_code, found.status_code, good.status_code) == (201, 200, 201)
    for upload in uploads:
        response = await upload
        body = response.json()
        assert (response.status_code, body["code"]) == (422, "unreadable_document")
        assert body["reason"] in LIMITS
        assert body["errors"][0]["remedy"].startswith("Split it, or raise PARSE_")
    assert await names(client) == ["bueno.pdf", "nota.md"]


async def test_an_endless_outline_is_passed_over(client: httpx.AsyncClient) -> None:
    response = await send(client, "a.pdf", hostile.outline_loop(), media_type="application/pdf")
    assert response.status_code == 201
    assert await names(client) == ["a.pdf"]


async def test_a_replacement_that_is_refused_leaves_the_document(client: httpx.AsyncClient) -> None:
    assert (await send(client, "a.pdf", samples.pdf_file(), media_type="application/pdf")).status_code == 201
    loop = hostile.form_that_draws_itself_twice()
    assert (await send(client, "a.pdf", loop, media_type="application/pdf")).status_code == 422
    assert (await client.get("/documents/a.pdf/content")).content != loop


async def test_bulk_names_the_limit_of_its_line(client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "BYTES_A_SECOND", 1e9)
    slow = hostile.markdown_of_headings(80_000).decode()
    lines = [
        {"external_id": "a.md", "text": "El plazo es de 30 dias."},
        {"external_id": "b.md", "text": slow},
        {"external_id": "c.md", "text": "El precio es de 4 euros."},
    ]
    body = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    response = await client.post("/documents/bulk", content=body, headers={"Content-Type": "application/x-ndjson"})
    outcomes = [json.loads(line) for line in response.text.splitlines()]
    assert [outcome.get("status") for outcome in outcomes[:3]] == ["created", None, "created"]
    assert (outcomes[1]["error"]["code"], outcomes[1]["error"]["reason"]) == ("unreadable_document", "too_slow")
    assert await names(client) == ["a.md", "c.md"]


async def test_a_folder_goes_on(container: Container, tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(hostile.form_that_draws_itself_twice())
    (tmp_path / "b.md").write_text("El plazo es de 30 dias.")
    rag = make_rag(container)
    result = await rag.ingest_folder(tmp_path)
    (failure,) = result.failures
    assert (failure.external_id, failure.error.code) == ("a.pdf", "unreadable_document")
    assert failure.error.reason in LIMITS
    assert await found(rag, "plazo") == ["b.md"]


async def test_a_batch_goes_on(container: Container) -> None:
    def request(name: str, content: bytes) -> IngestRequest:
        file = SourceFile(content=content, media_type="", filename=name)
        return IngestRequest(external_id=name, file=file, attributes=DocumentAttributes())

    requests = [request("a.pdf", hostile.form_that_draws_itself_twice()), request("b.pdf", samples.pdf_file())]
    first, second = await container.use_cases.ingest.ingest_many(requests, principal=Principal())
    assert isinstance(first, IngestFailure)
    assert isinstance(first.error, UnreadableDocumentError)
    assert second.status is IngestStatus.CREATED

"""Ingestion through the library: what PUT promises, the worker that finishes, going and coming back."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any

import pytest

from ragcorp.application.embedding.embed_pending import EmbeddingWorker
from ragcorp.domain.documents import IngestStatus
from ragcorp.domain.embeddings import Vector
from ragcorp.domain.exceptions import EmbedderUnavailableError, InvalidInputError, NotFoundError
from ragcorp.main.opening.library import make_rag
from ragcorp.main.wiring.base import Parts
from support.models.embedders import BrokenEmbedder, HashingEmbedder
from support.retrieval.corpus import OpenRag, count, found

pytestmark = pytest.mark.anyio


class SlowEmbedder(HashingEmbedder):
    """Takes its time for each passage, and one passage a call."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.batch_size = 1
        self.seconds = seconds

    async def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
        await asyncio.sleep(self.seconds)
        return await super().embed_passages(texts)


class RejectingEmbedder(HashingEmbedder):
    """Refuses every batch that holds the poison."""

    async def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
        if any("veneno" in text for text in texts):
            raise EmbedderUnavailableError("rejected", reason="rejected")
        return await super().embed_passages(texts)


async def until(condition: Callable[[], Awaitable[bool]], *, within: float = 10.0) -> None:
    deadline = time.monotonic() + within
    while not await condition():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.05)


def paragraphs(number: int) -> str:
    return "\n\n".join(f"## Cláusula {n}\n\n" + f"La cláusula {n} trata del plazo. " * 40 for n in range(number))


# PUT


async def test_created_unchanged_updated_and_unchanged_again(open_rag: OpenRag, dsn: str) -> None:
    embedder = HashingEmbedder()
    rag = await open_rag(parts=Parts(embedder=embedder))
    first = await rag.ingest_text("dup.txt", "El contrato marco vence en marzo.")
    assert (first.status, first.chunks, first.pending) == (IngestStatus.CREATED, 1, 0)
    again = await rag.ingest_text("dup.txt", "El contrato marco vence en marzo.")
    assert (again.status, again.document_id, again.pending) == (IngestStatus.UNCHANGED, first.document_id, 0)
    assert count(dsn, "chunks") == 1
    assert await found(rag, "contrato marco") == ["dup.txt"]
    titled = await rag.ingest_text("dup.txt", "El contrato marco vence en marzo.", title="Marco")
    assert titled.status is IngestStatus.UPDATED
    tagged = await rag.ingest_text(
        "dup.txt", "El contrato marco vence en marzo.", title="Marco", metadata={"year": 2025}
    )
    assert tagged.status is IngestStatus.UPDATED
    # what is embedded did not change with the metadata: the vector came from the cache
    assert len(embedder.embedded) == 2
    assert await found(rag, "contrato", filters={"year": 2025}) == ["dup.txt"]
    assert (await rag.document("dup.txt")).attributes.title == "Marco"


async def test_only_the_short_version_is_left(open_rag: OpenRag, dsn: str) -> None:
    rag = await open_rag()
    long = await rag.ingest_text("v.txt", " ".join(f"palabra{n}" for n in range(5000)))
    assert long.chunks > 10
    short = await rag.ingest_text("v.txt", "version corta")
    assert (short.status, short.chunks) == (IngestStatus.UPDATED, 1)
    assert count(dsn, "chunks") == count(dsn, "chunk_embeddings") == 1
    assert await found(rag, "palabra7") == []
    assert await found(rag, "version corta") == ["v.txt"]


async def test_a_slow_embedder_leaves_the_rest_to_the_worker(make_container: Callable[..., Any]) -> None:
    embedder = SlowEmbedder(0.2)
    container = await make_container(embed_wait_seconds=0.5, parts=Parts(embedder=embedder))
    rag = make_rag(container)
    started = time.monotonic()
    result = await rag.ingest_text("a.md", paragraphs(8))
    assert time.monotonic() - started < 4
    assert result.chunks >= 8
    assert 0 < result.pending < result.chunks
    assert (await rag.document("a.md")).pending == result.pending
    assert await found(rag, "cláusula plazo") != []
    embedder.seconds = 0.0
    worker = EmbeddingWorker(embed_pending=container.use_cases.embed_pending, poll_seconds=0.1)
    running = asyncio.create_task(worker.run())

    async def all_done() -> bool:
        return bool((await rag.pending()).pending == 0)

    await until(all_done)
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running
    assert not (await rag.search("plazo")).degraded


async def test_no_wait_means_no_wait(open_rag: OpenRag) -> None:
    rag = await open_rag(embed_wait_seconds=0, parts=Parts(embedder=SlowEmbedder(60)))
    result = await rag.ingest_text("a.md", "texto")
    assert (result.chunks, result.pending) == (1, 1)


async def test_a_put_that_stops_waiting_gives_its_lease_back(open_rag: OpenRag) -> None:
    embedder = SlowEmbedder(60)
    rag = await open_rag(embed_wait_seconds=0.2, parts=Parts(embedder=embedder))
    assert (await rag.ingest_text("a.md", "texto")).pending == 1
    embedder.seconds = 0.0
    assert (await rag.ingest_text("a.md", "texto")).pending == 0


async def test_an_embedder_that_is_out_leaves_the_text_stored_and_pending(open_rag: OpenRag) -> None:
    embedder = BrokenEmbedder()
    rag = await open_rag(parts=Parts(embedder=embedder))
    result = await rag.ingest_text("a.md", "aguja")
    assert (result.status, result.pending) == (IngestStatus.CREATED, 1)
    assert await found(rag, "aguja") == ["a.md"]
    progress: list[tuple[int, int]] = []
    assert (await rag.embed_pending()).pending == 1
    embedder.queries_fail = embedder.passages_fail = False
    left = await rag.embed_pending(on_progress=lambda done, total: progress.append((done, total)))
    assert (left.pending, left.failed) == (0, 0)
    assert progress[-1] == (1, 1)


async def test_a_poisoned_passage_stops_no_other(open_rag: OpenRag) -> None:
    rag = await open_rag(embed_wait_seconds=0, parts=Parts(embedder=RejectingEmbedder()))
    for name, text in {"1.md": "bueno uno", "2.md": "veneno", "3.md": "bueno dos", "4.md": "bueno tres"}.items():
        await rag.ingest_text(name, text)
    left = await rag.embed_pending()
    assert (left.pending, left.failed) == (1, 1)
    assert [(await rag.document(f"{n}.md")).pending for n in (1, 2, 3, 4)] == [0, 1, 0, 0]
    assert await found(rag, "veneno") == ["2.md"]
    # nothing is left to do by itself
    assert (await rag.ingest_text("5.md", "bueno cinco")).pending == 1


class BuggyEmbedder(HashingEmbedder):
    """A user's own embedder that does not keep to its port."""

    def __init__(self, fault: str) -> None:
        super().__init__()
        self.fault = fault

    async def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
        vectors = await super().embed_passages(texts)
        match self.fault:
            case "raises":
                raise KeyError("un fallo suyo")
            case "count":
                return vectors[:-1]
            case "width":
                return [vector[:-1] for vector in vectors]
            case "none":
                return None  # type: ignore[return-value]
        return vectors


async def test_an_embedder_that_breaks_its_port_stops_neither_put_nor_worker(
    make_container: Callable[..., Any],
) -> None:
    embedder = BuggyEmbedder("raises")
    container = await make_container(parts=Parts(embedder=embedder))
    rag = make_rag(container)
    for fault in ("raises", "count", "width", "none"):
        embedder.fault = fault
        result = await rag.ingest_text(f"{fault}.md", "aguja")
        assert (result.status, result.pending) == (IngestStatus.CREATED, 1)
    worker = asyncio.create_task(EmbeddingWorker(embed_pending=container.use_cases.embed_pending).run())
    await asyncio.sleep(0.3)
    assert not worker.done()
    worker.cancel()
    embedder.fault = ""
    assert (await rag.embed_pending()).pending == 0


async def test_delete_restore_purge(open_rag: OpenRag) -> None:
    embedder = HashingEmbedder()
    rag = await open_rag(parts=Parts(embedder=embedder))
    text = "# Contrato\n\nLa aguja está en la página uno.\n\n" + paragraphs(3)
    first = await rag.ingest_text("a.md", text, metadata={"k": 1})
    before = await rag.search("aguja", mode="sparse")
    embedded = len(embedder.embedded)
    await rag.delete("a.md")
    assert not (await rag.search("aguja", mode="hybrid")).hits
    with pytest.raises(NotFoundError):
        await rag.document("a.md")
    restored = await rag.restore("a.md")
    assert (restored.document_id, restored.chunks, restored.pending) == (first.document_id, first.chunks, 0)
    assert len(embedder.embedded) == embedded
    after = await rag.search("aguja", mode="sparse")
    assert [(h.chunk.content, h.chunk.title, h.chunk.line_start, h.chunk.metadata) for h in after.hits] == [
        (h.chunk.content, h.chunk.title, h.chunk.line_start, h.chunk.metadata) for h in before.hits
    ]
    assert (await rag.ingest_text("a.md", text, metadata={"k": 1})).status is IngestStatus.UNCHANGED
    with pytest.raises(NotFoundError):
        await rag.restore("a.md")
    with pytest.raises(InvalidInputError):
        await rag.delete_selection()
    assert await rag.delete_selection(prefix="a") == 1
    assert [document.external_id for document in (await rag.documents(deleted=True))[0]] == ["a.md"]
    assert await rag.purge(older_than_days=0) == 1
    with pytest.raises(NotFoundError):
        await rag.restore("a.md")
    for days in (-1, float("nan"), 1e9):
        with pytest.raises(InvalidInputError):
            await rag.purge(older_than_days=days)


async def test_a_document_of_pages_comes_back_with_its_pages(open_rag: OpenRag) -> None:
    fpdf = pytest.importorskip("fpdf")
    pdf = fpdf.FPDF()
    pdf.set_font("helvetica", size=12)
    for page in ("primera", "segunda"):
        pdf.add_page()
        pdf.multi_cell(0, 8, f"Texto de la {page} hoja con la aguja {page}. " * 60)
    rag = await open_rag()
    await rag.ingest_bytes("p.pdf", bytes(pdf.output()), filename="p.pdf")
    before = {hit.chunk.content: hit.chunk.page_start for hit in (await rag.search("segunda", mode="sparse")).hits}
    assert 2 in before.values()
    await rag.delete("p.pdf")
    await rag.restore("p.pdf")
    after = {hit.chunk.content: hit.chunk.page_start for hit in (await rag.search("segunda", mode="sparse")).hits}
    assert after == before

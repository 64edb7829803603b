"""Ingestion through the library: what PUT promises, the worker that finishes, and input that nobody should send."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest

from ragcorp.application.embedding_worker import EmbeddingWorker
from ragcorp.domain.documents import DocumentAttributes, IngestStatus, SourceFile
from ragcorp.domain.exceptions import (
    EmbedderUnavailableError,
    InvalidInputError,
    NotFoundError,
    UnreadableDocumentError,
)
from ragcorp.domain.ingestion import IngestFailure, IngestRequest, IngestResult
from ragcorp.domain.ports.models import Vector
from ragcorp.interface.library.rag import Rag
from ragcorp.main.container import Parts
from ragcorp.main.library import make_rag
from support.embedders import BrokenEmbedder, HashingEmbedder
from support.stored import ANYONE

pytestmark = pytest.mark.anyio

OpenRag = Callable[..., Any]


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


def count(dsn: str, table: str) -> int:
    with psycopg.connect(dsn) as connection:
        row = connection.execute(f"SELECT count(*) FROM {table}").fetchone()  # type: ignore[arg-type]
    assert row is not None
    return int(row[0])


async def found(rag: Rag, query: str, **options: Any) -> list[str]:
    return [hit.chunk.external_id for hit in (await rag.search(query, mode="sparse", **options)).hits]


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


# batches and folders


def request(external_id: str, text: str, **attributes: Any) -> IngestRequest:
    file = SourceFile(content=text.encode(), media_type="text/plain", filename="")
    return IngestRequest(external_id=external_id, file=file, attributes=DocumentAttributes(**attributes))


async def test_bad_items_of_a_batch_are_reported_in_their_place(make_container: Callable[..., Any]) -> None:
    container = await make_container()
    requests = [
        request("bien/1", "aguja uno"),
        request("mal/vacío", "  "),
        request("mal/nul\x00", "texto"),
        request("", "texto"),
        request("mal/idioma", "texto", language="castellano"),
        request("bien/2", "primera versión"),
        request("mal/metadatos", "texto", metadata={"x": float("nan")}),
        request("bien/2", "aguja dos"),
        request("mal/largo", "texto", title="x" * 501),
        request("bien/3", "aguja \x00tres"),
    ]
    outcomes = await container.use_cases.ingest.execute_many(requests, principal=ANYONE)
    assert [outcome.external_id for outcome in outcomes] == [item.external_id for item in requests]
    stored = [position for position, outcome in enumerate(outcomes) if isinstance(outcome, IngestResult)]
    assert stored == [0, 7, 9]
    for outcome in outcomes:
        if isinstance(outcome, IngestFailure):
            assert isinstance(outcome.error, InvalidInputError)
            assert outcome.error.field
    assert sorted(await found(make_rag(container), "aguja")) == ["bien/1", "bien/2", "bien/3"]


async def test_one_conflict_of_a_batch_stops_no_other(make_container: Callable[..., Any]) -> None:
    container = await make_container()
    from ragcorp.domain.documents import VisibilityScope
    from ragcorp.domain.principal import Principal

    ana, beto = Principal(subject="ana"), Principal(subject="beto")
    ingest = container.use_cases.ingest
    await ingest.execute(request("m", "de ana", visibility_scope=VisibilityScope.PRIVATE, owner="ana"), principal=ana)
    outcomes = await ingest.execute_many([request(name, "aguja") for name in ("a", "m", "z")], principal=beto)
    assert [type(outcome) for outcome in outcomes] == [IngestResult, IngestFailure, IngestResult]
    assert outcomes[1].error.code == "conflict"


async def test_a_folder_is_ingested_once(open_rag: OpenRag, tmp_path: Path, dsn: str) -> None:
    embedder = HashingEmbedder()
    rag = await open_rag(parts=Parts(embedder=embedder))
    (tmp_path / "sub" / ".git").mkdir(parents=True)
    for name, content in {
        "a.md": b"# Uno\n\naguja", "sub/b.txt": "aguja ñ".encode("latin-1"), "sub/c.HTML": b"<p>aguja</p>",
        "mala.pdf": b"%PDF-1.4 nonsense", "vacia.txt": b"", "otra.bin": b"x", ".oculta.md": b"aguja",
        "sub/.git/x.md": b"aguja",
    }.items():  # fmt: skip
        (tmp_path / name).write_bytes(content)
    (tmp_path / "enlace.md").symlink_to(tmp_path / "a.md")
    seen: list[tuple[int, int]] = []
    first = await rag.ingest_folder(tmp_path, prefix="x/", on_progress=lambda done, total: seen.append((done, total)))
    assert (first.created, first.updated, first.unchanged, first.total) == (3, 0, 0, 5)
    assert sorted(failure.external_id for failure in first.failures) == ["x/mala.pdf", "x/vacia.txt"]
    assert seen[-1] == (5, 5)
    assert sorted(await found(rag, "aguja")) == ["x/a.md", "x/sub/b.txt", "x/sub/c.HTML"]
    await rag.embed_pending()
    rows, embedded = count(dsn, "chunks"), len(embedder.embedded)
    second = await rag.ingest_folder(tmp_path, prefix="x/")
    assert (second.created, second.updated, second.unchanged, len(second.failures)) == (0, 0, 3, 2)
    (tmp_path / "a.md").write_bytes(b"# Uno\n\notra aguja")
    third = await rag.ingest_folder(tmp_path, prefix="x/")
    assert (third.created, third.updated, third.unchanged) == (0, 1, 2)
    await rag.embed_pending()
    assert (count(dsn, "chunks"), len(embedder.embedded)) == (rows, embedded + 1)
    one = await rag.ingest_folder(tmp_path / "a.md", prefix="x/")
    assert one.unchanged == 1
    with pytest.raises(NotFoundError):
        await rag.ingest_folder(tmp_path / "nada")


# input that nobody should send


async def test_text_that_is_not_text(open_rag: OpenRag, dsn: str) -> None:
    rag = await open_rag()
    for text in ("", " \n\t \u00a0\u200b \n", "\x00\x01", "\ufeff"):
        with pytest.raises(InvalidInputError):
            await rag.ingest_text("vacio.txt", text)
    with pytest.raises(InvalidInputError) as caught:
        await rag.ingest_text("mal.txt", "a\ud800b")
    assert caught.value.field == "text"
    assert count(dsn, "documents") == count(dsn, "chunks") == count(dsn, "embedding_cache") == 0
    await rag.ingest_text("a.txt", "hola\x00mundo")
    assert await found(rag, "hola") == await found(rag, "mundo") == ["a.txt"]


async def test_text_is_text_whatever_its_name(open_rag: OpenRag) -> None:
    rag = await open_rag()
    for name in ("contrato.pdf", "datos.xlsx", "sin-extensión", "a.txt", "página.html", "correo.eml"):
        await rag.ingest_text(name, "# Título\n\nLa aguja está aquí.")
    assert len(await found(rag, "aguja")) == 6
    assert (await rag.source("contrato.pdf")).content == "# Título\n\nLa aguja está aquí.".encode()


async def test_words_and_texts_without_end(open_rag: OpenRag) -> None:
    rag = await open_rag(embed_wait_seconds=0, parts=Parts(embedder=None))
    await rag.ingest_text("token.txt", "inicio " + "x" * 5000 + " fin aguja")
    assert await found(rag, "aguja") == ["token.txt"]
    assert await found(rag, "inicio") == ["token.txt"]
    result = await rag.ingest_text("grande.txt", " ".join(f"único{n:06}" for n in range(200_000)))
    assert result.chunks > 1000
    assert await found(rag, "único000000") == await found(rag, "único199999") == ["grande.txt"]
    await rag.ingest_text("linea.txt", "ñ" * 300_000)
    await rag.ingest_text("emoji.txt", "😀" * 100_000 + " aguja2")
    assert await found(rag, "aguja2") == ["emoji.txt"]


@pytest.mark.parametrize("name", ["", " ", "a\x00", "a\nb", "a\ud800", "x" * 501])
def test_names_that_are_none(name: str) -> None:
    from ragcorp.application.document_preparation import require_external_id

    with pytest.raises(InvalidInputError) as caught:
        require_external_id(name)
    assert caught.value.field == "external_id"


async def test_unreadable_files_say_so_and_leave_nothing(open_rag: OpenRag, dsn: str) -> None:
    rag = await open_rag()
    with pytest.raises(UnreadableDocumentError):
        await rag.ingest_bytes("x.pdf", b"%PDF-1.4 nonsense", filename="x.pdf")
    with pytest.raises(InvalidInputError):
        await rag.ingest_bytes("x.bin", b"\x00\x01", filename="x.bin")
    assert count(dsn, "documents") == 0


# going and coming back


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

"""Batches, folders, and input that nobody should send, through the library."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ragcorp.domain.documents import DocumentAttributes, SourceFile
from ragcorp.domain.exceptions import InvalidInputError, NotFoundError, UnreadableDocumentError
from ragcorp.domain.ingestion import IngestFailure, IngestRequest, IngestResult
from ragcorp.main.opening.library import make_rag
from ragcorp.main.wiring.base import Parts
from support.models.embedders import HashingEmbedder
from support.retrieval.corpus import OpenRag, count, found
from support.storage.stored import ANYONE

pytestmark = pytest.mark.anyio


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
    outcomes = await container.use_cases.ingest.ingest_many(requests, principal=ANYONE)
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
    await ingest.ingest(request("m", "de ana", visibility_scope=VisibilityScope.PRIVATE, owner="ana"), principal=ana)
    outcomes = await ingest.ingest_many([request(name, "aguja") for name in ("a", "m", "z")], principal=beto)
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
    assert (first.created, first.updated, first.unchanged, first.total) == (3, 0, 0, 4)
    assert [failure.external_id for failure in first.failures] == ["x/mala.pdf"]
    assert seen[-1] == (4, 4)
    assert sorted(await found(rag, "aguja")) == ["x/a.md", "x/sub/b.txt", "x/sub/c.HTML"]
    await rag.embed_pending()
    rows, embedded = count(dsn, "chunks"), len(embedder.embedded)
    second = await rag.ingest_folder(tmp_path, prefix="x/")
    assert (second.created, second.updated, second.unchanged, len(second.failures)) == (0, 0, 3, 1)
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


@pytest.mark.parametrize("words", [10_000, pytest.param(200_000, marks=pytest.mark.soak)])
async def test_words_and_texts_without_end(open_rag: OpenRag, words: int) -> None:
    rag = await open_rag(embed_wait_seconds=0, parts=Parts(embedder=None))
    await rag.ingest_text("token.txt", "inicio " + "x" * 5000 + " fin aguja")
    assert await found(rag, "aguja") == ["token.txt"]
    assert await found(rag, "inicio") == ["token.txt"]
    result = await rag.ingest_text("grande.txt", " ".join(f"único{n:06}" for n in range(words)))
    assert result.chunks > words // 200
    for word in ("único000000", f"único{words - 1:06}"):
        (first, *_) = (await rag.search(word, mode="sparse")).hits
        assert (first.chunk.external_id, word in first.chunk.content) == ("grande.txt", True)
    await rag.ingest_text("linea.txt", "ñ" * 300_000)
    await rag.ingest_text("emoji.txt", "😀" * 100_000 + " aguja2")
    assert (await found(rag, "aguja2"))[0] == "emoji.txt"


@pytest.mark.parametrize("name", ["", " ", "a\x00", "a\nb", "a\ud800", "x" * 501])
def test_names_that_are_none(name: str) -> None:
    from ragcorp.application.validation.attribute_checks import require_external_id

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

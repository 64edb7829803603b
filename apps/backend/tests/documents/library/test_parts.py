"""Files inside a file become documents of their own, which come, change and go with it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ragcorp.application.documents import parts
from ragcorp.application.documents.preparation import DocumentPreparation
from ragcorp.domain.documents import DocumentAttributes, IngestStatus, UnreadKind, UnreadPart, VisibilityScope
from ragcorp.domain.exceptions import ConflictError, NotFoundError, UnreadableDocumentError
from ragcorp.domain.ingestion import IngestRequest, IngestResult
from ragcorp.domain.principal import Principal, Sensitivity
from ragcorp.interface.library.rag import Rag
from ragcorp.main.wiring.base import Parts
from support.models.embedders import BrokenEmbedder, HashingEmbedder
from support.parsing import hostile, samples
from support.parsing.kinds import zipped
from support.parsing.mails import mail, mail_with
from support.parsing.partly_read import pdf_with_scanned_pages
from support.recognition.fakes import ScriptedRecognizer
from support.recognition.scans import Scanner, image_file
from support.retrieval.corpus import OpenRag, count, found

pytestmark = pytest.mark.anyio

NOTE = b"# Nota\n\nLa franquicia es de 900 euros.\n"
RATES = b"Muelle;Precio\nNorte;4410\n"


async def store(rag: Rag, name: str, content: bytes, **options: Any) -> IngestResult:
    return await rag.ingest_bytes(name, content, filename=name.rpartition("/")[2], **options)


async def names(rag: Rag, *, deleted: bool = False) -> list[str]:
    return [document.external_id for document in (await rag.documents(deleted=deleted))[0]]


async def test_attachments_are_documents_with_their_pages_and_originals(open_rag: OpenRag) -> None:
    rag = await open_rag()
    pdf = samples.pdf_file()
    result = await store(rag, "correo/pedido.eml", mail_with({"albarán 8812.pdf": pdf, "nota.md": NOTE}))
    assert (result.status, result.parts, result.unread) == (IngestStatus.CREATED, 2, ())
    whole = await rag.document("correo/pedido.eml")
    assert whole.parts == ("correo/pedido.eml/albarán 8812.pdf", "correo/pedido.eml/nota.md")
    part = await rag.document("correo/pedido.eml/albarán 8812.pdf")
    assert (part.part_of, part.parts, part.filename) == ("correo/pedido.eml", (), "albarán 8812.pdf")
    assert (await rag.source("correo/pedido.eml/albarán 8812.pdf")).content == pdf
    hits = (await rag.search("Sección número 2", mode="sparse")).hits
    assert (hits[0].chunk.page_start, hits[0].chunk.source_path) == (2, "correo/pedido.eml/albarán 8812.pdf")
    assert hits[0].chunk.title == "Contrato de suministro (albarán 8812)"
    assert await found(rag, "franquicia") == ["correo/pedido.eml/nota.md"]
    assert await found(rag, "adjunto") == ["correo/pedido.eml"]


async def test_an_archive_in_a_mail_in_an_archive(open_rag: OpenRag) -> None:
    rag = await open_rag()
    inner = zipped({"tarifas/norte.csv": RATES, "programa.exe": b"MZ"})
    result = await store(rag, "todo.zip", zipped({"a.eml": mail_with({"datos.zip": inner}), "nota.md": NOTE}))
    assert result.parts == 4
    assert result.unread == (UnreadPart(kind=UnreadKind.MEMBER, places=("a.eml/datos.zip/programa.exe",)),)
    assert await names(rag) == [
        "todo.zip",
        "todo.zip/a.eml",
        "todo.zip/a.eml/datos.zip",
        "todo.zip/a.eml/datos.zip/tarifas/norte.csv",
        "todo.zip/nota.md",
    ]
    deepest = await rag.document("todo.zip/a.eml/datos.zip/tarifas/norte.csv")
    assert deepest.part_of == "todo.zip"
    archive = await rag.document("todo.zip/a.eml/datos.zip")
    assert archive.unread == (UnreadPart(kind=UnreadKind.MEMBER, places=("programa.exe",)),)
    assert await found(rag, "programa") == ["todo.zip/a.eml/datos.zip"]


async def test_a_part_has_the_attributes_of_the_whole(open_rag: OpenRag) -> None:
    rag = await open_rag()
    content = mail_with({"nota.md": NOTE})
    await store(
        rag,
        "a.eml",
        content,
        title="Asunto",
        attributes=DocumentAttributes(
            language="en", visibility_scope=VisibilityScope.PRIVATE, sensitivity=Sensitivity.CONFIDENTIAL
        ),
        metadata={"año": 2026, "path": "buzón/a.eml"},
    )
    part = (await rag.document("a.eml/nota.md")).attributes
    whole = (await rag.document("a.eml")).attributes
    assert part.visibility_scope is VisibilityScope.PRIVATE
    assert (part.owner, part.sensitivity, part.language) == (whole.owner, whole.sensitivity, "en")
    assert (part.title, part.path) == ("Nota", "buzón/a.eml/nota.md")
    assert part.metadata == {"año": 2026, "path": "buzón/a.eml/nota.md"}
    others = rag.as_principal(Principal(workspace="default", subject="otra"))
    with pytest.raises(NotFoundError):
        await others.document("a.eml/nota.md")
    assert (await store(rag, "a.eml", content)).status is IngestStatus.UPDATED
    assert (await others.document("a.eml/nota.md")).attributes.language == "es"
    assert (await rag.document("a.eml/nota.md")).attributes.metadata == {}


async def test_a_new_version_replaces_the_parts_and_an_equal_one_changes_nothing(
    open_rag: OpenRag, monkeypatch: pytest.MonkeyPatch
) -> None:
    rag = await open_rag()
    first = await store(rag, "a.zip", zipped({"nota.md": NOTE, "b.csv": RATES}))
    note = await rag.document("a.zip/nota.md")
    newer = zipped({"nota.md": NOTE, "c.md": b"# Nuevo"})
    second = await store(rag, "a.zip", newer)
    assert (second.document_id, second.parts) == (first.document_id, 2)
    assert await names(rag) == ["a.zip", "a.zip/c.md", "a.zip/nota.md"]
    assert await names(rag, deleted=True) == []
    assert (await rag.document("a.zip/nota.md")).updated_at == note.updated_at

    async def unwanted(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr(rag._use_cases.ingest.store, "save_many", unwanted)
    again = await store(rag, "a.zip", newer)
    assert (again.status, again.parts) == (IngestStatus.UNCHANGED, 2)


async def test_parts_go_and_come_back_with_the_whole(open_rag: OpenRag, dsn: str) -> None:
    embedder = HashingEmbedder()
    rag = await open_rag(parts=Parts(embedder=embedder))
    await store(rag, "a.zip", zipped({"nota.md": NOTE, "b.csv": RATES, "c.md": b"# Tercero"}))
    await rag.delete("a.zip/c.md")
    await rag.delete("a.zip")
    assert (await names(rag), count(dsn, "chunks")) == ([], 0)
    with pytest.raises(ConflictError, match=r"part of the deleted document a\.zip"):
        await rag.restore("a.zip/nota.md")
    restored = await rag.restore("a.zip")
    assert (restored.parts, restored.pending) == (2, 0)
    assert await names(rag) == ["a.zip", "a.zip/b.csv", "a.zip/nota.md"]
    assert await found(rag, "franquicia") == ["a.zip/nota.md"]
    assert (await rag.restore("a.zip/c.md")).status is IngestStatus.CREATED
    assert (await rag.document("a.zip/c.md")).part_of == "a.zip"
    assert await rag.delete_selection(prefix="a") == 4
    assert await rag.purge(older_than_days=0) == 4
    assert count(dsn, "documents") == 0


async def test_a_selection_takes_the_parts_along(open_rag: OpenRag) -> None:
    rag = await open_rag()
    await store(rag, "a.zip", zipped({"nota.md": NOTE}))
    assert await rag.delete_selection(filters={"external_id": "a.zip"}) == 2


async def test_names_of_others_are_not_taken(open_rag: OpenRag) -> None:
    rag = await open_rag()
    await rag.ingest_text("a.zip/nota.md", "Mía.")
    with pytest.raises(ConflictError, match=r"stored as a\.zip/nota\.md"):
        await store(rag, "a.zip", zipped({"nota.md": NOTE}))
    assert await names(rag) == ["a.zip/nota.md"]
    await rag.delete("a.zip/nota.md")
    await store(rag, "a.zip", zipped({"nota.md": NOTE}))
    assert (await rag.document("a.zip/nota.md")).part_of == "a.zip"
    with pytest.raises(ConflictError, match="inside the file of another document"):
        await rag.ingest_text("a.zip/nota.md", "Mía.")
    with pytest.raises(ConflictError, match="inside the file of another document"):
        await rag.artifacts.update("a.zip/nota.md", title="Otro")


async def test_what_cannot_be_read_is_named_and_fails_nothing(open_rag: OpenRag) -> None:
    rag = await open_rag()
    files = {
        "escaneado.pdf": pdf_with_scanned_pages(),
        "roto.pdf": b"%PDF-1.7 roto",
        "clave.pdf": samples.pdf_file(password="x"),
        "vacío.txt": b"",
        "foto.exe": b"MZ",
        "nota.md": NOTE,
    }
    result = await store(rag, "a.eml", mail_with(files))
    assert result.parts == 2
    assert result.unread == (
        UnreadPart(kind=UnreadKind.PAGE, count=2, places=("escaneado.pdf: 2", "escaneado.pdf: 4")),
        UnreadPart(kind=UnreadKind.ATTACHMENT, count=4, places=("vacío.txt", "foto.exe", "roto.pdf", "clave.pdf")),
    )
    assert (await rag.document("a.eml")).unread == result.unread


async def test_equal_and_dangerous_names(open_rag: OpenRag) -> None:
    rag = await open_rag()
    message = mail()
    for name in ("a.txt", "a.txt", "a (2).txt", "../../etc/passwd.txt", "C:\\tmp\\b\r\n.txt", "x" * 600 + ".txt"):
        message.add_attachment(b"hola", maintype="application", subtype="octet-stream")
        message.get_payload()[-1].set_param("filename", name.replace("\r\n", " "), header="Content-Disposition")  # type: ignore[union-attr]
    assert (await store(rag, "a.eml", message.as_bytes())).parts == 6
    stored = (await rag.document("a.eml")).parts
    assert max(map(len, stored)) == 500
    assert [name for name in stored if len(name) < 100] == [
        "a.eml/a (2).txt",
        "a.eml/a (3).txt",
        "a.eml/a.txt",
        "a.eml/etc/passwd.txt",
        "a.eml/tmp/b .txt",
    ]


async def test_forwarded_mails_keep_their_text_in_the_mail(open_rag: OpenRag) -> None:
    rag = await open_rag()
    inner = mail("Original", "El muelle 4.")
    inner.add_attachment(NOTE, maintype="text", subtype="markdown", filename="nota.md")
    outer = mail("RV: Original", "Vea abajo.")
    outer.add_attachment(inner)
    assert (await store(rag, "a.eml", outer.as_bytes())).parts == 1
    assert await found(rag, "muelle") == ["a.eml"]
    assert await found(rag, "franquicia") == ["a.eml/nota.md"]


async def test_a_mail_of_nothing_but_attachments(open_rag: OpenRag) -> None:
    rag = await open_rag()
    await store(rag, "a.eml", mail_with({"nota.md": NOTE}, subject="Siniestro 44", text=""))
    assert await found(rag, "Siniestro") == ["a.eml"]


async def test_archives_in_archives_end(open_rag: OpenRag) -> None:
    rag = await open_rag()
    content = zipped({"a.txt": "fondo"})
    for _ in range(8):
        content = zipped({"dentro.zip": content, "b.txt": "x"})
    result = await store(rag, "a.zip", content)
    deepest = "dentro.zip/" * 4
    assert result.unread == (
        UnreadPart(kind=UnreadKind.MEMBER, count=2, places=(f"{deepest}dentro.zip", f"{deepest}b.txt")),
    )


async def test_parts_beyond_a_limit_are_named(open_rag: OpenRag, monkeypatch: pytest.MonkeyPatch) -> None:
    rag = await open_rag()
    monkeypatch.setattr(parts, "MAX_PARTS", 2)
    many = await store(rag, "a.zip", zipped({f"{number}.txt": "hola" for number in range(4)}))
    assert (many.parts, many.unread[0].places) == (2, ("2.txt", "3.txt"))
    monkeypatch.setattr(parts, "MAX_PARTS", 100)
    monkeypatch.setattr(parts, "MAX_PART_BYTES", 6)
    large = await store(rag, "b.zip", zipped({"0.txt": "hola", "1.txt": "adiós", "2.txt": "x"}))
    assert (large.parts, large.unread[0].places) == (2, ("1.txt",))
    monkeypatch.setattr(parts, "MAX_PART_BYTES", 100)
    monkeypatch.setattr(parts, "MAX_CHARACTERS", 6)
    long = await store(rag, "c.zip", zipped({"0.txt": "hola", "1.txt": "adiós", "2.txt": "x"}))
    assert (long.parts, long.unread[0].places) == (2, ("1.txt",))


async def test_an_archive_of_archives_ends_too(open_rag: OpenRag, dsn: str) -> None:
    rag = await open_rag()
    result = await store(rag, "a.zip", hostile.archive_of_archives())
    (left_out,) = result.unread
    assert 0 < result.parts <= 1_000
    assert left_out.count > 8
    assert count(dsn, "documents") == 1 + result.parts


async def test_parts_that_take_too_long_are_named(open_rag: OpenRag, monkeypatch: pytest.MonkeyPatch) -> None:
    rag = await open_rag(parse_timeout_seconds=0.5)
    slow = {f"{number}.pdf": hostile.form_that_draws_itself_twice() for number in range(30)}
    result = await store(rag, "a.zip", zipped({"0.txt": "hola", **slow, "z.txt": "hola"}))
    assert result.unread[0].count >= 30
    assert (await rag.document("a.zip")).parts[0] == "a.zip/0.txt"


async def test_the_same_mail_twice_at_once(open_rag: OpenRag) -> None:
    rag = await open_rag()
    versions = [zipped({f"{number}.txt": "hola", "nota.md": NOTE}) for number in range(6)]
    await asyncio.gather(*(store(rag, "a.zip", version) for version in versions))
    last = await rag.document("a.zip")
    assert len(last.parts) == 2
    assert await names(rag) == ["a.zip", *last.parts]


async def test_a_part_that_cannot_be_read_again_stays_with_the_attributes_of_the_whole(
    open_rag: OpenRag, monkeypatch: pytest.MonkeyPatch
) -> None:
    rag = await open_rag()
    inner = zipped({"tarifas/norte.csv": RATES})
    files = {"nota.md": NOTE, "datos.zip": inner, "b.txt": b"Texto viejo."}
    await store(rag, "a.eml", mail_with(files), metadata={"path": "buzón/a.eml"})
    fail_parts(monkeypatch, "nota.md", "datos.zip", "b.txt")
    private = DocumentAttributes(visibility_scope=VisibilityScope.PRIVATE, language="en")
    changed = mail_with(files | {"b.txt": b"Texto nuevo."})
    result = await store(rag, "a.eml", changed, attributes=private, metadata={"path": "otro/a.eml"})
    assert (result.status, result.parts) == (IngestStatus.UPDATED, 3)
    kept = ["a.eml/datos.zip", "a.eml/datos.zip/tarifas/norte.csv", "a.eml/nota.md"]
    assert await names(rag) == ["a.eml", *kept]
    deepest = (await rag.document("a.eml/datos.zip/tarifas/norte.csv")).attributes
    assert (deepest.visibility_scope, deepest.language) == (VisibilityScope.PRIVATE, "en")
    assert deepest.metadata == {"path": "otro/a.eml/datos.zip/tarifas/norte.csv"}
    assert await found(rag, "franquicia") == ["a.eml/nota.md"]
    others = rag.as_principal(Principal(workspace="default", subject="otra"))
    assert await found(others, "franquicia") == []
    monkeypatch.undo()
    await store(rag, "a.eml", mail_with(files))
    assert (await others.document("a.eml/nota.md")).attributes.metadata == {}
    assert await found(others, "franquicia") == ["a.eml/nota.md"]


async def test_a_part_that_may_be_read_another_time_is_tried_again(
    open_rag: OpenRag, monkeypatch: pytest.MonkeyPatch
) -> None:
    rag = await open_rag()
    content = zipped({"a.eml": mail_with({"nota.md": NOTE, "b.csv": RATES}), "roto.pdf": b"%PDF-1.7 roto"})
    fail_parts(monkeypatch, "nota.md", "b.csv")
    assert (await store(rag, "a.zip", content)).parts == 1
    assert (await store(rag, "a.zip", content)).status is IngestStatus.UNCHANGED
    monkeypatch.undo()
    fail_parts(monkeypatch, "nota.md")
    second = await store(rag, "a.zip", content)
    assert (second.status, second.parts) == (IngestStatus.UPDATED, 2)
    assert (await rag.document("a.zip/a.eml")).unread == (UnreadPart(kind=UnreadKind.ATTACHMENT, places=("nota.md",)),)
    monkeypatch.undo()
    third = await store(rag, "a.zip", content)
    assert (third.status, third.parts) == (IngestStatus.UPDATED, 3)
    assert (await rag.document("a.zip/a.eml")).unread == ()
    assert [part.places for part in third.unread] == [("roto.pdf",)]
    fail_parts(monkeypatch, "nota.md", "b.csv")
    again = await store(rag, "a.zip", content)
    assert (again.status, again.parts) == (IngestStatus.UNCHANGED, 3)


async def test_a_picture_is_read_when_recognition_is_there(open_rag: OpenRag) -> None:
    content = mail_with({"foto.png": image_file(Scanner(dpi=72).scan("Factura"), kind="PNG")})
    without = await open_rag(ocr="off")
    first = await store(without, "a.eml", content)
    assert (first.parts, first.unread[0].places) == (0, ("foto.png",))
    rag = await open_rag(parts=Parts(embedder=HashingEmbedder(), recognizer=ScriptedRecognizer({1: "Factura 44"})))
    assert (await store(rag, "a.eml", content)).parts == 1
    await rag.recognize_pending()
    await store(without, "a.eml", content, title="Otro")
    assert await found(rag, "Factura") == ["a.eml/foto.png"]


async def test_a_name_that_a_file_inside_a_file_has_is_numbered(open_rag: OpenRag) -> None:
    rag = await open_rag()
    content = zipped({"x.zip": zipped({"b.txt": "hola"}), "x.zip/b.txt": "otro texto", "c.md": "# hola"})
    assert (await store(rag, "a.zip", content)).parts == 4
    assert await names(rag) == ["a.zip", "a.zip/c.md", "a.zip/x.zip", "a.zip/x.zip/b (2).txt", "a.zip/x.zip/b.txt"]
    assert await found(rag, "otro texto") == ["a.zip/x.zip/b (2).txt"]


async def test_pending_counts_the_vectors_of_parts(open_rag: OpenRag) -> None:
    rag = await open_rag(parts=Parts(embedder=BrokenEmbedder()))
    content = mail_with({"nota.md": NOTE, "b.csv": RATES})
    first = await store(rag, "a.eml", content)
    assert first.pending > (await rag.document("a.eml")).pending > 0
    assert (await store(rag, "a.eml", content)).pending == first.pending


def fail_parts(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Let files of these names inside files fail for want of time."""
    prepare = DocumentPreparation._prepare_part

    async def failing(self: DocumentPreparation, request: IngestRequest) -> Any:
        if request.file.filename in names:
            raise UnreadableDocumentError("Too slow.", field="content", remedy="Split it.", reason="too_slow")
        return await prepare(self, request)

    monkeypatch.setattr(DocumentPreparation, "_prepare_part", failing)

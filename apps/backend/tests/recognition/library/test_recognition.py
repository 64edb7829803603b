"""Scanned pages are recognised after the document is stored: once, and whatever happens to the document meanwhile."""

from __future__ import annotations

from email.message import EmailMessage
from functools import partial
from typing import Any

import pytest
from fpdf import FPDF

from ragcorp.domain.documents import DocumentAttributes, IngestStatus, UnreadKind, UnreadPart, VisibilityScope
from ragcorp.domain.exceptions import UnreadableDocumentError
from ragcorp.interface.library.rag import Rag
from ragcorp.main.wiring.base import Parts
from support.models.embedders import HashingEmbedder
from support.parsing.kinds import zipped
from support.recognition.fakes import ScriptedRecognizer
from support.recognition.half_scanned import GRANT, NAME, SCAN, TEXT, counts
from support.recognition.scans import image_file, pdf_of
from support.retrieval.corpus import OpenRag

pytestmark = pytest.mark.anyio


async def opened(open_rag: OpenRag, recognizer: ScriptedRecognizer | None, **settings: Any) -> Rag:
    return await open_rag(parts=Parts(embedder=HashingEmbedder(), recognizer=recognizer), **settings)


async def ingest(rag: Rag, content: bytes, name: str = NAME, **attributes: Any) -> Any:
    return await rag.ingest_bytes(name, content, filename=name, **attributes)


async def places(rag: Rag, query: str) -> list[tuple[int | None, float | None]]:
    return [(hit.chunk.page_start, hit.chunk.recognition_confidence) for hit in (await rag.search(query)).hits]


async def test_the_text_is_found_at_its_page_with_its_confidence(open_rag: OpenRag) -> None:
    rag = await opened(open_rag, ScriptedRecognizer({2: GRANT}, confidence=0.75))
    assert [part.places for part in (await ingest(rag, pdf_of(TEXT, SCAN))).unread] == [("2",)]
    assert (await rag.document(NAME)).recognition == counts(1, 0)
    assert await places(rag, "ayuda 47.250") in ([], [(1, None)])
    progress: list[tuple[int, int]] = []
    assert await rag.recognize_pending(on_progress=lambda done, pages: progress.append((done, pages))) == counts(1, 1)
    assert progress == [(1, 1)]
    document = await rag.document(NAME)
    assert (document.unread, document.recognition) == ((), counts(1, 1))
    assert (await places(rag, "ayuda 47.250"))[0] == (2, 0.75)
    assert (await places(rag, "importe solicitado 61.900"))[0] == (1, None)
    answer = await rag.ask("¿De cuánto es la ayuda que se concede a la cooperativa?")
    assert [(citation.page, citation.recognition_confidence) for citation in answer.citations] == [(2, 0.75)]


async def test_an_unchanged_file_stays_so_and_is_read_once(open_rag: OpenRag) -> None:
    recognizer = ScriptedRecognizer({2: GRANT})
    rag = await opened(open_rag, recognizer)
    content = pdf_of(TEXT, SCAN)
    await ingest(rag, content)
    await rag.recognize_pending()
    again = await ingest(rag, content)
    assert (again.status, again.unread) == (IngestStatus.UNCHANGED, ())
    assert (await ingest(rag, content, title="Otro título")).status is IngestStatus.UPDATED
    await rag.recognize_pending()
    assert (await places(rag, "ayuda 47.250"))[0] == (2, 0.9)
    await rag.delete(NAME)
    assert await rag.recognize_pending() == counts(0, 0)
    await rag.restore(NAME)
    await rag.recognize_pending()
    assert (await rag.document(NAME)).unread == ()
    assert (await places(rag, "ayuda 47.250"))[0] == (2, 0.9)
    assert recognizer.read == [2]
    assert (await rag.source(NAME)).content == content


async def test_another_file_is_read_anew(open_rag: OpenRag) -> None:
    recognizer = ScriptedRecognizer({1: GRANT, 2: GRANT})
    rag = await opened(open_rag, recognizer)
    await ingest(rag, pdf_of(TEXT, SCAN))
    await rag.recognize_pending()
    recognizer.pages = {2: "La ayuda se deniega por falta de crédito."}
    await ingest(rag, pdf_of(TEXT + " Bis.", SCAN))
    assert (await rag.document(NAME)).recognition == counts(1, 0)
    await rag.recognize_pending()
    assert 0.9 not in [confidence for _, confidence in await places(rag, "47.250")]
    assert (await places(rag, "deniega crédito"))[0] == (2, 0.9)
    await ingest(rag, pdf_of(TEXT))
    assert (await rag.document(NAME)).recognition is None


async def test_an_image_is_a_document(open_rag: OpenRag) -> None:
    rag = await opened(
        open_rag, ScriptedRecognizer({1: "Acta de la junta: preside Íñigo Ruiz.", 3: "Se levanta la sesión."})
    )
    await ingest(rag, image_file(SCAN, SCAN, SCAN, kind="TIFF"), "Acta 12.tiff")
    assert len(await places(rag, "acta 12")) == 1
    await rag.recognize_pending()
    document = await rag.document("Acta 12.tiff")
    assert ([part.places for part in document.unread], document.recognition) == ([("2",)], counts(3, 3))
    assert (await places(rag, "preside Íñigo"))[0] == (1, 0.9)
    assert (await places(rag, "levanta la sesión"))[0] == (3, 0.9)


async def test_a_restored_document_has_its_confidences_at_once(open_rag: OpenRag) -> None:
    rag = await opened(open_rag, ScriptedRecognizer({2: GRANT}, confidence=0.75))
    await ingest(rag, pdf_of(TEXT, SCAN))
    await rag.recognize_pending()
    await rag.delete(NAME)
    await rag.restore(NAME)
    assert (await places(rag, "ayuda 47.250"))[0] == (2, 0.75)
    assert (await rag.document(NAME)).unread == ()


async def test_a_scan_within_a_mail_is_read_and_stays_part_of_it(open_rag: OpenRag) -> None:
    rag = await opened(open_rag, ScriptedRecognizer({1: GRANT, 2: "Segunda página."}))
    mail = EmailMessage()
    mail["Subject"] = "Expediente"
    mail.set_content("Adjunto la resolución.")
    mail.add_attachment(pdf_of(SCAN, SCAN), maintype="application", subtype="pdf", filename="resolucion.pdf")
    mail.add_attachment(b"MZ", maintype="application", subtype="octet-stream", filename="programa.exe")
    await ingest(rag, bytes(mail), "aviso.eml")
    part = "aviso.eml/resolucion.pdf"
    left_out = UnreadPart(kind=UnreadKind.ATTACHMENT, places=("programa.exe",))
    pages = UnreadPart(kind=UnreadKind.PAGE, count=2, places=("resolucion.pdf: 1", "resolucion.pdf: 2"))
    assert (await rag.document("aviso.eml")).unread == (pages, left_out)
    assert (await rag.document(part)).recognition == counts(2, 0)
    assert await rag.recognize_pending() == counts(2, 2)
    document = await rag.document(part)
    assert (document.part_of, document.recognition, document.unread) == ("aviso.eml", counts(2, 2), ())
    assert (await places(rag, "ayuda 47.250"))[0] == (1, 0.9)
    whole = await rag.document("aviso.eml")
    assert (whole.parts, whole.unread) == ((part,), (left_out,))


async def test_pages_of_one_of_many_scans_are_no_longer_named(open_rag: OpenRag) -> None:
    rag = await opened(open_rag, ScriptedRecognizer({1: GRANT}))
    scan, two = pdf_of(SCAN), pdf_of(SCAN, SCAN)
    content = zipped({"copia-acta.pdf": two, "x.zip": zipped({"acta.pdf": two, "b.pdf": scan})})
    await ingest(rag, content, "a.zip")
    page = partial(UnreadPart, kind=UnreadKind.PAGE)
    names = ("copia-acta.pdf: 1", "copia-acta.pdf: 2", "x.zip/acta.pdf: 1", "x.zip/acta.pdf: 2", "x.zip/b.pdf: 1")
    assert (await rag.document("a.zip")).unread == (page(count=5, places=names),)
    await rag.recognize_pending()
    assert (await rag.document("a.zip")).unread == (page(count=2, places=(names[1], names[3])),)
    assert (await rag.document("a.zip/x.zip")).unread == (page(count=1, places=("acta.pdf: 2",)),)
    again = await ingest(rag, content, "a.zip", title="Otro")
    assert again.status is IngestStatus.UPDATED
    assert again.unread == (await rag.document("a.zip")).unread == (page(count=2, places=(names[1], names[3])),)


async def test_parts_and_other_gaps_of_a_recognised_document_stay(open_rag: OpenRag) -> None:
    rag = await opened(open_rag, ScriptedRecognizer({2: GRANT}))
    pdf = FPDF()
    pdf.set_font("helvetica", size=12)
    pdf.add_page()
    pdf.multi_cell(0, 6, TEXT)
    pdf.add_page()
    pdf.image(SCAN, x=0, y=0, w=pdf.w, h=pdf.h)
    pdf.embed_file(basename="anexo.md", bytes=b"# Anexo\n\nEl plazo es de dos semanas.")
    pdf.embed_file(basename="programa.exe", bytes=b"MZ")
    await ingest(rag, bytes(pdf.output()))
    before = await rag.document(NAME)
    assert {part.kind for part in before.unread} == {UnreadKind.PAGE, UnreadKind.ATTACHMENT}
    await rag.recognize_pending()
    after = await rag.document(NAME)
    assert after.unread == tuple(part for part in before.unread if part.kind is not UnreadKind.PAGE)
    assert after.parts == before.parts == (f"{NAME}/anexo.md",)


async def test_a_private_document_is_read_too(open_rag: OpenRag) -> None:
    rag = await opened(open_rag, ScriptedRecognizer({2: GRANT}))
    await ingest(rag, pdf_of(TEXT, SCAN), attributes=DocumentAttributes(visibility_scope=VisibilityScope.PRIVATE))
    assert await rag.recognize_pending() == counts(1, 1)
    assert (await rag.document(NAME)).unread == ()


async def test_without_an_engine_pages_wait_for_one(open_rag: OpenRag) -> None:
    rag = await opened(open_rag, None, ocr="off")
    await ingest(rag, pdf_of(TEXT, SCAN))
    assert await rag.recognize_pending() == counts(1, 0)
    assert [part.places for part in (await rag.document(NAME)).unread] == [("2",)]
    with pytest.raises(UnreadableDocumentError) as caught:
        await ingest(rag, image_file(SCAN), "acta.png")
    assert "ragcorp[ocr]" in str(caught.value.remedy)

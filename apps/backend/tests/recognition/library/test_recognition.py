"""Scanned pages are recognised after the document is stored: page after page, once, and whatever happens meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from email.message import EmailMessage
from functools import partial
from typing import Any, cast

import pytest
from fpdf import FPDF

from ragcorp.application.documents.preparation import DocumentPreparation
from ragcorp.application.documents.recognize import RecognitionWorker, RecognizeText
from ragcorp.domain.documents import (
    DocumentAttributes,
    IngestStatus,
    SourceFile,
    UnreadKind,
    UnreadPart,
    VisibilityScope,
)
from ragcorp.domain.exceptions import ConfigurationError, ConflictError, UnreadableDocumentError
from ragcorp.domain.ingestion import IngestRequest
from ragcorp.domain.recognition import RecognitionCounts, RecognizedPage
from ragcorp.interface.library.rag import Rag
from ragcorp.main.wiring.base import Parts
from ragcorp.main.wiring.container import Container
from support.models.embedders import HashingEmbedder
from support.parsing.kinds import zipped
from support.recognition.fakes import ScriptedRecognizer
from support.recognition.scans import Scanner, image_file, pdf_of
from support.retrieval.corpus import OpenRag

pytestmark = pytest.mark.anyio

SCAN = Scanner(dpi=72).scan("Resolución")
TEXT = "El importe solicitado por la cooperativa es de 61.900 euros, con cargo al programa de este año, según consta."
GRANT = "Se concede a la cooperativa una ayuda de 47.250 euros."
NAME = "expediente.pdf"


async def opened(open_rag: OpenRag, recognizer: ScriptedRecognizer | None, **settings: Any) -> Rag:
    return await open_rag(parts=Parts(embedder=HashingEmbedder(), recognizer=recognizer), **settings)


async def ingest(rag: Rag, content: bytes, name: str = NAME, **attributes: Any) -> Any:
    return await rag.ingest_bytes(name, content, filename=name, **attributes)


async def places(rag: Rag, query: str) -> list[tuple[int | None, float | None]]:
    return [(hit.chunk.page_start, hit.chunk.recognition_confidence) for hit in (await rag.search(query)).hits]


def counts(pages: int, done: int, failed: int = 0) -> RecognitionCounts:
    return RecognitionCounts(pages=pages, done=done, failed=failed)


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


async def test_a_page_that_fails_is_tried_again_and_given_up(make_container: Any) -> None:
    unreadable = UnreadableDocumentError("It takes too long.", field="content", remedy="No.", reason="too_slow")
    recognizer = ScriptedRecognizer({2: unreadable, 3: GRANT})
    container: Container = await make_container(parts=Parts(embedder=HashingEmbedder(), recognizer=recognizer))
    use_case = container.use_cases.recognize
    await container_ingest(container, pdf_of(TEXT, SCAN, SCAN))
    for attempt in range(1, 4):
        while await use_case.recognize():
            pass
        assert recognizer.read.count(2) == attempt
        await make_due(container)
    assert await use_case.counts() == counts(2, 1, 1)
    assert await use_case.recognize() is False
    document = await container.use_cases.documents.get(NAME, principal=container.settings.local_caller.principal)
    assert (document.recognition, [part.places for part in document.unread]) == (counts(2, 1, 1), [("2",)])
    recognizer.pages[2] = "Por fin."
    assert await use_case.retry_failed() == 1
    while await use_case.recognize():
        pass
    assert await use_case.counts() == counts(2, 2)


async def test_the_page_of_a_worker_that_died_comes_back_and_is_bounded(make_container: Any) -> None:
    recognizer = ScriptedRecognizer({2: GRANT})
    container: Container = await make_container(parts=Parts(embedder=HashingEmbedder(), recognizer=recognizer))
    use_case = container.use_cases.recognize
    await container_ingest(container, pdf_of(TEXT, SCAN))
    for _ in range(3):  # three workers take it and are killed
        assert await use_case.backlog.claim(lease_seconds=300) is not None
        assert await use_case.recognize() is False
        await make_due(container)
    assert await use_case.recognize() is True
    assert recognizer.read == []
    assert await use_case.counts() == counts(1, 0, 1)


async def test_an_interruption_gives_the_page_back(make_container: Any) -> None:
    recognizer = ScriptedRecognizer({2: asyncio.CancelledError()})
    container: Container = await make_container(parts=Parts(embedder=HashingEmbedder(), recognizer=recognizer))
    use_case = container.use_cases.recognize
    await container_ingest(container, pdf_of(TEXT, SCAN))
    for error in (asyncio.CancelledError(), ConfigurationError("The process does not start.")):
        recognizer.pages[2] = error
        with pytest.raises(type(error)):
            await use_case.recognize()
    claimed = await use_case.backlog.claim(lease_seconds=300)
    assert claimed is not None
    assert claimed.attempts == 1


async def test_a_long_document_is_found_before_it_is_through(make_container: Any) -> None:
    recognizer = ScriptedRecognizer({page: f"Página de la factura número {page}." for page in range(1, 31)})
    container: Container = await make_container(parts=Parts(embedder=HashingEmbedder(), recognizer=recognizer))
    await container_ingest(container, pdf_of(*[SCAN] * 30))
    for _ in range(25):
        assert await container.use_cases.recognize.recognize()
    document = await container.use_cases.documents.get(NAME, principal=container.settings.local_caller.principal)
    assert document.recognition == counts(30, 25)
    assert document.unread[0].places == ("26", "27", "28", "29", "30")


async def test_batches_of_a_long_document_grow(make_container: Any) -> None:
    recognizer = ScriptedRecognizer({page: f"Página de la factura número {page}." for page in range(1, 102)})
    container: Container = await make_container(parts=Parts(embedder=HashingEmbedder(), recognizer=recognizer))
    await container_ingest(container, pdf_of(*[SCAN] * 101))
    use_case = container.use_cases.recognize
    indexed = []
    for number in range(1, 102):
        page = await use_case.backlog.claim(lease_seconds=300)
        assert page is not None
        await use_case.backlog.complete(page, RecognizedPage(page=page.page, text="Factura.", confidence=0.9))
        if (done := await use_case.backlog.recognized(batch=25)) is not None:
            write = await use_case.preparation.prepare_recognized(done.document, done.source, done.pages)
            await use_case.backlog.save(write, done)
            indexed.append(number)
    assert indexed == [25, 50, 100, 101]


async def test_an_unexpected_error_does_not_end_the_worker(make_container: Any) -> None:
    recognizer = WatchedRecognizer({1: RuntimeError("A fault."), 2: GRANT})
    container: Container = await make_container(parts=Parts(embedder=HashingEmbedder(), recognizer=recognizer))
    use_case = container.use_cases.recognize
    await container_ingest(container, pdf_of(SCAN, SCAN))
    worker = asyncio.create_task(RecognitionWorker(recognition=use_case, poll_seconds=0.01, retry_seconds=0).run())
    reached = asyncio.create_task(recognizer.reached.wait())
    await asyncio.wait([worker, reached], return_when=asyncio.FIRST_COMPLETED)
    assert not worker.done()
    for task in (worker, reached):
        task.cancel()
    await asyncio.gather(worker, reached, return_exceptions=True)
    assert recognizer.read == [1, 2]


async def test_a_long_document_does_not_hold_up_a_short_one(make_container: Any) -> None:
    recognizer = ScriptedRecognizer({})
    container: Container = await make_container(parts=Parts(embedder=HashingEmbedder(), recognizer=recognizer))
    await container_ingest(container, pdf_of(*[SCAN] * 27))
    await container_ingest(container, pdf_of(SCAN, SCAN), "corto.pdf")
    for _ in range(29):
        assert await container.use_cases.recognize.recognize()
    assert recognizer.read == [*range(1, 26), 1, 2, 26, 27]


async def test_a_write_meanwhile_wins(make_container: Any) -> None:
    recognizer = ScriptedRecognizer({2: GRANT})
    container: Container = await make_container(parts=Parts(embedder=HashingEmbedder(), recognizer=recognizer))
    use_case = container.use_cases.recognize
    await container_ingest(container, pdf_of(TEXT, SCAN))
    page = await use_case.backlog.claim(lease_seconds=300)
    assert page is not None
    file = await use_case.backlog.source(page)
    assert file is not None
    recognized = await recognizer.recognize(file, 2)
    await container_ingest(container, pdf_of(TEXT + " Bis.", SCAN))
    assert await use_case.backlog.source(page) is None
    await use_case.backlog.complete(page, recognized)
    assert await use_case.counts() == counts(1, 0)
    recognizer.pages = {}
    while await use_case.recognize():
        pass
    assert await use_case.counts() == counts(1, 1)


async def test_of_two_workers_the_slower_does_not_undo_the_faster(make_container: Any) -> None:
    recognizer = ScriptedRecognizer({page: f"Factura unica{page} del taller." for page in range(1, 4)})
    container: Container = await make_container(parts=Parts(embedder=HashingEmbedder(), recognizer=recognizer))
    await container_ingest(container, pdf_of(SCAN, SCAN, SCAN))
    use_case = container.use_cases.recognize
    taken = []
    for pages in (2, 1):
        for _ in range(pages):
            page = await use_case.backlog.claim(lease_seconds=300)
            assert page is not None
            file = await use_case.backlog.source(page)
            assert file is not None
            await use_case.backlog.complete(page, await recognizer.recognize(file, page.page))
        done = await use_case.backlog.recognized(batch=1)
        assert done is not None
        taken.append((await use_case.preparation.prepare_recognized(done.document, done.source, done.pages), done))
    slow, fast = taken
    await use_case.backlog.save(*fast)
    with pytest.raises(ConflictError):
        await use_case.backlog.save(*slow)
    document = await container.use_cases.documents.get(NAME, principal=container.settings.local_caller.principal)
    assert document.unread == ()
    await use_case.recognize()
    assert await use_case.backlog.recognized(batch=1) is None


async def test_stored_text_stays_in_the_index_without_an_engine(make_container: Any) -> None:
    recognizer = ScriptedRecognizer({2: GRANT})
    container: Container = await make_container(parts=Parts(embedder=HashingEmbedder(), recognizer=recognizer))
    content = pdf_of(TEXT, SCAN)
    await container_ingest(container, content)
    use_case = container.use_cases.recognize
    while await use_case.recognize():
        pass
    await container_ingest(container, content, title="Otro título")
    documents, principal = container.use_cases.documents, container.settings.local_caller.principal
    assert (await documents.get(NAME, principal=principal)).unread != ()
    without = RecognizeText(backlog=use_case.backlog, recognizer=None, preparation=use_case.preparation)
    assert [await without.recognize(), await without.recognize()] == [True, False]
    assert (await documents.get(NAME, principal=principal)).unread == ()


async def test_a_restored_document_has_its_confidences_at_once(open_rag: OpenRag) -> None:
    rag = await opened(open_rag, ScriptedRecognizer({2: GRANT}, confidence=0.75))
    await ingest(rag, pdf_of(TEXT, SCAN))
    await rag.recognize_pending()
    await rag.delete(NAME)
    await rag.restore(NAME)
    assert (await places(rag, "ayuda 47.250"))[0] == (2, 0.75)
    assert (await rag.document(NAME)).unread == ()


async def test_a_document_that_cannot_be_indexed_is_tried_again(make_container: Any) -> None:
    recognizer = ScriptedRecognizer({2: GRANT})
    container: Container = await make_container(parts=Parts(embedder=HashingEmbedder(), recognizer=recognizer))
    await container_ingest(container, pdf_of(TEXT, SCAN))
    real = container.use_cases.recognize
    use_case = RecognizeText(
        backlog=real.backlog, recognizer=recognizer, preparation=cast("DocumentPreparation", BusyPreparation())
    )
    for attempt in range(1, 4):
        assert await use_case.recognize() is True
        assert await use_case.recognize() is False
        assert await use_case.counts() == (counts(1, 1) if attempt < 3 else counts(1, 0, 1))
        await make_due(container)
    assert await use_case.recognize() is False
    await use_case.retry_failed()
    while await real.recognize():
        pass
    assert await use_case.counts() == counts(1, 1)
    assert recognizer.read == [2]


class WatchedRecognizer(ScriptedRecognizer):
    """Sets ``reached`` after a page without an error."""

    def __init__(self, pages: Mapping[int, str | BaseException]) -> None:
        super().__init__(pages)
        self.reached = asyncio.Event()

    async def recognize(self, file: SourceFile, page: int) -> RecognizedPage:
        recognized = await super().recognize(file, page)
        self.reached.set()
        return recognized


class BusyPreparation:
    """Stands for a child that runs out of time on a busy machine."""

    async def prepare_recognized(self, *_: object) -> None:
        raise UnreadableDocumentError("It takes too long.", field="content", remedy="Wait.", reason="too_slow")


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
    await ingest(rag, zipped({"copia-acta.pdf": two, "x.zip": zipped({"acta.pdf": two, "b.pdf": scan})}), "a.zip")
    page = partial(UnreadPart, kind=UnreadKind.PAGE)
    names = ("copia-acta.pdf: 1", "copia-acta.pdf: 2", "x.zip/acta.pdf: 1", "x.zip/acta.pdf: 2", "x.zip/b.pdf: 1")
    assert (await rag.document("a.zip")).unread == (page(count=5, places=names),)
    await rag.recognize_pending()
    assert (await rag.document("a.zip")).unread == (page(count=2, places=(names[1], names[3])),)
    assert (await rag.document("a.zip/x.zip")).unread == (page(count=1, places=("acta.pdf: 2",)),)


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


async def container_ingest(container: Container, content: bytes, name: str = NAME, title: str = "") -> None:
    await container.use_cases.ingest.ingest(
        IngestRequest(
            external_id=name,
            file=SourceFile(content=content, media_type="", filename=name),
            attributes=DocumentAttributes(title=title),
        ),
        principal=container.settings.local_caller.principal,
    )


async def make_due(container: Container) -> None:
    async with container.database.transaction("*") as connection:
        await connection.execute("UPDATE scanned_pages SET available_at = now()")

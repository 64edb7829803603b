"""Workers recognise page after page: short documents first, with failures, kills and other writers in between."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, cast

import pytest

from ragcorp.application.documents.preparation import DocumentPreparation
from ragcorp.application.documents.recognize import RecognitionWorker, RecognizeText
from ragcorp.domain.documents import DocumentAttributes, SourceFile
from ragcorp.domain.exceptions import ConfigurationError, ConflictError, UnreadableDocumentError
from ragcorp.domain.ingestion import IngestRequest
from ragcorp.domain.recognition import RecognizedPage
from ragcorp.main.wiring.base import Parts
from ragcorp.main.wiring.container import Container
from support.models.embedders import HashingEmbedder
from support.recognition.fakes import ScriptedRecognizer
from support.recognition.half_scanned import GRANT, NAME, SCAN, TEXT, counts
from support.recognition.scans import pdf_of

pytestmark = pytest.mark.anyio


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

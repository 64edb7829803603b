"""Use case: recognise the text of scanned pages (OCR). Holds no connection while the engine works."""

import asyncio
import logging
from dataclasses import dataclass, field

from ragcorp.application.documents.preparation import DocumentPreparation
from ragcorp.application.resilience.source_reports import reason_of
from ragcorp.domain.documents import SourceFile
from ragcorp.domain.exceptions import ConflictError, InvalidInputError, RagcorpError, UnreadableDocumentError
from ragcorp.domain.ports.recognition import RecognitionBacklog, ScannedPage, TextRecognizer
from ragcorp.domain.recognition import RecognitionCounts

logger = logging.getLogger(__name__)

LEASE_SECONDS = 1800.0
"""Longer than the longest recognition of a page: two children that start and work to their limits."""
RETRY_SECONDS = 30.0
MAX_ATTEMPTS = 3
INDEX_PAGES = 25
"""A long document is indexed after so many new pages, or as many as it has indexed, and when it is through."""


@dataclass(slots=True, kw_only=True)
class RecognizeText:
    """Recognises page after page, and indexes each document anew with the text of its pages.

    Original and content hash stay, so that the same file is still unchanged. Without ``recognizer``, pages wait;
    text that was recognised before is indexed.
    """

    backlog: RecognitionBacklog
    recognizer: TextRecognizer | None
    preparation: DocumentPreparation
    _file: tuple[bytes, SourceFile] | None = field(default=None, init=False)
    """The file of the last page, with its hash."""

    async def recognize(self, *, workspace: str | None = None) -> bool:
        """Recognise one page and index what is through. Return whether there was anything to do."""
        if self.recognizer is None:
            return await self._index(workspace, batch=1)
        page = await self.backlog.claim(lease_seconds=LEASE_SECONDS, workspace=workspace)
        if page is None:
            self._file = None
        else:
            await self._read(page, self.recognizer)
        indexed = await self._index(workspace, batch=INDEX_PAGES)
        return page is not None or indexed

    async def counts(self, *, workspace: str | None = None) -> RecognitionCounts:
        return await self.backlog.counts(workspace=workspace)

    async def retry_failed(self, *, workspace: str | None = None) -> int:
        """Let failed pages wait again; return their number."""
        return await self.backlog.retry_failed(workspace=workspace)

    async def _read(self, page: ScannedPage, recognizer: TextRecognizer) -> None:
        if page.attempts > MAX_ATTEMPTS:  # it ended its worker each time
            await self._fail(page, "crashed")
            return
        try:
            file = await self._source(page)
            if file is not None:
                await self.backlog.complete(page, await recognizer.recognize(file, page.page))
        except InvalidInputError as error:
            logger.warning("a scanned page could not be recognised: %s", _reason(error))
            await self._fail(page, _reason(error))
        except (asyncio.CancelledError, RagcorpError):  # not the page's fault
            await asyncio.shield(self.backlog.release(page))
            raise
        except Exception:
            await self._fail(page, "crashed")
            raise

    async def _fail(self, page: ScannedPage, reason: str) -> None:
        await self.backlog.fail(page, reason=reason, retry_in_seconds=RETRY_SECONDS, max_attempts=MAX_ATTEMPTS)

    async def _source(self, page: ScannedPage) -> SourceFile | None:
        if self._file is None or self._file[0] != page.source_hash:
            file = await self.backlog.source(page)
            self._file = (page.source_hash, file) if file is not None else None
        return self._file[1] if self._file else None

    async def _index(self, workspace: str | None, *, batch: int) -> bool:
        done = await self.backlog.recognized(batch=batch, workspace=workspace)
        if done is None:
            return False
        try:
            write = await self.preparation.prepare_recognized(done.document, done.source, done.pages)
            await self.backlog.save(write, done)
        except ConflictError:  # written or deleted meanwhile
            return False
        except InvalidInputError as error:
            logger.warning("a document could not be indexed with its recognised text: %s", _reason(error))
            await self.backlog.refuse(
                done, reason=_reason(error), retry_in_seconds=RETRY_SECONDS, max_attempts=MAX_ATTEMPTS
            )
        return True


def _reason(error: InvalidInputError) -> str:
    return (error.reason if isinstance(error, UnreadableDocumentError) else None) or error.code


@dataclass(frozen=True, slots=True, kw_only=True)
class RecognitionWorker:
    """Recognises page after page; when idle, polls every ``poll_seconds``, after an outage later."""

    recognition: RecognizeText
    poll_seconds: float = 2.0
    retry_seconds: float = 30.0

    async def run(self) -> None:
        """Run until cancelled. Waits out outages of the database, and logs other errors."""
        while True:
            try:
                if not await self.recognition.recognize():
                    await asyncio.sleep(self.poll_seconds)
            except RagcorpError as error:
                logger.warning("text recognition waits: %s", reason_of(error))
                await asyncio.sleep(self.retry_seconds)
            except Exception:  # a fault of one page or document must not hold up the others until a restart
                logger.exception("text recognition failed unexpectedly")
                await asyncio.sleep(self.retry_seconds)

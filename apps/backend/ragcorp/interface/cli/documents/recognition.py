"""Text recognition (OCR) of scanned pages by a command."""

from collections.abc import Sequence
from dataclasses import replace

from ragcorp.domain.exceptions import NotFoundError
from ragcorp.domain.ingestion import IngestResult
from ragcorp.domain.recognition import RecognitionCounts
from ragcorp.interface.cli.console.calls import Call
from ragcorp.interface.cli.console.services import Session


async def recognize_with_progress(call: Call, session: Session) -> RecognitionCounts:
    """Read the scanned pages of the workspace that are due; a service on the same database shares the work."""
    recognize, workspace = session.use_cases.recognize, session.principal.workspace
    before = await recognize.counts(workspace=workspace)
    if recognize.recognizer is None or not before.waiting:
        while await recognize.recognize(workspace=workspace):  # index text that is stored already
            pass
        return await recognize.counts(workspace=workspace)
    with call.progress("Reading scanned pages", "pages") as report:
        while await recognize.recognize(workspace=workspace):
            counts = await recognize.counts(workspace=workspace)
            report(before.waiting - counts.waiting, before.waiting)
    return await recognize.counts(workspace=workspace)


async def still_unread(session: Session, results: Sequence[IngestResult]) -> list[IngestResult]:
    """Return the results with what is unread after recognition, and only those with anything."""
    current: list[IngestResult] = []
    for result in results:
        try:
            document = await session.use_cases.documents.get(result.external_id, principal=session.principal)
        except NotFoundError:  # deleted meanwhile
            continue
        if document.unread:
            current.append(replace(result, unread=document.unread))
    return current

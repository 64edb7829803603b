"""`ragcorp demo`: a packaged corpus, three questions with cited answers, and the service on it."""

import asyncio
from contextlib import suppress
from dataclasses import asdict
from typing import Annotated
from uuid import uuid4

from typer import Option

from ragcorp.domain.answers import final_answer
from ragcorp.domain.documents import DocumentAttributes
from ragcorp.domain.exceptions import StorageUnavailableError
from ragcorp.domain.ports.folders import FolderOptions
from ragcorp.domain.search.requests import SearchRequest
from ragcorp.interface.cli.console.calls import Call
from ragcorp.interface.cli.console.output import EXIT_FAILED, Output, print_line
from ragcorp.interface.cli.console.services import Demo, RunningService, ServeOptions, Session
from ragcorp.interface.cli.documents.ingest import IngestTotals, ingest_path
from ragcorp.interface.cli.search.commands import print_answer
from ragcorp.interface.cli.servers.commands import Host, Port, announce
from ragcorp.interface.shapes.answers import answer_document

DEMO_LANGUAGE = "es"
POLL_SECONDS = 1.0


async def demo(
    call: Call,
    host: Host = None,
    port: Port = None,
    no_serve: Annotated[bool, Option("--no-serve", help="End after the answers.")] = False,
) -> int:
    """Ingest a packaged corpus of a made-up company (48 Spanish documents), ask it three questions, and serve it.

    Hybrid search is on in the demo. Nothing is ingested twice, so a second run starts at once.
    """
    options = None if no_serve else ServeOptions(host=host, port=port)
    call.output.note("Starting PostgreSQL (the first time takes a few seconds) ...")
    async with call.services.demo(call.target, options) as opened:
        if opened.service is not None:
            call.second_signal.action = opened.service.hurry
        call.output.note("Hybrid search is on for the demo (ENABLE_HYBRID_SEARCH=true turns it on elsewhere).")
        session, totals = opened.session, IngestTotals()
        spanish = FolderOptions(attributes=DocumentAttributes(language=DEMO_LANGUAGE))
        await ingest_path(call, session, opened.documents, totals=totals, options=spanish)
        stored = totals.created + totals.updated
        failed = len(totals.failures)
        call.output.note(
            f"{totals.files} documents: {stored} ingested, {totals.unchanged} stored before, {failed} failed."
        )
        answers = [await _ask(call.output, session, question) for question in opened.questions]
        pending = (await session.use_cases.embed_pending.counts()).pending
        if call.output.json:
            call.output.write_json(totals.document() | asdict(session.facts) | {"pending": pending, "answers": answers})
        _note_pending(call.output, pending, opened)
        if opened.service is not None:
            await _serve(call, opened.service, session)
    return EXIT_FAILED if no_serve and totals.failures else 0


async def _ask(output: Output, session: Session, question: str) -> dict[str, object]:
    """Ask, print the answer at once, and return it for --json."""
    request = SearchRequest(query=question)
    answer = await final_answer(session.use_cases.answer.stream(request, principal=session.principal))
    if not output.json:
        print_line(output.console, f"\n{question}", style="bold")
        print_answer(output.console, answer)
    return {"question": question, **answer_document(answer, request_id=uuid4().hex)}


def _note_pending(output: Output, pending: int, opened: Demo) -> None:
    if not pending:
        return
    if not opened.session.makes_vectors:
        output.note(f"{pending:,} passages have no vector: EMBEDDING_PROVIDER is none, so text alone is searched.")
    elif opened.service is None:
        output.note(f"{pending:,} passages still wait for their vectors; `ragcorp embed --pending` makes them.")
    else:
        output.note(f"{pending:,} passages still wait for their vectors; the service goes on in the background.")


async def _serve(call: Call, service: RunningService, session: Session) -> None:
    watching: list[asyncio.Task[None]] = []

    def listening(url: str) -> None:
        announce(call.output, url, service.facts, service.access, json=False)
        if session.makes_vectors:
            watching.append(asyncio.create_task(_watch_vectors(call, session)))

    try:
        await service.run(listening)
    finally:
        for task in watching:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
    call.output.note("Stopped.")


async def _watch_vectors(call: Call, session: Session) -> None:
    """Show the progress of the service's worker until no passage waits."""
    total = (await session.use_cases.embed_pending.counts()).pending
    if not total:
        return
    with call.progress("Making vectors", "passages") as report:
        pending = total
        while pending:
            report(total - pending, total)
            await asyncio.sleep(POLL_SECONDS)
            with suppress(StorageUnavailableError):
                pending = (await session.use_cases.embed_pending.counts()).pending
                total = max(total, pending)
        report(total, total)
    call.output.note("All passages have their vectors.")

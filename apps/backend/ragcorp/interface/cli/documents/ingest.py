"""`ragcorp ingest`, `ragcorp embed` and `ragcorp entities refresh`."""

import asyncio
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated

from rich.console import Console
from typer import Option

from ragcorp.application.documents.recognize import RecognitionWorker
from ragcorp.application.embedding.embed_pending import EmbeddingWorker
from ragcorp.application.folders.ingest import FolderReport
from ragcorp.domain.documents import DocumentAttributes
from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.ingestion import IngestFailure, IngestResult
from ragcorp.domain.ports.folders import FolderOptions, LeftOutFile
from ragcorp.domain.principal import Sensitivity
from ragcorp.domain.text.checks import require_storable
from ragcorp.interface.cli.console.arguments import parse_pairs
from ragcorp.interface.cli.console.calls import Call
from ragcorp.interface.cli.console.options import Language, Metadata, NoEmbed, argument
from ragcorp.interface.cli.console.output import EXIT_FAILED, EXIT_INTERRUPTED, error_document, print_line, print_table
from ragcorp.interface.cli.console.services import Session
from ragcorp.interface.cli.documents.recognition import recognize_with_progress, still_unread
from ragcorp.interface.cli.documents.vectors import VectorReport, embed_with_progress, resumable
from ragcorp.interface.cli.documents.watch_progress import WatchProgress
from ragcorp.interface.shapes.left_out import left_out_files, left_out_in_words
from ragcorp.interface.shapes.unread import unread_in_words, unread_parts

MAX_SHOWN_PARTLY_READ = 50


@dataclass(slots=True, kw_only=True)
class IngestTotals:
    created: int = 0
    updated: int = 0
    unchanged: int = 0
    replaced: int = 0
    parts: int = 0
    failures: list[IngestFailure] = field(default_factory=list)
    partly_read: list[IngestResult] = field(default_factory=list)
    left_out: list[LeftOutFile] = field(default_factory=list)
    ignored: int = 0

    @property
    def files(self) -> int:
        return self.created + self.updated + self.unchanged + len(self.failures)

    def add(self, done: FolderReport) -> None:
        self.created += done.created
        self.updated += done.updated
        self.unchanged += done.unchanged
        self.replaced += done.replaced
        self.parts += done.parts
        self.failures += done.failures
        self.partly_read += done.partly_read
        self.left_out += done.left_out
        self.ignored += done.ignored

    def document(self) -> dict[str, object]:
        return {
            "files": self.files,
            "created": self.created,
            "updated": self.updated,
            "unchanged": self.unchanged,
            "replaced": self.replaced,
            "parts": self.parts,
            "failed": len(self.failures),
            "failures": [
                {"external_id": failure.external_id, "error": error_document(failure.error)}
                for failure in self.failures
            ],
            "partly_read": [
                {"external_id": result.external_id, "unread": unread_parts(result.unread)}
                for result in self.partly_read
            ],
            "left_out": left_out_files(self.left_out),
            "left_out_counts": Counter(file.reason.value for file in self.left_out) + Counter(ignored=self.ignored),
        }


@dataclass(frozen=True, kw_only=True)
class IngestOptions:
    prefix: Annotated[str, Option("--prefix", help="Goes before each external_id.")] = ""
    language: Language = None
    artifact_type: Annotated[
        str | None, Option("--artifact-type", help="What the documents are; not given: code or document.")
    ] = None
    sensitivity: Annotated[str, Option("--sensitivity", help="public, normal, confidential or restricted.")] = "normal"
    metadata: Metadata = None
    no_gitignore: Annotated[
        bool, Option("--no-gitignore", help="Take also what the .gitignore files of a folder exclude.")
    ] = False
    allow_deletions: Annotated[
        bool,
        Option(
            "--allow-deletions",
            help="With --watch: delete also where most or all of the files are gone, the last one too.",
        ),
    ] = False

    def folder(self, *, default_language: str) -> FolderOptions:
        """Return the options of a folder. Raises InvalidInputError."""
        return FolderOptions(
            attributes=DocumentAttributes(
                language=self.language or default_language,
                artifact_type=self.artifact_type or "document",
                sensitivity=Sensitivity.parse(self.sensitivity),
                metadata=parse_pairs(self.metadata or [], option="--metadata"),
            ),
            prefix=self.prefix,
            by_kind=self.artifact_type is None,
            gitignore=not self.no_gitignore,
            allow_deletions=self.allow_deletions,
        )


async def ingest(
    call: Call,
    paths: Annotated[list[Path], argument(help="Folders and files.")],
    options: IngestOptions,
    no_embed: NoEmbed = False,
    watch: Annotated[
        bool,
        Option(
            "--watch", help="Keep the documents in step with one folder or file until Ctrl-C. --json: a line a change."
        ),
    ] = False,
) -> int:
    """Store documents, read their scanned pages (OCR, extra `ocr`), and make their vectors.

    Skips stored files, so that a repeated run resumes. Reports unreadable files and continues. Shares the work on
    vectors with a service on the same database, if one runs.
    Hidden and empty files are left out, kinds that are not supported, lock files, and what a .gitignore in the folder
    excludes: the output lists them, and what was not read of a file. A file is stored under its path below the
    folder that is named: where two of several paths have a file of one name, nothing is stored.

    With --watch, documents that were stored from the folder are deleted with their files (`ragcorp documents restore`
    brings one back); uploaded ones never, but a file of the same name takes the place of one, which is said: a --prefix
    keeps them apart. One that is deleted while its file stays comes back. Nothing is deleted where the folder is empty
    or another (see --allow-deletions). It starts with a comparison, so it may be stopped and started at any time.
    """
    call.output.json_lines = watch
    require_storable(options.prefix, field="--prefix")
    if watch and len(paths) > 1:
        raise InvalidInputError(
            "--watch takes one path.", field="PATHS", limit="1", remedy="Start one for each, with its own --prefix."
        )
    options.folder(default_language="")  # wrong input is refused before anything is opened
    async with call.open() as session:
        use_cases = session.use_cases
        folder_options = options.folder(default_language=use_cases.default_language)
        if watch:
            return await _watch(call, session, paths[0], folder_options, no_embed=no_embed)
        await use_cases.ingest_folder.require_distinct_names(paths, gitignore=folder_options.gitignore)
        totals = IngestTotals()
        with resumable(call):
            for path in paths:
                await ingest_path(call, session, path, totals=totals, options=folder_options)
            recognition = await recognize_with_progress(call, session)
            totals.partly_read = await still_unread(session, totals.partly_read)
            vectors = await embed_with_progress(call, session, no_embed=no_embed)
        counts = await use_cases.embed_pending.counts(workspace=session.principal.workspace)
    if totals.replaced:
        call.output.note(
            f"{totals.replaced} of the updated documents had been stored from another folder under the same name. "
            "Where both are to stay, give each folder its own --prefix.",
            style="yellow",
        )
    call.output.result(
        totals.document()
        | {
            "recognition": asdict(recognition),
            "embedded": vectors.embedded if vectors else 0,
            "pending": counts.pending,
        },
        lambda console: _print_totals(console, totals, pending=counts.pending, makes_vectors=session.makes_vectors),
    )
    return EXIT_FAILED if totals.failures else 0


async def _watch(call: Call, session: Session, path: Path, options: FolderOptions, *, no_embed: bool) -> int:
    """Watch until interrupted; read scanned pages and make the vectors meanwhile."""
    call.output.note("Ctrl-C stops it.")
    worker = EmbeddingWorker(embed_pending=session.use_cases.embed_pending)
    recognition = RecognitionWorker(recognition=session.use_cases.recognize)
    workers = [asyncio.create_task(recognition.run())]
    if session.makes_vectors and not no_embed:
        workers.append(asyncio.create_task(worker.run()))
    try:
        with WatchProgress(call.output, name=path.name or str(path)) as display:
            await session.use_cases.watch_folder.watch(
                path, principal=session.principal, options=options, on_event=display.event, on_progress=display.progress
            )
    except asyncio.CancelledError:
        call.output.note("Stopped. What is stored stays; the next start finds what has changed meanwhile.")
        return EXIT_INTERRUPTED
    finally:
        for task in workers:
            task.cancel()
        await asyncio.gather(*workers, return_exceptions=True)


async def embed(
    call: Call,
    pending: Annotated[bool, Option("--pending", help="All passages without a vector (the only choice yet).")] = True,
) -> int:
    """Make the vectors that passages still wait for, those that failed before included."""
    del pending
    async with call.open() as session:
        report = await embed_with_progress(call, session)
        if report is None:
            counts = await session.use_cases.embed_pending.counts()
            call.output.note("No embedding model is configured (EMBEDDING_PROVIDER=none).", style="yellow")
            report = VectorReport(embedded=0, pending=counts.pending, failed=counts.failed)
    call.output.line(
        asdict(report),
        f"{report.embedded:,} vectors made, {report.pending:,} passages wait, {report.failed:,} of them failed.",
    )
    return EXIT_FAILED if report.pending else 0


async def refresh(call: Call, no_embed: NoEmbed = False) -> int:
    """Find the entities of documents that were stored before, or by a version that found others.

    A running service does so at its start. An interrupted run goes on when it is started again.
    """
    async with call.open() as session:
        with resumable(call, "What is found stays; run the same command again to go on."):
            with call.progress("Finding entities", "documents") as report:
                done = await session.use_cases.refresh_structure.refresh(on_progress=report)
            vectors = await embed_with_progress(call, session, no_embed=no_embed)
        counts = await session.use_cases.embed_pending.counts()
    call.output.line(
        {
            "documents": done.documents,
            "entities": done.entities,
            "waiting": done.waiting,
            "embedded": vectors.embedded if vectors else 0,
            "pending": counts.pending,
        },
        f"{done.entities:,} entities found in {done.documents:,} documents, {done.waiting:,} documents wait.",
    )
    return EXIT_FAILED if done.waiting else 0


async def ingest_path(
    call: Call, session: Session, path: Path, *, totals: IngestTotals, options: FolderOptions
) -> None:
    """Ingest one folder or file with a progress bar, and add its outcomes to ``totals``."""
    with call.progress(f"Ingesting {path.name or path}", "files") as report:
        done = await session.use_cases.ingest_folder.ingest(
            path,
            principal=session.principal,
            prefix=options.prefix,
            attributes=options.attributes,
            by_kind=options.by_kind,
            gitignore=options.gitignore,
            on_progress=report,
        )
    totals.add(done)
    for failure in done.failures:
        call.output.failure(failure.external_id, failure.error)


def _print_totals(console: Console, totals: IngestTotals, *, pending: int, makes_vectors: bool) -> None:
    counts = (totals.files, totals.created, totals.updated, totals.unchanged, len(totals.failures))
    print_table(
        console,
        ("files", "created", "updated", "unchanged", "failed", "read in part", "left out", "passages without vector"),
        [(*counts, len(totals.partly_read), len(totals.left_out) + totals.ignored, pending)],
    )
    if totals.parts:
        print_line(console, f"Documents of files inside them (attachments, members of archives): {totals.parts:,}")
    for result in totals.partly_read[:MAX_SHOWN_PARTLY_READ]:
        print_line(console, f"{result.external_id}: {unread_in_words(result.unread)}", style="yellow")
    if len(totals.partly_read) > MAX_SHOWN_PARTLY_READ:
        print_line(console, f"and {len(totals.partly_read) - MAX_SHOWN_PARTLY_READ:,} more: --json lists all of them")
    for line in left_out_in_words(totals.left_out, ignored=totals.ignored):
        print_line(console, line, style="dim")
    if pending and makes_vectors:
        console.print(
            "They are found by text already; a running service or `ragcorp embed --pending` makes the vectors."
        )

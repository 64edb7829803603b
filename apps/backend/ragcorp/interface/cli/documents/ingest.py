"""`ragcorp ingest` and `ragcorp embed`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from ragcorp.application.embedding.worker import EmbeddingWorker
from ragcorp.domain.documents import DocumentAttributes
from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.ingestion import IngestFailure
from ragcorp.domain.ports.folders import FolderOptions
from ragcorp.domain.principal import Sensitivity
from ragcorp.domain.text.checks import require_storable
from ragcorp.interface.cli.console.arguments import parse_pairs
from ragcorp.interface.cli.console.calls import Call
from ragcorp.interface.cli.console.output import EXIT_FAILED, EXIT_INTERRUPTED, Output, error_document, plain, sentences
from ragcorp.interface.cli.console.progress import progress
from ragcorp.interface.cli.console.services import Session
from ragcorp.interface.cli.documents.vectors import VectorReport, make_vectors
from ragcorp.interface.cli.documents.watch_progress import WatchProgress


@dataclass(slots=True, kw_only=True)
class IngestTotals:
    """What became of the files of all paths."""

    created: int = 0
    updated: int = 0
    unchanged: int = 0
    replaced: int = 0
    failures: list[IngestFailure] = field(default_factory=list)

    @property
    def files(self) -> int:
        return self.created + self.updated + self.unchanged + len(self.failures)

    def document(self) -> dict[str, object]:
        return {
            "files": self.files,
            "created": self.created,
            "updated": self.updated,
            "unchanged": self.unchanged,
            "replaced": self.replaced,
            "failed": len(self.failures),
            "failures": [
                {"external_id": failure.external_id, "error": error_document(failure.error)}
                for failure in self.failures
            ],
        }


async def ingest(
    call: Call,
    paths: Annotated[list[Path], typer.Argument(help="Folders and files.", show_default=False)],
    prefix: Annotated[str, typer.Option("--prefix", help="Goes before each external_id.")] = "",
    language: Annotated[
        str | None, typer.Option("--language", help="ISO 639-1 code of the documents [DEFAULT_LANGUAGE].")
    ] = None,
    artifact_type: Annotated[
        str | None,
        typer.Option("--artifact-type", help="What the documents are; not given: code or document."),
    ] = None,
    sensitivity: Annotated[
        str, typer.Option("--sensitivity", help="public, normal, confidential or restricted.")
    ] = "normal",
    metadata: Annotated[
        list[str] | None,
        typer.Option(
            "--metadata", metavar="KEY=VALUE", help="Kept with each document; may be given again.", show_default=False
        ),
    ] = None,
    no_embed: Annotated[
        bool,
        typer.Option(
            "--no-embed",
            help="Leave the vectors to a running service, or to `ragcorp embed --pending`; text is found at once.",
        ),
    ] = False,
    watch: Annotated[
        bool,
        typer.Option(
            "--watch", help="Keep the documents in step with one folder or file until Ctrl-C. --json: a line a change."
        ),
    ] = False,
    allow_deletions: Annotated[
        bool,
        typer.Option(
            "--allow-deletions",
            help="With --watch: delete also where most or all of the files are gone, the last one too.",
        ),
    ] = False,
    no_gitignore: Annotated[
        bool, typer.Option("--no-gitignore", help="Take also what the .gitignore files of a folder exclude.")
    ] = False,
) -> int:
    """Store documents, and make their vectors.

    What is stored already is passed over, so an interrupted run goes on when it is started again. A file that cannot
    be read is reported and stops no other. Vectors are shared out with a service on the same database, if one runs.
    Hidden files are left out, and what a .gitignore in the folder excludes. A file is stored under its path below the
    folder that is named: where two of several paths have a file of one name, nothing is stored.

    With --watch, documents that were stored from the folder are deleted with their files (`ragcorp documents restore`
    brings one back); uploaded ones never, but a file of the same name takes the place of one, which is said: a --prefix
    keeps them apart. One that is deleted while its file stays comes back. Nothing is deleted where the folder is empty
    or another (see --allow-deletions). It starts with a comparison, so it may be stopped and started at any time.
    """
    call.output.json_lines = watch
    require_storable(prefix, field="--prefix")
    if watch and len(paths) > 1:
        raise InvalidInputError(
            "--watch takes one path.", field="PATHS", limit="1", remedy="Start one for each, with its own --prefix."
        )
    level = Sensitivity.parse(sensitivity)
    described = parse_pairs(metadata or [], option="--metadata")
    async with call.services.open(call.target) as session:
        attributes = DocumentAttributes(
            language=language or session.default_language,
            artifact_type=artifact_type or "document",
            sensitivity=level,
            metadata=described,
        )
        by_kind = artifact_type is None
        if watch:
            options = FolderOptions(
                attributes=attributes,
                prefix=prefix,
                by_kind=by_kind,
                gitignore=not no_gitignore,
                allow_deletions=allow_deletions,
            )
            return await _watch(call.output, session, paths[0], options, makes_vectors=not no_embed)
        await session.distinct_names.require(paths, gitignore=not no_gitignore)
        totals = IngestTotals()
        vectors: VectorReport | None = None
        try:
            for path in paths:
                await ingest_path(
                    session,
                    path,
                    totals=totals,
                    output=call.output,
                    prefix=prefix,
                    attributes=attributes,
                    by_kind=by_kind,
                    gitignore=not no_gitignore,
                )
            if session.makes_vectors and not no_embed:
                vectors = await embed_with_progress(session, call.output)
        except asyncio.CancelledError:
            call.output.note("What is stored stays; run the same command again to go on.")
            raise
        counts = await session.embed_pending.counts(workspace=session.principal.workspace)
    if totals.replaced:
        call.output.note(
            f"{totals.replaced} of the updated documents had been stored from another folder under the same name. "
            "Where both are to stay, give each folder its own --prefix.",
            style="yellow",
        )
    call.output.result(
        totals.document() | {"embedded": vectors.embedded if vectors else 0, "pending": counts.pending},
        lambda console: _print_totals(console, totals, pending=counts.pending, makes_vectors=session.makes_vectors),
    )
    return EXIT_FAILED if totals.failures else 0


async def _watch(output: Output, session: Session, path: Path, options: FolderOptions, *, makes_vectors: bool) -> int:
    """Watch until interrupted, and make vectors at the same time."""
    output.note("Ctrl-C stops it.")
    worker = EmbeddingWorker(embed_pending=session.embed_pending)
    vectors = asyncio.create_task(worker.run()) if makes_vectors and session.makes_vectors else None
    try:
        with WatchProgress(output, name=path.name or str(path)) as shown:
            await session.watch_folder.watch(
                path,
                principal=session.principal,
                options=options,
                on_event=shown.event,
                on_progress=shown.progress,
            )
    except asyncio.CancelledError:
        output.note("Stopped. What is stored stays; the next start finds what has changed meanwhile.")
        return EXIT_INTERRUPTED
    finally:
        if vectors is not None:
            vectors.cancel()
            await asyncio.gather(vectors, return_exceptions=True)


async def embed(
    call: Call,
    pending: Annotated[
        bool, typer.Option("--pending", help="All passages without a vector (the only choice yet).")
    ] = True,
) -> int:
    """Make the vectors that passages still wait for, those that failed before included."""
    del pending
    async with call.services.open(call.target) as session:
        if session.makes_vectors:
            report = await embed_with_progress(session, call.output)
        else:
            counts = await session.embed_pending.counts()
            call.output.note("No embedding model is configured (EMBEDDING_PROVIDER=none).", style="yellow")
            report = VectorReport(embedded=0, pending=counts.pending, failed=counts.failed)
    call.output.result(
        {"embedded": report.embedded, "pending": report.pending, "failed": report.failed},
        lambda console: console.print(
            f"{report.embedded:,} vectors made, {report.pending:,} passages wait, {report.failed:,} of them failed."
        ),
    )
    return EXIT_FAILED if report.pending else 0


async def ingest_path(
    session: Session,
    path: Path,
    *,
    totals: IngestTotals,
    output: Output,
    prefix: str = "",
    attributes: DocumentAttributes | None = None,
    by_kind: bool | None = None,
    gitignore: bool = True,
) -> None:
    """Ingest one folder or file with a progress bar, and add the outcome to ``totals``."""
    with progress(output.notes, f"Ingesting {path.name or path}", unit="files") as report:
        done = await session.ingest_folder.ingest(
            path,
            principal=session.principal,
            prefix=prefix,
            attributes=attributes,
            by_kind=by_kind,
            gitignore=gitignore,
            on_progress=report,
        )
    totals.created += done.created
    totals.updated += done.updated
    totals.unchanged += done.unchanged
    totals.replaced += done.replaced
    totals.failures += done.failures
    print_failures(output, done.failures)


def print_failures(output: Output, failures: Sequence[IngestFailure]) -> None:
    for failure in failures:
        line = plain(failure.external_id, style="red")
        line.append_text(plain(f": {sentences(error_document(failure.error))}"))
        output.notes.print(line)


async def embed_with_progress(session: Session, output: Output) -> VectorReport:
    """Make all vectors that are due."""
    with progress(output.notes, "Making vectors", unit="passages") as report:
        return await make_vectors(session, report)


def _print_totals(console: Console, totals: IngestTotals, *, pending: int, makes_vectors: bool) -> None:
    table = Table("files", "created", "updated", "unchanged", "failed", "passages without vector")
    table.add_row(
        *map(
            str,
            (totals.files, totals.created, totals.updated, totals.unchanged, len(totals.failures), pending),
        )
    )
    console.print(table)
    if pending and makes_vectors:
        console.print(
            "They are found by text already; a running service or `ragcorp embed --pending` makes the vectors."
        )

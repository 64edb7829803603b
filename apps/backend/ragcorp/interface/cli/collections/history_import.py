"""`ragcorp history import`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from ragcorp.application.memory.chat_turns import TurnDefaults
from ragcorp.application.memory.import_history import ImportReport
from ragcorp.interface.cli.collections import item_options as options
from ragcorp.interface.cli.console.calls import Call
from ragcorp.interface.cli.console.output import EXIT_FAILED, Output, error_document, plain, sentences
from ragcorp.interface.cli.console.progress import progress
from ragcorp.interface.cli.documents.ingest import embed_with_progress
from ragcorp.interface.line_files import lines_of, opened_lines

MAX_SHOWN_FAILURES = 50


async def import_history(
    call: Call,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="JSON lines; - reads stdin.", show_default=False)],
    access: options.AccessOptions,
    session: Annotated[
        str | None, typer.Option("--session", help="The conversation of turns that name none.", show_default=False)
    ] = None,
    no_embed: options.NoEmbed = False,
) -> int:
    """Import a chat export: one JSON object a line, with text, time, speaker and session under their usual names.

    What was imported before is passed over, so an interrupted import goes on when it is started again. A bad line is
    reported with its number and stops no other.
    """
    async with call.services.open(call.target) as opened:
        attributes = access.attributes(default_language=opened.default_language)
        try:
            with progress(call.output.notes, "Importing", unit="lines") as report:
                if str(file) == "-":
                    done = await opened.collections.import_history.import_history(
                        lines_of(sys.stdin.buffer),
                        principal=opened.principal,
                        defaults=TurnDefaults(attributes=attributes, session=session),
                        on_progress=lambda count: report(count, count),
                    )
                else:
                    with opened_lines(file) as stream:
                        total = await asyncio.to_thread(lambda: sum(1 for _ in lines_of(stream)))
                        stream.seek(0)
                        done = await opened.collections.import_history.import_history(
                            lines_of(stream),
                            principal=opened.principal,
                            defaults=TurnDefaults(attributes=attributes, session=session),
                            on_progress=lambda count: report(count, total),
                        )
            print_failures(call.output, done)
            if opened.makes_vectors and not no_embed:
                await embed_with_progress(opened, call.output)
        except asyncio.CancelledError:
            call.output.note("What is stored stays; run the same command again to go on.")
            raise
        pending = (await opened.embed_pending.counts(workspace=opened.principal.workspace)).pending
    call.output.result(_document(done, pending), lambda console: _print_totals(console, done))
    return EXIT_FAILED if done.failed else 0


def print_failures(output: Output, done: ImportReport) -> None:
    for failure in done.failures[:MAX_SHOWN_FAILURES]:
        field = f"{failure.error.field}: " if failure.error.field else ""
        line = plain(f"line {failure.line}", style="red")
        line.append_text(plain(f": {field}{sentences(error_document(failure.error))}"))
        output.notes.print(line)
    if done.failed > MAX_SHOWN_FAILURES:
        output.note(f"and {done.failed - MAX_SHOWN_FAILURES:,} more bad lines")


def _document(done: ImportReport, pending: int) -> dict[str, object]:
    return {
        "lines": done.total,
        "created": done.created,
        "updated": done.updated,
        "unchanged": done.unchanged,
        "failed": done.failed,
        "failures": [{"line": failure.line, "error": error_document(failure.error)} for failure in done.failures],
        "pending": pending,
    }


def _print_totals(console: Console, done: ImportReport) -> None:
    table = Table("lines", "created", "updated", "unchanged", "failed")
    table.add_row(*map(str, (done.total, done.created, done.updated, done.unchanged, done.failed)))
    console.print(table)

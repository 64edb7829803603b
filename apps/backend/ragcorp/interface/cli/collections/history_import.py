"""`ragcorp history import`."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from ragcorp.application.memory.chat_turns import TurnDefaults
from ragcorp.interface.cli.collections import item_options as options
from ragcorp.interface.cli.console.calls import Call
from ragcorp.interface.cli.console.lines import (
    LinesFile,
    counted_lines,
    failure_documents,
    note_failures,
    write_totals,
)
from ragcorp.interface.cli.console.output import EXIT_FAILED
from ragcorp.interface.cli.console.progress import progress
from ragcorp.interface.cli.documents.ingest import embed_with_progress


async def import_history(
    call: Call,
    file: LinesFile,
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
                async with counted_lines(file) as (lines, total):
                    done = await opened.collections.import_history.import_history(
                        lines,
                        principal=opened.principal,
                        defaults=TurnDefaults(attributes=attributes, session=session),
                        on_progress=lambda count: report(count, total or count),
                    )
            failures = [(failure.line, failure.error) for failure in done.failures]
            note_failures(call.output, failures, failed=done.failed)
            if opened.makes_vectors and not no_embed:
                await embed_with_progress(opened, call.output)
        except asyncio.CancelledError:
            call.output.note("What is stored stays; run the same command again to go on.")
            raise
        pending = (await opened.embed_pending.counts(workspace=opened.principal.workspace)).pending
    write_totals(
        call.output,
        {
            "lines": done.total,
            "created": done.created,
            "updated": done.updated,
            "unchanged": done.unchanged,
            "failed": done.failed,
        },
        failures=failure_documents(failures),
        pending=pending,
    )
    return EXIT_FAILED if done.failed else 0

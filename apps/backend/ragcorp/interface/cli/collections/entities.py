"""`ragcorp entities`: the structural entities of documents."""

from __future__ import annotations

import asyncio

import typer

from ragcorp.interface.cli.collections.item_options import NoEmbed
from ragcorp.interface.cli.console.calls import Call, add_command
from ragcorp.interface.cli.console.output import EXIT_FAILED, Output
from ragcorp.interface.cli.console.progress import progress
from ragcorp.interface.cli.console.services import Services
from ragcorp.interface.cli.documents.ingest import embed_with_progress
from ragcorp.interface.cli.documents.vectors import VectorReport


async def refresh(call: Call, no_embed: NoEmbed = False) -> int:
    """Find the entities of documents that were stored before, or by a version that found others.

    A running service does so at its start. An interrupted run goes on when it is started again.
    """
    vectors: VectorReport | None = None
    async with call.services.open(call.target) as session:
        try:
            with progress(call.output.notes, "Finding entities", unit="documents") as report:
                done = await session.refresh_structure.refresh(on_progress=report)
            if session.makes_vectors and not no_embed:
                vectors = await embed_with_progress(session, call.output)
        except asyncio.CancelledError:
            call.output.note("What is found stays; run the same command again to go on.")
            raise
        counts = await session.embed_pending.counts()
    call.output.result(
        {
            "documents": done.documents,
            "entities": done.entities,
            "waiting": done.waiting,
            "embedded": vectors.embedded if vectors else 0,
            "pending": counts.pending,
        },
        lambda console: console.print(
            f"{done.entities:,} entities found in {done.documents:,} documents, {done.waiting:,} documents wait."
        ),
    )
    return EXIT_FAILED if done.waiting else 0


def add_entity_group(app: typer.Typer, *, services: Services, output: Output) -> None:
    group = typer.Typer(name="entities", help="The entities that documents are made of.", no_args_is_help=True)
    add_command(group, "refresh", refresh, services=services, output=output)
    app.add_typer(group)

"""`ragcorp entities`: the entities that documents consist of."""

from __future__ import annotations

from ragcorp.interface.cli.console.calls import Call
from ragcorp.interface.cli.console.options import NoEmbed
from ragcorp.interface.cli.console.output import EXIT_FAILED
from ragcorp.interface.cli.documents.vectors import embed_with_progress, resumable


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

"""`ragcorp history import`."""

from typing import Annotated

from ragcorp.application.memory.chat_turns import TurnDefaults
from ragcorp.interface.cli.console.calls import Call
from ragcorp.interface.cli.console.options import Lines, NoEmbed, ReaderOptions, option
from ragcorp.interface.cli.documents.lines import load_lines, write_totals


async def import_history(
    call: Call,
    file: Lines,
    readers: ReaderOptions,
    session: Annotated[str | None, option("--session", help="The conversation of turns that name none.")] = None,
    no_embed: NoEmbed = False,
) -> int:
    """Import a chat export: one JSON object a line, with text, time, speaker and session under their usual names.

    What was imported before is passed over, so an interrupted import goes on when it is started again. A bad line is
    reported with its number and stops no other.
    """
    async with call.open() as opened:
        use_cases = opened.use_cases
        attributes = readers.attributes(kind="document", default_language=use_cases.default_language)
        done = await load_lines(
            call,
            opened,
            file,
            "Importing",
            lambda lines, on_progress: use_cases.collections.import_history.import_history(
                lines,
                principal=opened.principal,
                defaults=TurnDefaults(attributes=attributes, session=session),
                on_progress=on_progress,
            ),
            no_embed=no_embed,
        )
        pending = (await use_cases.embed_pending.counts(workspace=opened.principal.workspace)).pending
    return write_totals(call.output, done, lines=done.total, pending=pending)

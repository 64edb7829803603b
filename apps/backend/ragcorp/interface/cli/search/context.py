"""`ragcorp context`."""

from __future__ import annotations

from typing import Annotated
from uuid import uuid4

import typer
from rich.console import Console

from ragcorp.application.memory.load_context import DEFAULT_QUERY
from ragcorp.domain.memory import MemoryContext
from ragcorp.interface.cli.console.calls import Call
from ragcorp.interface.cli.console.output import plain
from ragcorp.interface.cli.search.commands import print_degraded
from ragcorp.interface.shapes.memory import context_document


async def context(
    call: Call,
    query: Annotated[str, typer.Argument(help="What the conversation is about.")] = DEFAULT_QUERY,
    limit: Annotated[
        int | None, typer.Option("--limit", "-n", help="Items at most [DEFAULT_RESULT_LIMIT].", show_default=False)
    ] = None,
    session: Annotated[
        str | None, typer.Option("--session", help="Recall of one session only.", show_default=False)
    ] = None,
) -> None:
    """Print what is remembered, as a briefing for a language model's prompt."""
    async with call.services.open(call.target) as opened:
        recalled = await opened.context.load(query, limit=limit, session=session, principal=opened.principal)
    call.output.result(context_document(recalled, request_id=uuid4().hex), lambda console: _print(console, recalled))
    if not call.output.json:
        # stdout is for the prompt alone
        print_degraded(call.output.notes, recalled.degraded)
        if not recalled.context:
            call.output.note("Nothing is remembered.")


def _print(console: Console, recalled: MemoryContext) -> None:
    if recalled.context:
        console.print(plain(recalled.context))

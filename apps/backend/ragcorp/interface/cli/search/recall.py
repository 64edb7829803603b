"""`ragcorp context` and `ragcorp introspect`: the memory briefing, and what an episode showed."""

from typing import Annotated
from uuid import uuid4

from rich.console import Console
from typer import Argument

from ragcorp.application.memory.load_context import DEFAULT_QUERY
from ragcorp.domain.memory import MemoryContext
from ragcorp.interface.cli.console.calls import Call
from ragcorp.interface.cli.console.options import argument, option
from ragcorp.interface.cli.console.output import print_line
from ragcorp.interface.cli.search.commands import print_degraded
from ragcorp.interface.cli.search.hydration_output import print_turn
from ragcorp.interface.shapes.hydration import turn_document
from ragcorp.interface.shapes.memory import context_document


async def context(
    call: Call,
    query: Annotated[str, Argument(help="What the conversation is about.")] = DEFAULT_QUERY,
    limit: Annotated[int | None, option("--limit", "-n", help="Items at most [DEFAULT_RESULT_LIMIT].")] = None,
    session: Annotated[str | None, option("--session", help="Recall of one session only.")] = None,
) -> None:
    """Print what is remembered, as a briefing for a language model's prompt."""
    async with call.open() as opened:
        briefing = await opened.use_cases.context.load(query, limit=limit, session=session, principal=opened.principal)
    call.output.result(context_document(briefing, request_id=uuid4().hex), lambda console: _print(console, briefing))
    if not call.output.json:
        # stdout is for the prompt alone
        print_degraded(call.output.notes, briefing.degraded)
        if not briefing.context:
            call.output.note("Nothing is remembered.")


def _print(console: Console, briefing: MemoryContext) -> None:
    if briefing.context:
        print_line(console, briefing.context)


async def introspect(
    call: Call,
    episode: Annotated[str, argument(help="The --episode of a search or question.")],
    turn: Annotated[int | None, option("--turn", help="From 1 [the latest].")] = None,
) -> None:
    """Tell what a turn of an episode showed, and why each piece was shown."""
    async with call.open() as session:
        recorded = await session.use_cases.introspect.introspect(episode, principal=session.principal, turn=turn)
    call.output.result(turn_document(recorded), lambda console: print_turn(console, recorded))

"""`ragcorp introspect`."""

from __future__ import annotations

from typing import Annotated

import typer

from ragcorp.interface.cli.console.calls import Call
from ragcorp.interface.cli.search.hydration_output import print_turn
from ragcorp.interface.shapes.hydration import turn_document


async def introspect(
    call: Call,
    episode: Annotated[str, typer.Argument(help="The --episode of a search or question.", show_default=False)],
    turn: Annotated[int | None, typer.Option("--turn", help="From 1 [the latest].", show_default=False)] = None,
) -> None:
    """Tell what a turn of an episode showed, and why each piece was shown."""
    async with call.services.open(call.target) as session:
        recorded = await session.introspect.introspect(episode, principal=session.principal, turn=turn)
    call.output.result(turn_document(recorded), lambda console: print_turn(console, recorded))

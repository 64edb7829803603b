"""`ragcorp tui`."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.interface.cli.console.calls import Call

Profile = Annotated[
    str | None,
    typer.Option(
        "--profile",
        help="Profile at the start: files (where ALLOWED_PATHS is set), hybrid, grep, memory, ...; Ctrl+P changes it.",
        show_default=False,
    ),
]


async def tui(call: Call, profile: Profile = None) -> None:
    """Search as you type, read files at their lines, and ask, on the whole terminal. F1 lists the keys."""
    if call.output.json:
        raise InvalidInputError(
            "The terminal UI writes no JSON.", field="--json", remedy="Use `ragcorp search --json` or `ragcorp ask`."
        )
    if not on_terminal():
        raise InvalidInputError(
            "The terminal UI needs a terminal for input and output.",
            field="tui",
            remedy="Run it in a terminal, or use `ragcorp search` and `ragcorp ask` in pipes.",
        )
    call.output.note("Opening ragcorp ...")
    await call.services.tui(call.target, profile)


def on_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()

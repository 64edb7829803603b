"""What the tests of the terminal UI do again and again: wait for what is seen, and read the screen."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from textual import events
from textual.keys import _character_to_key
from textual.pilot import Pilot

from ragcorp.interface.tui.app import RagTui
from ragcorp.interface.tui.line_view import LineView
from ragcorp.interface.tui.query_screen import QueryInput
from ragcorp.interface.tui.result_list import ResultList
from ragcorp.interface.tui.status_line import StatusLine

AnyPilot = Pilot[Any]


@asynccontextmanager
async def running(app: RagTui, *, size: tuple[int, int] = (80, 24)) -> AsyncIterator[AnyPilot]:
    """Run the app on a terminal of so many columns and rows; begins when the first screen is complete."""
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: isinstance(pilot.app.focused, QueryInput))
        await pilot.pause()
        yield pilot


async def until(pilot: AnyPilot, holds: Callable[[], bool], *, seconds: float = 20) -> None:
    """Let the app run until ``holds``; fails with the screen if it never does."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"it did not come to pass on:\n{screen(pilot)}"
        await pilot.pause(0.01)
    await pilot.pause()


async def sees(pilot: AnyPilot, text: str) -> None:
    """Wait until ``text`` stands on the screen."""
    await until(pilot, lambda: text in screen(pilot))


def screen(pilot: AnyPilot) -> str:
    """The screen as text, row by row."""
    strips = pilot.app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip).rstrip() for strip in strips)


def status(pilot: AnyPilot) -> str:
    return pilot.app.screen.query_one(StatusLine).text_shown


def shown(pilot: AnyPilot) -> list[str]:
    """The lines of the pane, wrapped or not, seen or not."""
    return [line.text for line in pilot.app.screen.query_one(LineView).lines]


def pointed(pilot: AnyPilot) -> list[int | None]:
    return [line.number for line in pilot.app.screen.query_one(LineView).lines if line.pointed]


def rows(pilot: AnyPilot) -> list[str]:
    return [str(option.prompt) for option in pilot.app.screen.query_one(ResultList).options]


async def typed(pilot: AnyPilot, text: str) -> None:
    """Type ``text`` as a keyboard does: composed characters are one key."""
    for character in text:
        pilot.app.post_message(events.Key(_character_to_key(character), character))
    await pilot.pause()


def put(pilot: AnyPilot, text: str) -> None:
    """Put ``text`` into the line of input at once, so that one search is made of it."""
    line = pilot.app.screen.query_one(QueryInput)
    line.value = text
    line.cursor_position = len(text)


async def found(pilot: AnyPilot, query: str) -> None:
    """Put a query and wait for its results."""
    put(pilot, query)
    await until(pilot, lambda: "chunk" in status(pilot) or "passage" in status(pilot))

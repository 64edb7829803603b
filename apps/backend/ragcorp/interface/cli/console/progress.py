"""Shows how far a long task is: a bar on a terminal, a line every few seconds elsewhere. Always on stderr."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

SECONDS_BETWEEN_LINES = 10.0

Report = Callable[[int, int], None]
"""Told how many of how many are done."""


@contextmanager
def progress(console: Console, task: str, *, unit: str) -> Iterator[Report]:
    """Yield the function to report to."""
    if console.is_terminal:
        with _bar(console, unit) as bar:
            row = bar.add_task(task, total=None)
            yield lambda done, total: bar.update(row, completed=done, total=total)
        return
    lines = _Lines(console, task, unit)
    yield lines.report
    lines.finish()


def _bar(console: Console, unit: str) -> Progress:
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(unit),
        _RateColumn(),
        TimeRemainingColumn(compact=True, elapsed_when_finished=True),
        console=console,
        transient=False,
    )


class _RateColumn(ProgressColumn):
    """How many a second, over the last of them."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:,.1f}/s", style="dim")


class _Lines:
    """Prints progress at most every few seconds, and always at the end."""

    def __init__(self, console: Console, task: str, unit: str) -> None:
        self._console = console
        self._task = task
        self._unit = unit
        self._said_at = time.monotonic()
        self._said: tuple[int, int] | None = None
        self._latest: tuple[int, int] | None = None

    def report(self, done: int, total: int) -> None:
        self._latest = (done, total)
        if time.monotonic() - self._said_at >= SECONDS_BETWEEN_LINES:
            self.finish()

    def finish(self) -> None:
        if self._latest is not None and self._latest != self._said:
            self._console.print(f"{self._task}: {self._latest[0]:,} of {self._latest[1]:,} {self._unit}")
            self._said, self._said_at = self._latest, time.monotonic()

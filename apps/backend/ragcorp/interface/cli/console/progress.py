"""Progress of a long task on stderr: a bar on a terminal, otherwise a line every few seconds."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

from ragcorp.application.upkeep.task_progress import Report

SECONDS_BETWEEN_LINES = 10.0


@contextmanager
def progress(console: Console, task: str, *, unit: str) -> Iterator[Report]:
    """Yield the function to report to."""
    if console.is_terminal:
        with _bar(console, unit) as bar:
            row = bar.add_task(task, total=None)
            yield lambda done, total: bar.update(row, completed=done, total=total)
        return
    lines = PacedReports(
        lambda done, total: console.print(f"{task}: {done:,} of {total:,} {unit}"), seconds=SECONDS_BETWEEN_LINES
    )
    yield lines.report
    lines.finish()


class PacedReports:
    """Passes reports on, at most one every ``seconds``; ``finish`` passes on the last one."""

    def __init__(self, write: Report, *, seconds: float) -> None:
        self._write = write
        self._seconds = seconds
        self._written_at = time.monotonic()
        self._written: tuple[int, int] | None = None
        self._latest: tuple[int, int] | None = None

    def report(self, done: int, total: int) -> None:
        self._latest = (done, total)
        if time.monotonic() - self._written_at >= self._seconds:
            self.finish()

    def finish(self) -> None:
        if self._latest is not None and self._latest != self._written:
            self._written, self._written_at = self._latest, time.monotonic()
            self._write(*self._latest)


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
    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:,.1f}/s", style="dim")

"""Output of `ragcorp ingest --watch`: a bar for large passes, otherwise a line per change."""

from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import asdict
from typing import Self

from ragcorp.application.upkeep.task_progress import Report
from ragcorp.domain.ports.folders import SyncCounts, WatchEvent, WatchKind
from ragcorp.interface.cli.console.output import Output, error_document, print_line, sentences
from ragcorp.interface.cli.console.progress import progress
from ragcorp.interface.shapes.left_out import left_out_files, left_out_in_words
from ragcorp.interface.shapes.unread import unread_in_words, unread_parts

BAR_FROM = 50
"""Files of a pass from which a bar replaces the lines of stored and deleted files."""

_STYLES = {
    WatchKind.CREATED: "green",
    WatchKind.UPDATED: "cyan",
    WatchKind.DELETED: "yellow",
    WatchKind.FAILED: "red",
    WatchKind.KEPT: "yellow",
    WatchKind.HELD_BACK: "yellow",
    WatchKind.WAITING: "yellow",
    WatchKind.LEFT_OUT: "dim",
    WatchKind.IN_STEP: "bold green",
}
_OF_DOCUMENTS = frozenset({WatchKind.CREATED, WatchKind.UPDATED, WatchKind.DELETED})


class WatchProgress:
    """Writes the events of a watch to stdout, with --json one JSON document a line, and bars to stderr."""

    def __init__(self, output: Output, *, name: str) -> None:
        self._output = output
        self._name = name
        self._bar = ExitStack()
        self._report: Report | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def progress(self, done: int, total: int) -> None:
        if total < BAR_FROM:
            self._close()
            return
        if self._report is None:
            self._report = self._bar.enter_context(progress(self._output.notes, f"In {self._name}", unit="files"))
        self._report(done, total)
        if done >= total:
            self._close()

    def event(self, event: WatchEvent) -> None:
        if event.kind in (WatchKind.IN_STEP, WatchKind.WAITING):
            self._close()
        if self._output.json:
            self._output.write_json(event_document(event))
        elif self._report is None or event.error is not None or event.unread or event.kind not in _OF_DOCUMENTS:
            for line in _lines(event):
                print_line(self._output.console, line, style=_STYLES[event.kind])

    def _close(self) -> None:
        self._bar.close()
        self._report = None


def event_document(event: WatchEvent) -> dict[str, object]:
    """Return ``event`` with the external_id, error, counts and files that it has."""
    document: dict[str, object] = {"event": event.kind.value}
    if event.external_id is not None:
        document["external_id"] = event.external_id
    if event.error is not None:
        document["error"] = error_document(event.error)
    if event.counts is not None:
        document |= asdict(event.counts)
    if event.unread:
        document["unread"] = unread_parts(event.unread)
    if event.kind is WatchKind.LEFT_OUT:
        document |= {"left_out": left_out_files(event.left_out), "ignored": event.ignored}
    return document


def _lines(event: WatchEvent) -> Iterable[str]:
    if event.kind is WatchKind.LEFT_OUT:
        return left_out_in_words(event.left_out, ignored=event.ignored)
    return [_line(event)]


def _line(event: WatchEvent) -> str:
    kind = event.kind.value.replace("_", " ")
    if event.counts is not None:
        return f"{kind}: {_sum(event.counts)}"
    reasons = [sentences(error_document(event.error))] if event.error is not None else []
    why = " ".join([*reasons, *filter(None, [unread_in_words(event.unread)])])
    if event.external_id is None:
        return f"{kind}: {why}"
    return f"{kind:8} {event.external_id}" + (f": {why}" if why else "")


def _sum(counts: SyncCounts) -> str:
    parts = [(count, name) for name, count in asdict(counts).items() if count and name != "files"]
    return ", ".join([f"{counts.files:,} files", *(f"{count:,} {name}" for count, name in parts)])

"""Shows a file at the lines of a passage, or the passage alone if the file cannot be read."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import Footer, Label

from ragcorp.domain.exceptions import FileTooLargeError, RagcorpError
from ragcorp.domain.files.values import FileText
from ragcorp.interface.tui.line_view import Line, LineView, Marks
from ragcorp.interface.tui.passages import file_lines
from ragcorp.interface.tui.printable_text import on_one_line
from ragcorp.interface.tui.services import TuiServices
from ragcorp.interface.tui.status_line import StatusLine, sentences

AROUND = 200
"""Lines before and behind the passage, of a file that is too large to be shown whole."""

LITERAL = 40
"""Characters by which a passage is recognised in its file."""

DIFFERENT = "The passage reads differently here: the file changed, or is HTML or CSV."

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A passage to open. ``path`` is None without a text file that contains its lines."""

    place: str
    path: str | None
    line_start: int
    line_end: int
    matched_lines: Sequence[int]
    passage: Sequence[Line]
    marks: Marks


class ViewerScreen(Screen[None]):
    DEFAULT_CSS = """
    ViewerScreen Label { width: 100%; height: 1; background: $panel; text-style: bold; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "dismiss", "Back", key_display="Esc")]

    def __init__(self, services: TuiServices, opened: Opened) -> None:
        super().__init__()
        self._services = services
        self._opened = opened

    def compose(self) -> ComposeResult:
        yield Label(self._opened.place, markup=False)
        yield LineView(id="file")
        yield StatusLine()
        yield Footer(show_command_palette=False, compact=True)

    def on_mount(self) -> None:
        self.query_one(LineView).focus()
        if self._opened.path is None:
            self._show_passage("The passage alone: it stands in no text file.")
        else:
            self.query_one(StatusLine).show("Reading …")
            self.run_worker(self._read(self._opened.path), exclusive=True)

    async def _read(self, path: str) -> None:
        try:
            text = await self._text(path)
        except Exception as error:
            if not isinstance(error, RagcorpError):
                log.exception("A file could not be shown.")
            self._show_passage(f"The passage alone. {sentences(error)}")
        else:
            self._show_file(text)

    async def _text(self, path: str) -> FileText:
        """Return the whole file, or the lines around the passage of a file that is too large."""
        read = partial(self._services.use_cases.read_file.read, path, principal=self._services.principal)
        try:
            return await read()
        except FileTooLargeError:
            first, last = max(1, self._opened.line_start - AROUND), self._opened.line_end + AROUND
            return await read(line_start=first, line_end=last)

    def _show_file(self, text: FileText) -> None:
        opened = self._opened
        lines = file_lines(
            text.text,
            first=max(text.line_start, 1),
            pointed=opened.matched_lines or (),
            span=(opened.line_start, opened.line_end),
            marks=opened.marks,
        )
        at = opened.matched_lines[0] if opened.matched_lines else opened.line_start
        self.query_one(LineView).show(lines, opened.marks, at=at)
        moved = "" if self._is_unchanged(lines) else DIFFERENT
        whole = f"lines {text.line_start}-{text.line_end} of {text.total_lines}"
        self.query_one(StatusLine).show(f"{on_one_line(text.path)}: {whole}, {text.encoding}", warning=moved)

    def _is_unchanged(self, lines: Sequence[Line]) -> bool:
        """Return whether the passage begins in its lines of the file."""
        begun = " ".join(line.text for line in self._opened.passage if not line.note)
        there = " ".join(line.text for line in lines if line.span)
        return on_one_line(begun)[:LITERAL] in on_one_line(there)

    def _show_passage(self, why: str) -> None:
        place, *rest = self._opened.passage
        # the title shows the place
        lines = rest if place.note and place.text == self._opened.place else self._opened.passage
        self.query_one(LineView).show(lines, self._opened.marks)
        self.query_one(StatusLine).show(why)

"""The list of results. ``>`` marks the selected row, also without colour."""

from collections.abc import Callable, Sequence

from rich.text import Text
from textual.message import Message
from textual.widgets import OptionList

Row = Callable[[int, bool], Text]
"""Renders one row for a width in cells; the flag allows two lines per row."""

POINTER = "> "


class ResultList(OptionList):
    """Renders its rows again whenever the width changes."""

    DEFAULT_CSS = """
    ResultList {
        border: none;
        padding: 0;
        height: 1fr;
        background: $background;
        scrollbar-size: 0 1;
        scrollbar-gutter: stable;
        &:focus { border: none; background-tint: $foreground 0%; }
        & > .option-list--option { padding: 0; }
    }
    """

    class Moved(Message):
        def __init__(self, index: int | None) -> None:
            super().__init__()
            self.index = index

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - textual's own name
        super().__init__(id=id)
        self._rows: Sequence[Row] = ()
        self._pointed: int | None = None
        self._written_for = (0, False)
        self.tall = False

    def show(self, rows: Sequence[Row], *, at: int = 0) -> None:
        self._rows = rows
        self._pointed = min(at, len(rows) - 1) if rows else None
        self._write()

    def move(self, step: int) -> None:
        if self._rows:
            self.highlighted = min(max((self.highlighted or 0) + step, 0), len(self._rows) - 1)

    def set_tall(self, tall: bool) -> None:
        if tall != self.tall:
            self.tall = tall
            self._write()

    def on_resize(self) -> None:
        if self._written_for[0] != self._room:
            self._write()

    def watch_highlighted(self, highlighted: int | None) -> None:
        super().watch_highlighted(highlighted)
        before, self._pointed = self._pointed, highlighted
        for index in {before, highlighted} - {None}:
            if index is not None and index < len(self.options):
                self.replace_option_prompt_at_index(index, self._prompt(index))
        self.post_message(self.Moved(highlighted))

    @property
    def _room(self) -> int:
        return self.scrollable_content_region.width

    def _write(self) -> None:
        self._written_for = (self._room, self.tall)
        pointed = self._pointed
        self.set_options([self._prompt(index) for index in range(len(self._rows))])
        self.highlighted = pointed
        if pointed is None:
            self.post_message(self.Moved(None))

    def _prompt(self, index: int) -> Text:
        row = self._rows[index](max(self._room - len(POINTER), 10), self.tall)
        before = POINTER if index == self._pointed else " " * len(POINTER)
        prompt = Text("", no_wrap=True, end="")
        for number, line in enumerate(row.split("\n")):
            prompt.append("\n" if number else "")
            prompt.append(before if number == 0 else " " * len(POINTER))
            prompt.append_text(line)
        return prompt

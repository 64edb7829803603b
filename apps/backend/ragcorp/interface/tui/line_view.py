"""A pane of lines: numbered, marked, wrapped to its width; only visible lines are drawn."""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from ragcorp.interface.tui.printable_text import wrapped

Marks = Callable[[str], Sequence[tuple[int, int]]]
"""Returns the spans of the marked characters of a line."""

LEAST_WIDTH = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line without control characters; ``>`` marks a ``pointed`` one, ``|`` the ``span``. A ``note`` is not text."""

    text: str
    number: int | None = None
    pointed: bool = False
    span: bool = False
    note: bool = False


def no_marks(line: str) -> Sequence[tuple[int, int]]:
    del line
    return ()


class LineView(ScrollView, can_focus=True):
    """``n`` and ``N`` go to the next and the previous pointed line."""

    DEFAULT_CSS = """
    LineView {
        background: $surface;
        color: $foreground;
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-gutter: stable;
        scrollbar-size: 0 1;
        & .line--gutter { color: $text-muted; }
        & .line--pointed { text-style: bold; }
        & .line--pointer { color: $text-warning; text-style: bold; }
        & .line--span { background: $boost; }
        & .line--mark { color: $text-warning; text-style: bold underline; }
        & .line--note { color: $text-muted; }
    }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"line--{part}" for part in ("gutter", "pointed", "pointer", "span", "mark", "note")
    }
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n", "pointed(1)", "Next match"),
        Binding("N", "pointed(-1)", "Previous", key_display="N"),
    ]

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - textual's own name
        super().__init__(id=id)
        self._lines: Sequence[Line] = ()
        self._marks: Marks = no_marks
        self._marked: dict[int, Sequence[tuple[int, int]]] = {}
        self._rows: list[tuple[int, int, int]] = []
        self._first_rows: list[int] = []
        self._digits = 0
        self._laid_out_for = 0
        self._target: int | None = None

    @property
    def lines(self) -> Sequence[Line]:
        return self._lines

    def show(self, lines: Sequence[Line], marks: Marks = no_marks, *, at: int | None = None) -> None:
        """Show ``lines`` from the top, or scrolled to the line of number ``at``."""
        self._lines, self._marks = lines, marks
        self._digits = max((len(str(line.number)) for line in lines if line.number is not None), default=0)
        self._lay_out()
        numbers = [line.number for line in lines]
        self._target = numbers.index(at) if at in numbers else 0
        self._go_to_target()

    def go_on(self, lines: Sequence[Line], marks: Marks) -> None:
        """Show ``lines`` that continue the shown ones; a view at the end stays at the end."""
        self._lines, self._marks = lines, marks
        follows = self.is_vertical_scroll_end
        self._lay_out()
        if follows:
            self.scroll_end(animate=False, force=True, immediate=True)

    def on_resize(self) -> None:
        if self.scrollable_content_region.width != self._laid_out_for:
            top = self._rows[self.scroll_offset.y][0] if self.scroll_offset.y < len(self._rows) else 0
            self._lay_out()
            if self._target is None and top:
                self.scroll_to(y=self._first_rows[top], animate=False, force=True, immediate=True)
        self._go_to_target()

    def action_pointed(self, step: int) -> None:
        pointed = [row for row, line in zip(self._first_rows, self._lines, strict=True) if line.pointed]
        here = self.scroll_offset.y + self._lead
        place = bisect_left(pointed, here + 1) if step > 0 else bisect_left(pointed, here) - 1
        if 0 <= place < len(pointed):
            self.scroll_to(y=max(pointed[place] - self._lead, 0), animate=False)

    def render_line(self, y: int) -> Strip:
        width, base = self.size.width, self.rich_style
        row = self.scroll_offset.y + y
        if row >= len(self._rows):
            return Strip.blank(width, base)
        index, start, end = self._rows[row]
        line = self._lines[index]
        if line.span:
            base += self.get_component_rich_style("line--span")
        segments = [*self._gutter(line, first=start == 0, base=base), *self._pieces(index, start, end, base)]
        return Strip(segments).adjust_cell_length(width, base)

    @property
    def _lead(self) -> int:
        """Rows that stay visible above the target of a jump."""
        return self.scrollable_content_region.height // 3

    def _go_to_target(self) -> None:
        """Scroll to the target of ``show`` once the size is known."""
        if self._target is None or not self.size.height:
            return
        row = self._first_rows[self._target] if self._target < len(self._first_rows) else 0
        self._target = None
        # forced: until the next layout the pane does not know that these lines can be scrolled
        self.scroll_to(y=max(row - self._lead, 0), animate=False, force=True, immediate=True)

    def _lay_out(self) -> None:
        self._laid_out_for = self.scrollable_content_region.width
        self._marked.clear()
        rows: list[tuple[int, int, int]] = []
        firsts: list[int] = []
        for index, line in enumerate(self._lines):
            firsts.append(len(rows))
            width = max(self._laid_out_for - self._gutter_width(line), LEAST_WIDTH)
            rows.extend((index, start, end) for start, end in wrapped(line.text, width))
        self._rows, self._first_rows = rows, firsts
        self.virtual_size = Size(self._laid_out_for, len(rows))
        self.refresh()

    def _gutter_width(self, line: Line) -> int:
        if line.note:
            return 0
        return self._digits + 3 if self._digits else 2

    def _gutter(self, line: Line, *, first: bool, base: Style) -> list[Segment]:
        if line.note:
            return []
        pointer = base + self.get_component_rich_style("line--pointer", partial=True)
        sign = ">" if line.pointed and first else "|" if line.span else " "
        parts = [Segment(sign + " ", pointer)]
        if self._digits:
            number = str(line.number) if first and line.number is not None else ""
            style = base + self.get_component_rich_style("line--gutter", partial=True)
            parts.append(Segment(f"{number:>{self._digits}} ", style))
        return parts

    def _marks_of(self, index: int) -> Sequence[tuple[int, int]]:
        """Return the marks of a line, cached: a long line has many rows."""
        if index not in self._marked:
            self._marked[index] = self._marks(self._lines[index].text)
        return self._marked[index]

    def _pieces(self, index: int, start: int, end: int, base: Style) -> list[Segment]:
        line, plain = self._lines[index], base
        if line.note:
            plain += self.get_component_rich_style("line--note", partial=True)
        elif line.pointed:
            plain += self.get_component_rich_style("line--pointed", partial=True)
        marked = plain + self.get_component_rich_style("line--mark", partial=True)
        pieces, place = [], start
        for mark_start, mark_end in () if line.note else self._marks_of(index):
            left, right = max(mark_start, start), min(mark_end, end)
            if left < right:
                pieces += [Segment(line.text[place:left], plain), Segment(line.text[left:right], marked)]
                place = right
        pieces.append(Segment(line.text[place:end], plain))
        return [piece for piece in pieces if cell_len(piece.text)]

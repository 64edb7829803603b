"""The page of keys."""

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import Footer

from ragcorp.interface.tui.line_view import Line, LineView
from ragcorp.interface.tui.printable_text import on_one_line

KEYS = """Search
  type          searches as you type; words, a question, a code
  Up, Down      another passage, also while you type
  PgUp, PgDn    scroll the passage
  Enter         open the file at the passage
  Tab           to the list, the passage, and back
  Ctrl+P        choose the profile: by meaning, by words, in files, memories
  Ctrl+R        search again
  Ctrl+A, F2    ask a question; there, back to the search

Ask
  Enter         ask; the answer comes with its sources, [1], [2]
  Esc           stop the answer
  Up, Down      another source; Enter opens it

File
  n, N          next and previous line with a match
  Esc, q        back

Everywhere
  F1, ?         this page (? outside of a line of input)
  Ctrl+Q        quit; q too, outside of a line of input

Signs
  >             the row in hand; in a text, a line that matches
  |             a line of the passage, in its file
  #2 .81 +.016  rank and score in a source, and what it gives to the passage's score"""


class HelpScreen(Screen[None]):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "dismiss", "Back", key_display="Esc")]

    def __init__(self, words: Sequence[str]) -> None:
        super().__init__()
        self._words = words

    def compose(self) -> ComposeResult:
        yield LineView(id="help")
        yield Footer(show_command_palette=False, compact=True)

    def on_mount(self) -> None:
        facts = ["", "In force", *(f"  {on_one_line(word)}" for word in self._words)] if self._words else []
        view = self.query_one(LineView)
        view.show([Line(text=text, note=True) for text in (*KEYS.split("\n"), *facts)])
        view.focus()

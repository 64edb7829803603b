"""The parts that search and ask share: input, profile, list, pane, and work that newer work replaces."""

import logging
import re
from collections.abc import Awaitable
from typing import ClassVar, TypeVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.screen import Screen
from textual.widgets import Footer, Input, Label, OptionList

from ragcorp.domain.exceptions import RagcorpError
from ragcorp.domain.search.requests import SearchRequest
from ragcorp.interface.tui.line_view import Line, LineView
from ragcorp.interface.tui.printable_text import printable
from ragcorp.interface.tui.profile_screen import ProfileScreen
from ragcorp.interface.tui.result_list import ResultList
from ragcorp.interface.tui.services import AUTO, Choice, TuiServices
from ragcorp.interface.tui.status_line import StatusLine

Result = TypeVar("Result")

log = logging.getLogger(__name__)


MOST_PASTED = 20_000
"""Characters taken of one paste: more than any query may have, so that the search refuses it."""

_SPACES = re.compile(r"\s+")


class QueryInput(Input):
    """Joins pasted lines into one."""

    DEFAULT_CSS = """
    QueryInput {
        border: none;
        height: 1;
        padding: 0;
        background: $surface;
        &:focus { border: none; background: $surface; }
    }
    """

    def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        text = printable(event.text[:MOST_PASTED]).strip("\n")
        self.replace(_SPACES.sub(" ", text), *self.selection)


class QueryScreen(Screen[None]):
    """A query above a list and a pane of lines. Each run has a generation: results of an older one are not shown."""

    DEFAULT_CSS = """
    QueryScreen {
        & #top { height: 1; background: $surface; }
        & #top Label { width: auto; text-style: bold; padding: 0 1 0 0; background: $surface; }
        & #top QueryInput { width: 1fr; }
        & #profile { color: $text-accent; padding: 0 0 0 1; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "move(1)", "Next row", show=False),
        Binding("up", "move(-1)", "Previous row", show=False),
        Binding("pagedown", "scroll(1)", "Scroll", show=False),
        Binding("pageup", "scroll(-1)", "Scroll back", show=False),
    ]
    NAME: ClassVar[str]
    PLACEHOLDER: ClassVar[str]
    HINTS: ClassVar[tuple[str, ...]]
    AGAIN: ClassVar[str]

    def __init__(self, services: TuiServices, choice: Choice) -> None:
        super().__init__()
        self._services = services
        self._choice = choice
        self._generation = 0

    def compose(self) -> ComposeResult:
        with Horizontal(id="top"):
            yield Label(self.NAME, markup=False)
            yield QueryInput(id="query", placeholder=self.PLACEHOLDER, compact=True)
            yield Label("", id="profile", markup=False)
        yield from self.compose_body()
        yield StatusLine(id="status")
        yield Footer(show_command_palette=False, compact=True)

    def compose_body(self) -> ComposeResult:
        raise NotImplementedError

    def on_mount(self) -> None:
        self._show_hints()
        self.query_one(QueryInput).focus()

    def on_screen_resume(self) -> None:
        self.query_one("#profile", Label).update(f"[{self._choice.profile}]")

    def action_profile(self) -> None:
        self.app.push_screen(ProfileScreen(self._services.profiles, self._choice.profile), self._choose)

    def action_move(self, step: int) -> None:
        self.query_one(ResultList).move(step)

    def action_scroll(self, pages: int) -> None:
        pane = self.query_one(LineView)
        pane.scroll_relative(y=pages * max(pane.size.height - 1, 1), animate=False)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.open_row(event.option_index)

    def open_row(self, index: int) -> None:
        raise NotImplementedError

    def _typed_query(self) -> str:
        return self.query_one(QueryInput).value.strip()

    def _request(self, query: str, *, limit: int, explain: bool = False) -> SearchRequest:
        profile = None if self._choice.profile == AUTO else self._choice.profile
        return SearchRequest(query=query, limit=limit, profile=profile, explain=explain)

    def _choose(self, profile: str | None) -> None:
        if profile is not None:
            self._choice.profile = profile
            self.on_screen_resume()

    def _show_hints(self) -> None:
        self.query_one(LineView).show([Line(text=hint, note=True) for hint in self.HINTS])
        self.query_one(StatusLine).show("Ready.")

    async def _guarded(self, work: Awaitable[Result], generation: int) -> Result | None:
        """Return the result of ``work``; a failure is shown on the status line unless newer work replaced it."""
        try:
            return await work
        except Exception as error:
            if not isinstance(error, RagcorpError):
                log.exception("%s failed.", self.NAME)
            self._fail(error, generation)
        return None

    def _fail(self, error: Exception, generation: int) -> None:
        """Show what went wrong; the lines shown before stay."""
        if generation == self._generation:
            self.query_one(StatusLine).fail(error, again=self.AGAIN)

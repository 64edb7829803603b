"""Search as you type: the passages, and the one in hand with its marks."""

from __future__ import annotations

import logging
import time
from functools import partial
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Horizontal
from textual.screen import Screen
from textual.timer import Timer
from textual.widgets import Footer, Input, Label, OptionList

from ragcorp.domain.exceptions import RagcorpError
from ragcorp.domain.search.requests import SearchHit, SearchRequest, SearchResponse
from ragcorp.domain.text.checks import is_blank
from ragcorp.interface.tui.chosen import Chosen
from ragcorp.interface.tui.line_view import Line, LineView
from ragcorp.interface.tui.passages import marks_of, passage_lines, place_of, row_of
from ragcorp.interface.tui.profile_screen import ProfileScreen
from ragcorp.interface.tui.query_input import QueryInput
from ragcorp.interface.tui.query_marks import QueryMarks
from ragcorp.interface.tui.result_list import ResultList
from ragcorp.interface.tui.services import AUTO, TuiServices
from ragcorp.interface.tui.status_line import StatusLine, found, missing
from ragcorp.interface.tui.viewer_screen import Opened, ViewerScreen

DEBOUNCE_SECONDS = 0.15

WIDE = 100
"""Columns from which list and passage stand side by side."""

HINTS = (
    "Type to search; Up and Down take another passage, Enter opens its file.",
    "Ctrl+P chooses where and how is searched, Ctrl+A asks a question.",
    "F1 lists all keys.",
)

log = logging.getLogger(__name__)


class SearchScreen(Screen[None]):
    """A search that runs is cancelled by the next; what comes late is never shown over what is newer."""

    DEFAULT_CSS = """
    SearchScreen {
        & #top { height: 1; background: $surface; }
        & #top Label { width: auto; text-style: bold; padding: 0 1 0 0; background: $surface; }
        & #top QueryInput { width: 1fr; }
        & #profile { color: $text-accent; padding: 0 0 0 1; }
        & #body { height: 1fr; layout: vertical; }
        & #results { height: 35%; min-height: 3; }
        & #passage { height: 1fr; border-top: solid $primary; }
        &.-wide #body { layout: horizontal; }
        &.-wide #results { width: 44; height: 1fr; }
        &.-wide #passage { width: 1fr; border-top: none; border-left: solid $primary; padding: 0 0 0 1; }
    }
    """
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (WIDE, "-wide")]  # noqa: RUF012 - a list is what textual adds to
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "Open", key_display="Enter", priority=True),
        Binding("ctrl+p", "profile", "Profile", priority=True),
        Binding("ctrl+a,f2", "app.switch_mode('ask')", "Ask", key_display="^a", priority=True),
        Binding("ctrl+r", "again", "Again", show=False, priority=True),
        Binding("f1,question_mark", "app.help", "Help", key_display="F1"),
        Binding("escape", "back", "Back", show=False),
        Binding("down", "move(1)", "Next passage", show=False),
        Binding("up", "move(-1)", "Previous passage", show=False),
        Binding("pagedown", "scroll(1)", "Scroll the passage", show=False),
        Binding("pageup", "scroll(-1)", "Scroll the passage back", show=False),
    ]

    def __init__(self, services: TuiServices, chosen: Chosen) -> None:
        super().__init__()
        self._services = services
        self._chosen = chosen
        self._timer: Timer | None = None
        self._generation = 0
        self._asked = ("", "")
        self._shown_for = ("", "")
        self._hits: tuple[SearchHit, ...] = ()
        self._query = ""
        self._in_hand: SearchHit | None = None

    def compose(self) -> ComposeResult:
        with Horizontal(id="top"):
            yield Label("Search", markup=False)
            yield QueryInput(id="query", placeholder="words, a question, a code", compact=True)
            yield Label("", id="profile", markup=False)
        with Container(id="body"):
            yield ResultList(id="results")
            yield LineView(id="passage")
        yield StatusLine(id="status")
        yield Footer(show_command_palette=False, compact=True)

    def on_mount(self) -> None:
        self._show_hints()
        self.query_one(QueryInput).focus()

    def on_screen_resume(self) -> None:
        self.query_one("#profile", Label).update(f"[{self._chosen.profile}]")
        self._search_if_new()

    def on_resize(self) -> None:
        self.query_one(ResultList).set_tall(self.size.width >= WIDE)

    @on(Input.Changed, "#query")
    def _typed(self) -> None:
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(DEBOUNCE_SECONDS, self._search_if_new)

    def action_again(self) -> None:
        self._asked = ("", "")
        self._search_if_new()

    def action_profile(self) -> None:
        self.app.push_screen(ProfileScreen(self._services.profiles, self._chosen.profile), self._choose)

    def action_back(self) -> None:
        self.query_one(QueryInput).focus()

    def action_move(self, step: int) -> None:
        self.query_one(ResultList).move(step)

    def action_scroll(self, pages: int) -> None:
        passage = self.query_one(LineView)
        passage.scroll_relative(y=pages * max(passage.size.height - 1, 1), animate=False)

    def action_open(self) -> None:
        """Open the file of the passage in hand; where that is none of what was typed since, search at once."""
        if (self.query_one(QueryInput).value.strip(), self._chosen.profile) != self._shown_for:
            self._search_if_new()
        elif self._in_hand is not None:
            self.app.push_screen(ViewerScreen(self._services, opened(self._in_hand, self._query)))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.action_open()

    def on_result_list_moved(self, event: ResultList.Moved) -> None:
        hit = self._hits[event.index] if event.index is not None and event.index < len(self._hits) else None
        if hit is not None and hit is not self._in_hand:
            self._in_hand = hit
            marks = marks_of(hit, self._query)
            self.query_one(LineView).show(passage_lines(hit, marks), marks.spans)

    def _choose(self, profile: str | None) -> None:
        if profile is not None:
            self._chosen.profile = profile
            self.on_screen_resume()

    def _search_if_new(self) -> None:
        query = self.query_one(QueryInput).value.strip()
        if (query, self._chosen.profile) == self._asked:
            return
        self._asked = (query, self._chosen.profile)
        self._generation += 1
        self.workers.cancel_group(self, "search")
        if is_blank(query):
            self._show((), query)
            self._show_hints()
            return
        self.query_one(StatusLine).say("Searching …")
        self.run_worker(self._search(query, self._chosen.profile, self._generation), group="search", exclusive=True)

    async def _search(self, query: str, profile: str, generation: int) -> None:
        begun = time.monotonic()
        try:
            response = await self._services.search.search(
                SearchRequest(
                    query=query,
                    limit=self._services.limit,
                    profile=None if profile == AUTO else profile,
                    explain=True,
                ),
                principal=self._services.principal,
            )
        except RagcorpError as error:
            self._fail(error, generation)
        except Exception as error:
            log.exception("A search failed.")
            self._fail(error, generation)
        else:
            if generation == self._generation:
                self._show_response(response, query, profile, time.monotonic() - begun)

    def _show_response(self, response: SearchResponse, query: str, profile: str, seconds: float) -> None:
        self._show(response.hits, query)
        self._shown_for = (query, profile)
        self.query_one(StatusLine).say(found(profile, response, seconds), warning=missing(response.degraded))
        if not response.hits:
            self.query_one(LineView).show([Line(text="Nothing found.", note=True)])

    def _show(self, hits: tuple[SearchHit, ...], query: str) -> None:
        self._hits, self._query, self._in_hand = hits, query, None
        self.query_one(ResultList).show([partial(row_of, hit) for hit in hits])

    def _show_hints(self) -> None:
        self.query_one(LineView).show([Line(text=hint, note=True) for hint in HINTS])
        self.query_one(StatusLine).say("Ready.")

    def _fail(self, error: Exception, generation: int) -> None:
        """Say what went wrong; the passages that were found before stay, and the same query may be sent again."""
        if generation == self._generation:
            self._asked = ("", "")
            self.query_one(StatusLine).fail(error, again="Ctrl+R searches again.")


def opened(hit: SearchHit, query: str, marks: QueryMarks | None = None) -> Opened:
    """Return a result as what the viewer opens: in its file, unless its lines are those of a converted text."""
    chunk = hit.chunk
    marks = marks or marks_of(hit, query)
    return Opened(
        place=place_of(chunk),
        path=chunk.source_path if chunk.page_start is None else None,
        line_start=chunk.line_start,
        line_end=chunk.line_end,
        matched_lines=hit.matched_lines,
        passage=passage_lines(hit, marks),
        marks=marks.spans,
    )

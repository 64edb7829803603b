"""Search as you type: the passages, and the selected one with its marks."""

import time
from functools import partial
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.timer import Timer
from textual.widgets import Input

from ragcorp.domain.search.requests import SearchHit, SearchResponse
from ragcorp.domain.text.checks import is_blank
from ragcorp.interface.tui.line_view import Line, LineView
from ragcorp.interface.tui.passages import marks_of, passage_lines, place_of, row_of
from ragcorp.interface.tui.query_marks import QueryMarks
from ragcorp.interface.tui.query_screen import QueryScreen
from ragcorp.interface.tui.result_list import ResultList
from ragcorp.interface.tui.services import Choice, TuiServices
from ragcorp.interface.tui.status_line import StatusLine, counts_of, missing
from ragcorp.interface.tui.viewer_screen import Opened, ViewerScreen

DEBOUNCE_SECONDS = 0.15

WIDE = 100
"""Columns from which the list and the passage are side by side."""


class SearchScreen(QueryScreen):
    """A new search cancels the one that runs."""

    DEFAULT_CSS = """
    SearchScreen {
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
    ]
    NAME = "Search"
    PLACEHOLDER = "words, a question, a code"
    HINTS = (
        "Type to search; Up and Down take another passage, Enter opens its file.",
        "Ctrl+P chooses where and how is searched, Ctrl+A asks a question.",
        "F1 lists all keys.",
    )
    AGAIN = "Ctrl+R searches again."

    def __init__(self, services: TuiServices, choice: Choice) -> None:
        super().__init__(services, choice)
        self._timer: Timer | None = None
        self._sent = ("", "")
        self._shown_for = ("", "")
        self._hits: tuple[SearchHit, ...] = ()
        self._query = ""
        self._selected: SearchHit | None = None

    def compose_body(self) -> ComposeResult:
        with Container(id="body"):
            yield ResultList(id="results")
            yield LineView(id="passage")

    def on_screen_resume(self) -> None:
        super().on_screen_resume()
        self._search_if_new()

    def on_resize(self) -> None:
        self.query_one(ResultList).set_tall(self.size.width >= WIDE)

    @on(Input.Changed, "#query")
    def _typed(self) -> None:
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(DEBOUNCE_SECONDS, self._search_if_new)

    def action_again(self) -> None:
        self._sent = ("", "")
        self._search_if_new()

    def action_back(self) -> None:
        self.query_one("#query").focus()

    def action_open(self) -> None:
        """Open the file of the selected passage; if the query changed since it was found, search at once."""
        if (self._typed_query(), self._choice.profile) != self._shown_for:
            self._search_if_new()
        elif self._selected is not None:
            self.app.push_screen(ViewerScreen(self._services, opened(self._selected, self._query)))

    def open_row(self, index: int) -> None:
        del index
        self.action_open()

    def on_result_list_moved(self, event: ResultList.Moved) -> None:
        hit = self._hits[event.index] if event.index is not None and event.index < len(self._hits) else None
        if hit is not None and hit is not self._selected:
            self._selected = hit
            marks = marks_of(hit, self._query)
            self.query_one(LineView).show(passage_lines(hit, marks), marks.spans)

    def _search_if_new(self) -> None:
        query = self._typed_query()
        if (query, self._choice.profile) == self._sent:
            return
        self._sent = (query, self._choice.profile)
        self._generation += 1
        self.workers.cancel_group(self, "search")
        if is_blank(query):
            self._show((), query)
            self._show_hints()
            return
        self.query_one(StatusLine).show("Searching …")
        self.run_worker(self._search(query, self._choice.profile, self._generation), group="search", exclusive=True)

    async def _search(self, query: str, profile: str, generation: int) -> None:
        begun = time.monotonic()
        request = self._request(query, limit=self._services.limit, explain=True)
        searching = self._services.use_cases.search.search(request, principal=self._services.principal)
        response = await self._guarded(searching, generation)
        if response is not None and generation == self._generation:
            self._show_response(response, query, profile, time.monotonic() - begun)

    def _show_response(self, response: SearchResponse, query: str, profile: str, seconds: float) -> None:
        self._show(response.hits, query)
        self._shown_for = (query, profile)
        self.query_one(StatusLine).show(counts_of(profile, response, seconds), warning=missing(response.degraded))
        if not response.hits:
            self.query_one(LineView).show([Line(text="Nothing found.", note=True)])

    def _show(self, hits: tuple[SearchHit, ...], query: str) -> None:
        self._hits, self._query, self._selected = hits, query, None
        self.query_one(ResultList).show([partial(row_of, hit) for hit in hits])

    def _fail(self, error: Exception, generation: int) -> None:
        if generation == self._generation:
            self._sent = ("", "")  # the same query may be sent again
        super()._fail(error, generation)


def opened(hit: SearchHit, query: str, marks: QueryMarks | None = None) -> Opened:
    """Return a result for the viewer; without a path if its lines are those of a converted text."""
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

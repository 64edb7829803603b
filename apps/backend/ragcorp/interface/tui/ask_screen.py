"""Ask: the answer as it is written, and the passages that it cites."""

import re
import time
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Input

from ragcorp.domain.answers import Answer, AnswerDelta, AskEvent, Citation, IncompleteDocument, Searched
from ragcorp.domain.search.requests import SearchHit
from ragcorp.domain.text.checks import is_blank
from ragcorp.interface.shapes.result_text import counted
from ragcorp.interface.shapes.unread import unread_in_words
from ragcorp.interface.tui.line_view import Line, LineView
from ragcorp.interface.tui.passages import cited_place, passage_lines, shortened_place
from ragcorp.interface.tui.printable_text import on_one_line, printable, shortened
from ragcorp.interface.tui.query_marks import QueryMarks
from ragcorp.interface.tui.query_screen import QueryScreen
from ragcorp.interface.tui.result_list import ResultList
from ragcorp.interface.tui.services import Choice, TuiServices
from ragcorp.interface.tui.status_line import StatusLine, counts_of, missing
from ragcorp.interface.tui.viewer_screen import Opened, ViewerScreen

PASSAGES = 10

ABSTAINED = "No answer: the documents do not say."

_CITED = re.compile(r"\[\d{1,3}\]")


class AskScreen(QueryScreen):
    DEFAULT_CSS = """
    AskScreen {
        & #answer { height: 1fr; }
        & #sources { height: auto; max-height: 40%; border-top: solid $primary; display: none; }
        & #sources.-any { display: block; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "enter", "Ask / open", key_display="Enter", priority=True),
        Binding("escape", "stop", "Stop", key_display="Esc"),
        Binding("ctrl+p", "profile", "Profile", priority=True),
        Binding("ctrl+a,f2", "app.switch_mode('search')", "Search", key_display="^a", priority=True),
        Binding("f1,question_mark", "app.help", "Help", key_display="F1"),
    ]
    NAME = "Ask"
    PLACEHOLDER = "a question, then Enter"
    HINTS = ("Type a question and press Enter: the answer cites its passages, or says that they do not tell.",)
    AGAIN = "Enter asks again."

    def __init__(self, services: TuiServices, choice: Choice) -> None:
        super().__init__(services, choice)
        self._running = False
        self._answered = ""
        self._text = ""
        self._hits: dict[str, SearchHit] = {}
        self._citations: tuple[Citation, ...] = ()

    def compose_body(self) -> ComposeResult:
        yield LineView(id="answer")
        yield ResultList(id="sources")

    @on(Input.Changed, "#query")
    def _typed(self) -> None:
        self._answered = ""

    def action_enter(self) -> None:
        """Ask the question; once it is answered, open the selected source."""
        question = self._typed_query()
        selected = self.query_one(ResultList).highlighted
        if question and (question == self._answered or isinstance(self.focused, ResultList)) and selected is not None:
            self.open_row(selected)
        elif not is_blank(question):
            self._generation += 1
            self._begin()
            asking = self._ask(question, self._choice.profile, self._generation)
            self.run_worker(asking, group="ask", exclusive=True)

    def action_stop(self) -> None:
        """Stop the answer that is being written, or focus the question."""
        if not self._running:
            self.query_one("#query").focus()
            return
        self._generation += 1
        self._running = False
        self.workers.cancel_group(self, "ask")
        self.query_one(StatusLine).show("Stopped: the answer is not complete.")

    def open_row(self, index: int) -> None:
        citation = self._citations[index]
        marks = QueryMarks(citation.quote)
        self.app.push_screen(ViewerScreen(self._services, _opened(citation, self._hits.get(citation.chunk_id), marks)))

    def _choose(self, profile: str | None) -> None:
        if profile is not None:
            self._answered = ""
        super()._choose(profile)

    def _begin(self) -> None:
        self._running, self._text, self._hits, self._answered = True, "", {}, ""
        self._show_citations(())
        self.query_one(LineView).show([])
        self.query_one(StatusLine).show("Searching …")

    async def _ask(self, question: str, profile: str, generation: int) -> None:
        try:
            await self._guarded(self._show_events(question, profile, generation), generation)
        finally:
            if generation == self._generation:
                self._running = False

    async def _show_events(self, question: str, profile: str, generation: int) -> None:
        begun = time.monotonic()
        request = self._request(question, limit=PASSAGES)
        answering = self._services.use_cases.answer.stream(request, principal=self._services.principal)
        async with aclosing(answering) as events:
            async for event in events:
                if generation != self._generation:
                    return
                self._take(event, question, profile, time.monotonic() - begun)

    def _take(self, event: AskEvent, question: str, profile: str, seconds: float) -> None:
        status = self.query_one(StatusLine)
        match event:
            case Searched(response=response):
                self._hits = {hit.chunk.id: hit for hit in response.hits}
                status.show(f"{counts_of(profile, response, seconds)}. Answering …", warning=missing(response.degraded))
            case AnswerDelta(text=text):
                self._text += text
                self._show_answer()
            case Answer():
                self._text = event.text
                self._answered = question
                self._show_answer(
                    abstained=event.abstained, rewritten=event.rewritten_query, incomplete=event.incomplete
                )
                self._show_citations(event.citations)
                summary = ABSTAINED if event.abstained else f"Answered from {counted(len(event.citations), 'source')}"
                status.show(f"{summary.rstrip('.')}, {seconds:.2f} s", warning=missing(event.degraded))

    def _show_answer(
        self, *, abstained: bool = False, rewritten: str | None = None, incomplete: tuple[IncompleteDocument, ...] = ()
    ) -> None:
        lines = [Line(text=text, note=abstained) for text in printable(self._text).split("\n")]
        if rewritten is not None:
            lines.insert(0, Line(text=f"asked: {on_one_line(rewritten)}", note=True))
        if abstained:
            lines = [Line(text=f"({ABSTAINED})", note=True), Line(text="", note=True), *lines]
        for document in incomplete:
            missing_parts = unread_in_words(document.unread)
            lines.append(
                Line(text=on_one_line(f"may be incomplete: {document.external_id}: {missing_parts}"), note=True)
            )
        self.query_one(LineView).go_on(lines, lambda line: [match.span() for match in _CITED.finditer(line)])

    def _show_citations(self, citations: tuple[Citation, ...]) -> None:
        self._citations = citations
        sources = self.query_one(ResultList)
        sources.set_class(bool(citations), "-any")
        sources.show([partial(_row, citation) for citation in citations])


def _row(citation: Citation, width: int, tall: bool) -> Text:
    del tall
    row = Text(f"[{citation.n}] ", style="bold")
    place = shortened_place(cited_place(citation), max(width * 2 // 3, 12))
    row.append(place, style="not bold")
    row.append(shortened(f"  «{on_one_line(citation.quote)}»", max(width - len(row), 1)), style="not bold dim")
    return row


def _opened(citation: Citation, hit: SearchHit | None, marks: QueryMarks) -> Opened:
    """Return the cited lines for the viewer; ``hit`` is the passage around them, if the search returned it."""
    cited = tuple(range(citation.line_start, citation.line_end + 1))
    quoted = [Line(text=text, pointed=True) for text in printable(citation.quote).split("\n")]
    return Opened(
        place=cited_place(citation),
        path=citation.path if citation.page is None else None,
        line_start=citation.line_start,
        line_end=citation.line_end,
        matched_lines=cited,
        passage=quoted if hit is None else passage_lines(replace(hit, matched_lines=cited), marks),
        marks=marks.spans,
    )

"""The outcome of the last action: counts, degraded sources or the failure."""

from dataclasses import replace

from rich.text import Text
from textual.widgets import Static

from ragcorp.domain.exceptions import RagcorpError, SourceUnavailableError
from ragcorp.domain.retrieval import SourceReport
from ragcorp.domain.search.requests import SearchResponse
from ragcorp.interface.shapes.result_text import counted, search_status
from ragcorp.interface.tui.printable_text import on_one_line

TOOLS = {
    "files": "hybrid_search",
    "vectors": "vector_search",
    "dense": "vector_search",
    "grep": "grep_search",
    "memory": "memory_search",
}
"""The tool name of a profile; any other is ``search``."""

REASONS = {
    "timeout": "did not answer in time",
    "unreachable": "cannot be reached",
    "address_refused": "leads to a refused address",
    "connection_lost": "lost its connection",
    "circuit_open": "is left alone for a while after failing",
    "not_configured": "is not configured",
}


class StatusLine(Static):
    DEFAULT_CSS = """
    StatusLine {
        height: auto;
        max-height: 4;
        padding: 0;
        background: $panel;
        color: $foreground;
    }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - textual's own name
        super().__init__("", id=id, markup=False)
        self.text_shown = ""

    def show(self, text: str, *, warning: str = "") -> None:
        line = Text(text)
        if warning:
            line.append("\n! " + warning, style="bold")
        self._display(line)

    def fail(self, error: Exception, *, again: str = "") -> None:
        """Show an error with its remedy; ``again`` says how to retry if the cause may pass by itself."""
        text = sentences(error)
        if again and isinstance(error, SourceUnavailableError):
            text += f" {again}"
        self._display(Text(f"! {text}", style="bold"))

    def _display(self, line: Text) -> None:
        self.text_shown = line.plain
        self.update(line)


def sentences(error: Exception) -> str:
    """Return an error's message, limit and remedy; of an unexpected one only its type."""
    if not isinstance(error, RagcorpError):
        return f"Something unexpected went wrong ({type(error).__name__}). Try again, and report it."
    parts = [error.message]
    if error.limit and error.limit.replace(",", "") not in error.message.replace(",", ""):
        parts.append(f"Limit: {error.limit}.")
    if error.remedy:
        parts.append(error.remedy)
    return on_one_line(" ".join(parts))


def counts_of(profile: str, response: SearchResponse, seconds: float) -> str:
    """Return the status of a search: characters, and chunks or files."""
    tool = TOOLS.get(profile, "search")
    answered = replace(response, reports=tuple(report for report in response.reports if report.reason is None))
    status = search_status(tool, answered)
    if profile == "grep":
        places = f"{counted(status['passages'], 'passage')} in {counted(status['files'], 'file')}"
        return f"{tool}: {places}, {counted(status['characters'], 'character')}, {seconds:.2f} s"
    return f"{status['message']}, {seconds:.2f} s"


def missing(degraded: tuple[SourceReport, ...]) -> str:
    """Return in plain words which sources did not do their part; empty where all did."""
    return " ".join(f"{on_one_line(report.source)} {_reason(report.reason or '')}." for report in degraded)


def _reason(reason: str) -> str:
    return REASONS.get(reason, f"did not do its part ({on_one_line(reason).replace('_', ' ')})")

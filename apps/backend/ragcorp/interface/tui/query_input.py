"""The line in which a query or a question is typed."""

import re

from textual import events
from textual.widgets import Input

from ragcorp.interface.tui.shown_text import shown

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
        text = shown(event.text[:MOST_PASTED]).strip("\n")
        self.replace(_SPACES.sub(" ", text), *self.selection)

"""The choice of the profile of search and ask."""

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Label, OptionList

from ragcorp.interface.tui.printable_text import on_one_line, shortened
from ragcorp.interface.tui.result_list import ResultList, Row

MEANINGS = {
    "auto": "what the settings say",
    "dense": "by meaning",
    "sparse": "by words",
    "hybrid": "by meaning and words",
    "linear": "the same, by scores",
    "collections": "documents as a whole too",
    "memory": "memories, history, facts",
    "everything": "documents and memories",
    "files": "files and meaning",
    "grep": "files, literally",
    "vectors": "by meaning, near ones only",
}


class ProfileScreen(ModalScreen[str | None]):
    """Dismisses with the chosen name, or None."""

    DEFAULT_CSS = """
    ProfileScreen {
        align: center middle;
        & > Vertical {
            width: 46;
            max-width: 100%;
            height: auto;
            max-height: 100%;
            border: round $primary;
            background: $surface;
            padding: 0 1;
        }
        & ResultList { height: auto; max-height: 100%; background: $surface; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss(None)", "Back"),
        Binding("ctrl+q", "app.quit", "Quit", priority=True),
    ]

    def __init__(self, profiles: tuple[str, ...], chosen: str) -> None:
        super().__init__()
        self._profiles = profiles
        self._chosen = chosen

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Label("Search by", markup=False)
            yield ResultList(id="profiles")

    def on_mount(self) -> None:
        at = self._profiles.index(self._chosen) if self._chosen in self._profiles else 0
        profiles = self.query_one(ResultList)
        profiles.show([_row(name) for name in self._profiles], at=at)
        profiles.focus()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self._profiles[event.option_index])


def _row(name: str) -> Row:
    def written(width: int, tall: bool) -> Text:
        del tall
        return Text(shortened(f"{on_one_line(name):<12} {MEANINGS.get(name, 'your own')}", width))

    return written

"""The terminal UI."""

import os
from typing import ClassVar

from textual.app import App
from textual.binding import Binding, BindingType

from ragcorp.interface.tui.ask_screen import AskScreen
from ragcorp.interface.tui.help_screen import HelpScreen
from ragcorp.interface.tui.search_screen import SearchScreen
from ragcorp.interface.tui.services import Choice, TuiServices


class RagTui(App[None]):
    TITLE = "ragcorp"
    ENABLE_COMMAND_PALETTE = False
    CSS = """
    App:nocolor ResultList > .option-list--option-highlighted { text-style: bold; }
    App:nocolor ResultList:focus > .option-list--option-highlighted { text-style: bold reverse; }
    App:nocolor QueryInput > .input--cursor { text-style: reverse; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+q", "quit", "Quit", priority=True),
        Binding("q", "quit", "Quit", show=False),
    ]

    def __init__(self, services: TuiServices, *, colour: bool = True) -> None:
        """Without ``colour``, marks are bold, underlined or reversed."""
        if not colour:
            os.environ["NO_COLOR"] = "1"  # where textual looks for it
        super().__init__(ansi_color=None if colour else True)
        choice = Choice(profile=services.profile)
        self._services = services
        self.add_mode("search", lambda: SearchScreen(services, choice))
        self.add_mode("ask", lambda: AskScreen(services, choice))

    def on_mount(self) -> None:
        self.switch_mode("search")

    @property
    def failure(self) -> Exception | None:
        """The error that ended the app, if any."""
        return self._exception

    def _fatal_error(self) -> None:
        """End without textual's report, which prints variables, and so passages and settings."""
        self._close_messages_no_wait()

    def action_help(self) -> None:
        self.push_screen(HelpScreen(self._services.facts))

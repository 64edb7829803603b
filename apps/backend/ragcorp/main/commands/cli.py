"""Composition of the command `ragcorp`."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import ragcorp
from ragcorp.domain.exceptions import MissingExtraError
from ragcorp.main.process.standard_streams import prepare_standard_streams

if TYPE_CHECKING:
    from ragcorp.interface.cli.console.services import Services

EXIT_USAGE = 2
EXIT_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> None:
    command_arguments = sys.argv[1:] if arguments is None else list(arguments)
    stdout, stderr = prepare_standard_streams()
    if find_spec("typer") is None or find_spec("rich") is None:
        stderr.write(
            "error: The command line needs the optional dependency group 'service'. "
            "Install it with: pip install 'ragcorp[service]'\n"
        )
        sys.exit(EXIT_USAGE)
    try:
        from ragcorp.interface.cli.app import run_command_line

        code = run_command_line(make_services(), command_arguments, stdout=stdout, stderr=stderr)
    except KeyboardInterrupt:
        code = EXIT_INTERRUPTED
    if code == EXIT_INTERRUPTED and threading.active_count() > 1:
        # a thread that reads a large file cannot be interrupted, and its result is discarded
        with suppress(OSError):
            stdout.flush()
        os._exit(code)
    sys.exit(code)


def make_services() -> Services:
    """Return the operations behind the commands. Each is imported when it runs, so that --help is quick."""
    from ragcorp.interface.cli.console.services import Services

    service = Extra(modules=("uvicorn", "fastapi"), feature="The service", name="service")
    return Services(
        version=ragcorp.__version__,
        new_event_loop=new_event_loop,
        open=_later("opening.sessions", "open_session"),
        files=_later("commands.file_tools", "open_files"),
        service=_later("workers.service", "open_service", needs=service),
        demo=_later("commands.demo", "open_demo", needs=service),
        mcp=_later(
            "commands.mcp_stdio", "serve_stdio", needs=Extra(modules=("mcp",), feature="The MCP server", name="mcp")
        ),
        tui=_later("commands.tui", "run_tui", needs=Extra(modules=("textual",), feature="The terminal UI", name="tui")),
        keys=_later("commands.keys", "open_keys"),
        migrate=_later("opening.migrating", "migrate_database"),
        schema=_later("opening.migrating", "schema_state"),
        backup=_later("opening.backup", "back_up"),
        restore=_later("opening.backup", "restore"),
        read_backup=_later("opening.backup", "read_backup"),
        models=_later("commands.reembedding", "open_models"),
        settings=_later("settings.rows", "rows_for"),
        diagnose=_later("commands.doctor", "diagnose"),
        evaluation=_later("commands.evaluation", "open_evaluation"),
        evaluation_files=_later("commands.evaluation", "evaluation_files"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Extra:
    """Modules of an optional dependency group that a feature needs."""

    modules: tuple[str, ...]
    feature: str
    name: str

    def require(self) -> None:
        if any(find_spec(module) is None for module in self.modules):
            raise MissingExtraError(feature=self.feature, extra=self.name)


def _later(module: str, name: str, *, needs: Extra | None = None) -> Callable[..., Any]:
    """Return a function that imports ``ragcorp.main.module`` when it is called, and calls ``name`` there."""
    return partial(_call, module, name, needs)


def _call(module: str, name: str, needs: Extra | None, *arguments: Any) -> Any:
    if needs is not None:
        needs.require()
    return getattr(import_module(f"ragcorp.main.{module}"), name)(*arguments)


def new_event_loop() -> asyncio.AbstractEventLoop:
    if find_spec("uvloop") is None:
        return asyncio.new_event_loop()
    import uvloop

    return uvloop.new_event_loop()


if __name__ == "__main__":
    main()

"""The command `ragcorp`: composition. What an operation needs is imported when it runs, so that --help is quick."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING

import ragcorp
from ragcorp.domain.exceptions import MissingExtraError
from ragcorp.main.process.standard_streams import prepare_standard_streams

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from ragcorp.interface.cli.console import services as ports

EXIT_USAGE = 2
EXIT_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    stdout, stderr = prepare_standard_streams()
    if find_spec("typer") is None or find_spec("rich") is None:
        stderr.write(
            "error: The command line needs the optional dependency group 'service'. "
            "Install it with: pip install 'ragcorp[service]'\n"
        )
        sys.exit(EXIT_USAGE)
    try:
        from ragcorp.interface.cli.app import run_command_line

        code = run_command_line(make_services(), given, stdout=stdout, stderr=stderr)
    except KeyboardInterrupt:
        code = EXIT_INTERRUPTED
    if code == EXIT_INTERRUPTED and threading.active_count() > 1:
        # a thread that reads a large file cannot be interrupted; all that it would still do is discarded anyway
        with suppress(OSError):
            stdout.flush()
        os._exit(code)
    sys.exit(code)


def make_services() -> ports.Services:
    """Return the operations behind the commands."""
    from ragcorp.interface.cli.console.services import Services

    return Services(
        version=ragcorp.__version__,
        new_event_loop=_new_event_loop,
        open=_open,
        files=_files,
        service=_service,
        demo=_demo,
        mcp=_mcp,
        tui=_tui,
        keys=_keys,
        migrate=_migrate,
        schema=_schema,
        backup=_backup,
        restore=_restore,
        read_backup=_read_backup,
        models=_models,
        settings=_settings,
        diagnose=_diagnose,
        evaluation=_evaluation,
        evaluation_files=_evaluation_files,
    )


def _new_event_loop() -> asyncio.AbstractEventLoop:
    if find_spec("uvloop") is None:
        return asyncio.new_event_loop()
    import uvloop

    return uvloop.new_event_loop()


def _open(target: ports.Target) -> AbstractAsyncContextManager[ports.Session]:
    from ragcorp.main.opening.sessions import open_session

    return open_session(target)


def _service(target: ports.Target, options: ports.ServeOptions) -> AbstractAsyncContextManager[ports.RunningService]:
    _require_service()
    from ragcorp.main.service.serving import open_service

    return open_service(target, options)


def _demo(target: ports.Target, options: ports.ServeOptions | None) -> AbstractAsyncContextManager[ports.Demo]:
    _require_service()
    from ragcorp.main.commands.demo import open_demo

    return open_demo(target, options)


def _files(target: ports.Target, options: ports.FileOptions) -> AbstractAsyncContextManager[ports.FileTools]:
    from ragcorp.main.commands.file_tools import open_files

    return open_files(target, options)


async def _mcp(target: ports.Target) -> None:
    _require("mcp", feature="The MCP server", extra="mcp")
    from ragcorp.main.commands.mcp_stdio import serve_stdio

    await serve_stdio(target)


async def _tui(target: ports.Target, profile: str | None) -> None:
    _require("textual", feature="The terminal UI", extra="tui")
    from ragcorp.main.commands.tui import run_tui

    await run_tui(target, profile)


def _require(module: str, *, feature: str, extra: str) -> None:
    if find_spec(module) is None:
        raise MissingExtraError(feature=feature, extra=extra)


def _require_service() -> None:
    if find_spec("uvicorn") is None or find_spec("fastapi") is None:
        raise MissingExtraError(feature="The service", extra="service")


def _keys(target: ports.Target) -> AbstractAsyncContextManager[ports.Keys]:
    from ragcorp.main.commands.keys import open_keys

    return open_keys(target)


async def _migrate(target: ports.Target, row_level_security: ports.RowLevelSecurity | None) -> ports.Migration:
    from ragcorp.main.opening.migrating import migrate_database

    return await migrate_database(target, row_level_security)


async def _schema(target: ports.Target) -> ports.SchemaState:
    from ragcorp.main.opening.migrating import schema_state

    return await schema_state(target)


async def _backup(target: ports.Target, file: Path, overwrite: bool, on_bytes: ports.OnBytes) -> ports.Backup:
    from ragcorp.main.opening.backup import back_up

    return await back_up(target, file, overwrite, on_bytes)


async def _restore(target: ports.Target, file: Path, replace: bool, on_bytes: ports.OnBytes) -> ports.Restoration:
    from ragcorp.main.opening.backup import restore

    return await restore(target, file, replace, on_bytes)


def _read_backup(file: Path) -> ports.Backup:
    from ragcorp.main.opening.backup import read_backup

    return read_backup(file)


def _models(target: ports.Target, choice: ports.ModelChoice | None) -> AbstractAsyncContextManager[ports.Models]:
    from ragcorp.main.commands.reembedding import open_models

    return open_models(target, choice)


def _settings(target: ports.Target) -> Sequence[ports.SettingRow]:
    from ragcorp.main.settings.for_commands import overrides_for, settings_for
    from ragcorp.main.settings.rows import setting_rows

    return setting_rows(settings_for(target), overrides_for(target))


async def _diagnose(target: ports.Target) -> Sequence[ports.Check]:
    from ragcorp.main.commands.doctor import diagnose

    return await diagnose(target)


def _evaluation(
    target: ports.Target, options: ports.EvaluationOptions
) -> AbstractAsyncContextManager[ports.Evaluation]:
    from ragcorp.main.commands.evaluation import open_evaluation

    return open_evaluation(target, options)


def _evaluation_files() -> ports.EvaluationFiles:
    from ragcorp.main.commands.evaluation import evaluation_files

    return evaluation_files()


if __name__ == "__main__":
    main()

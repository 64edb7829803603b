"""Turns an async function into a command with the common options, on an event loop that signals can stop."""

import asyncio
import inspect
import signal
from collections.abc import Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer
from typer import Option

from ragcorp.application.upkeep.task_progress import Report
from ragcorp.interface.cli.console.output import Output
from ragcorp.interface.cli.console.progress import progress
from ragcorp.interface.cli.console.services import Services, Session, Target

CommandFunction = Callable[..., Coroutine[Any, Any, int | None]]


DataDir = Annotated[
    Path | None,
    Option(
        "--data-dir",
        help="Folder of the embedded PostgreSQL [RAGCORP_DATA_DIR]. Given here, it wins over DATABASE_URL.",
        show_default=False,
    ),
]
Json = Annotated[bool, Option("--json", help="Write one JSON document to stdout, and nothing else.")]
Verbose = Annotated[bool, Option("--verbose", "-v", help="Log more, and show where an unexpected error came from.")]


@dataclass(frozen=True, kw_only=True)
class CommonOptions:
    data_dir: DataDir = None
    json: Json = False
    verbose: Verbose = False

    def target(self, before: Target | None = None) -> Target:
        """Return the target; options before the command's name count too. ``json`` was read before parsing."""
        before = before or Target()
        return Target(data_dir=self.data_dir or before.data_dir, verbose=self.verbose or before.verbose)


class SecondSignal:
    """Action of a second signal, which comes while the command ends; none by default."""

    def __init__(self) -> None:
        self.action: Callable[[], None] = lambda: None


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """What every command gets besides its own arguments."""

    services: Services
    output: Output
    target: Target
    second_signal: SecondSignal = field(default_factory=SecondSignal)

    def open(self) -> AbstractAsyncContextManager[Session]:
        return self.services.open(self.target)

    def progress(self, task: str, unit: str) -> AbstractContextManager[Report]:
        return progress(self.output.notes, task, unit=unit)


def add_commands(
    app: typer.Typer, commands: Mapping[str, CommandFunction], *, services: Services, output: Output
) -> None:
    """Register each ``function(call, ...)``, which returns the exit code; a dataclass parameter groups options."""
    for name, function in commands.items():
        app.command(name)(_command(function, services, output))


def _command(function: CommandFunction, services: Services, output: Output) -> Callable[..., None]:
    hints = get_type_hints(function, include_extras=True)
    own = list(inspect.signature(function).parameters.values())[1:]
    groups = {parameter.name: hints[parameter.name] for parameter in own if is_dataclass(hints[parameter.name])}
    options = [
        option
        for parameter in own
        for option in (
            options_of(groups[parameter.name])
            if parameter.name in groups
            else [parameter.replace(annotation=hints[parameter.name], kind=inspect.Parameter.KEYWORD_ONLY)]
        )
    ]

    def command(context: typer.Context, **arguments: Any) -> None:
        target = grouped(CommonOptions, arguments).target(context.obj)
        call = Call(services=services, output=output, target=target)
        named = {name: grouped(group, arguments) for name, group in groups.items()}
        running = function(call, **named, **arguments)
        if code := run_until_stopped(running, services.new_event_loop, second=call.second_signal):
            raise typer.Exit(code)

    context = inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    parameters = [context, *options, *options_of(CommonOptions)]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    command.__doc__ = function.__doc__
    return command


def options_of(group: type) -> list[inspect.Parameter]:
    """Return the options of a group, one per field."""
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            option.name, inspect.Parameter.KEYWORD_ONLY, default=option.default, annotation=hints[option.name]
        )
        for option in fields(group)
    ]


def grouped(group: Any, arguments: dict[str, Any]) -> Any:
    """Take the options of a group out of ``arguments`` and return the group."""
    return group(**{option.name: arguments.pop(option.name) for option in fields(group)})


def run_until_stopped(
    main: Coroutine[Any, Any, int | None],
    new_event_loop: Callable[[], asyncio.AbstractEventLoop],
    *,
    second: SecondSignal,
) -> int | None:
    """Run ``main``; the first SIGINT, SIGTERM or SIGHUP cancels it, later ones run the action of ``second``."""
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(_stoppable(main, second))


async def _stoppable(main: Coroutine[Any, Any, int | None], second: SecondSignal) -> int | None:
    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(main)
    stopped = False

    def stop() -> None:
        nonlocal stopped
        if stopped:
            second.action()
            return
        stopped = True
        task.cancel()

    loop.add_signal_handler(signal.SIGINT, stop)
    loop.add_signal_handler(signal.SIGTERM, stop)
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # nohup
        loop.add_signal_handler(signal.SIGHUP, stop)
    return await task

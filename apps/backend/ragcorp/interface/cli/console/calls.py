"""Turns a function into a command with the common options, on an event loop that signals can stop."""

from __future__ import annotations

import asyncio
import inspect
import signal
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from ragcorp.interface.cli.console.output import Output
from ragcorp.interface.cli.console.services import Services, Target

DataDir = Annotated[
    Path | None,
    typer.Option(
        "--data-dir",
        help="Folder of the embedded PostgreSQL [RAGCORP_DATA_DIR]. Given here, it wins over DATABASE_URL.",
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Write one JSON document to stdout, and nothing else.")]
Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="Log more, and show where an unexpected error came from.")
]

COMMON: dict[str, tuple[Any, object]] = {
    "data_dir": (DataDir, None),
    "json": (Json, False),
    "verbose": (Verbose, False),
}
"""The options of every command: annotation and default."""


class SecondSignal:
    """The action of a second signal, while a command ends; none unless the command sets one."""

    def __init__(self) -> None:
        self._action: Callable[[], None] | None = None

    def does(self, action: Callable[[], None]) -> None:
        self._action = action

    def came(self) -> None:
        if self._action is not None:
            self._action()


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """What every command takes in addition to its own arguments."""

    services: Services
    output: Output
    target: Target
    second_signal: SecondSignal = field(default_factory=SecondSignal)


CommandFunction = Callable[..., Coroutine[Any, Any, int | None]]


def add_command(app: typer.Typer, name: str, function: CommandFunction, *, services: Services, output: Output) -> None:
    """Register ``function(call, ...)``, which returns the exit code (None: 0).

    A parameter whose type is a dataclass is a group of options: each of its fields becomes an option.
    """
    hints = get_type_hints(function, include_extras=True)
    own: list[inspect.Parameter] = []
    groups: dict[str, Any] = {}
    for parameter in list(inspect.signature(function).parameters.values())[1:]:
        kind = hints[parameter.name]
        if is_dataclass(kind):
            groups[parameter.name] = kind
            own += _options(kind)
        else:
            own.append(parameter.replace(annotation=kind))
    common = [
        inspect.Parameter(option, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for option, (annotation, default) in COMMON.items()
    ]
    context = inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)

    def command(context: typer.Context, **arguments: Any) -> None:
        before: Target = context.obj or Target()
        target = Target(
            data_dir=arguments.pop("data_dir") or before.data_dir,
            verbose=arguments.pop("verbose") or before.verbose,
        )
        arguments.pop("json")  # read before parsing, so that errors of parsing obey it
        for group, kind in groups.items():
            arguments[group] = kind(**{option.name: arguments.pop(option.name) for option in fields(kind)})
        call = Call(services=services, output=output, target=target)
        code = run_until_stopped(function(call, **arguments), services.new_event_loop, second=call.second_signal)
        if code:
            raise typer.Exit(code)

    parameters = [context, *(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own), *common]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    command.__doc__ = function.__doc__
    app.command(name)(command)


def _options(group: Any) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            option.name, inspect.Parameter.KEYWORD_ONLY, default=option.default, annotation=hints[option.name]
        )
        for option in fields(group)
    ]


def run_until_stopped(
    main: Coroutine[Any, Any, int | None],
    new_event_loop: Callable[[], asyncio.AbstractEventLoop],
    *,
    second: SecondSignal | None = None,
) -> int | None:
    """Run ``main``. The first SIGINT, SIGTERM or SIGHUP cancels it; while it cleans up, ``second`` is told of others.

    Raises CancelledError if ``main`` ends by the cancellation.
    """
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(_stoppable(main, second or SecondSignal()))


async def _stoppable(main: Coroutine[Any, Any, int | None], second: SecondSignal) -> int | None:
    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(main)
    stopped = False

    def stop() -> None:
        nonlocal stopped
        if stopped:
            second.came()
            return
        stopped = True
        task.cancel()

    loop.add_signal_handler(signal.SIGINT, stop)
    loop.add_signal_handler(signal.SIGTERM, stop)
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # nohup
        loop.add_signal_handler(signal.SIGHUP, stop)
    return await task

"""`ragcorp reembed`: another embedding model for a database in use."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Column, Table

from ragcorp.application.embedding.reembed import ReembedOutcome, ReembedStatus
from ragcorp.domain.embeddings import EmbeddingModel
from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.ports.embeddings import ModelState
from ragcorp.interface.cli.console.calls import Call
from ragcorp.interface.cli.console.output import Output, plain
from ragcorp.interface.cli.console.progress import Report, progress
from ragcorp.interface.cli.console.services import ModelChoice

SECONDS_BETWEEN_EVENTS = 1.0

SAID = {
    ReembedStatus.SWITCHED: "{model} is the active model now.",
    ReembedStatus.READY: "{model} is ready and not active: run the same command without --no-switch.",
    ReembedStatus.ALREADY_ACTIVE: "{model} is the active model already.",
}


async def reembed(
    call: Call,
    model: Annotated[
        str | None, typer.Option("--model", help="The model whose vectors are made.", show_default=False)
    ] = None,
    dimensions: Annotated[
        int | None, typer.Option("--dimensions", help="Width of its vectors.", show_default=False)
    ] = None,
    provider: Annotated[
        str | None,
        typer.Option("--provider", help="local or openai; without it, whichever has the model.", show_default=False),
    ] = None,
    no_switch: Annotated[bool, typer.Option("--no-switch", help="Make everything ready, and go on as before.")] = False,
    switch_back: Annotated[
        bool, typer.Option("--switch-back", help="Make the model before this one the active one again.")
    ] = False,
    drop: Annotated[
        str | None, typer.Option("--drop", help="Remove the vectors of a model that is not active.", show_default=False)
    ] = None,
    status: Annotated[bool, typer.Option("--status", help="Show the models that there are vectors of.")] = False,
) -> None:
    """Make the vectors of another embedding model beside those in use, then switch to them. Searches go on meanwhile.

    A run that was stopped goes on where it was. Restart services with the new EMBEDDING_MODEL and EMBEDDING_DIM after
    the switch: until then they answer with the old vectors, which stay until --drop.
    """
    _require_one_task(model=model, switch_back=switch_back, drop=drop, status=status)
    making = model is not None and not switch_back
    _require_use("--no-switch", given=no_switch, used=making, others="--model without --switch-back")
    _require_use("--provider", given=provider is not None, used=making, others="--model without --switch-back")
    _require_use(
        "--dimensions", given=dimensions is not None, used=not status, others="--model, --switch-back and --drop"
    )
    if status:
        await _status(call)
    elif drop is not None:
        await _drop(call, drop, dimensions)
    elif switch_back:
        await _switch_back(call, model, dimensions)
    elif model is not None:
        choice = ModelChoice(name=model, dimensions=dimensions, provider=provider)
        await _reembed(call, choice, switch=not no_switch)


async def _reembed(call: Call, choice: ModelChoice, *, switch: bool) -> None:
    shown = _Events(call.output)
    async with call.services.models(call.target, choice) as models:
        if models.reembed is None:
            raise InvalidInputError("A model is needed.", field="--model")
        try:
            done = await models.reembed.reembed(switch=switch, progress=shown.progress)
        except asyncio.CancelledError:
            call.output.note("Stopped. What is made stays: run the same command again to go on.")
            raise
    call.output.result(
        {
            "event": "done",
            "status": done.status.value,
            "model": done.model.name,
            "dimensions": done.model.dimensions,
            "embedded": done.embedded,
            "known": done.known,
            "rejected": done.rejected,
            "waiting": done.waiting,
        },
        lambda console: _print_outcome(console, done),
    )


async def _switch_back(call: Call, name: str | None, dimensions: int | None) -> None:
    shown = _Events(call.output)
    async with call.services.models(call.target, None) as models:
        state = await models.switch_back.switch_back(name=name, dimensions=dimensions, progress=shown.progress)
    call.output.result(
        {"event": "done", "status": "switched", **_row(state)},
        lambda console: console.print(
            plain(f"{_named(state.model)} is the active model again; {state.missing:,} texts wait for its vector. ")
            + plain(_restart(state.model))
        ),
    )


async def _drop(call: Call, name: str, dimensions: int | None) -> None:
    shown = _Events(call.output)
    async with call.services.models(call.target, None) as models:
        model, gone = await models.drop.drop(name=name, dimensions=dimensions, progress=shown.progress)
    call.output.result(
        {"event": "done", "status": "dropped", "model": model.name, "dimensions": model.dimensions, "removed": gone},
        lambda console: console.print(plain(f"{gone:,} vectors of {_named(model)} removed.")),
    )


async def _status(call: Call) -> None:
    async with call.services.models(call.target, None) as models:
        states = await models.states()
    call.output.result({"models": [_row(state) for state in states]}, lambda console: _print_status(console, states))


class _Events:
    """Progress bars on stderr; with --json one line of JSON a second on stdout, and one at the end of each task."""

    def __init__(self, output: Output) -> None:
        self._output = output
        output.json_lines = True

    @contextmanager
    def progress(self, task: str, unit: str) -> Iterator[Report]:
        if not self._output.json:
            with progress(self._output.notes, task, unit=unit) as report:
                yield report
            return
        events = _TaskEvents(self._output, task, unit)
        yield events.report
        events.finish()


class _TaskEvents:
    """Writes at most an event a second, and the last in any case."""

    def __init__(self, output: Output, task: str, unit: str) -> None:
        self._output = output
        self._event = {"event": "progress", "task": task, "unit": unit}
        self._started = self._said_at = time.monotonic()
        self._first: int | None = None
        self._latest: tuple[int, int] | None = None

    def report(self, done: int, total: int) -> None:
        self._first = done if self._first is None else self._first
        self._latest = (done, total)
        if time.monotonic() - self._said_at >= SECONDS_BETWEEN_EVENTS:
            self.finish()

    def finish(self) -> None:
        if self._latest is None or self._first is None:
            return
        self._said_at = time.monotonic()
        done, total = self._latest
        seconds = self._said_at - self._started
        rate = round((done - self._first) / seconds, 1) if seconds > 0 else 0.0
        self._output.write_json({**self._event, "done": done, "total": total, "per_second": rate})


def _require_one_task(*, model: str | None, switch_back: bool, drop: str | None, status: bool) -> None:
    tasks = [status, drop is not None, switch_back or model is not None]
    if sum(tasks) != 1:
        raise InvalidInputError(
            "Say what to do: one of --model, --switch-back, --drop and --status.",
            field="--model",
            remedy="--model NAME makes its vectors and switches. Only --switch-back may have a --model beside it.",
        )


def _require_use(option: str, *, given: bool, used: bool, others: str) -> None:
    if given and not used:
        raise InvalidInputError(
            f"{option} says nothing here.", field=option, remedy=f"Leave it out; it goes with {others}."
        )


def _row(state: ModelState) -> dict[str, object]:
    return {
        "model": state.model.name,
        "dimensions": state.model.dimensions,
        "active": state.active,
        "vectors": state.vectors,
        "missing": state.missing,
        "indexes": state.indexes,
        "all_indexes": state.all_indexes,
    }


def _print_status(console: Console, states: Sequence[ModelState]) -> None:
    table = Table(Column("model", overflow="fold"), "dimensions", "active", "vectors", "missing", "valid indexes")
    for state in states:
        table.add_row(
            plain(state.model.name),
            str(state.model.dimensions),
            "yes" if state.active else "",
            f"{state.vectors:,}",
            f"{state.missing:,}",
            f"{state.indexes} of {state.all_indexes}",
        )
    console.print(table)


def _print_outcome(console: Console, done: ReembedOutcome) -> None:
    console.print(plain(SAID[done.status].format(model=_named(done.model))))
    if done.status is not ReembedStatus.ALREADY_ACTIVE:
        console.print(f"{done.embedded:,} texts embedded, {done.known:,} known before, {done.rejected:,} rejected.")
    if done.waiting:
        console.print(f"{done.waiting:,} texts have no vector of it yet, and are found by text.")
    if done.status is ReembedStatus.SWITCHED:
        console.print(plain(_restart(done.model)))


def _restart(model: EmbeddingModel) -> str:
    return (
        f"Restart services with EMBEDDING_MODEL={model.name} and EMBEDDING_DIM={model.dimensions} (and its "
        "EMBEDDING_PROVIDER): until then they search the vectors that they were started with."
    )


def _named(model: EmbeddingModel) -> str:
    return f"{model.name} ({model.dimensions} dimensions)"

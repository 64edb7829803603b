"""`ragcorp reembed`: another embedding model for a database in use."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Annotated

from rich.console import Console
from rich.table import Column
from typer import Option

from ragcorp.application.embedding.reembed import ReembedOutcome, ReembedStatus
from ragcorp.application.upkeep.task_progress import Report
from ragcorp.domain.embeddings import EmbeddingModel
from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.interface.cli.console.calls import Call
from ragcorp.interface.cli.console.options import option
from ragcorp.interface.cli.console.output import print_line, with_model
from ragcorp.interface.cli.console.progress import PacedReports
from ragcorp.interface.cli.console.services import ModelChoice
from ragcorp.interface.cli.documents.vectors import resumable

SECONDS_BETWEEN_EVENTS = 1.0

OUTCOMES = {
    ReembedStatus.SWITCHED: "{model} is the active model now.",
    ReembedStatus.READY: "{model} is ready and not active: run the same command without --no-switch.",
    ReembedStatus.ALREADY_ACTIVE: "{model} is the active model already.",
}


@dataclass(frozen=True, kw_only=True)
class ReembedOptions:
    model: Annotated[str | None, option("--model", help="The model whose vectors are made.")] = None
    dimensions: Annotated[int | None, option("--dimensions", help="Width of its vectors.")] = None
    provider: Annotated[
        str | None, option("--provider", help="local or openai; without it, whichever has the model.")
    ] = None
    no_switch: Annotated[bool, Option("--no-switch", help="Make everything ready, and go on as before.")] = False
    switch_back: Annotated[
        bool, Option("--switch-back", help="Make the model before this one the active one again.")
    ] = False
    drop: Annotated[str | None, option("--drop", help="Remove the vectors of a model that is not active.")] = None
    status: Annotated[bool, Option("--status", help="Show the models that there are vectors of.")] = False

    def require_one_task(self) -> None:
        """Raise InvalidInputError unless the options name one task, and only options of that task."""
        if sum([self.status, self.drop is not None, self.switch_back or self.model is not None]) != 1:
            raise InvalidInputError(
                "Say what to do: one of --model, --switch-back, --drop and --status.",
                field="--model",
                remedy="--model NAME makes its vectors and switches. Only --switch-back may have a --model beside it.",
            )
        embeds = self.model is not None and not self.switch_back
        _require_use("--no-switch", self.no_switch, used=embeds, by="--model without --switch-back")
        _require_use("--provider", self.provider is not None, used=embeds, by="--model without --switch-back")
        _require_use(
            "--dimensions", self.dimensions is not None, used=not self.status, by="--model, --switch-back and --drop"
        )


async def reembed(call: Call, options: ReembedOptions) -> None:
    """Make the vectors of another embedding model beside those in use, then switch to them. Searches go on meanwhile.

    A run that was stopped goes on where it was. Restart services with the new EMBEDDING_MODEL and EMBEDDING_DIM after
    the switch: until then they answer with the old vectors, which stay until --drop.
    """
    options.require_one_task()
    call.output.json_lines = not options.status
    if options.status:
        await _status(call)
    elif options.drop is not None:
        await _drop(call, options.drop, options.dimensions)
    elif options.switch_back:
        await _switch_back(call, options.model, options.dimensions)
    elif options.model is not None:
        choice = ModelChoice(name=options.model, dimensions=options.dimensions, provider=options.provider)
        await _reembed(call, choice, switch=not options.no_switch)


async def _reembed(call: Call, choice: ModelChoice, *, switch: bool) -> None:
    async with call.services.models(call.target, choice) as models:
        if models.reembed is None:
            raise InvalidInputError("A model is needed.", field="--model")
        with resumable(call, "Stopped. What is made stays: run the same command again to go on."):
            done = await models.reembed.reembed(switch=switch, progress=partial(_progress, call))
    call.output.result(
        {"event": "done", "status": done.status.value, **with_model(done)},
        lambda console: _print_outcome(console, done),
    )


async def _switch_back(call: Call, name: str | None, dimensions: int | None) -> None:
    async with call.services.models(call.target, None) as models:
        state = await models.switch_back.switch_back(
            name=name, dimensions=dimensions, progress=partial(_progress, call)
        )
    call.output.line(
        {"event": "done", "status": "switched", **with_model(state)},
        f"{_named(state.model)} is the active model again; {state.missing:,} texts wait for its vector. "
        + _restart(state.model),
    )


async def _drop(call: Call, name: str, dimensions: int | None) -> None:
    async with call.services.models(call.target, None) as models:
        model, removed = await models.drop.drop(name=name, dimensions=dimensions, progress=partial(_progress, call))
    call.output.line(
        {"event": "done", "status": "dropped", "model": model.name, "dimensions": model.dimensions, "removed": removed},
        f"{removed:,} vectors of {_named(model)} removed.",
    )


async def _status(call: Call) -> None:
    async with call.services.models(call.target, None) as models:
        states = await models.states()
    columns = (Column("model", overflow="fold"), "dimensions", "active", "vectors", "missing", "valid indexes")
    rows = [
        (
            state.model.name,
            state.model.dimensions,
            "yes" if state.active else "",
            f"{state.vectors:,}",
            f"{state.missing:,}",
            f"{state.indexes} of {state.all_indexes}",
        )
        for state in states
    ]
    call.output.table({"models": [with_model(state) for state in states]}, columns, rows)


@contextmanager
def _progress(call: Call, task: str, unit: str) -> Iterator[Report]:
    """Show bars on stderr; with --json write at most one event a second to stdout, and the last of each task."""
    if not call.output.json:
        with call.progress(task, unit) as report:
            yield report
        return
    started = time.monotonic()
    first: int | None = None

    def write(done: int, total: int) -> None:
        seconds = time.monotonic() - started
        rate = round((done - (first or 0)) / seconds, 1) if seconds > 0 else 0.0
        event = {"event": "progress", "task": task, "unit": unit, "done": done, "total": total, "per_second": rate}
        call.output.write_json(event)

    events = PacedReports(write, seconds=SECONDS_BETWEEN_EVENTS)

    def report_from_first(done: int, total: int) -> None:
        nonlocal first
        first = done if first is None else first
        events.report(done, total)

    yield report_from_first
    events.finish()


def _require_use(option: str, given: bool, *, used: bool, by: str) -> None:
    if given and not used:
        raise InvalidInputError(
            f"{option} says nothing here.", field=option, remedy=f"Leave it out; it goes with {by}."
        )


def _print_outcome(console: Console, done: ReembedOutcome) -> None:
    print_line(console, OUTCOMES[done.status].format(model=_named(done.model)))
    if done.status is not ReembedStatus.ALREADY_ACTIVE:
        console.print(f"{done.embedded:,} texts embedded, {done.known:,} known before, {done.rejected:,} rejected.")
    if done.waiting:
        console.print(f"{done.waiting:,} texts have no vector of it yet, and are found by text.")
    if done.status is ReembedStatus.SWITCHED:
        print_line(console, _restart(done.model))


def _restart(model: EmbeddingModel) -> str:
    return (
        f"Restart services with EMBEDDING_MODEL={model.name} and EMBEDDING_DIM={model.dimensions} (and its "
        "EMBEDDING_PROVIDER): until then they search the vectors that they were started with."
    )


def _named(model: EmbeddingModel) -> str:
    return f"{model.name} ({model.dimensions} dimensions)"

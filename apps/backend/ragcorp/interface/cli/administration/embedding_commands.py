"""`ragcorp embeddings`: what the cache of vectors holds, and how it is emptied of what nobody uses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Column, Table

from ragcorp.domain.embeddings import CachedVectors
from ragcorp.interface.cli.console.calls import Call, CommandFunction, add_command
from ragcorp.interface.cli.console.output import Output, plain
from ragcorp.interface.cli.console.progress import progress
from ragcorp.interface.cli.console.services import Services

ABOUT = "The cache of vectors, of all workspaces. Passages and items keep theirs whatever becomes of it."


def add_embedding_group(app: typer.Typer, *, services: Services, output: Output) -> None:
    group = typer.Typer(help=ABOUT, no_args_is_help=True)
    commands: dict[str, CommandFunction] = {"status": status, "prune": prune}
    for name, function in commands.items():
        add_command(group, name, function, services=services, output=output)
    app.add_typer(group, name="embeddings")


async def status(call: Call) -> None:
    """Show how many vectors are cached of each model, their size, and when the longest unused was last used."""
    async with call.services.open(call.target) as session:
        cached = await session.prune_embeddings.status()
    call.output.result(
        {
            "vectors": sum(each.vectors for each in cached),
            "bytes": sum(each.bytes for each in cached),
            "models": [
                {
                    "model": each.model.name,
                    "dimensions": each.model.dimensions,
                    "active": each.active,
                    "vectors": each.vectors,
                    "bytes": each.bytes,
                    "oldest_use": None if each.oldest_use is None else each.oldest_use.isoformat(),
                }
                for each in cached
            ],
        },
        lambda console: _print_status(console, cached),
    )


async def prune(
    call: Call,
    unused_days: Annotated[
        float, typer.Option("--unused-days", help="Only what was not used for so many days; 0 for all.")
    ],
    model: Annotated[
        str | None, typer.Option("--model", help="Only the vectors of this model, of any width.", show_default=False)
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Remove nothing; say how many there are.")] = False,
) -> None:
    """Remove cached vectors that were not used for long. A passage that is stored again then costs a call again."""
    async with call.services.open(call.target) as session:
        with progress(call.output.notes, "Pruning", unit="vectors") as report:
            done = await session.prune_embeddings.prune(
                unused_days=unused_days, model=model, dry_run=dry_run, on_progress=report
            )
    said = f"{done.unused:,} vectors would go." if dry_run else f"{done.pruned:,} vectors removed."
    call.output.result(
        {"unused": done.unused, "pruned": done.pruned, "dry_run": dry_run}, lambda console: console.print(said)
    )


def _print_status(console: Console, cached: Sequence[CachedVectors]) -> None:
    table = Table(
        "model",
        Column("dimensions", justify="right"),
        "active",
        Column("vectors", justify="right"),
        Column("MB", justify="right"),
        "oldest use",
    )
    for each in cached:
        table.add_row(
            plain(each.model.name),
            str(each.model.dimensions),
            "yes" if each.active else "",
            f"{each.vectors:,}",
            f"{each.bytes / 1e6:,.1f}",
            "" if each.oldest_use is None else f"{each.oldest_use:%Y-%m-%d %H:%M}",
        )
    console.print(table)

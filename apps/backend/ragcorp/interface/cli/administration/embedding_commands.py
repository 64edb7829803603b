"""`ragcorp embeddings`: shows the cache of vectors and prunes unused ones."""

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
            "vectors": sum(entry.vectors for entry in cached),
            "bytes": sum(entry.bytes for entry in cached),
            "models": [
                {
                    "model": entry.model.name,
                    "dimensions": entry.model.dimensions,
                    "active": entry.active,
                    "vectors": entry.vectors,
                    "bytes": entry.bytes,
                    "oldest_use": None if entry.oldest_use is None else entry.oldest_use.isoformat(),
                }
                for entry in cached
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
    summary = f"{done.unused:,} vectors would go." if dry_run else f"{done.pruned:,} vectors removed."
    call.output.result(
        {"unused": done.unused, "pruned": done.pruned, "dry_run": dry_run}, lambda console: console.print(summary)
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
    for entry in cached:
        table.add_row(
            plain(entry.model.name),
            str(entry.model.dimensions),
            "yes" if entry.active else "",
            f"{entry.vectors:,}",
            f"{entry.bytes / 1e6:,.1f}",
            "" if entry.oldest_use is None else f"{entry.oldest_use:%Y-%m-%d %H:%M}",
        )
    console.print(table)

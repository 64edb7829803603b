"""`ragcorp embeddings`: shows and prunes the cache of vectors."""

from typing import Annotated

from rich.table import Column
from typer import Option

from ragcorp.interface.cli.console.calls import Call, CommandFunction
from ragcorp.interface.cli.console.options import option
from ragcorp.interface.cli.console.output import minutes, with_model

ABOUT = "The cache of vectors, of all workspaces. Passages and items keep theirs whatever becomes of it."


async def status(call: Call) -> None:
    """Show how many vectors are cached of each model, their size, and when the longest unused was last used."""
    async with call.open() as session:
        models = await session.use_cases.prune_embeddings.status()
    columns = (
        "model",
        Column("dimensions", justify="right"),
        "active",
        Column("vectors", justify="right"),
        Column("MB", justify="right"),
        "oldest use",
    )
    rows = [
        (
            cached.model.name,
            cached.model.dimensions,
            "yes" if cached.active else "",
            f"{cached.vectors:,}",
            f"{cached.bytes / 1e6:,.1f}",
            minutes(cached.oldest_use),
        )
        for cached in models
    ]
    call.output.table(
        {
            "vectors": sum(cached.vectors for cached in models),
            "bytes": sum(cached.bytes for cached in models),
            "models": [with_model(cached) for cached in models],
        },
        columns,
        rows,
    )


async def prune(
    call: Call,
    unused_days: Annotated[float, Option("--unused-days", help="Only what was not used for so many days; 0 for all.")],
    model: Annotated[str | None, option("--model", help="Only the vectors of this model, of any width.")] = None,
    dry_run: Annotated[bool, Option("--dry-run", help="Remove nothing; say how many there are.")] = False,
) -> None:
    """Remove cached vectors that were not used for long. A passage that is stored again then costs a call again."""
    async with call.open() as session:
        with call.progress("Pruning", "vectors") as report:
            done = await session.use_cases.prune_embeddings.prune(
                unused_days=unused_days, model=model, dry_run=dry_run, on_progress=report
            )
    call.output.line(
        {"unused": done.unused, "pruned": done.pruned, "dry_run": dry_run},
        f"{done.unused:,} vectors would go." if dry_run else f"{done.pruned:,} vectors removed.",
    )


EMBEDDING_COMMANDS: dict[str, CommandFunction] = {"status": status, "prune": prune}

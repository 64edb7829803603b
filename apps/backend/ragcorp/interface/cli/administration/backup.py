"""`ragcorp backup` and `ragcorp restore`."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from rich.console import Console
from typer import Option

from ragcorp.application.upkeep.task_progress import Report
from ragcorp.interface.cli.console.calls import Call
from ragcorp.interface.cli.console.options import argument
from ragcorp.interface.cli.console.output import print_line
from ragcorp.interface.cli.console.services import Backup

MEGABYTE = 1_000_000
_COUNTED = ("documents", "chunks", "api_keys", "memories", "conversation_turns", "entities", "facts", "episodes")

File = Annotated[Path, argument(help="The file of the backup.")]


async def backup(
    call: Call, file: File, force: Annotated[bool, Option("--force", help="Overwrite a file of that name.")] = False
) -> None:
    """Write the whole database to one file that only you may read: documents, keys and all. Services may go on.

    Whoever has the file has everything in it, the secret of the keys too: keep it as you keep the database.
    """
    with call.progress("backup", "MB") as report:
        done = await call.services.backup(call.target, file, force, _megabytes(report))
    call.output.result(asdict(done), lambda console: _print(console, done))


async def restore(
    call: Call,
    file: File,
    listed: Annotated[bool, Option("--list", help="Show what the backup holds, and change nothing.")] = False,
    replace: Annotated[
        bool, Option("--replace", help="Replace a database that is not empty, after a backup of it beside FILE.")
    ] = False,
) -> None:
    """Put a backup into an empty data folder or database: all of it, or nothing is changed.

    Restore only files that you trust: a dump is a program that the database runs.
    """
    if listed:
        described = call.services.read_backup(file)
        call.output.result(asdict(described), lambda console: _print(console, described))
        return
    with call.progress("restore", "MB") as report:
        done = await call.services.restore(call.target, file, replace, _megabytes(report))

    def render(console: Console) -> None:
        _print(console, done.backup)
        if done.kept is not None:
            print_line(console, f"what was there before: {done.kept}")
        print_line(console, f"restored, schema revision {done.revision}; check it with: ragcorp doctor")

    call.output.result({**asdict(done.backup), "restored_revision": done.revision, "kept": done.kept}, render)


def _megabytes(report: Report) -> Report:
    def on_bytes(done: int, total: int) -> None:
        report(done // MEGABYTE, max(total, done) // MEGABYTE)

    return on_bytes


def _print(console: Console, described: Backup) -> None:
    print_line(console, f"{described.file}: {described.bytes / MEGABYTE:,.1f} MB", style="bold")
    print_line(
        console,
        f"made {described.created_at} by ragcorp {described.version}, PostgreSQL {described.postgresql}, "
        f"schema revision {described.revision}, embedding model {described.embedding_model or 'none'}",
    )
    counts = (f"{name} {described.rows[name]:,}" for name in _COUNTED if described.rows.get(name))
    print_line(console, ", ".join(counts) or "no documents")

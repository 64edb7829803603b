"""`ragcorp migrate`, `ragcorp config` and `ragcorp doctor`."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

from rich.console import Console
from rich.table import Column
from typer import Option

from ragcorp.domain.diagnosis import Check, CheckStatus
from ragcorp.interface.cli.console.calls import Call
from ragcorp.interface.cli.console.options import option
from ragcorp.interface.cli.console.output import EXIT_FAILED, plain, print_line
from ragcorp.interface.cli.console.services import Migration, RowLevelSecurity, SettingRow

STATUS_STYLES = {
    CheckStatus.OK: "green",
    CheckStatus.WARNING: "yellow",
    CheckStatus.FAILED: "bold red",
    CheckStatus.SKIPPED: "dim",
}


async def migrate(
    call: Call,
    check: Annotated[bool, Option("--check", help="Change nothing; exit code 1 if a migration is due.")] = False,
    row_level_security: Annotated[
        RowLevelSecurity | None,
        option(
            "--row-level-security",
            help="off: conditions of the statements alone keep workspaces apart, for a server where nobody may mark "
            "functions LEAKPROOF. The choice stays until it is made anew.",
        ),
    ] = None,
) -> int:
    """Bring the database schema to this version, as its owner (DATABASE_OWNER_URL, else DATABASE_URL)."""
    if check:
        state = await call.services.schema(call.target)
        up_to_date = state.current == state.head
        call.output.line(
            {"current": state.current, "head": state.head, "up_to_date": up_to_date},
            plain(f"revision {state.current or 'none'}, newest {state.head}: ")
            + plain("up to date" if up_to_date else "run `ragcorp migrate`", style="green" if up_to_date else "red"),
        )
        return 0 if up_to_date else EXIT_FAILED
    done = await call.services.migrate(call.target, row_level_security)
    call.output.line(
        {
            "before": done.before,
            "after": done.after.current,
            "head": done.after.head,
            "up_to_date": done.after.current == done.after.head,
            "row_level_security": done.row_level_security.value,
            "left_to_a_superuser": list(done.left),
            "stop_older_processes": done.stop_older_processes,
        },
        f"revision before: {done.before or 'none'}, after: {done.after.current}",
    )
    _note_open_work(call, done)
    return 0


def _note_open_work(call: Call, done: Migration) -> None:
    if done.row_level_security is RowLevelSecurity.OFF:
        call.output.note(
            "Row-level security is off: conditions of the statements alone keep workspaces apart. "
            "`ragcorp migrate --row-level-security on` turns it on.",
            style="bold yellow",
        )
    if done.left:
        call.output.note(
            "NOT DONE: searches under row-level security cannot use their indexes, and fail (503) with more than some "
            "thousand passages, until a superuser runs in this database:",
            style="bold red",
        )
        for statement in done.left:
            call.output.note(f"  {statement};")
        call.output.note(
            "Where nobody may run them: `ragcorp migrate --row-level-security off` (docs/operations.md).",
            style="bold red",
        )


async def config(call: Call) -> None:
    """Show every setting with its value and where it comes from. Secrets are masked."""
    rows = call.services.settings(call.target)

    def cells(row: SettingRow) -> tuple[object, ...]:
        style = "" if row.origin == "default" else "bold"
        value = "" if row.value is None else str(row.value)
        return plain(row.name, style=style), plain(value, style=style), row.origin, row.description

    columns = (
        Column("setting", no_wrap=True),
        Column("value", overflow="fold"),
        "origin",
        Column("description", ratio=1),
    )
    call.output.table({"settings": [asdict(row) for row in rows]}, columns, map(cells, rows))


async def doctor(call: Call) -> int:
    """Check the installation, the database and the models, and say what to do about what is wrong."""
    checks = await call.services.diagnose(call.target)
    healthy = all(check.status is not CheckStatus.FAILED for check in checks)
    call.output.result(
        {"ok": healthy, "checks": [asdict(check) for check in checks]},
        lambda console: _print_checks(console, checks, healthy=healthy),
    )
    return 0 if healthy else EXIT_FAILED


def _print_checks(console: Console, checks: Sequence[Check], *, healthy: bool) -> None:
    for check in checks:
        status = f"{check.status.value:<8}"
        print_line(console, status, (f" {check.name}: ", "bold"), check.detail, style=STATUS_STYLES[check.status])
        if check.remedy:
            print_line(console, f"         -> {check.remedy}")
    print_line(console, "Nothing is wrong." if healthy else "Something needs to be put right.", style="bold")

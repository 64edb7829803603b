"""`ragcorp keys`: the keys of the service and their scopes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from ragcorp.application.keys.create import KeyRequest
from ragcorp.application.keys.list import ListedKey
from ragcorp.domain.keys import ApiKey, Scope
from ragcorp.domain.principal import Sensitivity
from ragcorp.interface.cli.console.calls import Call, CommandFunction, add_command
from ragcorp.interface.cli.console.output import Output, plain
from ragcorp.interface.cli.console.services import Services

Scopes = Annotated[str, typer.Option("--scopes", help="search, ask, ingest, tools, admin, with commas between.")]
Workspace = Annotated[
    str | None,
    typer.Option(
        "--workspace", help="All that the key reads and writes is in it [RAGCORP_WORKSPACE].", show_default=False
    ),
]
Subject = Annotated[
    str | None, typer.Option("--subject", help="Whom it stands for; else the key's id.", show_default=False)
]
Groups = Annotated[str, typer.Option("--groups", help="The subject's groups, with commas between.", show_default=False)]
Clearance = Annotated[
    str, typer.Option("--clearance", help="What it may read at most: public, normal, confidential, restricted.")
]
Name = Annotated[str, typer.Option("--name", help="What it is for, in the list.", show_default=False)]
ExpiresInDays = Annotated[
    float | None, typer.Option("--expires-in-days", help="When it ends; else never.", show_default=False)
]
OnlyWorkspace = Annotated[str | None, typer.Option("--workspace", help="Those of one workspace.", show_default=False)]
KeyId = Annotated[str, typer.Argument(metavar="ID", help="The part of the key before the dot.", show_default=False)]


async def create(
    call: Call,
    scopes: Scopes = "search,ask",
    workspace: Workspace = None,
    subject: Subject = None,
    groups: Groups = "",
    clearance: Clearance = Sensitivity.NORMAL.label,
    name: Name = "",
    expires_in_days: ExpiresInDays = None,
) -> None:
    """Make a key and print it, this once: it is not kept, only a digest of it is.

    Once there is a key, the service answers nobody without one, on its own machine neither.
    """
    wanted = Scope.parse(_listed(scopes), field="--scopes")
    level = Sensitivity.parse(clearance, field="--clearance")
    async with call.services.keys(call.target) as keys:
        created = await keys.create.create(
            KeyRequest(
                scopes=wanted,
                workspace=keys.workspace if workspace is None else workspace,
                subject=subject,
                groups=frozenset(_listed(groups)),
                clearance=level,
                name=name,
                expires_in_days=expires_in_days,
            )
        )
    shown = key_document(created.key)
    call.output.result(
        {"credential": created.credential, **shown}, lambda console: console.print(plain(created.credential))
    )
    call.output.note(
        f"Key {created.key.id} of workspace {created.key.principal.workspace}: {scopes_of(created.key)}. "
        "It is shown this once: send it as `Authorization: Bearer <key>`."
    )


async def list_keys(call: Call, workspace: OnlyWorkspace = None) -> None:
    """List the keys, those that have ended too, without their secrets."""
    async with call.services.keys(call.target) as keys:
        found = await keys.list.list(workspace=workspace)
    call.output.result(
        {"keys": [{"state": str(one.state), **key_document(one.key)} for one in found]},
        lambda console: _print_keys(console, found),
    )


async def revoke(call: Call, key_id: KeyId) -> None:
    """End a key for good. A running service notices within KEY_CACHE_SECONDS."""
    async with call.services.keys(call.target) as keys:
        await keys.revoke.revoke(key_id)
    call.output.result({"id": key_id, "revoked": True}, lambda console: console.print(plain(f"{key_id} is revoked.")))


KEY_COMMANDS: dict[str, CommandFunction] = {"create": create, "list": list_keys, "revoke": revoke}


def add_key_group(app: typer.Typer, *, services: Services, output: Output) -> None:
    group = typer.Typer(help="Make, list and revoke the keys of the service.", no_args_is_help=True)
    for name, function in KEY_COMMANDS.items():
        add_command(group, name, function, services=services, output=output)
    app.add_typer(group, name="keys")


def key_document(key: ApiKey) -> dict[str, object]:
    """Return a key without its secret."""
    return {
        "id": key.id,
        "name": key.name,
        "workspace": key.principal.workspace,
        "subject": key.principal.subject,
        "groups": sorted(key.principal.groups),
        "clearance": key.principal.clearance.label,
        "scopes": sorted(key.scopes),
        "created_at": key.created_at.isoformat(),
        "expires_at": key.expires_at.isoformat() if key.expires_at else None,
        "revoked_at": key.revoked_at.isoformat() if key.revoked_at else None,
        "last_used_at": key.last_used_at.isoformat() if key.last_used_at else None,
    }


def _print_keys(console: Console, keys: Sequence[ListedKey]) -> None:
    if not keys:
        console.print(plain("There are no keys. `ragcorp keys create` makes one."))
        return
    table = Table(box=None)
    for heading in ("id", "state", "name", "workspace", "subject", "clearance", "scopes", "expires", "last use"):
        table.add_column(heading)
    for one in keys:
        key = one.key
        table.add_row(
            *map(
                plain,
                (
                    key.id,
                    str(one.state),
                    key.name,
                    key.principal.workspace,
                    key.principal.subject,
                    key.principal.clearance.label,
                    scopes_of(key),
                    f"{key.expires_at:%Y-%m-%d}" if key.expires_at else "",
                    f"{key.last_used_at:%Y-%m-%d %H:%M}" if key.last_used_at else "",
                ),
            )
        )
    console.print(table)


def _listed(text: str) -> list[str]:
    return [part for part in (name.strip() for name in text.split(",")) if part]


def scopes_of(key: ApiKey) -> str:
    return ", ".join(sorted(key.scopes))

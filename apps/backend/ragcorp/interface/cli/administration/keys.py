"""`ragcorp keys`: who may call the service, and what each may do."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from rich.console import Console
from typer import Option

from ragcorp.application.keys.create import KeyRequest
from ragcorp.application.keys.list import ListedKey
from ragcorp.domain.keys import ApiKey, Scope
from ragcorp.domain.principal import Sensitivity
from ragcorp.interface.cli.console.arguments import comma_separated
from ragcorp.interface.cli.console.calls import Call, CommandFunction
from ragcorp.interface.cli.console.options import argument, option
from ragcorp.interface.cli.console.output import Cells, days, minutes, print_table

KEY_CELLS: Cells[ListedKey] = {
    "id": lambda entry: entry.key.id,
    "state": lambda entry: entry.state,
    "name": lambda entry: entry.key.name,
    "workspace": lambda entry: entry.key.principal.workspace,
    "subject": lambda entry: entry.key.principal.subject,
    "clearance": lambda entry: entry.key.principal.clearance.label,
    "scopes": lambda entry: scopes_of(entry.key),
    "expires": lambda entry: days(entry.key.expires_at),
    "last use": lambda entry: minutes(entry.key.last_used_at),
}


@dataclass(frozen=True, kw_only=True)
class KeyOptions:
    scopes: Annotated[str, Option("--scopes", help="search, ask, ingest, tools, admin, with commas between.")] = (
        "search,ask"
    )
    workspace: Annotated[
        str | None, option("--workspace", help="All that the key reads and writes is in it [RAGCORP_WORKSPACE].")
    ] = None
    subject: Annotated[str | None, option("--subject", help="Whom it stands for; else the key's id.")] = None
    groups: Annotated[str, option("--groups", help="The subject's groups, with commas between.")] = ""
    clearance: Annotated[
        str, Option("--clearance", help="What it may read at most: public, normal, confidential, restricted.")
    ] = Sensitivity.NORMAL.label
    name: Annotated[str, option("--name", help="What it is for, in the list.")] = ""
    expires_in_days: Annotated[float | None, option("--expires-in-days", help="When it ends; else never.")] = None

    def request(self, *, workspace: str) -> KeyRequest:
        """Return the request; ``workspace`` counts where no option names one. Raises InvalidInputError."""
        return KeyRequest(
            scopes=Scope.parse(comma_separated(self.scopes), field="--scopes"),
            workspace=workspace if self.workspace is None else self.workspace,
            subject=self.subject,
            groups=frozenset(comma_separated(self.groups)),
            clearance=Sensitivity.parse(self.clearance, field="--clearance"),
            name=self.name,
            expires_in_days=self.expires_in_days,
        )


async def create(call: Call, options: KeyOptions) -> None:
    """Make a key and print it, this once: it is not kept, only a digest of it is.

    Once there is a key, the service answers nobody without one, on its own machine neither.
    """
    options.request(workspace="")  # wrong input is refused before anything is opened
    async with call.services.keys(call.target) as keys:
        created = await keys.create.create(options.request(workspace=keys.workspace))
    call.output.line({"credential": created.credential, **key_document(created.key)}, created.credential)
    call.output.note(
        f"Key {created.key.id} of workspace {created.key.principal.workspace}: {scopes_of(created.key)}. "
        "It is shown this once: send it as `Authorization: Bearer <key>`."
    )


async def list_keys(
    call: Call, workspace: Annotated[str | None, option("--workspace", help="Those of one workspace.")] = None
) -> None:
    """List the keys, those that have ended too, without their secrets."""
    async with call.services.keys(call.target) as keys:
        listed = await keys.list.list(workspace=workspace)
    call.output.result(
        {"keys": [{"state": str(entry.state), **key_document(entry.key)} for entry in listed]},
        lambda console: _print_keys(console, listed),
    )


async def revoke(
    call: Call, key_id: Annotated[str, argument(metavar="ID", help="The part of the key before the dot.")]
) -> None:
    """End a key for good. A running service notices within KEY_CACHE_SECONDS."""
    async with call.services.keys(call.target) as keys:
        await keys.revoke.revoke(key_id)
    call.output.line({"id": key_id, "revoked": True}, f"{key_id} is revoked.")


KEY_COMMANDS: dict[str, CommandFunction] = {"create": create, "list": list_keys, "revoke": revoke}


def key_document(key: ApiKey) -> dict[str, object]:
    return {
        "id": key.id,
        "name": key.name,
        "workspace": key.principal.workspace,
        "subject": key.principal.subject,
        "groups": sorted(key.principal.groups),
        "clearance": key.principal.clearance.label,
        "scopes": sorted(key.scopes),
        "created_at": key.created_at,
        "expires_at": key.expires_at,
        "revoked_at": key.revoked_at,
        "last_used_at": key.last_used_at,
    }


def _print_keys(console: Console, keys: Sequence[ListedKey]) -> None:
    if keys:
        rows = ([cell(entry) for cell in KEY_CELLS.values()] for entry in keys)
        print_table(console, tuple(KEY_CELLS), rows, box=None)
    else:
        console.print("There are no keys. `ragcorp keys create` makes one.")


def scopes_of(key: ApiKey) -> str:
    return ", ".join(sorted(key.scopes))

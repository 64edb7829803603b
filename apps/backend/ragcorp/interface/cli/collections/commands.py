"""`ragcorp collections`, and the group of commands of each collection."""

from __future__ import annotations

import typer
from rich.console import Console
from rich.table import Table

from ragcorp.domain.collections import Collection
from ragcorp.interface.cli.collections import artifacts
from ragcorp.interface.cli.collections.history_import import import_history
from ragcorp.interface.cli.collections.item_commands import ItemCommands
from ragcorp.interface.cli.console.arguments import parse_selection_pairs
from ragcorp.interface.cli.console.calls import Call, CommandFunction, add_command
from ragcorp.interface.cli.console.output import Output, plain
from ragcorp.interface.cli.console.services import Services
from ragcorp.interface.cli.documents.commands import delete
from ragcorp.interface.cli.search.commands import Filter
from ragcorp.interface.shapes.items import facet_counts

GROUPS: dict[Collection, tuple[str, dict[str, CommandFunction]]] = {
    Collection.MEMORY: (
        "Facts, preferences, people, places and relationships.",
        ItemCommands(Collection.MEMORY).by_verb(),
    ),
    Collection.HISTORY: (
        "Turns of conversations.",
        ItemCommands(Collection.HISTORY).by_verb() | {"import": import_history},
    ),
    Collection.ARTIFACTS: (
        "Whole documents (see also `ragcorp documents`).",
        {
            "add": artifacts.add_artifact,
            "list": artifacts.list_artifacts,
            "get": artifacts.get_artifact,
            "update": artifacts.update_artifact,
            "delete": delete,
        },
    ),
    Collection.ARTIFACT_CHUNKS: (
        "The passages of documents.",
        {
            "add": artifacts.add_chunk,
            "list": artifacts.list_chunks,
            "get": artifacts.get_chunk,
            "update": artifacts.update_chunk,
            "delete": artifacts.delete_chunk,
        },
    ),
}


def add_collection_groups(app: typer.Typer, *, services: Services, output: Output) -> None:
    """Register one group of commands a collection, named as it is."""
    for collection, (about, commands) in GROUPS.items():
        group = typer.Typer(help=about, no_args_is_help=True)
        for name, function in commands.items():
            add_command(group, name, function, services=services, output=output)
        app.add_typer(group, name=collection.value)


async def collections(call: Call, filters: Filter = None) -> None:
    """Count what there is to find, by collection, type, language and month."""
    async with call.services.open(call.target) as session:
        counted = await session.collections.facets.count(
            principal=session.principal, filters=parse_selection_pairs(filters)
        )
    facets = facet_counts(counted)

    def render(console: Console) -> None:
        for facet, counts in facets["facets"].items():
            table = Table(facet, "items")
            for value, count in counts.items():
                table.add_row(plain(value), f"{count:,}")
            console.print(table)

    call.output.result(facets, render)

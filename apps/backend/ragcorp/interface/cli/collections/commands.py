"""`ragcorp collections`, and the commands of each collection."""

from rich.console import Console

from ragcorp.domain.collections import Collection
from ragcorp.interface.cli.collections import artifacts
from ragcorp.interface.cli.collections.history_import import import_history
from ragcorp.interface.cli.collections.items import ItemCommands
from ragcorp.interface.cli.console.arguments import filter_pairs
from ragcorp.interface.cli.console.calls import Call, CommandFunction
from ragcorp.interface.cli.console.options import Filter
from ragcorp.interface.cli.console.output import print_table
from ragcorp.interface.cli.documents.commands import delete
from ragcorp.interface.request_values import parse_selection
from ragcorp.interface.shapes.items import facet_counts

GROUPS: dict[str, tuple[str, dict[str, CommandFunction]]] = {
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


async def collections(call: Call, filters: Filter = None) -> None:
    """Count what there is to find, by collection, type, language and month."""
    async with call.open() as session:
        counted = await session.use_cases.collections.facets.count(
            principal=session.principal, filters=parse_selection(filter_pairs(filters))
        )
    facets = facet_counts(counted)

    def render(console: Console) -> None:
        for facet, counts in facets["facets"].items():
            print_table(console, (facet, "items"), [(value, f"{count:,}") for value, count in counts.items()])

    call.output.result(facets, render)

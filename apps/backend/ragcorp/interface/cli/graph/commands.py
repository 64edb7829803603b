"""`ragcorp graph`: the knowledge graph."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from ragcorp.application.validation.graph_drafts import entity_draft, fact_draft, reference
from ragcorp.domain.graph import ENTITY, FACT, Entity, Fact, GraphOutcome, GraphSelection, Provenance
from ragcorp.interface.cli.collections import item_options as options
from ragcorp.interface.cli.collections.item_commands import make_vectors_now, shortened
from ragcorp.interface.cli.console.arguments import parse_selection_pairs
from ragcorp.interface.cli.console.calls import Call, CommandFunction, add_command
from ragcorp.interface.cli.console.lines import (
    LinesFile,
    counted_lines,
    failure_documents,
    note_failures,
    write_totals,
)
from ragcorp.interface.cli.console.output import EXIT_FAILED, Output, plain
from ragcorp.interface.cli.console.progress import progress
from ragcorp.interface.cli.console.services import Services
from ragcorp.interface.cli.documents.commands import Yes, confirm
from ragcorp.interface.cli.documents.ingest import embed_with_progress
from ragcorp.interface.cli.graph.options import (
    Alias,
    Description,
    ExternalId,
    GraphId,
    InDocument,
    MostChunks,
    Object,
    OfEntity,
    OfName,
    Predicate,
    Subject,
    TruthOptions,
    moment_of,
)
from ragcorp.interface.cli.graph.options import Kind as EntityKind
from ragcorp.interface.cli.search.commands import Filter
from ragcorp.interface.shapes.graph import entity_list, extraction_result, fact_list, graph_outcome

Prefix = Annotated[str, typer.Option("--prefix", help="Those whose external_id starts so.", show_default=False)]


async def load(
    call: Call,
    file: LinesFile,
    no_embed: options.NoEmbed = False,
) -> int:
    """Load entities and facts: one JSON object a line, {"type": "entity", "name": ...} or {"type": "fact", ...}.

    What was loaded before is passed over, so an interrupted load goes on when it is started again. A bad line is
    reported with its number and stops no other.
    """
    async with call.services.open(call.target) as opened:
        try:
            with progress(call.output.notes, "Loading", unit="lines") as report:
                async with counted_lines(file) as (lines, total):
                    done = await opened.graph.load.load(
                        lines, principal=opened.principal, on_progress=lambda count: report(count, total or count)
                    )
            failures = [(failure.line, failure.error) for failure in done.failures]
            note_failures(call.output, failures, failed=len(failures), elsewhere=" (--json has them all)")
            if opened.makes_vectors and not no_embed:
                await embed_with_progress(opened, call.output)
        except asyncio.CancelledError:
            call.output.note("What is stored stays; run the same command again to go on.")
            raise
    write_totals(
        call.output,
        {"created": done.created, "updated": done.updated, "unchanged": done.unchanged, "failed": len(failures)},
        failures=failure_documents(failures),
    )
    return EXIT_FAILED if done.failures else 0


async def entities(
    call: Call,
    name: OfName = None,
    prefix: Prefix = "",
    filters: Filter = None,
    limit: options.Limit = 50,
    cursor: options.Cursor = None,
) -> None:
    """List entities in the order of their external_id."""
    selection = GraphSelection(prefix=prefix, filters=parse_selection_pairs(filters), name=name)
    async with call.services.open(call.target) as opened:
        page, next_cursor = await opened.graph.read.entities(
            selection, principal=opened.principal, limit=limit, cursor=cursor
        )
    call.output.page(entity_list(page, next_cursor), _entity_table(page), next_cursor)


async def facts(
    call: Call,
    entity: OfEntity = None,
    prefix: Prefix = "",
    filters: Filter = None,
    limit: options.Limit = 50,
    cursor: options.Cursor = None,
) -> None:
    """List facts in the order of their external_id."""
    selection = GraphSelection(prefix=prefix, filters=parse_selection_pairs(filters), entity=entity)
    async with call.services.open(call.target) as opened:
        page, next_cursor = await opened.graph.read.facts(
            selection, principal=opened.principal, limit=limit, cursor=cursor
        )
    call.output.page(fact_list(page, next_cursor), _fact_table(page), next_cursor)


async def add_entity(
    call: Call,
    name: Annotated[str, typer.Argument(metavar="NAME", show_default=False)],
    attributes: options.AttributeOptions,
    kind: EntityKind = ENTITY,
    alias: Alias = None,
    description: Description = "",
    external_id: ExternalId = None,
    no_embed: options.NoEmbed = False,
) -> None:
    """Add an entity, or replace the one of that name."""
    async with call.services.open(call.target) as opened:
        draft = entity_draft(
            name=name,
            external_id=external_id,
            aliases=alias or (),
            description=description,
            attributes=attributes.attributes(artifact_type=kind, default_language=opened.default_language),
        )
        outcome = await opened.graph.save_entities.save(draft, principal=opened.principal)
        await make_vectors_now(opened, no_embed=no_embed)
    _show(call, outcome)


async def add_fact(
    call: Call,
    subject: Subject,
    predicate: Predicate,
    object: Object,  # noqa: A002 - a fact's own word
    attributes: options.AttributeOptions,
    truth: TruthOptions,
    external_id: ExternalId = None,
    kind: Annotated[str, typer.Option("--kind", help="Its type, such as relationship.")] = FACT,
    no_embed: options.NoEmbed = False,
) -> None:
    """Add a fact, or replace the one of that name. Entities that are not known are made."""
    begun, ended = moment_of(truth.valid_from, option="--from"), moment_of(truth.valid_to, option="--to")
    async with call.services.open(call.target) as opened:
        draft = fact_draft(
            subject=reference(field="subject", name=subject),
            object=reference(field="object", name=object),
            predicate=predicate,
            external_id=external_id,
            weight=truth.weight,
            valid_from=begun,
            valid_to=ended,
            provenance=None if truth.document is None else Provenance(document=truth.document),
            attributes=attributes.attributes(artifact_type=kind, default_language=opened.default_language),
        )
        outcome = await opened.graph.save_facts.save(draft, principal=opened.principal)
        await make_vectors_now(opened, no_embed=no_embed)
    _show(call, outcome)


async def delete_entity(call: Call, external_id: GraphId, yes: Yes = False) -> None:
    """Delete an entity with its facts, for good."""
    async with call.services.open(call.target) as opened:
        confirm(call, f"Delete the entity {external_id} and its facts for good?", yes=yes)
        await opened.graph.delete.entity(external_id, principal=opened.principal)
    call.output.result({"deleted": 1}, lambda console: console.print("1 deleted."))


async def delete_fact(call: Call, external_id: GraphId, yes: Yes = False) -> None:
    """Delete a fact for good."""
    async with call.services.open(call.target) as opened:
        confirm(call, f"Delete the fact {external_id} for good?", yes=yes)
        await opened.graph.delete.fact(external_id, principal=opened.principal)
    call.output.result({"deleted": 1}, lambda console: console.print("1 deleted."))


async def extract(
    call: Call, document: InDocument = None, limit: MostChunks = None, no_embed: options.NoEmbed = False
) -> int:
    """Extract facts from documents with the language model, from what it has not read yet.

    What the text does not bear out is dropped. An interrupted run goes on when it is started again.
    """
    async with call.services.open(call.target) as opened:
        try:
            with progress(call.output.notes, "Extracting", unit="passages") as report:
                done = await opened.graph.extract.extract(
                    principal=opened.principal, document=document, limit=limit, on_progress=report
                )
            if opened.makes_vectors and not no_embed:
                await embed_with_progress(opened, call.output)
        except asyncio.CancelledError:
            call.output.note("What is stored stays; run the same command again to go on.")
            raise
    shown = extraction_result(done)

    def render(console: Console) -> None:
        table = Table(*shown)
        table.add_row(*map(str, shown.values()))
        console.print(table)

    call.output.result(shown, render)
    return EXIT_FAILED if done.failed else 0


GRAPH_COMMANDS: dict[str, CommandFunction] = {
    "load": load,
    "entities": entities,
    "facts": facts,
    "add-entity": add_entity,
    "add-fact": add_fact,
    "delete-entity": delete_entity,
    "delete-fact": delete_fact,
    "extract": extract,
}


def add_graph_group(app: typer.Typer, *, services: Services, output: Output) -> None:
    """Register `ragcorp graph`."""
    group = typer.Typer(help="Entities, and facts between them.", no_args_is_help=True)
    for name, function in GRAPH_COMMANDS.items():
        add_command(group, name, function, services=services, output=output)
    app.add_typer(group, name="graph")


def _show(call: Call, outcome: GraphOutcome) -> None:
    call.output.result(
        graph_outcome(outcome),
        lambda console: console.print(plain(f"{outcome.external_id} {outcome.status}")),
    )


def _entity_table(page: tuple[Entity, ...]) -> Table:
    table = Table("external_id", "kind", "name", "aliases", "description")
    for node in page:
        table.add_row(
            plain(node.external_id),
            plain(node.attributes.artifact_type),
            plain(node.name),
            plain(", ".join(node.aliases)),
            plain(shortened(node.description)),
        )
    return table


def _fact_table(page: tuple[Fact, ...]) -> Table:
    table = Table("external_id", "fact", "from", "to", "document")
    for node in page:
        table.add_row(
            plain(node.external_id),
            plain(shortened(node.text)),
            f"{node.valid_from:%Y-%m-%d}" if node.valid_from else "",
            f"{node.valid_to:%Y-%m-%d}" if node.valid_to else "",
            plain(node.document or ""),
        )
    return table

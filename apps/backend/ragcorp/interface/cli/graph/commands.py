"""`ragcorp graph`: the knowledge graph."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from typer import Option

from ragcorp.application.validation.graph_drafts import entity_draft, fact_draft, reference
from ragcorp.domain.documents import WriteOutcome
from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.graph import ENTITY, FACT, Entity, Fact, GraphSelection, Provenance
from ragcorp.domain.moments import written_moment
from ragcorp.interface.cli.console import options
from ragcorp.interface.cli.console.calls import Call, CommandFunction
from ragcorp.interface.cli.console.options import PageOptions, argument, option
from ragcorp.interface.cli.console.output import EXIT_FAILED, Cells, days, shortened
from ragcorp.interface.cli.documents.commands import confirm
from ragcorp.interface.cli.documents.lines import load_lines, write_totals
from ragcorp.interface.cli.documents.vectors import embed_batch, embed_with_progress, resumable
from ragcorp.interface.shapes.graph import ExtractionResult, GraphStored, stored_entity, stored_fact
from ragcorp.interface.shapes.values import filled

ENTITY_CELLS: Cells[Entity] = {
    "external_id": lambda entity: entity.external_id,
    "kind": lambda entity: entity.attributes.artifact_type,
    "name": lambda entity: entity.name,
    "aliases": lambda entity: ", ".join(entity.aliases),
    "description": lambda entity: shortened(entity.description),
}
FACT_CELLS: Cells[Fact] = {
    "external_id": lambda fact: fact.external_id,
    "fact": lambda fact: shortened(fact.text),
    "from": lambda fact: days(fact.valid_from),
    "to": lambda fact: days(fact.valid_to),
    "document": lambda fact: fact.document,
}


def _moment(option: str, text: str) -> datetime:
    """Raises InvalidInputError."""
    try:
        return written_moment(text)
    except ValueError:
        raise InvalidInputError(
            f"{option} is not an ISO 8601 time.", field=option, remedy="Write it as 2026-03-31T00:00:00Z."
        ) from None


GraphId = Annotated[str, argument(metavar="EXTERNAL_ID")]
ExternalId = Annotated[
    str | None, option("--external-id", help="Its own name; left out, one follows from the content.")
]


@dataclass(frozen=True, kw_only=True)
class FactOptions(options.DescriptionOptions):
    """Attributes of a fact."""

    kind: Annotated[str, Option("--kind", help="Its type, such as relationship.")] = FACT
    weight: Annotated[float, Option("--weight", help="How much it counts: 0 to 1.")] = 1.0
    valid_from: Annotated[
        datetime | None,
        option("--from", parser=lambda text: _moment("--from", text), metavar="TIME", help="True since: ISO 8601."),
    ] = None
    valid_to: Annotated[
        datetime | None,
        option("--to", parser=lambda text: _moment("--to", text), metavar="TIME", help="True until: ISO 8601."),
    ] = None
    document: Annotated[str | None, option("--document", help="external_id of the document that says so.")] = None


async def load(call: Call, file: options.Lines, no_embed: options.NoEmbed = False) -> int:
    """Load entities and facts: one JSON object a line, {"type": "entity", "name": ...} or {"type": "fact", ...}.

    What was loaded before is passed over, so an interrupted load goes on when it is started again. A bad line is
    reported with its number and stops no other.
    """
    async with call.open() as session:
        loading = session.use_cases.graph.load
        done = await load_lines(
            call,
            session,
            file,
            "Loading",
            lambda lines, on_progress: loading.load(lines, principal=session.principal, on_progress=on_progress),
            no_embed=no_embed,
            rest=" (--json has them all)",
        )
    return write_totals(call.output, done)


async def entities(
    call: Call,
    page: PageOptions,
    name: Annotated[
        str | None, option("--name", help="Those of this name or alias; accents and case do not count.")
    ] = None,
) -> None:
    """List entities in the order of their external_id."""
    selection = GraphSelection(prefix=page.prefix, filters=page.conditions, name=name)
    async with call.open() as session:
        listed = await session.use_cases.graph.read.entities(
            selection, principal=session.principal, limit=page.limit, cursor=page.cursor
        )
    call.output.page("entities", *listed, document_of=stored_entity, cells=ENTITY_CELLS)


async def facts(
    call: Call,
    page: PageOptions,
    entity: Annotated[str | None, option("--entity", help="Those on the entity of this external_id.")] = None,
) -> None:
    """List facts in the order of their external_id."""
    selection = GraphSelection(prefix=page.prefix, filters=page.conditions, entity=entity)
    async with call.open() as session:
        listed = await session.use_cases.graph.read.facts(
            selection, principal=session.principal, limit=page.limit, cursor=page.cursor
        )
    call.output.page("facts", *listed, document_of=stored_fact, cells=FACT_CELLS)


async def add_entity(
    call: Call,
    name: Annotated[str, argument(metavar="NAME")],
    described: options.DescriptionOptions,
    kind: Annotated[str, Option("--kind", help="What it is: person, place, organization, ...")] = ENTITY,
    alias: Annotated[
        list[str] | None, option("--alias", metavar="NAME", help="Another name; may be given again.")
    ] = None,
    description: Annotated[str, option("--description", help="A sentence on it.")] = "",
    external_id: ExternalId = None,
    no_embed: options.NoEmbed = False,
) -> None:
    """Add an entity, or replace the one of that name."""
    async with call.open() as session:
        draft = entity_draft(
            name=name,
            external_id=external_id,
            aliases=alias or (),
            description=description,
            attributes=described.attributes(kind=kind, default_language=session.use_cases.default_language),
        )
        outcome = await session.use_cases.graph.save_entities.save(draft, principal=session.principal)
        await embed_batch(session, no_embed=no_embed)
    _show(call, outcome)


async def add_fact(
    call: Call,
    subject: Annotated[str, argument(metavar="SUBJECT", help="Name of an entity.")],
    predicate: Annotated[str, argument(metavar="PREDICATE", help="How it stands to the other.")],
    object: Annotated[str, argument(metavar="OBJECT", help="Name of an entity.")],  # noqa: A002 - a fact's own word
    described: FactOptions,
    external_id: ExternalId = None,
    no_embed: options.NoEmbed = False,
) -> None:
    """Add a fact, or replace the one of that name. Entities that are not known are made."""
    async with call.open() as session:
        draft = fact_draft(
            subject=reference(field="subject", name=subject),
            object=reference(field="object", name=object),
            predicate=predicate,
            external_id=external_id,
            weight=described.weight,
            valid_from=described.valid_from,
            valid_to=described.valid_to,
            provenance=None if described.document is None else Provenance(document=described.document),
            attributes=described.attributes(kind=described.kind, default_language=session.use_cases.default_language),
        )
        outcome = await session.use_cases.graph.save_facts.save(draft, principal=session.principal)
        await embed_batch(session, no_embed=no_embed)
    _show(call, outcome)


async def delete_entity(call: Call, external_id: GraphId, yes: options.Yes = False) -> None:
    """Delete an entity with its facts, for good."""
    async with call.open() as session:
        confirm(call, f"Delete the entity {external_id} and its facts for good?", yes=yes)
        await session.use_cases.graph.delete.entity(external_id, principal=session.principal)
    call.output.line({"deleted": 1}, "1 deleted.")


async def delete_fact(call: Call, external_id: GraphId, yes: options.Yes = False) -> None:
    """Delete a fact for good."""
    async with call.open() as session:
        confirm(call, f"Delete the fact {external_id} for good?", yes=yes)
        await session.use_cases.graph.delete.fact(external_id, principal=session.principal)
    call.output.line({"deleted": 1}, "1 deleted.")


async def extract(
    call: Call,
    document: Annotated[
        str | None, option("--document", help="external_id of a document; left out: the whole workspace.")
    ] = None,
    limit: Annotated[int | None, option("--limit", "-n", help="At most so many passages; left out: all.")] = None,
    no_embed: options.NoEmbed = False,
) -> int:
    """Extract facts from documents with the language model, from what it has not read yet.

    What the text does not bear out is dropped. An interrupted run goes on when it is started again.
    """
    async with call.open() as session:
        with resumable(call):
            with call.progress("Extracting", "passages") as report:
                done = await session.use_cases.graph.extract.extract(
                    principal=session.principal, document=document, limit=limit, on_progress=report
                )
            await embed_with_progress(call, session, no_embed=no_embed)
    counts = filled(ExtractionResult, done)
    call.output.table(counts, tuple(counts), [counts.values()])
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


def _show(call: Call, outcome: WriteOutcome) -> None:
    call.output.line(filled(GraphStored, outcome), f"{outcome.external_id} {outcome.status}")

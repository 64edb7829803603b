"""Writes of facts: set-based statements inside the caller's transaction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from psycopg.types.json import Jsonb

from ragcorp.domain.documents import IngestStatus
from ragcorp.domain.exceptions import ConflictError, InvalidInputError, NotFoundError, RagcorpError
from ragcorp.domain.graph import EntityReference, FactDraft, GraphFailure, GraphOutcome, Provenance, fact_name
from ragcorp.domain.principal import Principal
from ragcorp.infrastructure.postgres.database import DriverConnection
from ragcorp.infrastructure.postgres.graph_entities import aside, default_names, drop_unnamed, insert_undeclared
from ragcorp.infrastructure.postgres.graph_predicates import readable_entities, readable_facts
from ragcorp.infrastructure.postgres.graph_rows import attribute_values
from ragcorp.infrastructure.postgres.predicates import visibility

SETTINGS = "SELECT set_config('enable_seqscan', 'off', true)"
"""A load outruns the statistics of the tables that it fills: each reference would read them whole."""

RESOLVE = """
    SELECT sent.place, found.id, found.external_id
    FROM jsonb_to_recordset(%(rows)s) AS sent (place integer, external_id text, name text, kind text, usual text)
    CROSS JOIN LATERAL (
        SELECT e.id, e.external_id FROM entities e
        WHERE e.workspace = %(workspace)s AND e.external_id = sent.external_id AND {readable}
        UNION ALL
        (SELECT e.id, e.external_id
         FROM folded_name(sent.name) AS called,
              LATERAL (SELECT * FROM entities WHERE keys @> ARRAY[called] OFFSET 0) e
         WHERE (sent.kind IS NULL OR e.artifact_type = sent.kind)
           AND (folded_name(e.name) = called
                OR EXISTS (SELECT FROM unnest(e.aliases) AS alias WHERE folded_name(alias) = called))
           AND e.workspace = %(workspace)s
           AND ((NOT e.declared AND e.external_id = sent.usual) OR ({readable}))
         ORDER BY e.external_id = sent.usual DESC, folded_name(e.name) = called DESC, e.declared DESC, e.id
         LIMIT 1)) AS found
"""
"""Finds entities by external_id, else by name. One that only facts name may be named by everyone: it says nothing.

OFFSET 0: the look by name comes first, whatever the planner thinks of the table's size."""

LOCATE = """
    SELECT sent.place, d.id, c.id, c.chunk_index
    FROM jsonb_to_recordset(%(rows)s) AS sent (place integer, document text, chunk_index integer, chunk_id bigint)
    LEFT JOIN chunks named ON named.id = sent.chunk_id AND named.workspace = %(workspace)s
    JOIN documents d ON d.deleted_at IS NULL AND {visible}
     AND (d.external_id = sent.document OR d.id = named.document_id)
    LEFT JOIN chunks c ON c.document_id = d.id AND (c.chunk_index = sent.chunk_index OR c.id = sent.chunk_id)
"""

LOCK = """
    SELECT f.external_id, f.subject_id, f.object_id, {readable}
    FROM facts f
    WHERE f.workspace = %(workspace)s AND f.external_id = ANY(%(external_ids)s)
    ORDER BY f.external_id
    FOR UPDATE
"""

COLUMNS = (
    "subject_id, object_id, predicate, weight, valid_from, valid_to, document_id, chunk_id, extracted, quote, "
    "language, artifact_type, sensitivity, visibility_scope, owner, metadata"
)
NAMES = COLUMNS.split(", ")

UPSERT = f"""
    INSERT INTO facts (workspace, external_id, {COLUMNS})
    SELECT %(workspace)s, external_id, {COLUMNS}
    FROM jsonb_to_recordset(%(rows)s) AS sent (
        external_id text, subject_id bigint, object_id bigint, predicate text, weight double precision,
        valid_from timestamptz, valid_to timestamptz, document_id uuid, chunk_id bigint, extracted boolean, quote text,
        language text, artifact_type text, sensitivity smallint, visibility_scope text, owner text, metadata jsonb)
    ORDER BY external_id COLLATE "C"
    ON CONFLICT (workspace, external_id) DO UPDATE SET
        ({COLUMNS}, updated_at) = ROW ({", ".join(f"excluded.{name}" for name in NAMES)}, now())
    WHERE {{replaceable}}
      AND ({", ".join(f"facts.{name}" for name in NAMES)})
          IS DISTINCT FROM ({", ".join(f"excluded.{name}" for name in NAMES)})
    RETURNING external_id
"""

DELETE_ONE = """
    DELETE FROM facts f WHERE f.external_id = %(external_id)s AND {readable} RETURNING f.subject_id, f.object_id
"""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a fact is from."""

    document_id: UUID | None = None
    chunk_id: int | None = None
    chunk_index: int | None = None


@dataclass(frozen=True, slots=True)
class End:
    """An entity that was found for a reference."""

    id: int
    external_id: str


async def save_facts(
    connection: DriverConnection, drafts: Sequence[FactDraft], *, principal: Principal
) -> list[GraphOutcome | GraphFailure]:
    """Create or replace the facts, in the order of ``drafts``; of two with one external_id the later stands.

    One whose entity or provenance does not exist, or whose external_id is taken by a fact that the principal may not
    read, is refused; the others are stored.
    """
    await connection.execute(SETTINGS)
    places = await _located(connection, drafts, principal=principal)
    usable = [number for number in range(len(drafts)) if not isinstance(places[number], GraphFailure)]
    ends = await resolved(connection, [drafts[number] for number in usable], principal=principal)
    outcomes: dict[int, GraphOutcome | GraphFailure] = {
        number: place for number, place in enumerate(places) if isinstance(place, GraphFailure)
    }
    rows: dict[int, dict[str, object]] = {}
    for number, pair in zip(usable, ends, strict=True):
        place = places[number]
        if isinstance(pair, GraphFailure):
            outcomes[number] = pair
        elif isinstance(place, Place):
            rows[number] = fact_row(drafts[number], *pair, place)
    for numbers in _rounds(rows):
        outcomes |= await _store(connection, {number: rows[number] for number in numbers}, principal=principal)
    hidden = {
        number: {**row, "external_id": aside(str(row["external_id"]), principal)}
        for number, row in rows.items()
        if drafts[number].external_id is None and isinstance(outcomes[number], GraphFailure)
    }
    for numbers in _rounds(hidden):
        outcomes |= await _store(connection, {number: hidden[number] for number in numbers}, principal=principal)
    return [outcomes[number] for number in range(len(drafts))]


def fact_row(
    draft: FactDraft, subject: End, target: End, place: Place, *, extracted: bool = False
) -> dict[str, object]:
    """Return the columns of a fact as JSON carries them."""
    return attribute_values(draft.attributes) | {
        "external_id": draft.external_id
        or fact_name(
            subject=subject.external_id,
            predicate=draft.predicate,
            object=target.external_id,
            valid_from=draft.valid_from,
            document_id=place.document_id,
            chunk_index=place.chunk_index,
        ),
        "subject_id": subject.id,
        "object_id": target.id,
        "predicate": draft.predicate,
        "weight": draft.weight,
        "valid_from": draft.valid_from.isoformat() if draft.valid_from else None,
        "valid_to": draft.valid_to.isoformat() if draft.valid_to else None,
        "document_id": str(place.document_id) if place.document_id else None,
        "chunk_id": place.chunk_id,
        "extracted": extracted,
        "quote": draft.quote,
    }


async def upsert(
    connection: DriverConnection,
    rows: Sequence[Mapping[str, object]],
    *,
    replaceable: str,
    values: Mapping[str, object],
) -> set[str]:
    """Write rows of different external_ids and return those of the rows that were new or changed."""
    cursor = await connection.execute(
        UPSERT.format(replaceable=replaceable), {**values, "rows": Jsonb([dict(row) for row in rows])}
    )
    return {row[0] for row in await cursor.fetchall()}


async def delete_fact(connection: DriverConnection, external_id: str, *, principal: Principal) -> None:
    """Raises NotFoundError."""
    readable = readable_facts(principal)
    cursor = await connection.execute(
        DELETE_ONE.format(readable=readable.sql), readable.values | {"external_id": external_id}
    )
    row = await cursor.fetchone()
    if row is None:
        raise NotFoundError("There is no such fact.", field="external_id")
    await drop_unnamed(connection, sorted(set(row)))


def _rounds(rows: Mapping[int, Mapping[str, object]]) -> Iterator[list[int]]:
    """Yield the numbers so that no round has an external_id twice: one statement cannot write a row two times."""
    waiting = list(rows)
    while waiting:
        names: set[object] = set()
        this: list[int] = []
        for number in waiting:
            name = rows[number]["external_id"]
            if name not in names:
                names.add(name)
                this.append(number)
        yield this
        waiting = [number for number in waiting if number not in set(this)]


async def _store(
    connection: DriverConnection, rows: Mapping[int, Mapping[str, object]], *, principal: Principal
) -> dict[int, GraphOutcome | GraphFailure]:
    readable = readable_facts(principal)
    cursor = await connection.execute(
        LOCK.format(readable=readable.sql),
        readable.values | {"external_ids": sorted(str(row["external_id"]) for row in rows.values())},
    )
    existing = {row[0]: row[1:] for row in await cursor.fetchall()}
    refused = {name for name, found in existing.items() if not found[2]}
    sent = [row for row in rows.values() if row["external_id"] not in refused]
    visible = visibility(principal, alias="facts")
    changed = await upsert(connection, sent, replaceable=visible.sql, values=visible.values)
    left = {end for name in changed & existing.keys() for end in existing[name][:2]}
    await drop_unnamed(connection, sorted(left))
    outcomes: dict[int, GraphOutcome | GraphFailure] = {}
    for number, row in rows.items():
        name = str(row["external_id"])
        if name in refused:
            outcomes[number] = GraphFailure(
                error=ConflictError(
                    "The external_id is taken by a fact that you may not replace.",
                    field="external_id",
                    remedy="Choose another external_id.",
                )
            )
            continue
        status = IngestStatus.UPDATED if name in existing else IngestStatus.CREATED
        outcomes[number] = GraphOutcome(external_id=name, status=status if name in changed else IngestStatus.UNCHANGED)
    return outcomes


async def _located(
    connection: DriverConnection, drafts: Sequence[FactDraft], *, principal: Principal
) -> list[Place | GraphFailure]:
    sent = [
        {
            "place": number,
            "document": draft.provenance.document,
            "chunk_index": draft.provenance.chunk_index,
            "chunk_id": draft.provenance.chunk_id and int(draft.provenance.chunk_id),
        }
        for number, draft in enumerate(drafts)
        if draft.provenance is not None
    ]
    found: dict[int, Place] = {}
    if sent:
        visible = visibility(principal, alias="d")
        cursor = await connection.execute(LOCATE.format(visible=visible.sql), visible.values | {"rows": Jsonb(sent)})
        found = {row[0]: Place(*row[1:]) for row in await cursor.fetchall()}
    return [
        Place() if draft.provenance is None else _checked(draft.provenance, found.get(number))
        for number, draft in enumerate(drafts)
    ]


def _checked(provenance: Provenance, place: Place | None) -> Place | GraphFailure:
    if place is None:
        field = "document" if provenance.document is not None else "chunk_id"
        return GraphFailure(
            error=InvalidInputError(
                "provenance names nothing that is stored.",
                field=f"provenance.{field}",
                remedy="Ingest the document first, or leave provenance out.",
            )
        )
    if place.chunk_id is None and provenance.chunk_index is not None:
        return GraphFailure(
            error=InvalidInputError(
                "The document has no such chunk.",
                field="provenance.chunk_index",
                remedy="Count chunks from 0, or leave chunk_index out.",
            )
        )
    return place


async def resolved(
    connection: DriverConnection, drafts: Sequence[FactDraft], *, principal: Principal
) -> list[tuple[End, End] | GraphFailure]:
    """Return subject and object of each draft, making those that are named and not known."""
    references = [reference for draft in drafts for reference in (draft.subject, draft.object)]
    named = [(reference.kind, reference.name or "") for reference in references]
    usual = await default_names(connection, named)
    found = await _found(connection, references, usual, principal=principal)
    missing = {
        usual[place]: named[place]
        for place, reference in enumerate(references)
        if place not in found and reference.name is not None
    }
    if missing:
        await insert_undeclared(connection, missing, principal=principal)
        found = await _found(connection, references, usual, principal=principal)
        # a name that is taken by an entity which the principal may not see is made a second time, under its own name
        hidden = {
            aside(usual[place], principal): named[place]
            for place, reference in enumerate(references)
            if place not in found and reference.name is not None
        }
        if hidden:
            await insert_undeclared(connection, hidden, principal=principal)
            usual = [name if place in found else aside(name, principal) for place, name in enumerate(usual)]
            found = await _found(connection, references, usual, principal=principal)
    pairs: list[tuple[End, End] | GraphFailure] = []
    for place in range(0, len(references), 2):
        ends = found.get(place), found.get(place + 1)
        if ends[0] is not None and ends[1] is not None:
            pairs.append((ends[0], ends[1]))
        else:
            pairs.append(GraphFailure(error=_unknown(references[place if ends[0] is None else place + 1])))
    return pairs


def _unknown(reference: EntityReference) -> RagcorpError:
    return InvalidInputError(
        f"{reference.field} is no entity that is stored.",
        field=f"{reference.field}.external_id",
        remedy="Load the entity first, or call it by its name: then it is made.",
    )


async def _found(
    connection: DriverConnection, references: Sequence[EntityReference], usual: Sequence[str], *, principal: Principal
) -> dict[int, End]:
    rows = [
        {
            "place": place,
            "external_id": reference.external_id,
            "name": reference.name,
            "kind": reference.kind,
            "usual": name,
        }
        for place, (reference, name) in enumerate(zip(references, usual, strict=True))
    ]
    readable = readable_entities(principal)
    cursor = await connection.execute(RESOLVE.format(readable=readable.sql), readable.values | {"rows": Jsonb(rows)})
    return {row[0]: End(row[1], row[2]) for row in await cursor.fetchall()}

"""Resolves the entities that facts name, and creates missing ones."""

from collections.abc import Sequence
from dataclasses import dataclass

from psycopg.types.json import Jsonb

from ragcorp.domain.documents import WriteFailure
from ragcorp.domain.exceptions import InvalidInputError, RagcorpError
from ragcorp.domain.graph import EntityReference, FactDraft, Readers
from ragcorp.domain.principal import Principal
from ragcorp.infrastructure.postgres.connections.database import DriverConnection
from ragcorp.infrastructure.postgres.graph.entities import insert_undeclared
from ragcorp.infrastructure.postgres.graph.names import GIVEN_WAY, Called, made_names
from ragcorp.infrastructure.postgres.visibility.graph import readable_entities

SETTINGS = "SELECT set_config('enable_seqscan', 'off', true)"
"""During a load the tables' statistics are outdated: without this each reference could scan them."""

RESOLVE = f"""
    SELECT sent.place, entity.id, entity.external_id, entity.declared,
           entity.sensitivity, entity.visibility_scope, entity.owner
    FROM jsonb_to_recordset(%(rows)s) AS sent (
        place integer, external_id text, name text, kind text, usual text, sensitivity smallint, scope text, owner text)
    CROSS JOIN LATERAL (
        SELECT e.* FROM entities e
        WHERE e.workspace = %(workspace)s AND e.external_id = sent.external_id AND {{readable}}
        UNION ALL
        (SELECT e.*
         FROM folded_name(sent.name) AS called,
              LATERAL (SELECT * FROM entities WHERE keys @> ARRAY[called] OFFSET 0) e,
              LATERAL (SELECT e.sensitivity <= sent.sensitivity AND (
                  e.visibility_scope = 'workspace'
                  OR (e.visibility_scope = sent.scope AND e.owner = sent.owner)) AS covers) wide
         WHERE (sent.kind IS NULL OR e.artifact_type = sent.kind)
           AND (folded_name(e.name) = called
                OR EXISTS (SELECT FROM unnest(e.aliases) AS alias WHERE folded_name(alias) = called))
           AND (e.declared OR wide.covers) AND {{readable}}
         ORDER BY wide.covers DESC, e.external_id = sent.usual DESC, folded_name(e.name) = called DESC,
                  e.declared DESC, e.external_id ~ '{GIVEN_WAY}', e.id
         LIMIT 1)) AS entity
"""
"""Finds entities by external_id, else by name, preferring those that all readers of the fact may read. Of the others
only a declared one is used: its own columns say how secret its name is.

OFFSET 0: the lookup by name comes first, whatever the planner assumes about the table's size."""


@dataclass(frozen=True, slots=True)
class End:
    """The entity of a reference."""

    id: int
    external_id: str
    declared: bool
    readers: Readers


async def resolved(
    connection: DriverConnection,
    drafts: Sequence[FactDraft],
    documents: Sequence[Readers | None],
    *,
    principal: Principal,
) -> list[tuple[End, End] | WriteFailure]:
    """Return subject and object of each draft; named entities that do not exist are created.

    A created entity gets the readers of the fact: those of its own columns, its document and the other entity. So an
    entity never reveals when, and in which spelling, a hidden fact first named it.
    """
    references = [reference for draft in drafts for reference in (draft.subject, draft.object)]
    readers: list[Readers] = []
    for draft, document in zip(drafts, documents, strict=True):
        own = Readers.of(draft.attributes)
        readers += [own if document is None else own.narrowed(document)] * 2
    places = range(len(references))
    usual, by_place = await _look(connection, references, places, readers, principal=principal)
    again = []
    for place in places:
        end, other = by_place.get(place), by_place.get(place ^ 1)
        narrowed = readers[place] if other is None else readers[place].narrowed(other.readers)
        if not (end is not None and end.declared) and narrowed != readers[place]:
            readers[place] = narrowed
            again.append(place)
            by_place.pop(place, None)
    if again:
        other_names, others = await _look(connection, references, again, readers, principal=principal)
        usual, by_place = usual | other_names, by_place | others
    missing = {
        usual[place]: Called(kind=references[place].kind, name=references[place].name or "", readers=readers[place])
        for place in places
        if place not in by_place and references[place].name is not None
    }
    if missing:
        ids = await insert_undeclared(connection, missing, principal=principal)
        for place in places:
            if place not in by_place and references[place].name is not None and usual[place] in ids:
                by_place[place] = End(ids[usual[place]], usual[place], False, readers[place])
    pairs: list[tuple[End, End] | WriteFailure] = []
    for place in range(0, len(references), 2):
        ends = by_place.get(place), by_place.get(place + 1)
        if ends[0] is not None and ends[1] is not None:
            pairs.append((ends[0], ends[1]))
        else:
            pairs.append(WriteFailure(error=_unknown(references[place if ends[0] is None else place + 1])))
    return pairs


def _unknown(reference: EntityReference) -> RagcorpError:
    return InvalidInputError(
        f"{reference.field} is no entity that is stored.",
        field=f"{reference.field}.external_id",
        remedy="Load the entity first, or call it by its name: then it is made.",
    )


async def _look(
    connection: DriverConnection,
    references: Sequence[EntityReference],
    places: Sequence[int],
    readers: Sequence[Readers],
    *,
    principal: Principal,
) -> tuple[dict[int, str], dict[int, End]]:
    """Return the derived external_ids of the references at the places, and the entities found for them."""
    called = [
        Called(kind=references[place].kind, name=references[place].name or "", readers=readers[place])
        for place in places
    ]
    usual = dict(zip(places, await made_names(connection, called, principal=principal), strict=True))
    rows = [
        {
            "place": place,
            "external_id": references[place].external_id,
            "name": references[place].name,
            "kind": references[place].kind,
            "usual": name,
            "sensitivity": int(readers[place].sensitivity),
            "scope": str(readers[place].scope),
            "owner": readers[place].owner,
        }
        for place, name in usual.items()
    ]
    readable = readable_entities(principal)
    cursor = await connection.execute(RESOLVE.format(readable=readable.sql), readable.values | {"rows": Jsonb(rows)})
    return usual, {row[0]: End(row[1], row[2], row[3], Readers.named(*row[4:])) for row in await cursor.fetchall()}

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
from ragcorp.infrastructure.postgres.graph.names import RENAMED, NamedEntity, derived_ids
from ragcorp.infrastructure.postgres.visibility.graph import readable_entities

SETTINGS = "SELECT set_config('enable_seqscan', 'off', true)"
"""During a load the tables' statistics are outdated: without this each reference could scan them."""

RESOLVE = f"""
    SELECT sent.index, entity.id, entity.external_id, entity.declared,
           entity.sensitivity, entity.visibility_scope, entity.owner
    FROM jsonb_to_recordset(%(rows)s) AS sent (
        index integer, external_id text, name text, kind text, derived text, sensitivity smallint, scope text,
        owner text)
    CROSS JOIN LATERAL (
        SELECT e.* FROM entities e
        WHERE e.workspace = %(workspace)s AND e.external_id = sent.external_id AND {{condition}}
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
           AND (e.declared OR wide.covers) AND {{condition}}
         ORDER BY wide.covers DESC, e.external_id = sent.derived DESC, folded_name(e.name) = called DESC,
                  e.declared DESC, e.external_id ~ '{RENAMED}', e.id
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


async def resolve_ends(
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
    readers: list[Readers] = []  # of the facts, twice
    for draft, document in zip(drafts, documents, strict=True):
        own = Readers.of(draft.attributes)
        readers += [own if document is None else own.narrowed(document)] * 2
    indexes = range(len(references))
    derived, ends = await _find(connection, references, indexes, readers, principal=principal)
    again = []
    for index in indexes:
        end, other = ends.get(index), ends.get(index ^ 1)
        narrowed = readers[index] if other is None else readers[index].narrowed(other.readers)
        if not (end is not None and end.declared) and narrowed != readers[index]:
            readers[index] = narrowed
            again.append(index)
            ends.pop(index, None)
    if again:
        derived_again, ends_again = await _find(connection, references, again, readers, principal=principal)
        derived, ends = derived | derived_again, ends | ends_again
    missing = [index for index in indexes if index not in ends and references[index].name is not None]
    if missing:
        entities = {derived[index]: _named(references[index], readers[index]) for index in missing}
        ids = await insert_undeclared(connection, entities, principal=principal)
        for index in missing:
            if derived[index] in ids:
                ends[index] = End(ids[derived[index]], derived[index], False, readers[index])
    pairs: list[tuple[End, End] | WriteFailure] = []
    for index in range(0, len(references), 2):
        subject, target = ends.get(index), ends.get(index + 1)
        if subject is not None and target is not None:
            pairs.append((subject, target))
        else:
            pairs.append(WriteFailure(error=_unknown(references[index if subject is None else index + 1])))
    return pairs


def _named(reference: EntityReference, readers: Readers) -> NamedEntity:
    return NamedEntity(kind=reference.kind, name=reference.name or "", readers=readers)


def _unknown(reference: EntityReference) -> RagcorpError:
    return InvalidInputError(
        f"{reference.field} is not a stored entity.",
        field=f"{reference.field}.external_id",
        remedy="Load the entity first, or reference it by name, which creates it.",
    )


async def _find(
    connection: DriverConnection,
    references: Sequence[EntityReference],
    indexes: Sequence[int],
    readers: Sequence[Readers],
    *,
    principal: Principal,
) -> tuple[dict[int, str], dict[int, End]]:
    """Return the derived external_ids of the references at the indexes, and the existing entities."""
    named = [_named(references[index], readers[index]) for index in indexes]
    derived = dict(zip(indexes, await derived_ids(connection, named, principal=principal), strict=True))
    rows = [
        {
            "index": index,
            "external_id": references[index].external_id,
            "name": references[index].name,
            "kind": references[index].kind,
            "derived": external_id,
            "sensitivity": int(readers[index].sensitivity),
            "scope": str(readers[index].scope),
            "owner": readers[index].owner,
        }
        for index, external_id in derived.items()
    ]
    cursor = await connection.execute(*readable_entities(principal).bind(RESOLVE, rows=Jsonb(rows)))
    return derived, {row[0]: End(row[1], row[2], row[3], Readers.named(*row[4:])) for row in await cursor.fetchall()}

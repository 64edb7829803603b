"""Derives the external_ids of entities without one, and renames hidden entities that occupy one."""

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from psycopg.types.json import Jsonb

from ragcorp.domain.graph import ENTITY, MADE_ENTITY_NAME, Readers, entity_name
from ragcorp.domain.principal import Principal
from ragcorp.infrastructure.postgres.connections.database import DriverConnection
from ragcorp.infrastructure.postgres.visibility.graph import readable_entities

FOLDED_NAMES = (
    "SELECT folded_name(name) FROM unnest(%(names)s::text[]) WITH ORDINALITY AS n (name, place) ORDER BY place"
)

SAME_NAMED = """
    SELECT e.external_id, e.artifact_type, folded_name(e.name)
    FROM entities e
    WHERE e.external_id = ANY(%(external_ids)s) AND {condition}
"""

HIDDEN = """
    SELECT e.id, e.external_id FROM entities e
    WHERE e.workspace = %(workspace)s AND e.external_id = ANY(%(external_ids)s) AND NOT e.declared
      AND ({condition}) IS NOT TRUE
    ORDER BY e.external_id
    FOR UPDATE
"""

RENAMED = "~~[0-9a-f]+$"
"""Regular expression of the external_ids of renamed entities; a repeated fact resolves to other entities first."""

RENAME = """
    UPDATE entities SET external_id = sent.external_id
    FROM jsonb_to_recordset(%(rows)s) AS sent (id bigint, external_id text)
    WHERE entities.id = sent.id
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedEntity:
    """An entity as a draft names it, and its readers."""

    kind: str | None
    name: str
    readers: Readers


async def derived_ids(
    connection: DriverConnection, entities: Sequence[NamedEntity], *, principal: Principal
) -> list[str]:
    """Return the derived external_id of each entity.

    If a readable entity with another name has it, the next one is derived. Hidden entities have no influence.
    """
    cursor = await connection.execute(FOLDED_NAMES, {"names": [entity.name for entity in entities]})
    keys = [(entity.kind or ENTITY, row[0]) for entity, row in zip(entities, await cursor.fetchall(), strict=True)]
    readable = readable_entities(principal)
    ids = [""] * len(entities)
    number, pending = 0, list(range(len(entities)))
    while pending:
        for index in pending:
            kind, folded = keys[index]
            ids[index] = entity_name(kind=kind, folded_name=folded, readers=entities[index].readers, number=number)
        external_ids = sorted({ids[index] for index in pending})
        cursor = await connection.execute(*readable.bind(SAME_NAMED, external_ids=external_ids))
        stored = {row[0]: (row[1], row[2]) for row in await cursor.fetchall()}
        pending = [index for index in pending if stored.get(ids[index], keys[index]) != keys[index]]
        number += 1
    return ids


def renamed(external_id: str) -> str:
    """Return a random new external_id for an entity that loses its own: see ``RENAMED``."""
    start = external_id.rpartition("~")[0] if MADE_ENTITY_NAME.fullmatch(external_id) else external_id
    return f"{start.rstrip('~')[:450]}~~{secrets.token_hex(8)}"


async def rename_hidden(connection: DriverConnection, external_ids: Iterable[str], *, principal: Principal) -> None:
    """Rename undeclared entities with these external_ids that the principal may not read: it does not learn of them."""
    hidden = readable_entities(principal).bind(HIDDEN, external_ids=sorted(set(external_ids)))
    cursor = await connection.execute(*hidden)
    rows = [{"id": id_, "external_id": renamed(external_id)} for id_, external_id in await cursor.fetchall()]
    if rows:
        await connection.execute(RENAME, {"rows": Jsonb(rows)})

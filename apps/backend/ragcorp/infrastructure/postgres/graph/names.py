"""Derives the external_ids of entities without one, and renames hidden entities that are in the way."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from psycopg.types.json import Jsonb

from ragcorp.domain.graph import ENTITY, MADE_ENTITY_NAME, Readers, entity_name
from ragcorp.domain.principal import Principal
from ragcorp.infrastructure.postgres.connections.database import DriverConnection
from ragcorp.infrastructure.postgres.visibility.graph import readable_entities

FOLDED_NAMES = (
    "SELECT folded_name(name) FROM unnest(%(names)s::text[]) WITH ORDINALITY AS n (name, place) ORDER BY place"
)

HOLDERS = """
    SELECT e.external_id, e.artifact_type, folded_name(e.name)
    FROM entities e
    WHERE e.external_id = ANY(%(external_ids)s) AND {readable}
"""

HIDDEN = """
    SELECT e.id, e.external_id FROM entities e
    WHERE e.workspace = %(workspace)s AND e.external_id = ANY(%(external_ids)s) AND NOT e.declared
      AND ({readable}) IS NOT TRUE
    ORDER BY e.external_id
    FOR UPDATE
"""

GIVEN_WAY = "~~[0-9a-f]+$"
"""Regular expression of the names of renamed entities; a repeated fact resolves to other entities first."""

RENAME = """
    UPDATE entities SET external_id = sent.external_id
    FROM jsonb_to_recordset(%(rows)s) AS sent (id bigint, external_id text)
    WHERE entities.id = sent.id
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Called:
    """An entity as a draft names it, and its readers."""

    kind: str | None
    name: str
    readers: Readers


async def made_names(connection: DriverConnection, called: Sequence[Called], *, principal: Principal) -> list[str]:
    """Return the derived external_id of each.

    If a readable entity with another name has it, the next one is derived. Hidden entities have no influence.
    """
    cursor = await connection.execute(FOLDED_NAMES, {"names": [one.name for one in called]})
    folded = [str(row[0]) for row in await cursor.fetchall()]
    readable = readable_entities(principal)
    names = [""] * len(called)
    number, waiting = 0, list(range(len(called)))
    while waiting:
        for place in waiting:
            one = called[place]
            names[place] = entity_name(
                kind=one.kind or ENTITY, folded_name=folded[place], readers=one.readers, number=number
            )
        cursor = await connection.execute(
            HOLDERS.format(readable=readable.sql),
            readable.values | {"external_ids": sorted({names[place] for place in waiting})},
        )
        holders = {row[0]: (row[1], row[2]) for row in await cursor.fetchall()}
        waiting = [
            place
            for place in waiting
            if holders.get(names[place], now := (called[place].kind or ENTITY, folded[place])) != now
        ]
        number += 1
    return names


def given_way(external_id: str) -> str:
    """Return a random new name for an entity that loses its own: see ``GIVEN_WAY``."""
    start = external_id.rpartition("~")[0] if MADE_ENTITY_NAME.fullmatch(external_id) else external_id
    return f"{start.rstrip('~')[:450]}~~{secrets.token_hex(8)}"


async def make_way(connection: DriverConnection, external_ids: Sequence[str], *, principal: Principal) -> None:
    """Rename undeclared entities that have one of the names and that the principal may not read.

    Their readers keep them under another name; the principal does not learn of them.
    """
    readable = readable_entities(principal)
    cursor = await connection.execute(
        HIDDEN.format(readable=readable.sql),
        readable.values | {"external_ids": sorted(set(external_ids)), "workspace": principal.workspace},
    )
    rows = [{"id": id_, "external_id": given_way(name)} for id_, name in await cursor.fetchall()]
    if rows:
        await connection.execute(RENAME, {"rows": Jsonb(rows)})

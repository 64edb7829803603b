"""Writes of entities: set-based statements inside the caller's transaction."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from psycopg.types.json import Jsonb

from ragcorp.domain.documents import DocumentAttributes, IngestStatus
from ragcorp.domain.exceptions import ConflictError, NotFoundError
from ragcorp.domain.graph import ENTITY, EntityDraft, GraphFailure, GraphOutcome, entity_text
from ragcorp.domain.principal import Principal, Sensitivity
from ragcorp.infrastructure.postgres.database import DriverConnection
from ragcorp.infrastructure.postgres.graph_predicates import readable_entities, readable_facts
from ragcorp.infrastructure.postgres.graph_rows import attribute_values
from ragcorp.infrastructure.postgres.predicates import visibility

FOLDED_NAMES = (
    "SELECT folded_name(name) FROM unnest(%(names)s::text[]) WITH ORDINALITY AS n (name, place) ORDER BY place"
)

LOCK = """
    SELECT e.external_id, e.id, e.content_hash, {readable}, e.declared
    FROM entities e
    WHERE e.workspace = %(workspace)s AND e.external_id = ANY(%(external_ids)s)
    ORDER BY e.external_id
    FOR UPDATE
"""

SENT = """
    jsonb_to_recordset(%(rows)s) AS sent (
        external_id text, name text, aliases text[], description text, language text, artifact_type text,
        sensitivity smallint, visibility_scope text, owner text, occurred_at timestamptz, metadata jsonb,
        declared boolean, content_hash text)
"""

COLUMNS = (
    "name, aliases, description, language, artifact_type, sensitivity, visibility_scope, owner, occurred_at, metadata, "
    "declared, content_hash"
)

INSERT = f"""
    INSERT INTO entities (workspace, external_id, {COLUMNS})
    SELECT %(workspace)s, external_id, {COLUMNS.replace("content_hash", "decode(content_hash, 'hex')")}
    FROM {SENT}
    ORDER BY external_id COLLATE "C"
    ON CONFLICT (workspace, external_id)
"""

UPSERT = f"""
    {INSERT} DO UPDATE SET
        ({COLUMNS}, updated_at) = ROW ({", ".join(f"excluded.{name}" for name in COLUMNS.split(", "))}, now())
    WHERE (NOT entities.declared OR {{visible}})
      AND ({", ".join(f"entities.{name}" for name in COLUMNS.split(", "))})
          IS DISTINCT FROM ({", ".join(f"excluded.{name}" for name in COLUMNS.split(", "))})
    RETURNING external_id, id, xmax = 0
"""

INSERT_NEW = f"{INSERT} DO NOTHING RETURNING external_id, id"

FORGET_VECTORS = "DELETE FROM entity_embeddings WHERE item_id = ANY(%(ids)s)"

REUSE_CACHED_VECTORS = """
    INSERT INTO entity_embeddings (item_id, model_id, workspace, embedding)
    SELECT e.id, cache.model_id, e.workspace, cache.embedding
    FROM entities e
    JOIN embedding_models m ON m.active
    JOIN embedding_cache cache
      ON cache.workspace = e.workspace AND cache.content_hash = e.content_hash AND cache.model_id = m.id
    WHERE e.id = ANY(%(ids)s)
"""

ENQUEUE = """
    INSERT INTO entity_backlog (item_id, workspace)
    SELECT e.id, e.workspace FROM entities e
    WHERE e.id = ANY(%(ids)s)
      AND NOT EXISTS (
          SELECT FROM entity_embeddings v JOIN embedding_models m ON m.id = v.model_id AND m.active
          WHERE v.item_id = e.id)
    ON CONFLICT (item_id) DO UPDATE SET attempts = 0, failed = false, reason = NULL, available_at = now()
"""

LOCK_ONE = """
    SELECT e.id, e.name FROM entities e
    WHERE e.external_id = %(external_id)s AND {readable}
    FOR UPDATE
"""

DELETE_FACTS = """
    DELETE FROM facts f WHERE (f.subject_id = %(id)s OR f.object_id = %(id)s) AND {readable}
    RETURNING f.subject_id, f.object_id
"""

DELETE_ONE = """
    DELETE FROM entities e
    WHERE e.id = %(id)s AND NOT EXISTS (SELECT FROM facts f WHERE f.subject_id = e.id OR f.object_id = e.id)
    RETURNING e.id
"""

UNDECLARE = f"""
    UPDATE entities SET ({COLUMNS}, updated_at) =
        (SELECT {COLUMNS.replace("content_hash", "decode(content_hash, 'hex')")}, now() FROM {SENT})
    WHERE id = %(id)s
"""

LOCK_UNDECLARED = "SELECT id FROM entities WHERE id = ANY(%(ids)s) AND NOT declared ORDER BY external_id FOR UPDATE"

DELETE_UNNAMED = """
    DELETE FROM entities e
    WHERE e.id = ANY(%(ids)s) AND NOT e.declared
      AND NOT EXISTS (SELECT FROM facts f WHERE f.subject_id = e.id)
      AND NOT EXISTS (SELECT FROM facts f WHERE f.object_id = e.id)
"""

UNDECLARED = DocumentAttributes(artifact_type=ENTITY, sensitivity=Sensitivity.PUBLIC)
"""What an entity that only facts name lets everyone pass: its facts decide."""


@dataclass(frozen=True, slots=True)
class _Existing:
    id: int
    content_hash: bytes
    readable: bool
    declared: bool


async def default_names(connection: DriverConnection, called: Sequence[tuple[str | None, str]]) -> list[str]:
    """Return the external_id that follows from each (kind, name)."""
    cursor = await connection.execute(FOLDED_NAMES, {"names": [name for _, name in called]})
    folded = [row[0] for row in await cursor.fetchall()]
    return [f"{kind or ENTITY}:{name}" for (kind, _), name in zip(called, folded, strict=True)]


def aside(external_id: str, principal: Principal) -> str:
    """Return the name that is given where the usual one is taken by what the principal may not see.

    So nothing tells that it is taken.
    """
    return f"{external_id}~{hashlib.sha256(principal.subject.encode()).hexdigest()[:8]}"


async def save_entities(
    connection: DriverConnection, drafts: Mapping[str, EntityDraft], *, principal: Principal
) -> dict[str, GraphOutcome | GraphFailure]:
    """Create or replace the entities, by external_id.

    One that exists and that the principal may not read is refused; but one that only facts name is taken over.
    """
    readable = readable_entities(principal)
    cursor = await connection.execute(
        LOCK.format(readable=readable.sql), readable.values | {"external_ids": sorted(drafts)}
    )
    existing = {row[0]: _Existing(row[1], bytes(row[2]), row[3], row[4]) for row in await cursor.fetchall()}
    refused = {name for name, found in existing.items() if found.declared and not found.readable}
    rows = [entity_row(name, draft) for name, draft in drafts.items() if name not in refused]
    visible = visibility(principal, alias="entities")
    cursor = await connection.execute(
        UPSERT.format(visible=visible.sql), visible.values | {"workspace": principal.workspace, "rows": Jsonb(rows)}
    )
    written = {row[0]: (row[1], row[2]) for row in await cursor.fetchall()}
    hashes = {str(row["external_id"]): bytes.fromhex(str(row["content_hash"])) for row in rows}
    await renew_vectors(
        connection,
        [
            id_
            for name, (id_, is_new) in written.items()
            if is_new or name not in existing or existing[name].content_hash != hashes[name]
        ],
    )
    outcomes: dict[str, GraphOutcome | GraphFailure] = {}
    for name in drafts:
        if name in refused:
            outcomes[name] = GraphFailure(error=_taken("entity"))
            continue
        status = IngestStatus.UNCHANGED
        if name in written:
            found = existing.get(name)
            status = IngestStatus.UPDATED if found and found.readable else IngestStatus.CREATED
        outcomes[name] = GraphOutcome(external_id=name, status=status)
    return outcomes


def _taken(what: str) -> ConflictError:
    return ConflictError(
        f"The external_id is taken by an {what} that you may not replace.",
        field="external_id",
        remedy="Choose another external_id.",
    )


async def insert_undeclared(
    connection: DriverConnection, called: Mapping[str, tuple[str | None, str]], *, principal: Principal
) -> None:
    """Make the entities that facts name and nobody declared: (kind, name) by external_id. Known ones stay."""
    rows = [
        entity_row(
            external_id,
            EntityDraft(
                name=name,
                attributes=DocumentAttributes(artifact_type=kind or ENTITY, sensitivity=UNDECLARED.sensitivity),
            ),
            declared=False,
        )
        for external_id, (kind, name) in called.items()
    ]
    cursor = await connection.execute(INSERT_NEW, {"workspace": principal.workspace, "rows": Jsonb(rows)})
    await renew_vectors(connection, [row[1] for row in await cursor.fetchall()])


def entity_row(external_id: str, draft: EntityDraft, *, declared: bool = True) -> dict[str, object]:
    text = entity_text(name=draft.name, description=draft.description)
    return attribute_values(draft.attributes) | {
        "external_id": external_id,
        "name": draft.name,
        "aliases": list(draft.aliases),
        "description": draft.description,
        "declared": declared,
        "content_hash": hashlib.sha256(text.encode()).hexdigest(),
    }


async def renew_vectors(connection: DriverConnection, ids: Sequence[int]) -> None:
    """Drop the vectors of entities that read otherwise now; take those that the cache knows, and list the rest."""
    if ids:
        for statement in (FORGET_VECTORS, REUSE_CACHED_VECTORS, ENQUEUE):
            await connection.execute(statement, {"ids": list(ids)})


async def delete_entity(connection: DriverConnection, external_id: str, *, principal: Principal) -> None:
    """Remove an entity with the facts on it that the principal may read.

    Where others are left, the entity stays for them as one that only facts name: gone for this principal.
    Raises NotFoundError.
    """
    readable, facts = readable_entities(principal), readable_facts(principal)
    cursor = await connection.execute(
        LOCK_ONE.format(readable=readable.sql), readable.values | {"external_id": external_id}
    )
    row = await cursor.fetchone()
    if row is None:
        raise NotFoundError("There is no such entity.", field="external_id")
    entity_id, name = row
    cursor = await connection.execute(DELETE_FACTS.format(readable=facts.sql), facts.values | {"id": entity_id})
    ends = {end for pair in await cursor.fetchall() for end in pair} - {entity_id}
    if await (await connection.execute(DELETE_ONE, {"id": entity_id})).fetchone() is None:
        plain = entity_row(external_id, EntityDraft(name=name, attributes=UNDECLARED), declared=False)
        await connection.execute(UNDECLARE, {"id": entity_id, "rows": Jsonb([plain])})
        await renew_vectors(connection, [entity_id])
    await drop_unnamed(connection, sorted(ends))


async def drop_unnamed(connection: DriverConnection, ids: Sequence[int]) -> None:
    """Remove those of the entities that were never declared and that no fact names any more.

    Locked first: a fact that is being written holds a share of its entities, and the second statement sees it.
    """
    if ids:
        await connection.execute(LOCK_UNDECLARED, {"ids": list(ids)})
        await connection.execute(DELETE_UNNAMED, {"ids": list(ids)})

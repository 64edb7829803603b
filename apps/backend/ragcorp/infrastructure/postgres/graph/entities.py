"""Writes of entities: set-based statements inside the caller's transaction."""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from psycopg.types.json import Jsonb

from ragcorp.domain.documents import DocumentAttributes, IngestStatus, SaveOutcome, WriteFailure, WriteOutcome
from ragcorp.domain.exceptions import ConflictError, InvalidInputError, NotFoundError, RagcorpError
from ragcorp.domain.graph import ENTITY, MADE_ENTITY_NAME, EntityDraft, Readers, entity_text
from ragcorp.domain.principal import Principal
from ragcorp.infrastructure.postgres.connections.database import DriverConnection
from ragcorp.infrastructure.postgres.embeddings.new_texts import enqueue_items
from ragcorp.infrastructure.postgres.graph.names import NamedEntity, rename_hidden, renamed
from ragcorp.infrastructure.postgres.tables.attributes import attribute_values
from ragcorp.infrastructure.postgres.tables.embedded import ENTITIES
from ragcorp.infrastructure.postgres.visibility.graph import readable_entities, readable_facts
from ragcorp.infrastructure.postgres.visibility.predicates import visibility

LOCK = """
    SELECT e.external_id, e.id, e.content_hash, ({condition}) IS TRUE, e.declared, e.name, e.artifact_type,
           e.sensitivity, e.visibility_scope, e.owner
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
    WHERE {{condition}}
      AND ({", ".join(f"entities.{name}" for name in COLUMNS.split(", "))})
          IS DISTINCT FROM ({", ".join(f"excluded.{name}" for name in COLUMNS.split(", "))})
    RETURNING external_id, id, xmax = 0
"""

INSERT_NEW = f"{INSERT} DO NOTHING RETURNING external_id, id"

IDS = "SELECT external_id, id FROM entities WHERE workspace = %(workspace)s AND external_id = ANY(%(external_ids)s)"

FORGET_VECTORS = "DELETE FROM entity_embeddings WHERE item_id = ANY(%(ids)s)"

LOCK_ONE = """
    SELECT e.id FROM entities e
    WHERE e.external_id = %(external_id)s AND {condition}
    FOR UPDATE
"""

DELETE_FACTS = """
    DELETE FROM facts f WHERE (f.subject_id = %(id)s OR f.object_id = %(id)s) AND {condition}
    RETURNING f.subject_id, f.object_id
"""

DELETE_ONE = """
    DELETE FROM entities e
    WHERE e.id = %(id)s AND NOT EXISTS (SELECT FROM facts f WHERE f.subject_id = e.id OR f.object_id = e.id)
    RETURNING e.id
"""

UNDECLARE = """
    UPDATE entities SET declared = false, aliases = '{}', description = '', occurred_at = NULL, metadata = '{}',
        content_hash = sha256(convert_to(name, 'UTF8')), updated_at = now()
    WHERE id = %(id)s
"""
"""Name, kind and readers stay, so that the remaining facts read as before."""

WIDER_FACT = """
    SELECT true FROM facts f
    WHERE (f.subject_id = %(id)s OR f.object_id = %(id)s) AND {condition}
      AND NOT (f.sensitivity >= %(new_sensitivity)s
               AND (%(new_scope)s = 'workspace' OR (f.visibility_scope = %(new_scope)s AND f.owner = %(new_owner)s)))
    LIMIT 1
"""

SPLIT = """
    WITH hidden AS MATERIALIZED (
        SELECT f.id FROM facts f
        WHERE (f.subject_id = %(id)s OR f.object_id = %(id)s) AND ({condition}) IS NOT TRUE
        FOR UPDATE),
    twin AS (
        INSERT INTO entities (workspace, external_id, name, aliases, language, artifact_type, sensitivity,
                              visibility_scope, owner, declared, content_hash, created_at, updated_at)
        SELECT e.workspace, %(twin)s, e.name, e.aliases, e.language, e.artifact_type, e.sensitivity,
               e.visibility_scope, e.owner, false, sha256(convert_to(e.name, 'UTF8')), e.created_at, e.updated_at
        FROM entities e WHERE e.id = %(id)s AND EXISTS (SELECT FROM hidden)
        RETURNING id)
    UPDATE facts SET subject_id = CASE facts.subject_id WHEN %(id)s THEN twin.id ELSE facts.subject_id END,
                     object_id = CASE facts.object_id WHEN %(id)s THEN twin.id ELSE facts.object_id END
    FROM twin, hidden WHERE facts.id = hidden.id
    RETURNING twin.id
"""
"""Moves the facts that the principal may not read to a copy of the entity, so that their readers see no change."""

LOCK_UNDECLARED = "SELECT id FROM entities WHERE id = ANY(%(ids)s) AND NOT declared ORDER BY external_id FOR UPDATE"

DELETE_UNNAMED = """
    DELETE FROM entities e
    WHERE e.id = ANY(%(ids)s) AND NOT e.declared
      AND NOT EXISTS (SELECT FROM facts f WHERE f.subject_id = e.id)
      AND NOT EXISTS (SELECT FROM facts f WHERE f.object_id = e.id)
"""


@dataclass(frozen=True, slots=True)
class _Existing:
    id: int
    content_hash: bytes
    readable: bool
    declared: bool
    name: str
    kind: str
    sensitivity: int
    scope: str
    owner: str

    @property
    def readers(self) -> Readers:
        return Readers.named(self.sensitivity, self.scope, self.owner)


async def save_entities(
    connection: DriverConnection, drafts: Mapping[str, EntityDraft], *, derived: Collection[str], principal: Principal
) -> dict[str, SaveOutcome]:
    """Create or replace the entities, by external_id; ``derived`` are the external_ids that were derived.

    A draft for a hidden entity is refused; but an undeclared entity is renamed, with the facts that the principal may
    not read.
    """
    cursor = await connection.execute(*readable_entities(principal).bind(LOCK, external_ids=sorted(drafts)))
    stored = {row[0]: _Existing(row[1], bytes(row[2]), *row[3:]) for row in await cursor.fetchall()}
    existing = {name: entity for name, entity in stored.items() if entity.readable}
    refused: dict[str, RagcorpError] = {}
    for name, draft in drafts.items():
        error = await _refusal(connection, name, draft, stored.get(name), derived=name in derived, principal=principal)
        if error is not None:
            refused[name] = error
    await rename_hidden(connection, stored.keys() - existing.keys() - refused.keys(), principal=principal)
    for name, entity in existing.items():
        draft = drafts[name]
        as_read = (draft.name, draft.attributes.artifact_type, Readers.of(draft.attributes))
        if name not in refused and as_read != (entity.name, entity.kind, entity.readers):
            await _split(connection, name, entity.id, principal=principal)
    rows = {name: _entity_row(name, draft) for name, draft in drafts.items() if name not in refused}
    writable = visibility(principal, alias="entities")
    cursor = await connection.execute(*writable.bind(UPSERT, rows=Jsonb(list(rows.values()))))
    written = {row[0]: (row[1], row[2]) for row in await cursor.fetchall()}
    changed = [
        id_
        for name, (id_, is_new) in written.items()
        if is_new or name not in existing or existing[name].content_hash.hex() != rows[name]["content_hash"]
    ]
    await _renew_vectors(connection, changed)
    outcomes: dict[str, SaveOutcome] = {}
    for name in drafts:
        if name in refused:
            outcomes[name] = WriteFailure(error=refused[name])
            continue
        status = IngestStatus.UNCHANGED
        if name in written:
            status = IngestStatus.UPDATED if name in existing else IngestStatus.CREATED
        outcomes[name] = WriteOutcome(external_id=name, status=status)
    return outcomes


async def _refusal(
    connection: DriverConnection,
    name: str,
    draft: EntityDraft,
    stored: _Existing | None,
    *,
    derived: bool,
    principal: Principal,
) -> RagcorpError | None:
    """Return the error that refuses the draft, or None. Only names that the caller chose reveal hidden rows.

    A derived name includes the readers, which stay. The readers of other entities may be reduced only if no fact loses
    a reader by it.
    """
    looks_derived = MADE_ENTITY_NAME.fullmatch(name) is not None
    if stored is None or not stored.readable:
        if looks_derived and not derived:
            return reserved_form()
        return taken("an entity") if stored is not None and stored.declared else None
    readers = Readers.of(draft.attributes)
    if readers == stored.readers:
        return None
    if looks_derived:
        return readers_stay("entity")
    if readers.include(stored.readers):
        return None
    wider = readable_facts(principal).bind(
        WIDER_FACT,
        id=stored.id,
        new_sensitivity=int(readers.sensitivity),
        new_scope=str(readers.scope),
        new_owner=readers.owner,
    )
    cursor = await connection.execute(*wider)
    if await cursor.fetchone() is None:
        return None
    return ConflictError(
        "Facts of the entity have readers who could no longer read it.",
        field="visibility_scope",
        remedy="Narrow or delete these facts first.",
    )


async def _split(connection: DriverConnection, name: str, entity_id: int, *, principal: Principal) -> None:
    cursor = await connection.execute(*readable_facts(principal).bind(SPLIT, id=entity_id, twin=renamed(name)))
    await _renew_vectors(connection, sorted({row[0] for row in await cursor.fetchall()}))


def taken(subject: str) -> ConflictError:
    return ConflictError(
        f"The external_id belongs to {subject} that you may not replace.",
        field="external_id",
        remedy="Choose another external_id.",
    )


def reserved_form() -> InvalidInputError:
    """The same error for every name of that form that the principal does not see, existing or not."""
    return InvalidInputError(
        "The external_id has the form of generated ones, but was not generated for this draft.",
        field="external_id",
        remedy="Leave external_id out, or choose one of another form.",
    )


def readers_stay(kind: str) -> InvalidInputError:
    return InvalidInputError(
        f"The external_id of the {kind} was generated from its readers.",
        field="visibility_scope",
        remedy="Keep sensitivity, visibility_scope and owner, or store a new one and delete this one.",
    )


async def insert_undeclared(
    connection: DriverConnection, entities: Mapping[str, NamedEntity], *, principal: Principal
) -> dict[str, int]:
    """Create the undeclared entities that facts name; return their ids by external_id."""
    await rename_hidden(connection, entities, principal=principal)
    rows = []
    for external_id, entity in entities.items():
        attributes = DocumentAttributes(
            artifact_type=entity.kind or ENTITY,
            sensitivity=entity.readers.sensitivity,
            visibility_scope=entity.readers.scope,
            owner=entity.readers.owner,
        )
        rows.append(_entity_row(external_id, EntityDraft(name=entity.name, attributes=attributes), declared=False))
    cursor = await connection.execute(INSERT_NEW, {"workspace": principal.workspace, "rows": Jsonb(rows)})
    await _renew_vectors(connection, [row[1] for row in await cursor.fetchall()])
    cursor = await connection.execute(IDS, {"workspace": principal.workspace, "external_ids": list(entities)})
    return dict(await cursor.fetchall())


def _entity_row(external_id: str, draft: EntityDraft, *, declared: bool = True) -> dict[str, object]:
    text = entity_text(name=draft.name, description=draft.description)
    return attribute_values(draft.attributes) | {
        "external_id": external_id,
        "name": draft.name,
        "aliases": list(draft.aliases),
        "description": draft.description,
        "declared": declared,
        "content_hash": hashlib.sha256(text.encode()).hexdigest(),
    }


async def _renew_vectors(connection: DriverConnection, ids: Sequence[int]) -> None:
    """Delete the vectors of entities whose text changed, and enqueue the entities."""
    if ids:
        await connection.execute(FORGET_VECTORS, {"ids": list(ids)})
        await enqueue_items(connection, ENTITIES, ids)


async def delete_entity(connection: DriverConnection, external_id: str, *, principal: Principal) -> None:
    """Delete an entity and its readable facts; for hidden facts it stays, undeclared. Raises NotFoundError."""
    cursor = await connection.execute(*readable_entities(principal).bind(LOCK_ONE, external_id=external_id))
    row = await cursor.fetchone()
    if row is None:
        raise NotFoundError("There is no such entity.", field="external_id")
    (entity_id,) = row
    cursor = await connection.execute(*readable_facts(principal).bind(DELETE_FACTS, id=entity_id))
    ends = {end for pair in await cursor.fetchall() for end in pair} - {entity_id}
    if await (await connection.execute(DELETE_ONE, {"id": entity_id})).fetchone() is None:
        await connection.execute(UNDECLARE, {"id": entity_id})
        await _renew_vectors(connection, [entity_id])
    await drop_unnamed(connection, sorted(ends))


async def drop_unnamed(connection: DriverConnection, ids: Sequence[int]) -> None:
    """Delete the undeclared entities that no fact names any more.

    They are locked first: a fact being written has a share lock on its entities, and the second statement sees it.
    """
    if ids:
        await connection.execute(LOCK_UNDECLARED, {"ids": list(ids)})
        await connection.execute(DELETE_UNNAMED, {"ids": list(ids)})

"""Writes of items of memory and history: one transaction a batch, set-based statements."""

import hashlib
import hmac
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import uuid4

from psycopg.types.json import Jsonb

from ragcorp.domain.collections import ItemDraft
from ragcorp.domain.documents import IngestStatus, WriteOutcome
from ragcorp.domain.exceptions import ConflictError
from ragcorp.domain.principal import Principal
from ragcorp.infrastructure.postgres.connections.database import DriverConnection
from ragcorp.infrastructure.postgres.embeddings.new_texts import enqueue_items
from ragcorp.infrastructure.postgres.tables.attributes import attribute_values
from ragcorp.infrastructure.postgres.tables.embedded import EmbeddedTable
from ragcorp.infrastructure.postgres.visibility.predicates import visibility

ID_DIGITS = 32
ATTEMPTS = 4
"""External_ids derived from one content before a random one, which is certainly free."""

NAME_KEY = "SELECT key FROM item_name_key"

STATEMENT_CHARACTERS = 200_000
"""Characters per statement: analysing them takes half a second for prose, three for codes only."""

SENT = """
    SELECT * FROM jsonb_to_recordset(%(items)s) AS sent (
        external_id text, text text, language text, artifact_type text, sensitivity smallint, visibility_scope text,
        owner text, occurred_at timestamptz, session text, speaker text, entities text[], metadata jsonb,
        content_hash bytea)
"""

CONTENT = """
    {row}.text, {row}.language, {row}.artifact_type, {row}.sensitivity, {row}.visibility_scope, {row}.owner,
    {row}.session, {row}.speaker, {row}.entities, {row}.metadata
"""
"""The columns that distinguish versions of an item, apart from ``occurred_at``."""

FIND_STORED = f"""
    SELECT i.external_id, i.occurred_at, {{condition}},
           ({CONTENT.format(row="i")}, i.occurred_at)
           IS NOT DISTINCT FROM ({CONTENT.format(row="sent")}, coalesce(sent.occurred_at, i.occurred_at))
    FROM ({SENT}) AS sent
    JOIN {{table}} i ON i.workspace = %(workspace)s AND i.external_id = sent.external_id
"""

COLUMNS = (
    "text, language, artifact_type, sensitivity, visibility_scope, owner, session, speaker, entities, metadata, "
    "content_hash"
)

UPSERT = f"""
    INSERT INTO {{table}} AS i (workspace, external_id, occurred_at, {COLUMNS})
    SELECT %(workspace)s, external_id, coalesce(occurred_at, now()), {COLUMNS}
    FROM ({SENT}) AS sent
    ORDER BY external_id COLLATE "C"
    ON CONFLICT (workspace, external_id) DO UPDATE SET
        (occurred_at, {COLUMNS}, updated_at)
        = ROW (excluded.occurred_at, {", ".join(f"excluded.{name}" for name in COLUMNS.split(", "))}, now())
    WHERE {{condition}}
        AND ({CONTENT.format(row="i")}, i.occurred_at)
            IS DISTINCT FROM ({CONTENT.format(row="excluded")}, excluded.occurred_at)
    RETURNING i.id, i.external_id, i.xmax = 0
"""
"""Locks new and existing items in the order of external_id ("C": by code point, as Python sorts), so that parallel
batches never deadlock. Returns the written items, and whether each is new."""

COUNT_UNREADABLE = """
    SELECT count(*) FROM {table} i
    WHERE i.workspace = %(workspace)s AND i.external_id = ANY(%(external_ids)s) AND NOT ({condition})
"""


@dataclass(frozen=True, slots=True)
class _Stored:
    occurred_at: datetime
    equal: bool


async def read_name_key(connection: DriverConnection) -> bytes:
    """Return the secret of this database, which never changes."""
    ((key,),) = await (await connection.execute(NAME_KEY)).fetchall()
    return bytes(key.bytes)


async def save_items(
    connection: DriverConnection,
    tables: EmbeddedTable,
    drafts: Sequence[ItemDraft],
    *,
    principal: Principal,
    name_key: bytes = b"",
) -> list[WriteOutcome]:
    """Create or replace the items inside the connection's transaction; outcomes in the order of ``drafts``.

    The last draft of a name wins, and all have its outcome. A draft without occurred_at keeps the stored item's.
    Raises ConflictError for an existing item that the caller named and that the principal may not read.
    """
    names = [_external_id(draft, key=name_key) for draft in drafts]
    by_name = dict(zip(names, drafts, strict=True))
    stored, hidden = await _stored(connection, tables, by_name, principal=principal)
    attempt = 0
    while hidden:
        attempt += 1
        if any(by_name[name].external_id is not None for name in hidden):
            raise _taken()
        others = {name: _external_id(by_name[name], key=name_key, attempt=attempt) for name in hidden}
        names = [others.get(name, name) for name in names]
        by_name = {others.get(name, name): draft for name, draft in by_name.items()}
        renamed, hidden = await _stored(
            connection, tables, {name: by_name[name] for name in others.values()}, principal=principal
        )
        stored |= renamed
    changed = sorted(name for name in by_name if name not in stored or not stored[name].equal)
    statuses = dict.fromkeys(by_name, IngestStatus.UNCHANGED)
    for part in _parts(changed, by_name):
        rows = [_row(name, by_name[name], stored.get(name)) for name in part]
        statuses |= await _upsert(connection, tables, rows, principal=principal)
    return [WriteOutcome(external_id=name, status=statuses[name]) for name in names]


def content_hash(*, speaker: str | None, text: str) -> bytes:
    """Return the SHA-256 of the text that is embedded (``SPOKEN_TEXT``)."""
    return hashlib.sha256((text if speaker is None else f"{speaker}: {text}").encode()).digest()


def _external_id(draft: ItemDraft, *, key: bytes, attempt: int = 0) -> str:
    """Return the draft's external_id, or an opaque one, equal for equal ``named_after``: 32 digits of HMAC-SHA-256.

    Without the key it cannot be derived: its refusal would reveal that a hidden item has a guessed text.
    """
    if draft.external_id is not None:
        return draft.external_id
    if draft.named_after is None or attempt >= ATTEMPTS:
        return uuid4().hex
    return hmac.new(key, f"{attempt} {draft.named_after}".encode(), hashlib.sha256).hexdigest()[:ID_DIGITS]


def _parts(names: Sequence[str], by_name: Mapping[str, ItemDraft]) -> Iterator[list[str]]:
    """Cut the names, in their order, into statements that end within any sensible timeout."""
    part: list[str] = []
    characters = 0
    for name in names:
        if part and characters + len(by_name[name].text) > STATEMENT_CHARACTERS:
            yield part
            part, characters = [], 0
        part.append(name)
        characters += len(by_name[name].text)
    if part:
        yield part


async def _stored(
    connection: DriverConnection, tables: EmbeddedTable, by_name: dict[str, ItemDraft], *, principal: Principal
) -> tuple[dict[str, _Stored], list[str]]:
    """Return the readable stored items of these names, and the names of hidden ones."""
    readable = visibility(principal, alias="i")
    rows = [_row(name, draft, None) for name, draft in by_name.items()]
    cursor = await connection.execute(*readable.bind(FIND_STORED, table=tables.items, items=Jsonb(rows)))
    stored, hidden = {}, []
    for external_id, occurred_at, may_read, equal in await cursor.fetchall():
        if may_read:
            stored[external_id] = _Stored(occurred_at, equal)
        else:
            hidden.append(external_id)
    return stored, hidden


async def _upsert(
    connection: DriverConnection, tables: EmbeddedTable, rows: list[dict[str, object]], *, principal: Principal
) -> dict[str, IngestStatus]:
    readable = visibility(principal, alias="i")
    cursor = await connection.execute(*readable.bind(UPSERT, table=tables.items, items=Jsonb(rows)))
    written = await cursor.fetchall()
    if len(written) < len(rows):
        # a concurrent writer left an equal item, or one that the principal may not replace
        left = sorted({str(row["external_id"]) for row in rows} - {row[1] for row in written})
        cursor = await connection.execute(*readable.bind(COUNT_UNREADABLE, table=tables.items, external_ids=left))
        if (await cursor.fetchall())[0][0]:
            raise _taken()
    await enqueue_items(connection, tables, [row[0] for row in written])
    return {name: IngestStatus.CREATED if created else IngestStatus.UPDATED for _, name, created in written}


def _row(external_id: str, draft: ItemDraft, stored: _Stored | None) -> dict[str, object]:
    kept = stored.occurred_at.isoformat() if stored else None
    attributes = attribute_values(draft.attributes)
    return attributes | {
        "external_id": external_id,
        "text": draft.text,
        "occurred_at": attributes["occurred_at"] or kept,
        "session": draft.session,
        "speaker": draft.speaker,
        "entities": list(draft.entities),
        "content_hash": f"\\x{content_hash(speaker=draft.speaker, text=draft.text).hex()}",
    }


def _taken() -> ConflictError:
    return ConflictError(
        "The external_id is taken by an item that you may not replace.",
        field="external_id",
        remedy="Choose another external_id.",
    )

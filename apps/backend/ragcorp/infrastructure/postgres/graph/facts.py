"""Writes of facts: set-based statements inside the caller's transaction."""

import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from psycopg.types.json import Jsonb

from ragcorp.domain.documents import IngestStatus, SaveOutcome, WriteFailure, WriteOutcome
from ragcorp.domain.exceptions import InvalidInputError, NotFoundError, RagcorpError
from ragcorp.domain.graph import MADE_FACT_NAME, FactDraft, Provenance, Readers, fact_name
from ragcorp.domain.principal import Principal
from ragcorp.infrastructure.postgres.connections.database import DriverConnection
from ragcorp.infrastructure.postgres.graph.ends import SETTINGS, End, resolved
from ragcorp.infrastructure.postgres.graph.entities import drop_unnamed, not_given, readers_stay, taken
from ragcorp.infrastructure.postgres.tables.attributes import attribute_values
from ragcorp.infrastructure.postgres.visibility.graph import readable_facts
from ragcorp.infrastructure.postgres.visibility.predicates import visibility

LOCATE = """
    SELECT sent.place, d.id, c.id, c.chunk_index, d.sensitivity, d.visibility_scope, d.owner
    FROM jsonb_to_recordset(%(rows)s) AS sent (place integer, document text, chunk_index integer, chunk_id bigint)
    LEFT JOIN chunks named ON named.id = sent.chunk_id AND named.workspace = %(workspace)s
    JOIN documents d ON d.deleted_at IS NULL AND {visible}
     AND (d.external_id = sent.document OR d.id = named.document_id)
    LEFT JOIN chunks c ON c.document_id = d.id AND (c.chunk_index = sent.chunk_index OR c.id = sent.chunk_id)
"""

LOCK = """
    SELECT f.external_id, f.subject_id, f.object_id, ({readable}) IS TRUE, f.sensitivity, f.visibility_scope, f.owner
    FROM facts f
    WHERE f.workspace = %(workspace)s AND f.external_id = ANY(%(external_ids)s)
    ORDER BY f.external_id
    FOR UPDATE
"""

GIVE_WAY = """
    UPDATE facts SET external_id = sent.other
    FROM jsonb_to_recordset(%(rows)s) AS sent (external_id text, other text)
    WHERE facts.workspace = %(workspace)s AND facts.external_id = sent.external_id
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
class _Existing:
    subject_id: int
    object_id: int
    readable: bool
    readers: Readers


@dataclass(frozen=True, slots=True)
class Place:
    """Where a fact is from."""

    document_id: UUID | None = None
    chunk_id: int | None = None
    chunk_index: int | None = None
    readers: Readers | None = None
    """Of the document."""


async def save_facts(
    connection: DriverConnection, drafts: Sequence[FactDraft], *, principal: Principal
) -> list[SaveOutcome]:
    """Create or replace the facts, in the order of ``drafts``; the last draft of an external_id wins.

    One whose entity or provenance does not exist, or whose external_id, of the caller's own, is taken by a fact that
    the principal may not read, is refused; the others are stored.
    """
    await connection.execute(SETTINGS)
    places = await _located(connection, drafts, principal=principal)
    usable = [number for number in range(len(drafts)) if not isinstance(places[number], WriteFailure)]
    ends = await resolved(
        connection,
        [drafts[number] for number in usable],
        [place.readers for place in places if isinstance(place, Place)],
        principal=principal,
    )
    outcomes: dict[int, SaveOutcome] = {
        number: place for number, place in enumerate(places) if isinstance(place, WriteFailure)
    }
    rows: dict[int, dict[str, object]] = {}
    made: dict[int, str] = {}
    for number, pair in zip(usable, ends, strict=True):
        place = places[number]
        if isinstance(pair, WriteFailure):
            outcomes[number] = pair
        elif isinstance(place, Place):
            rows[number] = fact_row(drafts[number], *pair, place)
            made[number] = made_name(drafts[number], *pair, place)
    readers = [Readers.of(draft.attributes) for draft in drafts]
    for numbers in _rounds(rows):
        sent = {number: rows[number] for number in numbers}
        outcomes |= await _store(connection, sent, readers, made, principal=principal)
    return [outcomes[number] for number in range(len(drafts))]


def fact_row(
    draft: FactDraft, subject: End, target: End, place: Place, *, extracted: bool = False
) -> dict[str, object]:
    """Return the columns of a fact as JSON carries them."""
    return attribute_values(draft.attributes) | {
        "external_id": draft.external_id or made_name(draft, subject, target, place),
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


def made_name(draft: FactDraft, subject: End, target: End, place: Place) -> str:
    return fact_name(
        subject=subject.external_id,
        predicate=draft.predicate,
        object=target.external_id,
        valid_from=draft.valid_from,
        document_id=place.document_id,
        chunk_index=place.chunk_index,
        readers=Readers.of(draft.attributes),
    )


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
    connection: DriverConnection,
    rows: Mapping[int, Mapping[str, object]],
    readers: Sequence[Readers],
    made: Mapping[int, str],
    *,
    principal: Principal,
) -> dict[int, SaveOutcome]:
    readable = readable_facts(principal)
    cursor = await connection.execute(
        LOCK.format(readable=readable.sql),
        readable.values | {"external_ids": sorted(str(row["external_id"]) for row in rows.values())},
    )
    stored = {row[0]: _Existing(row[1], row[2], row[3], Readers.named(*row[4:])) for row in await cursor.fetchall()}
    existing = {name: one for name, one in stored.items() if one.readable}
    outcomes: dict[int, SaveOutcome] = {}
    sent: dict[str, Mapping[str, object]] = {}
    for number, row in rows.items():
        name = str(row["external_id"])
        error = _objection(name, readers[number], stored.get(name), made=name == made[number])
        if error is None:
            sent[name] = row
        else:
            outcomes[number] = WriteFailure(error=error)
    hidden = [name for name in stored.keys() - existing.keys() if name in sent]
    if hidden:
        ways = [{"external_id": name, "other": f"fact:{secrets.token_hex(16)}"} for name in hidden]
        await connection.execute(GIVE_WAY, {"workspace": principal.workspace, "rows": Jsonb(ways)})
    visible = visibility(principal, alias="facts")
    changed = await upsert(connection, list(sent.values()), replaceable=visible.sql, values=visible.values)
    left = {end for name in changed & existing.keys() for end in (existing[name].subject_id, existing[name].object_id)}
    await drop_unnamed(connection, sorted(left))
    for number, row in rows.items():
        name = str(row["external_id"])
        if number not in outcomes:
            status = IngestStatus.UPDATED if name in existing else IngestStatus.CREATED
            outcomes[number] = WriteOutcome(
                external_id=name, status=status if name in changed else IngestStatus.UNCHANGED
            )
    return outcomes


def _objection(name: str, readers: Readers, stored: _Existing | None, *, made: bool) -> RagcorpError | None:
    """Return why a fact may not be stored under its name, if so: as of entities."""
    is_made = MADE_FACT_NAME.fullmatch(name) is not None
    if stored is None or not stored.readable:
        if is_made and not made:
            return not_given("external_id")
        return taken("a fact") if stored is not None and not is_made else None
    if is_made and stored.readers != readers:
        return readers_stay("fact")
    return None


async def _located(
    connection: DriverConnection, drafts: Sequence[FactDraft], *, principal: Principal
) -> list[Place | WriteFailure]:
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
    stored: dict[int, Place] = {}
    if sent:
        visible = visibility(principal, alias="d")
        cursor = await connection.execute(LOCATE.format(visible=visible.sql), visible.values | {"rows": Jsonb(sent)})
        stored = {row[0]: Place(row[1], row[2], row[3], Readers.named(*row[4:])) for row in await cursor.fetchall()}
    return [
        Place() if draft.provenance is None else _checked(draft.provenance, stored.get(number))
        for number, draft in enumerate(drafts)
    ]


def _checked(provenance: Provenance, place: Place | None) -> Place | WriteFailure:
    if place is None:
        field = "document" if provenance.document is not None else "chunk_id"
        return WriteFailure(
            error=InvalidInputError(
                "provenance names nothing that is stored.",
                field=f"provenance.{field}",
                remedy="Ingest the document first, or leave provenance out.",
            )
        )
    if place.chunk_id is None and provenance.chunk_index is not None:
        return WriteFailure(
            error=InvalidInputError(
                "The document has no such chunk.",
                field="provenance.chunk_index",
                remedy="Count chunks from 0, or leave chunk_index out.",
            )
        )
    return place

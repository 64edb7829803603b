"""Writes of facts: set-based statements inside the caller's transaction."""

import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from psycopg.types.json import Jsonb

from ragcorp.domain.documents import IngestStatus, SaveOutcome, WriteFailure, WriteOutcome
from ragcorp.domain.exceptions import InvalidInputError, NotFoundError, RagcorpError
from ragcorp.domain.graph import MADE_FACT_NAME, FactDraft, Provenance, Readers, fact_name
from ragcorp.domain.principal import Principal
from ragcorp.infrastructure.postgres.connections.database import DriverConnection
from ragcorp.infrastructure.postgres.graph.ends import SETTINGS, End, resolve_ends
from ragcorp.infrastructure.postgres.graph.entities import drop_unnamed, readers_stay, reserved_form, taken
from ragcorp.infrastructure.postgres.tables.attributes import attribute_values
from ragcorp.infrastructure.postgres.visibility.graph import readable_facts
from ragcorp.infrastructure.postgres.visibility.predicates import Predicate, visibility

LOCATE = """
    SELECT sent.index, d.id, c.id, c.chunk_index, d.sensitivity, d.visibility_scope, d.owner
    FROM jsonb_to_recordset(%(rows)s) AS sent (index integer, document text, chunk_index integer, chunk_id bigint)
    LEFT JOIN chunks named ON named.id = sent.chunk_id AND named.workspace = %(workspace)s
    JOIN documents d ON d.deleted_at IS NULL AND {condition}
     AND (d.external_id = sent.document OR d.id = named.document_id)
    LEFT JOIN chunks c ON c.document_id = d.id AND (c.chunk_index = sent.chunk_index OR c.id = sent.chunk_id)
"""

LOCK = """
    SELECT f.external_id, f.subject_id, f.object_id, ({condition}) IS TRUE, f.sensitivity, f.visibility_scope, f.owner
    FROM facts f
    WHERE f.workspace = %(workspace)s AND f.external_id = ANY(%(external_ids)s)
    ORDER BY f.external_id
    FOR UPDATE
"""

RENAME = """
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
    WHERE {{condition}}
      AND ({", ".join(f"facts.{name}" for name in NAMES)})
          IS DISTINCT FROM ({", ".join(f"excluded.{name}" for name in NAMES)})
    RETURNING external_id
"""

DELETE_ONE = """
    DELETE FROM facts f WHERE f.external_id = %(external_id)s AND {condition} RETURNING f.subject_id, f.object_id
"""


@dataclass(frozen=True, slots=True)
class _Existing:
    subject_id: int
    object_id: int
    readable: bool
    readers: Readers


@dataclass(frozen=True, slots=True)
class Source:
    """The chunk or document of a fact; ``readers`` are the document's."""

    document_id: UUID | None = None
    chunk_id: int | None = None
    chunk_index: int | None = None
    readers: Readers | None = None


async def save_facts(
    connection: DriverConnection, drafts: Sequence[FactDraft], *, principal: Principal
) -> list[SaveOutcome]:
    """Create or replace the facts, in the order of ``drafts``; the last draft of an external_id wins.

    Refused are drafts whose entity or provenance does not exist, or whose chosen external_id belongs to a fact that
    the principal may not read; the others are stored.
    """
    await connection.execute(SETTINGS)
    sources = await _sources(connection, drafts, principal=principal)
    outcomes: dict[int, SaveOutcome] = {}
    usable: dict[int, Source] = {}
    for number, source in enumerate(sources):
        if isinstance(source, WriteFailure):
            outcomes[number] = source
        else:
            usable[number] = source
    ends = await resolve_ends(
        connection,
        [drafts[number] for number in usable],
        [source.readers for source in usable.values()],
        principal=principal,
    )
    rows: dict[int, dict[str, object]] = {}
    derived: dict[int, str] = {}
    for (number, source), pair in zip(usable.items(), ends, strict=True):
        if isinstance(pair, WriteFailure):
            outcomes[number] = pair
        else:
            rows[number] = fact_row(drafts[number], *pair, source)
            derived[number] = _derived_id(drafts[number], *pair, source)
    readers = [Readers.of(draft.attributes) for draft in drafts]
    for numbers in _rounds(rows):
        round_rows = {number: rows[number] for number in numbers}
        outcomes |= await _store(connection, round_rows, readers, derived, principal=principal)
    return [outcomes[number] for number in range(len(drafts))]


def fact_row(
    draft: FactDraft, subject: End, target: End, source: Source, *, extracted: bool = False
) -> dict[str, object]:
    """Return the columns of a fact as JSON carries them."""
    return attribute_values(draft.attributes) | {
        "external_id": draft.external_id or _derived_id(draft, subject, target, source),
        "subject_id": subject.id,
        "object_id": target.id,
        "predicate": draft.predicate,
        "weight": draft.weight,
        "valid_from": draft.valid_from.isoformat() if draft.valid_from else None,
        "valid_to": draft.valid_to.isoformat() if draft.valid_to else None,
        "document_id": str(source.document_id) if source.document_id else None,
        "chunk_id": source.chunk_id,
        "extracted": extracted,
        "quote": draft.quote,
    }


def _derived_id(draft: FactDraft, subject: End, target: End, source: Source) -> str:
    return fact_name(
        subject=subject.external_id,
        predicate=draft.predicate,
        object=target.external_id,
        valid_from=draft.valid_from,
        document_id=source.document_id,
        chunk_index=source.chunk_index,
        readers=Readers.of(draft.attributes),
    )


async def upsert(
    connection: DriverConnection, rows: Iterable[Mapping[str, object]], *, replaceable: Predicate
) -> set[str]:
    """Write rows of different external_ids; return the external_ids of rows that are new or changed."""
    cursor = await connection.execute(*replaceable.bind(UPSERT, rows=Jsonb([dict(row) for row in rows])))
    return {row[0] for row in await cursor.fetchall()}


async def delete_fact(connection: DriverConnection, external_id: str, *, principal: Principal) -> None:
    """Raises NotFoundError."""
    cursor = await connection.execute(*readable_facts(principal).bind(DELETE_ONE, external_id=external_id))
    row = await cursor.fetchone()
    if row is None:
        raise NotFoundError("There is no such fact.", field="external_id")
    await drop_unnamed(connection, sorted(set(row)))


def _rounds(rows: Mapping[int, Mapping[str, object]]) -> Iterator[list[int]]:
    """Yield the numbers so that no round has an external_id twice: one statement cannot write a row two times."""
    pending = list(rows)
    while pending:
        first_of_name: dict[object, int] = {}
        for number in pending:
            first_of_name.setdefault(rows[number]["external_id"], number)
        yield list(first_of_name.values())
        pending = [number for number in pending if number not in set(first_of_name.values())]


async def _store(
    connection: DriverConnection,
    rows: Mapping[int, Mapping[str, object]],
    readers: Sequence[Readers],
    derived: Mapping[int, str],
    *,
    principal: Principal,
) -> dict[int, SaveOutcome]:
    external_ids = sorted(str(row["external_id"]) for row in rows.values())
    cursor = await connection.execute(*readable_facts(principal).bind(LOCK, external_ids=external_ids))
    stored = {row[0]: _Existing(row[1], row[2], row[3], Readers.named(*row[4:])) for row in await cursor.fetchall()}
    existing = {name: fact for name, fact in stored.items() if fact.readable}
    outcomes: dict[int, SaveOutcome] = {}
    sent: dict[str, Mapping[str, object]] = {}
    for number, row in rows.items():
        name = str(row["external_id"])
        error = _refusal(name, readers[number], stored.get(name), derived=name == derived[number])
        if error is None:
            sent[name] = row
        else:
            outcomes[number] = WriteFailure(error=error)
    hidden = [name for name in stored.keys() - existing.keys() if name in sent]
    if hidden:
        renamed = [{"external_id": name, "other": f"fact:{secrets.token_hex(16)}"} for name in hidden]
        await connection.execute(RENAME, {"workspace": principal.workspace, "rows": Jsonb(renamed)})
    changed = await upsert(connection, sent.values(), replaceable=visibility(principal, alias="facts"))
    left = {end for name in changed & existing.keys() for end in (existing[name].subject_id, existing[name].object_id)}
    await drop_unnamed(connection, sorted(left))
    for number, row in rows.items():
        name = str(row["external_id"])
        if number not in outcomes:
            status = IngestStatus.UNCHANGED
            if name in changed:
                status = IngestStatus.UPDATED if name in existing else IngestStatus.CREATED
            outcomes[number] = WriteOutcome(external_id=name, status=status)
    return outcomes


def _refusal(name: str, readers: Readers, stored: _Existing | None, *, derived: bool) -> RagcorpError | None:
    """Return the error that refuses the draft, or None, by the rules for entities."""
    looks_derived = MADE_FACT_NAME.fullmatch(name) is not None
    if stored is None or not stored.readable:
        if looks_derived and not derived:
            return reserved_form()
        return taken("a fact") if stored is not None and not looks_derived else None
    if looks_derived and stored.readers != readers:
        return readers_stay("fact")
    return None


async def _sources(
    connection: DriverConnection, drafts: Sequence[FactDraft], *, principal: Principal
) -> list[Source | WriteFailure]:
    sent = [
        {
            "index": number,
            "document": draft.provenance.document,
            "chunk_index": draft.provenance.chunk_index,
            "chunk_id": draft.provenance.chunk_id and int(draft.provenance.chunk_id),
        }
        for number, draft in enumerate(drafts)
        if draft.provenance is not None
    ]
    stored: dict[int, Source] = {}
    if sent:
        cursor = await connection.execute(*visibility(principal, alias="d").bind(LOCATE, rows=Jsonb(sent)))
        stored = {row[0]: Source(row[1], row[2], row[3], Readers.named(*row[4:])) for row in await cursor.fetchall()}
    return [
        Source() if draft.provenance is None else _checked(draft.provenance, stored.get(number))
        for number, draft in enumerate(drafts)
    ]


def _checked(provenance: Provenance, source: Source | None) -> Source | WriteFailure:
    if source is None:
        field = "document" if provenance.document is not None else "chunk_id"
        error = InvalidInputError(
            "provenance refers to nothing that is stored.",
            field=f"provenance.{field}",
            remedy="Ingest the document first, or leave provenance out.",
        )
    elif source.chunk_id is None and provenance.chunk_index is not None:
        error = InvalidInputError(
            "The document has no such chunk.",
            field="provenance.chunk_index",
            remedy="Count chunks from 0, or leave chunk_index out.",
        )
    else:
        return source
    return WriteFailure(error=error)

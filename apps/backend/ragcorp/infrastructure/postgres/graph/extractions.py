"""The port ExtractionStore over PostgreSQL."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from functools import partial
from typing import Any

from psycopg.rows import TupleRow
from psycopg.types.json import Jsonb

from ragcorp.domain.documents import DocumentAttributes, WriteFailure
from ragcorp.domain.exceptions import NotFoundError
from ragcorp.domain.extraction import ExtractedFact, Extraction, ExtractionTask, ExtractorVersion
from ragcorp.domain.graph import FACT, EntityReference, FactDraft
from ragcorp.domain.principal import Principal
from ragcorp.infrastructure.postgres.connections.database import Database, DriverConnection
from ragcorp.infrastructure.postgres.graph import facts as graph_facts
from ragcorp.infrastructure.postgres.graph.ends import resolve_ends
from ragcorp.infrastructure.postgres.graph.entities import drop_unnamed
from ragcorp.infrastructure.postgres.tables.attributes import read_attributes
from ragcorp.infrastructure.postgres.visibility.predicates import Predicate, visibility

READABLE_DOCUMENT = """
    SELECT d.id FROM documents d WHERE d.external_id = %(document)s AND d.deleted_at IS NULL AND {condition}
"""

PENDING = """
    FROM chunks c
    WHERE {condition} AND c.id > %(after)s AND (%(document_id)s::uuid IS NULL OR c.document_id = %(document_id)s)
      AND NOT EXISTS (
          SELECT FROM extracted_chunks x
          WHERE x.chunk_id = c.id AND x.model = %(model)s AND x.prompt_version = %(prompt_version)s)
"""

COUNT = f"SELECT count(*) {PENDING}"

TASKS = f"""
    SELECT pending.*, cached.answer, cached.dropped
    FROM (
        SELECT c.id, c.document_id, c.content_hash, c.title, c.content
        {PENDING}
        ORDER BY c.id
        LIMIT %(limit)s) pending
    LEFT JOIN fact_extractions cached
      ON cached.workspace = %(workspace)s AND cached.content_hash = pending.content_hash AND cached.model = %(model)s
     AND cached.prompt_version = %(prompt_version)s
    ORDER BY pending.id
"""

LOCK_DOCUMENT = "SELECT FROM documents WHERE id = %(document_id)s FOR KEY SHARE"
"""Comes first, as in a swap of the document's chunks, so that the two never deadlock."""

LOCK_CHUNK = f"""
    SELECT c.document_id, c.chunk_index, c.language, '{FACT}', c.sensitivity, c.visibility_scope, c.owner
    FROM chunks c JOIN documents d ON d.id = c.document_id
    WHERE c.id = %(chunk_id)s AND c.content_hash = %(content_hash)s AND {{condition}}
    FOR KEY SHARE OF c
"""

REMEMBER = """
    INSERT INTO fact_extractions (workspace, content_hash, model, prompt_version, answer, dropped)
    VALUES (%(workspace)s, %(content_hash)s, %(model)s, %(prompt_version)s, %(answer)s, %(dropped)s)
    ON CONFLICT DO NOTHING
"""

DONE = """
    INSERT INTO extracted_chunks (chunk_id, workspace, model, prompt_version)
    VALUES (%(chunk_id)s, %(workspace)s, %(model)s, %(prompt_version)s)
    ON CONFLICT (chunk_id) DO UPDATE SET model = excluded.model, prompt_version = excluded.prompt_version
"""

REMOVE_OTHERS = """
    DELETE FROM facts
    WHERE chunk_id = %(chunk_id)s AND extracted AND NOT external_id = ANY(%(kept)s)
    RETURNING subject_id, object_id
"""

REMOVE_STALE = """
    DELETE FROM facts f
    WHERE f.workspace = %(workspace)s AND f.extracted AND f.chunk_id IS NULL AND {condition}
    RETURNING f.subject_id, f.object_id
"""

FORGET = """
    DELETE FROM fact_extractions x
    WHERE x.workspace = %(workspace)s
      AND NOT EXISTS (
          SELECT FROM chunks c WHERE c.workspace = %(workspace)s AND c.content_hash = x.content_hash)
"""
"""An answer quotes its text, so it is deleted when no chunk has that text."""

UNNAMED = """
    SELECT e.id FROM entities e
    WHERE e.workspace = %(workspace)s AND NOT e.declared
      AND NOT EXISTS (SELECT FROM facts f WHERE f.subject_id = e.id)
      AND NOT EXISTS (SELECT FROM facts f WHERE f.object_id = e.id)
"""
"""Entities whose facts went with their documents."""


_dumps = partial(json.dumps, default=datetime.isoformat)


class PostgresExtractionStore:
    """Tasks from ``chunks``, results into ``facts``; ``fact_extractions`` has a model's answers by text."""

    def __init__(self, *, database: Database) -> None:
        self._database = database

    async def waiting(
        self, version: ExtractorVersion, *, principal: Principal, document: str | None, limit: int, after: int = 0
    ) -> list[ExtractionTask]:
        selected = await self._selected(version, principal, document)
        rows = await self._database.fetch(
            *selected.bind(TASKS, limit=limit, after=after), workspace=principal.workspace
        )
        return [
            ExtractionTask(
                chunk_id=row[0],
                document_id=row[1],
                content_hash=bytes(row[2]),
                title=row[3],
                content=row[4],
                cached=None if row[5] is None else Extraction(facts=_read(row[5]), dropped=row[6]),
            )
            for row in rows
        ]

    async def count_waiting(self, version: ExtractorVersion, *, principal: Principal, document: str | None) -> int:
        selected = await self._selected(version, principal, document)
        ((count,),) = await self._database.fetch(*selected.bind(COUNT, after=0), workspace=principal.workspace)
        return int(count)

    async def store(
        self, task: ExtractionTask, extraction: Extraction, *, version: ExtractorVersion, principal: Principal
    ) -> int:
        source: dict[str, Any] = {"chunk_id": task.chunk_id, "content_hash": task.content_hash}
        answer = Jsonb([asdict(fact) for fact in extraction.facts], dumps=_dumps)
        values = source | asdict(version) | {"workspace": principal.workspace}
        async with self._database.transaction(principal.workspace) as connection:
            await connection.execute(LOCK_DOCUMENT, {"document_id": task.document_id})
            cursor = await connection.execute(*visibility(principal).bind(LOCK_CHUNK, **source))
            chunk = await cursor.fetchone()
            if chunk is None:
                return 0
            await connection.execute(REMEMBER, values | {"answer": answer, "dropped": extraction.dropped})
            await connection.execute(DONE, values)
            return await _replace(connection, task.chunk_id, chunk, extraction, principal=principal)

    async def remove_stale(self, *, principal: Principal) -> int:
        async with self._database.transaction(principal.workspace) as connection:
            cursor = await connection.execute(*visibility(principal, alias="f").bind(REMOVE_STALE))
            gone = await cursor.fetchall()
            await connection.execute(FORGET, {"workspace": principal.workspace})
            cursor = await connection.execute(UNNAMED, {"workspace": principal.workspace})
            await drop_unnamed(connection, sorted(row[0] for row in await cursor.fetchall()))
        return len(gone)

    async def _selected(self, version: ExtractorVersion, principal: Principal, document: str | None) -> Predicate:
        document_id = None
        if document is not None:
            readable = visibility(principal, alias="d").bind(READABLE_DOCUMENT, document=document)
            rows = await self._database.fetch(*readable, workspace=principal.workspace)
            if not rows:
                raise NotFoundError("There is no such document.", field="document")
            ((document_id,),) = rows
        return visibility(principal) & Predicate(values=asdict(version) | {"document_id": document_id})


async def _replace(
    connection: DriverConnection, chunk_id: int, chunk: TupleRow, extraction: Extraction, *, principal: Principal
) -> int:
    document_id, chunk_index, *columns = chunk
    attributes = read_attributes([*columns, None, {}])
    drafts = [_draft(fact, attributes) for fact in extraction.facts]
    source = graph_facts.Source(document_id, chunk_id, chunk_index)
    ends = await resolve_ends(connection, drafts, [None] * len(drafts), principal=principal) if drafts else []
    rows = [
        graph_facts.fact_row(draft, *pair, source, extracted=True)
        for draft, pair in zip(drafts, ends, strict=True)
        if not isinstance(pair, WriteFailure)
    ]
    by_name = {str(row["external_id"]): row for row in rows}
    replaceable = Predicate.of("facts.extracted", workspace=principal.workspace)
    await graph_facts.upsert(connection, by_name.values(), replaceable=replaceable)
    cursor = await connection.execute(REMOVE_OTHERS, {"chunk_id": chunk_id, "kept": list(by_name)})
    await drop_unnamed(connection, sorted({end for pair in await cursor.fetchall() for end in pair}))
    return len(by_name)


def _draft(fact: ExtractedFact, attributes: DocumentAttributes) -> FactDraft:
    return FactDraft(
        subject=EntityReference(name=fact.subject, kind=fact.subject_kind, field="subject"),
        object=EntityReference(name=fact.object, kind=fact.object_kind, field="object"),
        predicate=fact.predicate,
        attributes=attributes,
        valid_from=fact.valid_from,
        valid_to=fact.valid_to,
        quote=fact.quote,
    )


def _read(answer: Sequence[dict[str, Any]]) -> tuple[ExtractedFact, ...]:
    return tuple(
        ExtractedFact(**stored | {"valid_from": _moment(stored["valid_from"]), "valid_to": _moment(stored["valid_to"])})
        for stored in answer
    )


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)

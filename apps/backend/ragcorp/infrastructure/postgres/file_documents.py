"""The port FileDocuments: which files are documents of ours, and which of their chunks holds given lines."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

from psycopg.rows import TupleRow
from psycopg.types.json import Jsonb

from ragcorp.domain.files import ChunkPlace
from ragcorp.domain.filters import Filters
from ragcorp.domain.ports.file_search import FileLines, KnownLines
from ragcorp.domain.principal import Principal
from ragcorp.domain.retrieval import CHUNK_COLLECTION
from ragcorp.infrastructure.postgres import candidate_statements
from ragcorp.infrastructure.postgres.collection_rows import ARTIFACTS
from ragcorp.infrastructure.postgres.database import Database
from ragcorp.infrastructure.postgres.positional import execute
from ragcorp.infrastructure.postgres.predicates import visibility

MAX_MATCHED = 200
"""Matched lines, and different matched texts, by which a passage's chunk is looked for."""

SEARCHED_CHUNKS = 400
"""Chunks of a document that are looked through, from its beginning, where their lines are not the file's."""

LINES_KEPT = "(starts_with(d.media_type, 'text/') AND d.media_type NOT IN ('text/html', 'text/csv'))"
"""Plain text, Markdown and code are stored line by line; other formats are converted."""

_FORMS: tuple[Literal["NFC", "NFD"], ...] = ("NFC", "NFD")


@lru_cache(maxsize=64)
def known_lines(*, visible: str, passing: str) -> str:
    """Return the statement: one row for each of ``given`` of which a document is stored.

    Columns: number, whether all documents of its ``spellings`` may be read, whether there is one of its ``names``,
    whether all of these pass, and the chunk of the first: id, document id, index, or nulls. Values: those of the
    conditions over ``documents d``, and ``given``, an array of objects.
    """
    return f"""
        WITH given AS MATERIALIZED (
            SELECT * FROM jsonb_to_recordset(%(given)s::jsonb)
                AS g (number integer, names text[], spellings text[],
                      line_start integer, line_end integer, lines integer[], texts text[])),
        spelt AS MATERIALIZED (
            SELECT g.number, name, name = ANY (g.names) AS own FROM given g CROSS JOIN unnest(g.spellings) AS name),
        stored AS MATERIALIZED (
            SELECT d.id, d.external_id, d.path, {LINES_KEPT} AS lines_kept,
                   ({visible}) IS TRUE AS readable, ({passing}) IS TRUE AS passes
            FROM (SELECT DISTINCT name FROM spelt) AS names
            CROSS JOIN LATERAL (
                -- a range and its order: to a plan that is made over few rows every index by workspace looks as good
                SELECT * FROM documents
                WHERE workspace = %(workspace)s AND md5(path) BETWEEN md5(names.name) AND md5(names.name)
                  AND path = names.name AND deleted_at IS NULL
                ORDER BY md5(path) OFFSET 0) AS d),
        known AS MATERIALIZED (
            SELECT n.number, bool_and(s.readable) AS readable, bool_and(s.passes) FILTER (WHERE n.own) AS passes,
                   (array_agg(s.id ORDER BY s.external_id, s.id) FILTER (WHERE n.own))[1] AS document_id,
                   (array_agg(s.lines_kept ORDER BY s.external_id, s.id) FILTER (WHERE n.own))[1] AS lines_kept
            FROM spelt n JOIN stored s ON s.path = n.name
            GROUP BY n.number)
        SELECT k.number, k.readable, k.document_id IS NOT NULL, coalesce(k.passes, true),
               best.id, best.document_id, best.chunk_index
        FROM known k JOIN given g USING (number)
        LEFT JOIN LATERAL (
            SELECT c.id, c.document_id, c.chunk_index
            FROM (
                SELECT * FROM chunks
                WHERE document_id = k.document_id AND CASE WHEN k.lines_kept
                    THEN line_start <= g.line_end AND line_end >= g.line_start
                    ELSE chunk_index < {SEARCHED_CHUNKS} END OFFSET 0) AS c
            CROSS JOIN LATERAL (
                SELECT count(*) AS lines FROM unnest(g.lines) AS line
                WHERE k.lines_kept AND line BETWEEN c.line_start AND c.line_end) AS matched
            CROSS JOIN LATERAL (
                SELECT count(*) FILTER (WHERE strpos(lower(c.content), lower(text)) > 0) AS texts, count(*) AS every
                FROM unnest(g.texts) AS text) AS held
            WHERE k.readable AND k.passes AND cardinality(g.texts) > 0 AND held.texts > 0
              AND CASE WHEN k.lines_kept THEN matched.lines > 0 ELSE held.texts = held.every END
            ORDER BY held.texts DESC, matched.lines DESC, c.chunk_index
            LIMIT 1) AS best ON true"""


class PostgresFileDocuments:
    """One statement a call. Of several documents of one path the first by ``external_id`` gives the chunk.

    A file is withheld also for a document of its path below any root: the first name is taken for ``root/relative``,
    and which root a relative path came from nobody knows. Names are known in both forms of Unicode.
    The chunk overlaps the lines, holds a matched one and the most of the matched texts; then the most matched lines,
    then the smaller index. Where the lines of the text are not the file's, it holds all the texts.
    """

    def __init__(self, *, database: Database) -> None:
        self._database = database

    async def known(
        self, lines: Sequence[FileLines], *, principal: Principal, filters: Filters = ()
    ) -> list[KnownLines]:
        if not lines:
            return []
        visible = visibility(principal, alias=ARTIFACTS.alias)
        passing = ARTIFACTS.passing(principal, filters, place=0, collection=CHUNK_COLLECTION)
        statement = known_lines(visible=visible.sql, passing="false" if passing is None else passing.sql)
        values = visible.values | ({} if passing is None else passing.values)
        values["given"] = Jsonb([_given(number, each) for number, each in enumerate(lines)])

        async def work() -> list[TupleRow]:
            async with self._database.autocommit() as connection:
                async with connection.pipeline():
                    await connection.execute(candidate_statements.SETTINGS, prepare=True)
                    cursor = await execute(connection, statement, values)
                return await cursor.fetchall()

        found = {number: rest for number, *rest in await self._database.read(work)}
        return [_known(found[number]) if number in found else KnownLines() for number in range(len(lines))]


def _given(number: int, lines: FileLines) -> dict[str, object]:
    # as text is stored: in NFC, without NUL
    texts = dict.fromkeys(unicodedata.normalize("NFC", text).replace("\x00", "") for text in lines.matched_texts)
    names = _spellings(lines.names)
    below_any_root = [name.partition("/")[2] for name in lines.names[:1]]
    return {
        "number": number,
        "names": names,
        "spellings": list(dict.fromkeys((*names, *_spellings(below_any_root)))),
        "line_start": lines.line_start,
        "line_end": lines.line_end,
        "lines": lines.matched_lines[:MAX_MATCHED],
        "texts": [text for text in texts if text][:MAX_MATCHED],
    }


def _spellings(names: Sequence[str]) -> list[str]:
    storable = [name for name in names if name and "\x00" not in name]
    return list(dict.fromkeys((*storable, *(unicodedata.normalize(form, n) for form in _FORMS for n in storable))))


def _known(row: Sequence[object]) -> KnownLines:
    readable, is_document, passes, chunk_id, document_id, chunk_index = row
    if not readable:
        return KnownLines(readable=False)
    return KnownLines(
        document=bool(is_document),
        passes=bool(passes),
        chunk=(
            ChunkPlace(chunk_id=str(chunk_id), document_id=str(document_id), chunk_index=int(str(chunk_index)))
            if chunk_id is not None
            else None
        ),
    )

"""The port FileDocuments over PostgreSQL: the stored documents of files, and the chunks of their lines."""

import html
import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from psycopg.types.json import Jsonb

from ragcorp.domain.files.values import ChunkPlace
from ragcorp.domain.filters import Filters
from ragcorp.domain.ports.file_search import FileLines, StoredLines
from ragcorp.domain.principal import Principal
from ragcorp.domain.retrieval import CHUNK_COLLECTION
from ragcorp.infrastructure.postgres.collections import candidate_statements
from ragcorp.infrastructure.postgres.connections.database import Database
from ragcorp.infrastructure.postgres.files.names import GIVEN, FileValues, PlaceOf, matched
from ragcorp.infrastructure.postgres.tables.collections import ARTIFACTS
from ragcorp.infrastructure.postgres.visibility.predicates import visibility

MAX_MATCHED = 200
"""Matched lines, and distinct matched texts, used to find the chunk of a passage."""

SEARCHED_CHUNKS = 400
"""Chunks searched in a document, from its beginning, if its lines differ from those of the file."""

LINES_KEPT = "(starts_with(d.media_type, 'text/') AND d.media_type NOT IN ('text/html', 'text/csv'))"
"""Plain text, Markdown and code are stored line by line; other formats are converted."""

CONVERTED_LINES = 5
"""Matched lines of a converted format that are searched in all those chunks."""

DISTINCTIVE = 60
"""Length from which a line is recognised even as a part of another."""

AS_LINES = r"E'\n' || regexp_replace(btrim(content, E' \t'), '[ \t]*\n[ \t]*', E'\n', 'g') || E'\n'"
"""A text in the form of ``_lines``: each line stripped, between line ends."""

AS_WORDS = r"' ' || regexp_replace(content, '[\x01-/:-@\[-`{-\x7f\xa0]+', ' ', 'g') || ' '"
"""A converted text in the form of ``_words``: words between single spaces."""

WHOLE = """(
    SELECT count(*) FROM unnest(CASE WHEN a.lines_kept THEN a.whole_lines ELSE a.whole_words END) AS line
    WHERE strpos(c.compared, line) > 0)"""

TEXTS = "(SELECT count(*) FROM unnest(a.folded_texts) AS text WHERE strpos(c.folded, text) > 0)"

_MARKUP = re.compile("<[^<>]*>")
_BETWEEN_WORDS = re.compile("[\x00-/:-@\\[-`{-\x7f\xa0]+")
_CLEANED = dict.fromkeys((0x00, 0xAD, 0x200B, 0x2060, 0xFEFF)) | {0x0B: " ", 0x0C: " "}


@lru_cache(maxsize=64)
def known_lines(*, visible: str, passing: str) -> str:
    """Return the statement: one row for each of ``given`` with a stored document.

    Columns: number, whether all matching documents are readable, whether one of them is the file's own, whether all
    own ones pass, and the chunk of the first own one: id, document id, index, or nulls. Values: those of ``matched``,
    and ``given``, an array of objects.
    """
    return f"""
        WITH given AS MATERIALIZED (
            SELECT * FROM jsonb_to_recordset(%(given)s::jsonb)
                AS g (number integer, {GIVEN}, line_start integer,
                      line_end integer, lines integer[], texts text[], whole_lines text[],
                      whole_words text[])),
        {matched(visible=visible, passing=passing, lines_kept=LINES_KEPT).strip()},
        known AS MATERIALIZED (
            SELECT number, bool_and(readable) AS readable, bool_and(passes) FILTER (WHERE own) AS passes,
                   (array_agg(id ORDER BY sure DESC, external_id, id) FILTER (WHERE own))[1] AS document_id,
                   (array_agg(lines_kept ORDER BY sure DESC, external_id, id) FILTER (WHERE own))[1] AS lines_kept,
                   bool_or(sure) AS sure
            FROM matched
            GROUP BY number),
        wanted AS MATERIALIZED (
            SELECT g.*, k.document_id, k.lines_kept, k.sure AS is_sure,
                   ARRAY(SELECT lower(text) FROM unnest(g.texts) AS text) AS folded_texts
            FROM known k JOIN given g USING (number)
            WHERE k.readable AND k.passes AND cardinality(g.texts) > 0),
        near AS MATERIALIZED (
            SELECT a.number, best.*
            FROM wanted a
            CROSS JOIN LATERAL (
                SELECT c.id, c.chunk_index, held.whole, held.texts, held.lines
                FROM (
                    SELECT id, chunk_index, line_start, line_end, {AS_LINES} AS compared, lower(content) AS folded
                    FROM chunks
                    WHERE document_id = a.document_id AND line_start <= a.line_end AND line_end >= a.line_start
                    OFFSET 0) AS c
                CROSS JOIN LATERAL (
                    SELECT {WHOLE} AS whole, {TEXTS} AS texts,
                           (SELECT count(*) FROM unnest(a.lines) AS line
                            WHERE line BETWEEN c.line_start AND c.line_end) AS lines) AS held
                WHERE held.whole > 0 OR (a.is_sure AND held.lines > 0 AND held.texts > 0)
                ORDER BY held.whole DESC, held.lines > 0 DESC, held.texts DESC, held.lines DESC, c.chunk_index
                LIMIT 1) AS best
            WHERE a.lines_kept),
        wide AS MATERIALIZED (
            SELECT DISTINCT ON (a.number) a.number, c.id, c.chunk_index, held.whole, held.texts, 0 AS lines
            FROM wanted a
            LEFT JOIN near n USING (number)
            JOIN (
                SELECT of.document_id, c.*
                FROM (
                    SELECT DISTINCT a.document_id, a.lines_kept FROM wanted a LEFT JOIN near n USING (number)
                    WHERE coalesce(n.whole, 0) = 0) AS of
                CROSS JOIN LATERAL (
                    SELECT id, chunk_index, lower(content) AS folded,
                           CASE WHEN of.lines_kept THEN {AS_LINES} ELSE {AS_WORDS} END AS compared
                    FROM chunks WHERE document_id = of.document_id AND chunk_index < {SEARCHED_CHUNKS}
                    OFFSET 0) AS c
                OFFSET 0) AS c USING (document_id)
            CROSS JOIN LATERAL (SELECT {WHOLE} AS whole, {TEXTS} AS texts) AS held
            WHERE coalesce(n.whole, 0) = 0 AND (held.whole > 0 OR (a.is_sure AND NOT a.lines_kept AND held.texts > 0))
            ORDER BY a.number, held.whole DESC, held.texts DESC, c.chunk_index)
        SELECT k.number, k.readable, k.document_id IS NOT NULL, coalesce(k.passes, true),
               coalesce(w.id, n.id), k.document_id, coalesce(w.chunk_index, n.chunk_index)
        FROM known k LEFT JOIN near n USING (number) LEFT JOIN wide w USING (number)"""


class PostgresFileDocuments:
    """Finds documents and chunks of files, one statement per call.

    A file is identified by its names, the first of which is ``root/relative``, and by its absolute path and ingested
    folders, if ``place_of`` returns them.

    The chunk comes from one document: the first by ``external_id`` of those that are certainly the file's, else of
    those with its bare path. The latter may belong to another root or folder, so only a chunk with a whole matched line
    counts. The best of the chunks that overlap the lines has the most whole matched lines, then a matched line in its
    range, then the most matched texts, then more matched lines, then the smaller index. If none has a whole line, the
    file changed, or the document's lines differ: then the whole document is searched. A document that is certainly the
    file's needs no whole line: line and text suffice, or the text if lines are not kept.
    """

    def __init__(self, *, database: Database, place_of: PlaceOf = lambda _: None) -> None:
        self._database = database
        self._place_of = place_of

    async def look_up(
        self, lines: Sequence[FileLines], *, principal: Principal, filters: Filters = ()
    ) -> list[StoredLines]:
        if not lines:
            return []
        visible = visibility(principal, alias=ARTIFACTS.alias)
        passing = ARTIFACTS.passing(principal, filters, place=0, collection=CHUNK_COLLECTION)
        statement = known_lines(visible=visible.sql, passing="false" if passing is None else passing.sql)
        values = visible.values | ({} if passing is None else passing.values)
        files = FileValues(self._place_of)
        values["given"] = Jsonb([_given(number, file) | files.add(file.names) for number, file in enumerate(lines)])
        values["folders"] = Jsonb(files.folders)

        rows = await self._database.fetch(
            statement, values, workspace=principal.workspace, settings=candidate_statements.SETTINGS
        )
        by_number = {number: rest for number, *rest in rows}
        return [
            _known_lines(by_number[number]) if number in by_number else StoredLines() for number in range(len(lines))
        ]


def _given(number: int, lines: FileLines) -> dict[str, object]:
    texts = _stored(lines.matched_texts)
    whole = [line for text in _stored(lines.line_texts) if (line := text.strip(" \t"))]
    return {
        "number": number,
        "line_start": lines.line_start,
        "line_end": lines.line_end,
        "lines": lines.matched_lines[:MAX_MATCHED],
        "texts": texts,
        "whole_lines": _lines(whole),
        "whole_words": _words(
            whole[:CONVERTED_LINES], markup=any(name.lower().endswith((".html", ".htm")) for name in lines.names)
        ),
    }


def _stored(texts: Sequence[str]) -> list[str]:
    """Return texts in their stored form: NFC, without NUL and invisible marks."""
    cleaned = dict.fromkeys(unicodedata.normalize("NFC", text.translate(_CLEANED)) for text in texts)
    return [text for text in cleaned if text][:MAX_MATCHED]


def _lines(lines: Sequence[str]) -> list[str]:
    """Return lines in the form of ``AS_LINES``; long ones without line ends, since passages may be cut inside them."""
    return [line if len(line) >= DISTINCTIVE else f"\n{line}\n" for line in lines]


def _words(lines: Sequence[str], *, markup: bool) -> list[str]:
    plain = [html.unescape(_MARKUP.sub(" ", line)) for line in lines] if markup else lines
    words = [_BETWEEN_WORDS.sub(" ", line).strip() for line in plain]
    return [f" {line} " for line in words if line]


def _known_lines(row: Sequence[object]) -> StoredLines:
    readable, is_document, passes, chunk_id, document_id, chunk_index = row
    if not readable:
        return StoredLines(readable=False)
    return StoredLines(
        document=bool(is_document),
        passes=bool(passes),
        chunk=(
            ChunkPlace(chunk_id=str(chunk_id), document_id=str(document_id), chunk_index=int(str(chunk_index)))
            if chunk_id is not None
            else None
        ),
    )

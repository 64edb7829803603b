"""What the library is measured against: the same search by a bare psycopg connection, prepared, vectors in binary."""

from __future__ import annotations

import math
import re
from itertools import count
from typing import Any

import psycopg
from pgvector import Vector
from pgvector.psycopg import register_vector
from psycopg import sql
from psycopg.rows import TupleRow

from benchmarks.corpus import DIMENSIONS, Query
from ragcorp.application.retrieval.profiles.profile import A_FIFTH_OF_THE_EVIDENCE
from ragcorp.domain.filters import Filters
from ragcorp.domain.principal import Principal
from ragcorp.domain.search.lexical import K1
from ragcorp.domain.search.requests import QuerySyntax, SparseOperator
from ragcorp.infrastructure.postgres.chunks import rows as chunk_rows
from ragcorp.infrastructure.postgres.dense import statements
from ragcorp.infrastructure.postgres.lexical import bm25, full_text
from ragcorp.infrastructure.postgres.tables.collections import CHUNKS
from ragcorp.infrastructure.postgres.visibility.predicates import filtered, matching_documents, visibility

WINDOW = 100
LIMIT = 10
RANK_CONSTANT = 60

SESSION = """
    SET hnsw.iterative_scan = 'relaxed_order';
    SET hnsw.ef_search = 100;
    SET hnsw.max_scan_tuples = 200000;
"""
"""What an engineer sets for one's own statement."""

LIBRARY_SETTINGS = {"ef_search": "100", "max_scan_tuples": "200000"}

Connection = psycopg.Connection[TupleRow]
PLACEHOLDER = re.compile(r"%\((\w+)\)s")

CONTENTS = """
    c.document_id, d.external_id, c.chunk_index, c.content, c.heading_path, c.title, c.language,
    d.path, d.metadata, c.line_start, c.line_end, c.page_start, c.page_end
"""


def connect(dsn: str, *, plan_cache_mode: str | None = None, as_library: bool = False) -> Connection:
    """Open a connection that prepares every statement; ``as_library`` plans them with the library's settings."""
    connection = psycopg.connect(dsn, autocommit=True)
    connection.prepare_threshold = 0
    register_vector(connection)
    connection.execute(SESSION, prepare=False)
    if as_library:
        for settings in (statements.SCAN_SETTINGS, bm25.SETTINGS):
            connection.execute(settings.replace(", true)", ", false)"), LIBRARY_SETTINGS, prepare=False)
    if plan_cache_mode:
        connection.execute(f"SET plan_cache_mode = {plan_cache_mode}", prepare=False)
    return connection


WORDS = f"""
    SELECT coalesce(array_agg(lexeme) FILTER (WHERE frequency > 0), '{{}}') AS lexemes,
           coalesce(array_agg(similarity) FILTER (WHERE frequency > 0), '{{}}') AS weights,
           {K1 + 1} * sum(power(ln(1 + (greatest(chunks, frequency) - frequency + 0.5) / (frequency + 0.5)), 2)) AS mass
    FROM (
        SELECT DISTINCT ON (lexeme) lexeme, similarity, document_frequency::float8 AS frequency
        FROM ({full_text.TERMS}) AS typed) AS known
    LEFT JOIN bm25_totals(%(workspace)s) AS totals ON true
"""
"""The query's lexemes, their weights and the denominator of their evidence. The corpus's queries hold no codes."""


BEST = f"""
        best AS (
            SELECT id, sum(1.0::float8 / ({RANK_CONSTANT} + rank)) AS score
            FROM ranks GROUP BY id ORDER BY score DESC, id::text COLLATE "C" LIMIT {LIMIT})
        SELECT c.id, best.score, {CONTENTS}
        FROM best JOIN chunks c ON c.id = best.id JOIN documents d ON d.id = c.document_id
        ORDER BY best.score DESC, c.id::text COLLATE "C"
    """
"""The ten best of the ranks, and their contents."""


def fused_statement(*, model_id: int, visible: str, narrowed: str, matching: str | None, limited: bool) -> str:
    """Return hybrid search in one statement: terms, the three channels, RRF and the contents of the first ten.

    ``limited``: there is a filter. BM25 looks once, with the score that it guesses the best to reach; the library looks
    again where that was too high.
    """
    best = bm25.bm25_top(
        limit=WINDOW,
        visible=visible,
        filtered=narrowed if limited else None,
        matching=matching if limited else None,
        every_word=full_text.EVERY_WORD,
    )
    for placeholder, column in (("lexemes", "lexemes"), ("weights", "weights")):
        best = best.replace(f"%({placeholder})s", f"(SELECT {column} FROM words)")
    best = best.replace("%(theta)s", "NULL")
    return f"""
        WITH words AS MATERIALIZED ({WORDS}),
        nearest AS ({_nearest(model_id=model_id, visible=visible, narrowed=narrowed)}),
        matched AS MATERIALIZED ({best}),
        ranks AS (
            SELECT id, row_number() OVER (ORDER BY distance, id) AS rank FROM nearest
            UNION ALL
            SELECT chunk_id, row_number() OVER (ORDER BY score DESC, chunk_id)
            FROM matched, words
            WHERE chunk_id IS NOT NULL AND evidence >= {A_FIFTH_OF_THE_EVIDENCE.minimum} * mass
            UNION ALL
            SELECT chunk_id, row_number() OVER (ORDER BY every DESC, chunk_id) FROM matched WHERE every IS NOT NULL),
        {BEST}
    """


def fused_by_every_word(*, model_id: int, visible: str, narrowed: str) -> str:
    """Return the hybrid search of ADR-012 in one statement: dense, ``ts_rank_cd`` of all words, RRF, ten contents."""
    every_word = full_text.tsquery(syntax=QuerySyntax.PLAIN, operator=SparseOperator.AND)
    matched = full_text.ranked_by_cover_density(expression=every_word, limit=WINDOW, visible=visible, filtered=narrowed)
    return f"""
        WITH nearest AS ({_nearest(model_id=model_id, visible=visible, narrowed=narrowed)}),
        matched AS ({matched}),
        ranks AS (
            SELECT id, row_number() OVER (ORDER BY distance, id) AS rank FROM nearest
            UNION ALL
            SELECT id, row_number() OVER (ORDER BY score DESC, id) FROM matched),
        {BEST}
    """


def _nearest(*, model_id: int, visible: str, narrowed: str) -> str:
    vector = f"e.embedding::vector({DIMENSIONS})"
    query = f"%(embedding)s::vector({DIMENSIONS})"
    return f"""
            SELECT e.chunk_id AS id, {vector} <=> {query} AS distance
            FROM chunk_embeddings e JOIN chunks c ON c.id = e.chunk_id
            WHERE e.model_id = {model_id} AND e.workspace = %(workspace)s AND {visible} AND {narrowed}
            ORDER BY {vector} <=> {query} LIMIT {WINDOW}"""


class RawSearch:
    """Statements of one shape of filter, sent by one blocking connection."""

    def __init__(self, connection: Connection, *, principal: Principal, filters: Filters = ()) -> None:
        row = connection.execute("SELECT id FROM embedding_models WHERE active").fetchone()
        assert row is not None
        visible, narrowed = visibility(principal), filtered(filters)
        self._connection = connection
        self._values = visible.values | narrowed.values | {"language": "es"}
        narrow = narrowed.sql if filters else None
        matching = matching_documents(principal, filters) if filters else None
        self.fused_sql = fused_statement(
            model_id=row[0], visible=visible.sql, narrowed=narrowed.sql, matching=matching, limited=bool(filters)
        )
        self.every_word_sql = fused_by_every_word(model_id=row[0], visible=visible.sql, narrowed=narrowed.sql)
        self.dense_sql = statements.similar(
            CHUNKS,
            model_id=row[0],
            dimensions=DIMENSIONS,
            limit=WINDOW,
            visible=visible.sql,
            filtered=narrow,
            matching=matching,
        )
        self.sparse_sql = bm25.bm25_top(
            limit=WINDOW, visible=visible.sql, filtered=narrow, matching=matching, every_word=full_text.EVERY_WORD
        )
        self.contents_sql = chunk_rows.CHUNKS_BY_ID.format(condition=visible.sql)

    def fused(self, query: Query) -> list[int]:
        """One statement does it all."""
        rows = self._rows(self.fused_sql, {"query": query.text, "embedding": Vector(list(query.vector))})
        return [row[0] for row in rows]

    def fused_with_every_word(self, query: Query) -> list[int]:
        """ADR-012's search in one statement."""
        rows = self._rows(self.every_word_sql, {"query": query.text, "embedding": Vector(list(query.vector))})
        return [row[0] for row in rows]

    def one_after_another(self, query: Query) -> list[int]:
        """The library's statements, without the library: dense, terms, sparse, a dict for RRF, contents."""
        parts: dict[int, list[float]] = {}
        matched, mass = self._matched(query)
        evident = [row[0] for row in matched if row[6] >= A_FIFTH_OF_THE_EVIDENCE.minimum * mass]
        every = [chunk_id for _, chunk_id in sorted((-row[7], row[0]) for row in matched if row[7] is not None)]
        for ids in (self.dense_ids(query), evident, every):
            for rank, chunk_id in enumerate(ids, start=1):
                parts.setdefault(chunk_id, []).append(1 / (RANK_CONSTANT + rank))
        scores = {chunk_id: math.fsum(values) for chunk_id, values in parts.items()}
        return self._contents(sorted(scores, key=lambda chunk_id: (-scores[chunk_id], str(chunk_id)))[:LIMIT])

    def dense(self, query: Query) -> list[int]:
        return self._contents(self.dense_ids(query)[:LIMIT])

    def sparse(self, query: Query) -> list[int]:
        return self._contents(self.sparse_ids(query)[:LIMIT])

    def dense_ids(self, query: Query) -> list[int]:
        rows = self._rows(self.dense_sql, {"embedding": Vector(list(query.vector))})
        return [row[-2] for row in rows if row[-2] is not None]

    def sparse_ids(self, query: Query) -> list[int]:
        return [row[0] for row in self._matched(query)[0]]

    def _matched(self, query: Query) -> tuple[list[TupleRow], float]:
        """Return the rows of the sparse ranking and the denominator of their evidence."""
        ((lexemes, weights, mass),) = self._rows(WORDS, {"query": query.text})
        theta: float | None = None
        for attempt in count():
            values = {"query": query.text, "lexemes": lexemes, "weights": weights, "theta": theta}
            rows = self._rows(self.sparse_sql, values)
            theta = bm25.next_theta(rows, attempt=attempt)
            if theta is None:
                break
        return [row for row in rows if row[0] is not None], mass or 0.0

    def _contents(self, ids: list[int]) -> list[int]:
        results = {row[0]: row for row in self._rows(self.contents_sql, {"ids": ids})}
        return [chunk_id for chunk_id in ids if chunk_id in results]

    def plan(self, statement: str, query: Query) -> dict[str, Any]:
        """Run the statement as prepared and return its plan with what was done (EXPLAIN's JSON)."""
        values = self._values | {"query": query.text, "embedding": Vector(list(query.vector))}
        names = list(dict.fromkeys(PLACEHOLDER.findall(statement)))
        numbered = PLACEHOLDER.sub(lambda results: f"${names.index(results[1]) + 1}", statement)
        arguments = sql.SQL(", ").join([sql.Literal(values[name]) for name in names])
        self._connection.execute("DEALLOCATE ALL", prepare=False)
        self._connection.execute(f"PREPARE explained AS {numbered}".encode(), prepare=False)
        explain = sql.SQL("EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE explained ({})").format(arguments)
        row = self._connection.execute(explain, prepare=False).fetchone()
        assert row is not None
        plan: dict[str, Any] = row[0][0]["Plan"]
        return plan

    def _rows(self, statement: str, values: dict[str, object]) -> list[TupleRow]:
        return self._connection.execute(statement, self._values | values, prepare=True, binary=True).fetchall()

"""What the library is measured against: the same search by a bare psycopg connection, prepared, vectors in binary."""

from __future__ import annotations

import re
from typing import Any

import psycopg
from pgvector import Vector
from pgvector.psycopg import register_vector
from psycopg import sql
from psycopg.rows import TupleRow

from benchmarks.corpus import DIMENSIONS, Query
from ragcorp.application.retrieval_profile import HALF_OF_THE_WORDS
from ragcorp.domain.principal import Principal
from ragcorp.domain.search import Filters
from ragcorp.infrastructure.postgres import statements
from ragcorp.infrastructure.postgres.channels import matching_documents
from ragcorp.infrastructure.postgres.predicates import filtered, visibility

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
        session_wide = statements.SCAN_SETTINGS.replace(", true)", ", false)")
        connection.execute(session_wide, LIBRARY_SETTINGS, prepare=False)
    if plan_cache_mode:
        connection.execute(f"SET plan_cache_mode = {plan_cache_mode}", prepare=False)
    return connection


def fused_statement(*, model_id: int, visible: str, narrowed: str) -> str:
    """Return hybrid search in one statement: the two channels, RRF and the contents of the first ten."""
    vector = f"e.embedding::vector({DIMENSIONS})"
    query = f"%(embedding)s::vector({DIMENSIONS})"
    matched = statements.full_text_chunks(limit=WINDOW, visible=visible, filtered=narrowed)
    return f"""
        WITH nearest AS (
            SELECT e.chunk_id AS id, {vector} <=> {query} AS distance
            FROM chunk_embeddings e JOIN chunks c ON c.id = e.chunk_id
            WHERE e.model_id = {model_id} AND e.workspace = %(workspace)s AND {visible} AND {narrowed}
            ORDER BY {vector} <=> {query} LIMIT {WINDOW}),
        dense AS (SELECT id, row_number() OVER (ORDER BY distance, id) AS rank FROM nearest),
        sparse AS (
            SELECT id, row_number() OVER (ORDER BY score DESC, rank DESC, id) AS rank
            FROM ({matched}) matched (id, score, every, rank)
            WHERE every OR score >= {HALF_OF_THE_WORDS.minimum}),
        best AS (
            SELECT id, coalesce(1.0::float8 / ({RANK_CONSTANT} + dense.rank), 0)
                     + coalesce(1.0::float8 / ({RANK_CONSTANT} + sparse.rank), 0) AS score
            FROM dense FULL JOIN sparse USING (id)
            ORDER BY score DESC, id::text COLLATE "C" LIMIT {LIMIT})
        SELECT c.id, best.score, {CONTENTS}
        FROM best JOIN chunks c ON c.id = best.id JOIN documents d ON d.id = c.document_id
        ORDER BY best.score DESC, c.id::text COLLATE "C"
    """


class RawSearch:
    """Statements of one shape of filter, sent by one blocking connection."""

    def __init__(self, connection: Connection, *, principal: Principal, filters: Filters = ()) -> None:
        row = connection.execute("SELECT id FROM embedding_models WHERE active").fetchone()
        assert row is not None
        visible, narrowed = visibility(principal), filtered(filters)
        self._connection = connection
        self._values = visible.values | narrowed.values
        self.fused_sql = fused_statement(model_id=row[0], visible=visible.sql, narrowed=narrowed.sql)
        self.dense_sql = statements.similar_chunks(
            model_id=row[0],
            dimensions=DIMENSIONS,
            limit=WINDOW,
            visible=visible.sql,
            filtered=narrowed.sql if filters else None,
            matching=matching_documents(principal, filters) if filters else None,
        )
        self.sparse_sql = statements.full_text_chunks(
            limit=WINDOW, visible=visible.sql, filtered=narrowed.sql if filters else None
        )
        self.contents_sql = statements.CHUNKS_BY_ID.format(visible=visible.sql)

    def fused(self, query: Query) -> list[int]:
        """One statement does it all."""
        rows = self._rows(self.fused_sql, {"query": query.text, "embedding": Vector(list(query.vector))})
        return [row[0] for row in rows]

    def one_after_another(self, query: Query) -> list[int]:
        """The library's statements, without the library: dense, sparse, a dict for RRF, contents."""
        scores: dict[int, float] = {}
        matched = self._rows(self.sparse_sql, {"query": query.text})
        sparse_ids = [row[0] for row in matched if row[2] or row[1] >= HALF_OF_THE_WORDS.minimum]
        for ids in (self.dense_ids(query), sparse_ids):
            for rank, chunk_id in enumerate(ids, start=1):
                scores[chunk_id] = scores.get(chunk_id, 0.0) + 1 / (RANK_CONSTANT + rank)
        return self._contents(sorted(scores, key=lambda chunk_id: (-scores[chunk_id], str(chunk_id)))[:LIMIT])

    def dense(self, query: Query) -> list[int]:
        return self._contents(self.dense_ids(query)[:LIMIT])

    def sparse(self, query: Query) -> list[int]:
        return self._contents(self.sparse_ids(query)[:LIMIT])

    def dense_ids(self, query: Query) -> list[int]:
        rows = self._rows(self.dense_sql, {"embedding": Vector(list(query.vector))})
        return [row[-2] for row in rows if row[-2] is not None]

    def sparse_ids(self, query: Query) -> list[int]:
        return [row[0] for row in self._rows(self.sparse_sql, {"query": query.text})]

    def _contents(self, ids: list[int]) -> list[int]:
        found = {row[0]: row for row in self._rows(self.contents_sql, {"ids": ids})}
        return [chunk_id for chunk_id in ids if chunk_id in found]

    def plan(self, statement: str, query: Query) -> dict[str, Any]:
        """Run the statement as prepared and return its plan with what was done (EXPLAIN's JSON)."""
        values = self._values | {"query": query.text, "embedding": Vector(list(query.vector))}
        names = list(dict.fromkeys(PLACEHOLDER.findall(statement)))
        numbered = PLACEHOLDER.sub(lambda found: f"${names.index(found[1]) + 1}", statement)
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

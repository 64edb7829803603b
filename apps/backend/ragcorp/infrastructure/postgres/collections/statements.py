"""The SQL of the channels of artifacts, memory and history: identities and scores, best first, in a total order.

The sparse one is BM25 with the formula of bm25.py over what the principal may read: of the rows that hold a lexeme of
the query and pass the filters, df is counted in that same look; N and avgdl are those of the readable rows of the
workspace, of the first ``TOTALS`` (of documents, ``DOCUMENT_TOTALS``) by key where there are more. A tf of 15 stands
for 15 and more.
"""

from __future__ import annotations

from functools import lru_cache

from ragcorp.infrastructure.postgres.models.embedding_models import indexed_type, is_active, last_with_vector
from ragcorp.infrastructure.postgres.tables.collections import CollectionTable, Postings, Vectors

SETTINGS = """
    SELECT set_config('plan_cache_mode', 'force_generic_plan', true),
           set_config('max_parallel_workers_per_gather', '0', true),
           set_config('enable_seqscan', 'off', true),
           set_config('random_page_cost', '1.1', true),
           set_config('jit', 'off', true)
"""
"""What ``matching`` is planned and run with, for its transaction only: see bm25.py."""

BUDGET = 30_000
"""Rows that hold a word of the query and pass the filters, of which no more are scored."""

TOTALS = 50_000
DOCUMENT_TOTALS = 10_000
"""Items, or documents, from which N and avgdl are taken, in the order of their keys; a document costs ten times as
much."""

LATEST = 10_000
"""Where no more rows are as young as the query wants, they are read by their age."""

VOUCHED = 1000
"""Chunks that are looked at for one that the principal may read and that holds the word put for an unknown one."""

SHARE_LOOK = 10_000
SHARE_SAMPLE = 2000
DOCUMENT_SAMPLE = 2000
"""Of so many items that wait, and that have a vector, so many readable ones are counted for the share that has one; of
so many documents the readable ones. Only while some wait."""


@lru_cache(maxsize=256)
def similar(
    table: CollectionTable, *, model_id: int, dimensions: int, limit: int, visible: str, filtered: str | None
) -> str:
    """Return the dense statement, which chooses between index and comparison as ``statements.similar_chunks`` does.

    Columns: readable items that wait for their vector and such that have one (counted up to a bound, while some wait),
    key, cosine similarity.
    """
    vectors = _vectors(table)
    vector = f"e.embedding::{indexed_type(dimensions)}"
    query = f"%(embedding)s::{indexed_type(dimensions)}"
    embedded = f"e.model_id = {model_id} AND e.workspace = %(workspace)s"
    columns = f"e.{vectors.key} AS key, {vector} <=> {query} AS distance"
    joined = f"{vectors.table} e JOIN {table.rows} ON {table.key} = e.{vectors.key}"
    source = f"SELECT {columns} FROM {joined} WHERE {embedded} AND {visible} AND {filtered or 'true'}"
    approximate = f"ORDER BY {vector} <=> {query} LIMIT {limit}"
    # + 0 keeps the planner from serving the exact order with the approximate index
    exact = f"ORDER BY ({vector} <=> {query}) + 0, e.{vectors.key} LIMIT {limit}"
    too_few = f"(SELECT count(*) FROM nearest) < {limit}"
    if filtered is None:
        counted = f"SELECT FROM {vectors.table} e WHERE {embedded} LIMIT (SELECT items + 1 FROM exact_limit)"
        few = f"few AS MATERIALIZED (SELECT count(*) <= (SELECT items FROM exact_limit) AS hold FROM ({counted}) n)"
        everything = f"{source} AND {too_few} {exact}"
    else:
        few = f"""
            passing AS MATERIALIZED (
                SELECT {table.key} AS key FROM {table.rows} WHERE {visible} AND {filtered}
                LIMIT (SELECT items + 1 FROM exact_limit)),
            few AS MATERIALIZED (
                SELECT count(*) <= (SELECT items FROM exact_limit) AS hold FROM passing)"""
        everything = f"""
            (SELECT {columns} FROM passing JOIN {vectors.table} e ON e.{vectors.key} = passing.key
             WHERE {embedded} AND (SELECT hold FROM few) {exact})
            UNION ALL
            ({source} AND NOT (SELECT hold FROM few) AND {too_few} {exact})"""
    return _short(f"""
        WITH exact_limit AS MATERIALIZED (
            SELECT 20 * sqrt(greatest(reltuples, 10000))::int AS items
            FROM pg_class WHERE oid = '{vectors.table}'::regclass),
        {few},
        nearest AS MATERIALIZED ({source} AND NOT (SELECT hold FROM few) {approximate}),
        everything AS ({everything}),
        found AS (
            SELECT * FROM nearest WHERE NOT {too_few}
            UNION ALL SELECT * FROM everything)
        SELECT share.waiting, share.embedded, found.key, 1 - found.distance
        FROM ({_share(table, model_id, visible)}) AS share LEFT JOIN found ON true
        ORDER BY found.distance, found.key""")


def _share(table: CollectionTable, model_id: int, visible: str) -> str:
    """Of what the principal may read. Of whole documents, a sample is looked at: keys are random.

    One that waits is not sampled away, unless ``SHARE_LOOK`` others wait that the principal may not read. Of a model
    that is not the active one any more, items wait in vain that came after the last with its vector.
    """
    vectors = _vectors(table)
    active = is_active(model_id)
    some_wait = f"(EXISTS (SELECT FROM {vectors.backlog} WHERE workspace = %(workspace)s) OR NOT {active})"
    if vectors.key == "item_id":
        last = last_with_vector(vectors.table, key="item_id", model_id=model_id)
        waiting = f"""
            SELECT item_id FROM {vectors.backlog}
            WHERE workspace = %(workspace)s AND ({active} OR item_id > {last})
            UNION ALL
            SELECT newer.item_id FROM {vectors.table} newer
            WHERE newer.workspace || '' = %(workspace)s AND NOT {active} AND newer.item_id > {last}"""
        readable = f"JOIN {table.rows} ON {table.key} = looked_at.item_id WHERE {visible} LIMIT {SHARE_SAMPLE}"
        return f"""
            SELECT waiting.items AS waiting, embedded.items AS embedded
            FROM (SELECT count(*) AS items FROM (
                SELECT FROM ({waiting} LIMIT {SHARE_LOOK}) AS looked_at {readable}) w) AS waiting,
                LATERAL (SELECT count(*) AS items FROM (
                    SELECT FROM (
                        SELECT e.item_id FROM {vectors.table} e
                        WHERE e.model_id = {model_id} AND e.workspace = %(workspace)s AND waiting.items > 0
                        LIMIT {SHARE_LOOK}) AS looked_at {readable}) v) AS embedded"""
    held = f"SELECT FROM {vectors.table} e WHERE e.document_id = {{of}}.document_id AND e.model_id = {model_id}"
    return f"""
        SELECT greatest(count(*) - count(e.document_id), (EXISTS (
                   SELECT FROM (
                       SELECT document_id FROM {vectors.backlog} WHERE workspace = %(workspace)s
                       LIMIT {SHARE_LOOK}) AS w
                   JOIN {table.rows} ON {table.key} = w.document_id
                   WHERE {visible} AND NOT EXISTS ({held.format(of="w")})))::int) AS waiting,
               count(e.document_id) AS embedded
        FROM (
            SELECT t.document_id FROM document_terms t WHERE t.workspace = %(workspace)s AND {some_wait}
            ORDER BY t.document_id LIMIT {DOCUMENT_SAMPLE}) AS t
        JOIN {table.rows} ON {table.key} = t.document_id AND {visible}
        LEFT JOIN {vectors.table} e ON e.document_id = t.document_id AND e.model_id = {model_id}"""


MOST_CORRECTED = 20
"""So many unknown words of a query are replaced by their nearest: each costs a millisecond."""


@lru_cache(maxsize=256)
def matching(
    table: CollectionTable,
    *,
    limit: int,
    visible: str,
    visible_chunk: str,
    filtered: str | None = None,
    bounded_in_time: bool = False,
    budget: int = BUDGET,
) -> str:
    """Return the sparse statement. Columns: whether the budget cut the look, key, score; one row at least.

    Values: ``workspace``, ``language`` (the default one), ``query``, ``since`` if it is bounded in time; those of
    ``visible`` (over ``rows``) and ``visible_chunk`` (over chunks c).

    A word is looked for by its lexemes in every language of the workspace, unless it is a stop word of the first. One
    that no readable row holds is replaced by the nearest word of the chunks, with its similarity as weight, provided
    that the principal may read a chunk with that word.
    """
    postings = _postings(table)
    alias = postings.alias
    own_rows = alias == table.alias
    # one condition to a subquery: a generic plan may have been made on empty tables, where all indexes look alike
    holding = f"""
        (SELECT * FROM {postings.table}
         WHERE bm25_impacts(terms, length) OPERATOR(pg_catalog.&&) {{keys}} OFFSET 0) AS {alias}"""
    if not own_rows:
        holding += f"""
            CROSS JOIN LATERAL (SELECT * FROM documents WHERE id = {alias}.{postings.key} OFFSET 0) AS {table.alias}"""
    wanted = f"{visible} AND {filtered or 'true'}"
    if bounded_in_time:
        wanted += f" AND {table.alias}.occurred_at >= %(since)s::timestamptz"
    columns = f"{alias}.{postings.key} AS key, {alias}.length, bm25_common({alias}.terms, scan.postings) AS common"
    found = f"SELECT {columns} FROM scan CROSS JOIN LATERAL {holding.format(keys='scan.keys')} WHERE {wanted}"
    latest = ""
    if bounded_in_time and own_rows:
        young = f"""
            FROM {postings.table}
            WHERE workspace = %(workspace)s AND occurred_at >= %(since)s::timestamptz ORDER BY occurred_at"""
        latest = f"""
            latest AS MATERIALIZED (
                SELECT count(*) <= {LATEST} AS hold FROM (SELECT {young} LIMIT {LATEST + 1}) AS counted),"""
        found = f"""
            {found} AND NOT (SELECT hold FROM latest)
            UNION ALL
            SELECT {columns} FROM scan, (SELECT * {young} OFFSET 0) AS {alias}
            WHERE (SELECT hold FROM latest) AND bm25_common({alias}.terms, scan.postings) <> '{{}}' AND {wanted}"""
    return _short(f"""
        WITH languages AS MATERIALIZED (
            SELECT query_languages(%(workspace)s, %(language)s) AS codes, {postings.seed} AS seed),
        words AS MATERIALIZED (
            SELECT l.place, w.*, bm25_key(languages.seed, w.lexeme) AS key
            FROM languages, unnest(languages.codes) WITH ORDINALITY AS l (code, place),
                 query_words(l.code, %(query)s) AS w),
        typed AS MATERIALIZED (
            SELECT w.position, w.word, w.kind, w.lexeme, w.key FROM words w
            WHERE w.kind <> 'word' OR EXISTS (
                SELECT FROM words f WHERE f.place = 1 AND f.position = w.position AND f.word = w.word)),
        unknown AS MATERIALIZED (
            SELECT string_agg(word, ' ') AS words
            FROM (
                SELECT t.word
                FROM typed t, LATERAL (SELECT EXISTS (
                    SELECT FROM {holding.format(keys="ARRAY[t.key]")} WHERE {visible}) AS here) AS held
                WHERE t.kind = 'word' AND t.word ~ '^[[:alpha:]]{{4,40}}$'
                GROUP BY t.word HAVING NOT bool_or(held.here)
                ORDER BY min(t.position) LIMIT {MOST_CORRECTED}) AS missing),
        terms AS MATERIALIZED (
            SELECT t.key, max(t.weight) AS weight, array_agg(t.lexeme) AS lexemes
            FROM (
                SELECT key, 1::float8 AS weight, lexeme FROM typed
                UNION ALL
                SELECT bm25_key(languages.seed, near.lexeme), near.similarity, near.lexeme
                FROM languages, unknown,
                     query_terms(%(workspace)s, languages.codes, unknown.words) AS near
                WHERE near.typed IS NOT NULL AND {_vouched("near.lexeme", visible_chunk)}) AS t
            GROUP BY t.key),
        words_query AS MATERIALIZED (
            SELECT string_agg(array_to_tsvector(ARRAY[lexeme])::text, '|')::tsquery AS query
            FROM terms, unnest(terms.lexemes) AS lexeme),
        scan AS MATERIALIZED (
            SELECT ARRAY(SELECT key FROM terms) AS keys,
                   ARRAY(SELECT key | tf FROM terms, generate_series(1, 15) AS tf ORDER BY 1) AS postings),{latest}
        candidates AS MATERIALIZED (SELECT * FROM ({found}) AS c LIMIT {budget + 1}),
        totals AS MATERIALIZED (
            SELECT count(*)::float8 AS rows, avg(length)::float8 AS average FROM ({_readable(table, visible)}) AS r),
        postings AS MATERIALIZED (
            SELECT c.key, 1.2::float8 * (0.25::float8 + 0.75::float8 * c.length / totals.average) AS damping,
                   unnest(c.common) AS posting
            FROM totals, candidates c),
        weights AS MATERIALIZED (
            SELECT t.key AS term,
                   t.weight * ln(1 + (greatest(totals.rows, n.df) - n.df + 0.5) / (n.df + 0.5)) AS weight
            FROM totals, terms t JOIN (
                SELECT posting & -16 AS term, count(*) AS df FROM postings GROUP BY 1) AS n ON n.term = t.key),
        scored AS MATERIALIZED (
            SELECT p.key,
                   round(1e9 * sum(w.weight * 2.2::float8 / (1 + p.damping / (p.posting & 15)))) / 1e9 AS score
            FROM postings p JOIN weights w ON w.term = p.posting & -16 GROUP BY p.key),
        ranked AS (
            SELECT best.key, best.score
            FROM words_query AS words,
                 (SELECT key, score FROM scored ORDER BY score DESC, key) AS best
                 CROSS JOIN LATERAL ({postings.holds}) AS held
            ORDER BY best.score DESC, best.key LIMIT {limit})
        SELECT looked.cut, ranked.key, ranked.score
        FROM (SELECT count(*) > {budget} AS cut FROM candidates) AS looked LEFT JOIN ranked ON true
        ORDER BY ranked.score DESC NULLS LAST, ranked.key""")


def _readable(table: CollectionTable, visible: str) -> str:
    """The lengths of the readable rows: of items by one index alone."""
    postings = _postings(table)
    if postings.alias == table.alias:
        return f"""
            SELECT {table.alias}.length FROM {table.rows} WHERE {visible}
            ORDER BY {table.alias}.workspace, {table.key} LIMIT {TOTALS}"""
    return f"""
        SELECT p.length
        FROM (
            SELECT {postings.key}, length FROM {postings.table} WHERE workspace = %(workspace)s
            ORDER BY {postings.key} OFFSET 0) AS p
        CROSS JOIN LATERAL (SELECT * FROM documents WHERE id = p.{postings.key} OFFSET 0) AS {table.alias}
        WHERE {visible} LIMIT {DOCUMENT_TOTALS}"""


def _vouched(lexeme: str, visible_chunk: str) -> str:
    return f"""EXISTS (
        SELECT FROM (
            SELECT b.chunk_id FROM bm25_workspaces s
            CROSS JOIN LATERAL (
                SELECT chunk_id FROM bm25_chunks
                WHERE bm25_impacts(terms, length) OPERATOR(pg_catalog.&&) ARRAY[bm25_key(s.id, {lexeme})]
                LIMIT {VOUCHED}) AS b
            WHERE s.workspace = %(workspace)s) AS holding
        CROSS JOIN LATERAL (SELECT * FROM chunks WHERE id = holding.chunk_id OFFSET 0) AS c
        WHERE {visible_chunk})"""


def _vectors(table: CollectionTable) -> Vectors:
    if table.vectors is None:
        raise ValueError(f"{table.collection} has no vectors")
    return table.vectors


def _postings(table: CollectionTable) -> Postings:
    if table.postings is None:
        raise ValueError(f"{table.collection} has no postings")
    return table.postings


def _short(statement: str) -> str:
    return " ".join(statement.split())

"""The SQL over entities of documents: by name, by position and by similarity.

``passing`` is a condition on documents d: visibility and filters. Entities are returned as ``REFERENCE``. Paths are
compared by byte, so that orders are the same on every server.
"""

from functools import lru_cache

from ragcorp.domain.structure.entities import CODE_KINDS, EntityKind
from ragcorp.domain.text.place_words import WORD
from ragcorp.infrastructure.postgres.dense.statements import similar
from ragcorp.infrastructure.postgres.tables.collections import CHUNKS, CollectionTable, Vectors
from ragcorp.infrastructure.postgres.visibility import predicates

MATCHES = 1000
"""Matches of a name that are counted at most."""

ENTITIES = """structural_entities e JOIN structured_documents s ON s.document_id = e.document_id
    JOIN documents d ON d.id = e.document_id"""

REFERENCE = """e.id, e.entity_key, e.kind, e.name, e.container, s.path, e.document_id, d.external_id, e.position,
    e.line_start, e.line_end, e.token_count, e.head_tokens"""

SYMBOL = f"kind IN {tuple(sorted(kind.value for kind in CODE_KINDS))}"
NO_IDENTIFIER = f"kind <> '{EntityKind.IDENTIFIER.value}'"
BY_PLACE = 'path COLLATE "C", external_id, position'

OWN_VECTORS = CollectionTable(
    collection="structural_entities",
    rows="structural_entities i JOIN documents d ON d.id = i.document_id",
    alias="d",
    key="i.id",
    filterable=predicates.DOCUMENTS,
    condition="d.deleted_at IS NULL AND i.index_text IS NOT NULL",
    lexemes="NULL::tsvector",
    vectors=Vectors(table="structural_entity_embeddings", key="item_id", backlog="structural_entity_backlog"),
)
"""Entities that have vectors."""


@lru_cache(maxsize=64)
def files(passing: str, *, near: bool = False) -> str:
    """Columns: the name's number, matches, nearness, document id, external_id, path, whether it is code."""
    columns = "s.document_id, d.external_id, s.path, s.is_code"
    return _of_names(
        f"""
            SELECT {columns}, s.names AS held
            FROM structured_documents s JOIN documents d ON d.id = s.document_id
            WHERE s.names @> ARRAY[given.name] AND s.workspace = %(workspace)s AND {passing}""",
        columns,
        by='path COLLATE "C", external_id',
        near=near,
    )


@lru_cache(maxsize=64)
def named(passing: str, *, near: bool = False) -> str:
    """Columns: the name's number, matches, nearness, REFERENCE."""
    return _of_names(
        f"""
            SELECT {REFERENCE}, s.names AS held
            FROM {ENTITIES}
            WHERE e.names @> ARRAY[given.name] AND e.workspace = %(workspace)s AND {passing}""",
        REFERENCE,
        by=BY_PLACE,
        near=near,
    )


def _of_names(fitting: str, columns: str, *, by: str, near: bool) -> str:
    """Return the matches of each name, ordered by the near words of their documents, then ``by`` place.

    A word weighs ln(matches / matches with the word); a stop word of a language of the workspace weighs nothing. Sums
    are rounded, so that the order of summation does not matter.
    """
    names = ", ".join(bare_names(columns))
    fitted = f"""
            SELECT least(count(*) OVER (), {MATCHES}) AS matches, 0::float8 AS near, 0::float8 AS shown, {names}
            FROM ({fitting}) AS fitting"""
    if near:
        fitted = f"""
            WITH fitting AS MATERIALIZED (
                SELECT row_number() OVER () AS number, fitting.* FROM ({fitting}) AS fitting),
            holding AS MATERIALIZED (
                SELECT fitting.number, word
                FROM fitting CROSS JOIN LATERAL unnest(fitting.held) AS word
                WHERE fitting.held && near_words.words AND word = ANY(near_words.words)),
            weights AS (
                SELECT word, ln((SELECT count(*) FROM fitting)::float8 / count(*)) AS weight
                FROM holding GROUP BY word),
            nearness AS (
                SELECT number, {_weight("near")} AS near, {_weight("shown")} AS shown
                FROM holding JOIN weights USING (word) GROUP BY number)
            SELECT least(count(*) OVER (), {MATCHES}) AS matches,
                   coalesce(near, 0) AS near, coalesce(shown, 0) AS shown, {names}
            FROM fitting LEFT JOIN nearness USING (number)"""
    near_words = f"({NEAR_WORDS}) AS near_words, " if near else ""
    return f"""
        SELECT given.number, hits.matches, hits.near, {qualified("hits", names)}
        FROM {near_words}unnest(%(names)s::text[]) WITH ORDINALITY AS given (name, number)
        CROSS JOIN LATERAL ({fitted}
            ORDER BY near DESC, shown DESC, {by}
            LIMIT %(limit)s) AS hits
        ORDER BY given.number, hits.near DESC, hits.shown DESC, {qualified("hits", by)}"""


NEAR_WORDS = f"""SELECT array_agg(word) AS words
        FROM (SELECT DISTINCT unnest(%(near)s::text[] || %(shown)s::text[]) AS word OFFSET 0) AS given
        WHERE NOT EXISTS (
            SELECT FROM unnest(workspace_languages(%(workspace)s)) AS language
            WHERE folded_words(language, substr(word, {len(WORD) + 1})) = '')"""


def _weight(words: str) -> str:
    return f"coalesce(round((sum(weight) FILTER (WHERE word = ANY(%({words})s::text[])))::numeric, 6)::float8, 0)"


@lru_cache(maxsize=64)
def of_documents(passing: str) -> str:
    """Columns: the document's number, REFERENCE."""
    return f"""
        SELECT given.number, hits.*
        FROM unnest(%(document_ids)s::uuid[]) WITH ORDINALITY AS given (id, number)
        CROSS JOIN LATERAL (
            SELECT {REFERENCE}
            FROM {ENTITIES}
            WHERE e.document_id = given.id AND e.{NO_IDENTIFIER} AND {passing}
            ORDER BY e.position
            LIMIT %(limit)s) AS hits
        ORDER BY given.number, hits.position"""


@lru_cache(maxsize=64)
def within(passing: str) -> str:
    """Columns: the id of the given entity, REFERENCE. By container: a method may lie outside its class's lines."""
    return f"""
        WITH RECURSIVE given AS MATERIALIZED (
            SELECT e.id, e.document_id, e.entity_key
            FROM {ENTITIES}
            WHERE e.id = ANY(%(ids)s::bigint[]) AND {passing}),
        parts AS MATERIALIZED (
            SELECT p.id, p.document_id, p.entity_key, p.container
            FROM structural_entities p
            WHERE p.document_id IN (SELECT document_id FROM given) AND p.container IS NOT NULL AND p.{NO_IDENTIFIER}),
        inside AS (
            SELECT a.id AS of, p.id, p.document_id, p.entity_key
            FROM given a JOIN parts p ON p.document_id = a.document_id AND p.container = a.entity_key
            UNION
            SELECT i.of, p.id, p.document_id, p.entity_key
            FROM inside i JOIN parts p ON p.document_id = i.document_id AND p.container = i.entity_key)
        SELECT hits.of, {REFERENCE}
        FROM (
            SELECT i.of, i.id, row_number() OVER (PARTITION BY i.of ORDER BY e.position) AS place
            FROM inside i JOIN structural_entities e ON e.id = i.id
            WHERE i.id <> i.of) AS hits
        JOIN ({ENTITIES}) ON e.id = hits.id
        WHERE hits.place <= %(limit)s
        ORDER BY hits.of, e.position"""


@lru_cache(maxsize=64)
def known(passing: str) -> str:
    """Columns: REFERENCE."""
    return f"""
        SELECT {REFERENCE}
        FROM unnest(%(document_ids)s::uuid[], %(keys)s::text[]) AS given (id, key)
        JOIN ({ENTITIES}) ON e.document_id = given.id AND e.entity_key = given.key
        WHERE {passing}"""


@lru_cache(maxsize=64)
def at_chunks(passing: str) -> str:
    """Columns: chunk id, REFERENCE; in text order."""
    chunks = f"""
        SELECT c.id, c.document_id, c.line_start, c.line_end, c.content
        FROM chunks c JOIN documents d ON d.id = c.document_id
        WHERE c.id = ANY(%(chunk_ids)s::bigint[]) AND {passing}"""
    return f"""
        WITH chunk AS MATERIALIZED ({chunks}),
        {HELD}
        SELECT held.chunk_id, {REFERENCE}
        FROM held JOIN ({ENTITIES}) ON e.id = held.id
        ORDER BY held.chunk_id, e.position"""


HELD = f"""lines AS MATERIALIZED (
            SELECT chunk.id AS chunk_id, e.id, e.line_end - e.line_start AS span, n.line
            FROM chunk
            JOIN structural_entities e
              ON e.document_id = chunk.document_id AND e.{NO_IDENTIFIER}
                 AND e.line_start <= chunk.line_end AND e.line_end >= chunk.line_start
            CROSS JOIN LATERAL (SELECT string_to_array(chunk.content, E'\\n') AS texts OFFSET 0) AS t
            CROSS JOIN LATERAL generate_series(
                greatest(e.line_start, chunk.line_start), least(e.line_end, chunk.line_end)) AS n (line)
            WHERE coalesce(t.texts[n.line - chunk.line_start + 1], 'x') ~ '\\S'),
        held AS MATERIALIZED (
            SELECT DISTINCT chunk_id, id
            FROM (
                SELECT chunk_id, id, rank() OVER (PARTITION BY chunk_id, line ORDER BY span) AS place FROM lines) AS r
            WHERE place = 1)"""
"""The entities with text in the rows of ``chunk``: each line that is not blank belongs to the innermost entity."""


@lru_cache(maxsize=64)
def similar_entities(*, model_id: int, dimensions: int, limit: int, visible: str, filtered: str | None) -> str:
    """Return the statement over the vectors of entities. Columns: cosine similarity, REFERENCE."""
    nearest = similar(
        OWN_VECTORS, model_id=model_id, dimensions=dimensions, limit=limit, visible=visible, filtered=filtered
    )
    return f"""
        SELECT nearest.score, {REFERENCE}
        FROM ({nearest}) AS nearest (waiting, embedded, id, score) JOIN ({ENTITIES}) ON e.id = nearest.id"""


@lru_cache(maxsize=64)
def similar_by_chunks(*, model_id: int, dimensions: int, limit: int, visible: str, passing: str) -> str:
    """Return the statement over the vectors of chunks of documents without code; ``visible`` is over chunks c.

    Columns: cosine similarity, REFERENCE; an entity may come once per chunk. The first row has no entity, but the
    number of chunks hits.
    """
    no_code = "EXISTS (SELECT FROM structured_documents s WHERE s.document_id = d.id AND NOT s.is_code)"
    # a scalar subquery: the planner would turn a condition into a join with all such documents, without the index
    of_chunk = f"(SELECT true FROM documents d WHERE d.id = c.document_id AND {passing} AND {no_code})"
    nearest = similar(
        CHUNKS,
        model_id=model_id,
        dimensions=dimensions,
        limit=limit,
        visible=visible,
        filtered=of_chunk,
        matching=f"{passing} AND {no_code}",
    )
    return f"""
        WITH nearest (waiting, embedded, chunk_id, score) AS MATERIALIZED ({nearest}),
        chunk AS MATERIALIZED (
            SELECT c.id, c.document_id, c.line_start, c.line_end, c.content
            FROM nearest JOIN chunks c ON c.id = nearest.chunk_id),
        {HELD}
        SELECT hits.*
        FROM (
            SELECT (SELECT count(chunk_id) FROM nearest)::float8 AS score, {_nothing()}
            UNION ALL
            SELECT nearest.score, {REFERENCE}
            FROM held JOIN nearest USING (chunk_id) JOIN ({ENTITIES}) ON e.id = held.id) AS hits
        ORDER BY hits.id NULLS FIRST"""


@lru_cache(maxsize=64)
def texts(passing: str) -> str:
    """Columns: id, content, head, artifact hash, title, language, sensitivity, chunk id or null, whether it is cut.

    The chunk is the one with the entity's first line that reaches furthest, else the first that overlaps it.
    """
    return f"""
        SELECT e.id, e.content, e.head, s.artifact_hash, d.title, d.language, d.sensitivity, begins.id, e.cut
        FROM {ENTITIES}
        LEFT JOIN LATERAL (
            SELECT c.id
            FROM chunks c
            WHERE c.document_id = e.document_id AND c.line_end >= e.line_start AND c.line_start <= e.line_end
            ORDER BY c.line_start > e.line_start, least(c.line_end, e.line_end) DESC, c.chunk_index
            LIMIT 1) AS begins ON true
        WHERE e.id = ANY(%(ids)s::bigint[]) AND {passing}"""


def bare_names(columns: str) -> list[str]:
    """Return the columns of a select list without their aliases."""
    return [column.strip().rpartition(".")[2] for column in columns.split(",")]


def qualified(alias: str, columns: str) -> str:
    return ", ".join(f"{alias}.{column}" for column in columns.split(", "))


def _nothing() -> str:
    types = {"id": "bigint", "document_id": "uuid", "position": "integer"}
    types |= dict.fromkeys(("line_start", "line_end", "token_count", "head_tokens"), "integer")
    return ", ".join(f"NULL::{types.get(column, 'text')} AS {column}" for column in bare_names(REFERENCE))

"""The SQL over entities of documents: looked up by name, by place and by similarity.

``passing`` is a condition on documents d: what the principal may read, and the filters. Every entity comes with
``REFERENCE``. Paths are compared byte by byte, so that an order is the same on every server.
"""

from __future__ import annotations

from functools import lru_cache

from ragcorp.domain.structure import CODE_KINDS, EntityKind
from ragcorp.infrastructure.postgres import predicates, statements
from ragcorp.infrastructure.postgres.collection_rows import CollectionTable, Vectors
from ragcorp.infrastructure.postgres.collection_statements import similar

MATCHES = 1000
"""Up to so many matches of a name are counted."""

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
"""The entities that have vectors of their own."""


@lru_cache(maxsize=64)
def files(passing: str) -> str:
    """Columns: the name's number, matches, document id, external_id, path, whether it is code."""
    return f"""
        SELECT asked.number, found.*
        FROM unnest(%(names)s::text[]) WITH ORDINALITY AS asked (name, number)
        CROSS JOIN LATERAL (
            SELECT least(count(*) OVER (), {MATCHES}) AS matches, s.document_id, d.external_id, s.path, s.is_code
            FROM structured_documents s JOIN documents d ON d.id = s.document_id
            WHERE s.names @> ARRAY[asked.name] AND s.workspace = %(workspace)s AND {passing}
            ORDER BY s.path COLLATE "C", d.external_id
            LIMIT %(limit)s) AS found
        ORDER BY asked.number, found.path COLLATE "C", found.external_id"""


@lru_cache(maxsize=64)
def named(passing: str) -> str:
    """Columns: the name's number, matches, REFERENCE."""
    return f"""
        SELECT asked.number, found.*
        FROM unnest(%(names)s::text[]) WITH ORDINALITY AS asked (name, number)
        CROSS JOIN LATERAL (
            SELECT least(count(*) OVER (), {MATCHES}) AS matches, {REFERENCE}
            FROM {ENTITIES}
            WHERE e.names @> ARRAY[asked.name] AND e.workspace = %(workspace)s AND {passing}
            ORDER BY s.path COLLATE "C", d.external_id, e.position
            LIMIT %(limit)s) AS found
        ORDER BY asked.number, {_of("found", BY_PLACE)}"""


@lru_cache(maxsize=64)
def of_documents(passing: str) -> str:
    """Columns: the document's number, REFERENCE."""
    return f"""
        SELECT asked.number, found.*
        FROM unnest(%(document_ids)s::uuid[]) WITH ORDINALITY AS asked (id, number)
        CROSS JOIN LATERAL (
            SELECT {REFERENCE}
            FROM {ENTITIES}
            WHERE e.document_id = asked.id AND e.{NO_IDENTIFIER} AND {passing}
            ORDER BY e.position
            LIMIT %(limit)s) AS found
        ORDER BY asked.number, found.position"""


@lru_cache(maxsize=64)
def within(passing: str) -> str:
    """Columns: the id of the entity that was asked, REFERENCE. Found by containers: a method may stand elsewhere."""
    return f"""
        WITH RECURSIVE asked AS MATERIALIZED (
            SELECT e.id, e.document_id, e.entity_key
            FROM {ENTITIES}
            WHERE e.id = ANY(%(ids)s::bigint[]) AND {passing}),
        parts AS MATERIALIZED (
            SELECT p.id, p.document_id, p.entity_key, p.container
            FROM structural_entities p
            WHERE p.document_id IN (SELECT document_id FROM asked) AND p.container IS NOT NULL AND p.{NO_IDENTIFIER}),
        inside AS (
            SELECT a.id AS of, p.id, p.document_id, p.entity_key
            FROM asked a JOIN parts p ON p.document_id = a.document_id AND p.container = a.entity_key
            UNION
            SELECT i.of, p.id, p.document_id, p.entity_key
            FROM inside i JOIN parts p ON p.document_id = i.document_id AND p.container = i.entity_key)
        SELECT found.of, {REFERENCE}
        FROM (
            SELECT i.of, i.id, row_number() OVER (PARTITION BY i.of ORDER BY e.position) AS place
            FROM inside i JOIN structural_entities e ON e.id = i.id
            WHERE i.id <> i.of) AS found
        JOIN ({ENTITIES}) ON e.id = found.id
        WHERE found.place <= %(limit)s
        ORDER BY found.of, e.position"""


@lru_cache(maxsize=64)
def known(passing: str) -> str:
    """Columns: REFERENCE."""
    return f"""
        SELECT {REFERENCE}
        FROM unnest(%(document_ids)s::uuid[], %(keys)s::text[]) AS asked (id, key)
        JOIN ({ENTITIES}) ON e.document_id = asked.id AND e.entity_key = asked.key
        WHERE {passing}"""


COMMON = 500

CALLS, CALLED_BY, SAME_FILE = range(3)


@lru_cache(maxsize=64)
def neighbours(passing: str) -> str:
    """Columns: the id of the entity that was asked, the relation, REFERENCE.

    Calls are resolved by name among the symbols of one language: the nearest stand in the same file, then below as many
    of the same folders as can be. A name that more than ``COMMON`` have, or call, relates those of one file only.
    """
    return f"""
        WITH asked AS MATERIALIZED (
            SELECT e.id, e.document_id, e.position, e.language, e.calls, {_folders("s.path")} AS folders,
                   ARRAY(SELECT name FROM unnest(e.names) AS name WHERE starts_with(name, 'symbol:')) AS names
            FROM {ENTITIES}
            WHERE e.id = ANY(%(ids)s::bigint[]) AND s.is_code AND {passing})
        SELECT asked.id, found.*
        FROM asked
        CROSS JOIN LATERAL (
            ({_nearest(CALLS, "asked.calls", f"names @> {{}} AND e.{SYMBOL}", passing)})
            UNION ALL
            ({_nearest(CALLED_BY, "asked.names", "calls @> {}", passing)})
            UNION ALL
            (SELECT {SAME_FILE}, abs(e.position - asked.position) AS place, {REFERENCE}
             FROM {ENTITIES}
             WHERE e.document_id = asked.document_id AND e.id <> asked.id AND e.{NO_IDENTIFIER} AND {passing}
             ORDER BY abs(e.position - asked.position), e.position
             LIMIT %(limit)s)) AS found (relation, place, {_names()})
        ORDER BY asked.id, found.relation, found.place, found.position"""


def _nearest(relation: int, names: str, having: str, passing: str) -> str:
    """Return the nearest entities ``having`` one of the names: of the same file, and of all where few have it."""
    shared = """(
        SELECT count(*) FROM generate_series(1, cardinality(asked.folders)) AS depth
        WHERE asked.folders[:depth] = near.folders[:depth])"""
    found = f"""
        SELECT {REFERENCE}, {_folders("s.path")} AS folders
        FROM {ENTITIES}
        WHERE e.{having.format("ARRAY[wanted.name]")} AND e.language = asked.language AND e.id <> asked.id
          AND e.workspace = %(workspace)s AND {passing}"""
    return f"""
        SELECT {relation}, row_number() OVER (ORDER BY near.document_id <> asked.document_id, {shared} DESC,
                   {_of("near", BY_PLACE)}) AS place, {_names("near")}
        FROM (
            SELECT here.* FROM unnest({names}) AS wanted (name)
            CROSS JOIN LATERAL ({found} AND e.document_id = asked.document_id) AS here
            UNION
            SELECT {_names("everywhere")}, everywhere.folders FROM unnest({names}) AS wanted (name)
            CROSS JOIN LATERAL (
                SELECT few.*, count(*) OVER () AS matches FROM ({found} LIMIT {COMMON + 1}) AS few) AS everywhere
            WHERE everywhere.matches <= {COMMON}) AS near
        ORDER BY place
        LIMIT %(limit)s"""


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
"""Which entities the rows of ``chunk`` hold text of: a line that is not blank is the innermost entity's."""


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
    """Return the statement over the vectors of chunks of documents that are no code; ``visible`` is over chunks c.

    Columns: cosine similarity, REFERENCE; an entity may come once a chunk. And first, a row without an entity: how many
    chunks were found.
    """
    no_code = "EXISTS (SELECT FROM structured_documents s WHERE s.document_id = d.id AND NOT s.is_code)"
    # a value, where a condition would be turned into a join with all such documents, past the index
    of_chunk = f"(SELECT true FROM documents d WHERE d.id = c.document_id AND {passing} AND {no_code})"
    nearest = statements.similar_chunks(
        model_id=model_id,
        dimensions=dimensions,
        limit=limit,
        visible=visible,
        filtered=of_chunk,
        matching=f"{passing} AND {no_code}",
    )
    return f"""
        WITH nearest AS MATERIALIZED ({nearest}),
        chunk AS MATERIALIZED (
            SELECT c.id, c.document_id, c.line_start, c.line_end, c.content
            FROM nearest JOIN chunks c ON c.id = nearest.chunk_id),
        {HELD}
        SELECT found.*
        FROM (
            SELECT (SELECT count(chunk_id) FROM nearest)::float8 AS score, {_nothing()}
            UNION ALL
            SELECT nearest.score, {REFERENCE}
            FROM held JOIN nearest USING (chunk_id) JOIN ({ENTITIES}) ON e.id = held.id) AS found
        ORDER BY found.id NULLS FIRST"""


@lru_cache(maxsize=64)
def texts(passing: str) -> str:
    """Columns: id, content, head, artifact hash, title, language, sensitivity, chunk id or null, whether it is cut.

    Of the chunks that hold the entity's first line, the one that reaches furthest; else the first that holds any.
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


def _folders(path: str) -> str:
    """Return the folders of a path as an array, with the root before them all."""
    return f"trim_array(string_to_array('/' || {path}, '/'), 1)"


_COLUMNS = tuple(column.strip().rpartition(".")[2] for column in REFERENCE.split(","))


def _names(alias: str | None = None) -> str:
    return ", ".join(_COLUMNS if alias is None else (f"{alias}.{column}" for column in _COLUMNS))


def _of(alias: str, columns: str) -> str:
    return ", ".join(f"{alias}.{column}" for column in columns.split(", "))


def _nothing() -> str:
    types = {"id": "bigint", "document_id": "uuid", "position": "integer"}
    types |= dict.fromkeys(("line_start", "line_end", "token_count", "head_tokens"), "integer")
    return ", ".join(f"NULL::{types.get(column, 'text')} AS {column}" for column in _COLUMNS)

"""The port GraphSearch over PostgreSQL: from the entities of a query, one or two hops, in one statement."""

from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from pgvector import Vector as PgVector

from ragcorp.domain.collections import GRAPH
from ragcorp.domain.embeddings import Vector
from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.filters import Filters
from ragcorp.domain.principal import Principal
from ragcorp.domain.retrieval import Hit, RankedList, ScoreType
from ragcorp.infrastructure.postgres.connections.database import Database
from ragcorp.infrastructure.postgres.models.embedding_models import indexed_type
from ragcorp.infrastructure.postgres.models.registry import ActiveModel
from ragcorp.infrastructure.postgres.visibility.graph import readable_entities, readable_facts
from ragcorp.infrastructure.postgres.visibility.predicates import FACTS, filtered

RUN_WORDS = 5
"""Length, in words, up to which names are found in a query."""

SETTINGS = """
    SELECT set_config('statement_timeout', %(timeout_ms)s, true),
           set_config('hnsw.iterative_scan', 'relaxed_order', true),
           set_config('hnsw.ef_search', '40', true),
           set_config('plan_cache_mode', 'force_generic_plan', true),
           set_config('max_parallel_workers_per_gather', '0', true),
           set_config('jit', 'off', true),
           set_config('enable_seqscan', 'off', true),
           set_config('enable_sort', 'off', true)
"""
"""Settings for the transaction of one search only. A node's facts are read in the order of an index, the first ones
only; without sorts the planner never collects them all first, even with outdated statistics."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphSearchOptions:
    """Bounds of a search.

    ``hops`` is 1 or 2. For each node and direction, the ``facts_looked_at`` heaviest and newest facts are read, and as
    many with words of the query; the best ``facts_per_node`` are followed. ``nodes`` bounds all nodes, ``named`` the
    entities that the query names; ``nearest`` are added by vector, from ``similarity`` (cosine) up. ``timeout_ms``
    cancels the statement and must be below the deadline of the source.
    """

    hops: int = 2
    hop_discount: float = 0.5
    facts_looked_at: int = 200
    facts_per_node: int = 50
    nodes: int = 200
    named: int = 20
    nearest: int = 5
    similarity: float = 0.85
    timeout_ms: int = 1_000

    def __post_init__(self) -> None:
        if self.hops not in (1, 2):
            raise InvalidInputError("hops is out of range.", field="hops", limit="1 or 2", remedy="Choose 1 or 2.")


class PostgresGraphSearch:
    """Each call is one statement; settings travel with it in one pipelined round trip."""

    def __init__(
        self,
        *,
        database: Database,
        model: ActiveModel | None,
        default_language: str = "es",
        options: GraphSearchOptions | None = None,
    ) -> None:
        self._database = database
        self._model = model
        self._default_language = default_language
        self._options = options or GraphSearchOptions()

    async def find_facts(
        self,
        query: str,
        embedding: Vector | None,
        *,
        principal: Principal,
        filters: Filters = (),
        limit: int,
        now: datetime | None = None,
    ) -> RankedList:
        facts, entities = readable_facts(principal), readable_entities(principal)
        narrowed = filtered(filters, table=FACTS, alias="f")
        by_vector = embedding is not None and self._model is not None
        statement = _statement(
            options=self._options,
            model=(self._model.id, self._model.dimensions) if by_vector and self._model else None,
            facts=facts.sql,
            entities=entities.sql,
            filtered=narrowed.sql,
        )
        values = facts.values | narrowed.values
        values |= {"query": query, "limit": limit, "now": now, "default_language": self._default_language}
        if embedding is not None and by_vector:
            values["embedding"] = PgVector(list(embedding))

        rows = await self._database.fetch(
            statement,
            values,
            workspace=principal.workspace,
            settings=SETTINGS,
            setting_values={"timeout_ms": str(self._options.timeout_ms)},
        )
        return RankedList(
            source=GRAPH,
            score_type=ScoreType.GRAPH,
            hits=tuple(Hit(item_id=str(fact_id), collection=GRAPH, score=score) for fact_id, score in rows),
        )


NAMED = """
    SELECT e.id, 1.0::float8 AS strength
    FROM (SELECT array_agg(run) AS runs FROM name_runs(%(query)s, {run_words})) query_words
    CROSS JOIN LATERAL (SELECT * FROM entities WHERE keys && query_words.runs OFFSET 0) e
    WHERE {entities}
      AND EXISTS (
          SELECT FROM unnest(e.keys) AS key
          WHERE key = ANY (query_words.runs) AND (strpos(key, ' ') > 0 OR text_lexemes(e.language, key) <> ''))
    ORDER BY e.id
    LIMIT {named}
"""
"""Entities with a name in the query; a name that is a single stop word (``Ella``) does not count."""

NEAREST = """
    SELECT near.id, 1 - near.distance AS strength
    FROM (
        SELECT e.id, {vector} <=> {query} AS distance
        FROM entity_embeddings v JOIN entities e ON e.id = v.item_id
        WHERE v.model_id = {model_id} AND v.workspace = %(workspace)s AND {entities}
        ORDER BY {vector} <=> {query}
        LIMIT {nearest}) near
    WHERE 1 - near.distance >= {similarity}
"""

LOOK = """
    (SELECT f.id FROM {rows} f
     WHERE f.{end}_id = node.id AND {facts} {narrowed}
     ORDER BY f.weight DESC, f.id DESC
     LIMIT {looked_at})
"""

ABOUT = "(SELECT * FROM facts WHERE {end}_id = node.id AND lexemes @@ words.about OFFSET 0)"
"""OFFSET 0, here and above, forces these indexes, whatever the planner assumes about the table's size."""

SHARE = """
    (SELECT count(*) FILTER (WHERE lexeme = ANY (tsvector_to_array(f.lexemes)))::float8 / greatest(count(*), 1)
     FROM query_words, unnest(query_words.lexemes) AS lexeme
     WHERE query_words.language = f.language)
"""

OTHER = "CASE f.subject_id WHEN node.id THEN f.object_id ELSE f.subject_id END"

FIRST = f"""
    SELECT best.fact, best.other, node.strength, node.strength * best.score AS score
    FROM seeds node
    JOIN entities e ON e.id = node.id
    CROSS JOIN LATERAL (
        SELECT string_agg(quote_literal(lexeme), ' | ')::tsquery AS about
        FROM (SELECT DISTINCT unnest(lexemes) AS lexeme FROM query_words) distinct_words
        WHERE lexeme <> ALL (tsvector_to_array(text_lexemes(e.language, e.name)))) words
    CROSS JOIN LATERAL (
        SELECT f.id AS fact, {OTHER} AS other, f.weight * (1 + {SHARE}) / 2 AS score
        FROM ({{looks}}) looked JOIN facts f ON f.id = looked.id
        ORDER BY score DESC, f.id
        LIMIT {{facts_per_node}}) best
"""
"""The facts of the query's entities: the heaviest, and those with a word of the query other than the entity's name,
which all its facts contain."""

SECOND = f"""
    SELECT looked.fact, looked.strength, looked.strength * f.weight * (1 + {SHARE}) / 2 AS score
    FROM (
        SELECT looks.id AS fact, max(node.strength) AS strength
        FROM further node CROSS JOIN LATERAL ({{looks}}) looks
        GROUP BY looks.id) looked
    JOIN facts f ON f.id = looked.fact
"""


@lru_cache(maxsize=256)
def _statement(
    *, options: GraphSearchOptions, model: tuple[int, int] | None, facts: str, entities: str, filtered: str
) -> str:
    """Return the statement for one shape of filter. Columns: fact id and score, best first.

    score = strength * weight * hop_discount^(hop - 1) * (1 + share) / 2, in [0, 1]: ``strength`` of the entity
    at the start of the path (1 by name, the cosine by vector), ``weight`` of the fact, ``share`` of the query's lexemes
    in the fact's text. Of several paths to a fact the best counts.

    Filters apply to the returned facts only, not to those on the path.
    """
    seeds = NAMED.format(run_words=RUN_WORDS, entities=entities, named=options.named)
    if model is not None:
        model_id, dimensions = model
        kind = indexed_type(dimensions)
        nearest = NEAREST.format(
            vector=f"v.embedding::{kind}",
            query=f"%(embedding)s::{kind}",
            model_id=model_id,
            entities=entities,
            nearest=options.nearest,
            similarity=options.similarity,
        )
        seeds = f"({seeds}) UNION ALL ({nearest})"
    parts = [
        f"starts AS MATERIALIZED ({seeds})",
        "seeds AS MATERIALIZED (SELECT id, max(strength) AS strength FROM starts GROUP BY id)",
        """languages AS MATERIALIZED (
               SELECT unnest(query_languages(%(workspace)s, %(default_language)s)) AS language
               UNION SELECT e.language FROM entities e WHERE e.id IN (SELECT id FROM seeds))""",
        """query_words AS MATERIALIZED (
               SELECT language, tsvector_to_array(text_lexemes(language, %(query)s)) AS lexemes FROM languages)""",
        f"first AS MATERIALIZED ({_first(options, facts, filtered)})",
    ]
    paths = ["SELECT fact, score FROM first"]
    if options.hops > 1:
        leading = "first"
        if filtered != "true":
            leading = "leads"
            parts.append(f"leads AS MATERIALIZED ({_first(options, facts, 'true')})")
        looks = _scans(facts, f"AND {filtered}", options.facts_per_node)
        parts += [
            f"""further AS MATERIALIZED (
                    SELECT other AS id, max(strength) AS strength FROM {leading}
                    WHERE other NOT IN (SELECT id FROM seeds)
                    GROUP BY other ORDER BY max(score) DESC, other
                    LIMIT greatest(0, {options.nodes} - (SELECT count(*) FROM seeds)))""",
            f"second AS MATERIALIZED ({SECOND.format(looks=looks)})",
        ]
        paths.append(f"SELECT fact, score * {options.hop_discount} FROM second")
    return " ".join(
        f"""
        WITH {", ".join(parts)},
        ranked AS (SELECT fact, max(score) AS score FROM ({" UNION ALL ".join(paths)}) paths GROUP BY fact)
        SELECT ranked.fact, ranked.score
        FROM ranked JOIN facts f ON f.id = ranked.fact
        ORDER BY ranked.score DESC, coalesce(f.valid_to <= coalesce(%(now)s::timestamptz, now()), false), ranked.fact
        LIMIT %(limit)s""".split()
    )


def _first(options: GraphSearchOptions, facts: str, filtered: str) -> str:
    scans = [
        _scans(facts, f"AND {filtered}", options.facts_looked_at),
        _scans(facts, f"AND {filtered}", options.facts_looked_at, rows=ABOUT),
    ]
    return FIRST.format(looks=" UNION ".join(scans), facts_per_node=options.facts_per_node)


def _scans(facts: str, narrowed: str, looked_at: int, *, rows: str = "facts") -> str:
    return " UNION ".join(
        LOOK.format(rows=rows.format(end=end), end=end, facts=facts, narrowed=narrowed, looked_at=looked_at)
        for end in ("subject", "object")
    )

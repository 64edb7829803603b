"""The ports FacetCounts and ContentCounter over PostgreSQL: one statement in one round trip."""

from collections import Counter

from psycopg.rows import TupleRow

from ragcorp.domain.collections import FACETS, GRAPH, Collection, Facets
from ragcorp.domain.embeddings import BacklogCounts
from ragcorp.domain.filters import Filters
from ragcorp.domain.principal import Principal
from ragcorp.domain.recognition import RecognitionCounts
from ragcorp.domain.retrieval import CHUNK_COLLECTION
from ragcorp.domain.status import ContentCounts
from ragcorp.infrastructure.postgres.connections.database import Database
from ragcorp.infrastructure.postgres.tables.collections import ARTIFACTS, TABLES
from ragcorp.infrastructure.postgres.visibility.graph import readable_entities, readable_facts
from ragcorp.infrastructure.postgres.visibility.predicates import visibility

TIMEOUT = "SELECT set_config('statement_timeout', %(timeout_ms)s, true)"


COUNTED = {name: (table, "count(*)") for name, table in TABLES.items()} | {
    CHUNK_COLLECTION: (ARTIFACTS, f"coalesce(sum({ARTIFACTS.alias}.chunk_count), 0)::bigint")
}
"""Chunks are counted through their documents, which have the same attributes and are fewer."""

COUNTS = """
    SELECT * FROM
        (SELECT count(*) FILTER (WHERE d.deleted_at IS NULL), count(*) FILTER (WHERE d.deleted_at IS NOT NULL),
                coalesce(sum(d.chunk_count) FILTER (WHERE d.deleted_at IS NULL), 0)::bigint
         FROM documents d WHERE {documents}) AS of_documents,
        (SELECT count(*) FROM memory_items i WHERE {items}) AS of_memory,
        (SELECT count(*) FROM history_turns i WHERE {items}) AS of_history,
        (SELECT count(*) FROM entities e WHERE {entities}) AS of_entities,
        (SELECT count(*) FROM facts f WHERE {facts}) AS of_facts,
        (SELECT count(*), count(s.text) FILTER (WHERE NOT s.failed), count(*) FILTER (WHERE s.failed)
         FROM scanned_pages s JOIN documents d ON d.id = s.document_id
         WHERE d.deleted_at IS NULL AND {documents}) AS of_scans,
        (SELECT coalesce(bool_or(frequencies_are_stale AND chunks >= %(refreshed_at_once)s), false)
         FROM search_statistics WHERE workspace = %(workspace)s) AS of_statistics,
        (SELECT count(*), count(*) FILTER (WHERE b.failed)
         FROM embedding_backlog b JOIN documents d ON d.id = b.document_id WHERE {documents}) AS waiting_chunks,
        (SELECT count(*), count(*) FILTER (WHERE b.failed)
         FROM memory_backlog b JOIN memory_items i ON i.id = b.item_id WHERE {items}) AS waiting_memory,
        (SELECT count(*), count(*) FILTER (WHERE b.failed)
         FROM history_backlog b JOIN history_turns i ON i.id = b.item_id WHERE {items}) AS waiting_history,
        (SELECT count(*), count(*) FILTER (WHERE b.failed)
         FROM entity_backlog b JOIN entities e ON e.id = b.item_id WHERE {entities}) AS waiting_entities,
        (SELECT count(*), count(*) FILTER (WHERE b.failed)
         FROM structural_entity_backlog b JOIN structural_entities s ON s.id = b.item_id
         JOIN documents d ON d.id = s.document_id WHERE {documents}) AS waiting_structure
"""

REFRESHED_AT_ONCE = 1000
"""Chunks of a workspace that is too small to report outdated statistics: refreshing them takes milliseconds."""

WAITING = (CHUNK_COLLECTION, Collection.MEMORY, Collection.HISTORY, GRAPH, "structure")
"""In the order of the columns, two of each."""


class PostgresFacetCounts:
    """Counts in one statement, cancelled after ``timeout_ms``. Collections without a filtered field are left out."""

    def __init__(self, database: Database, *, timeout_ms: int = 4_000) -> None:
        self._database = database
        self._timeout_ms = timeout_ms

    async def count(self, *, principal: Principal, filters: Filters = ()) -> Facets:
        statement, values = _counts(principal, filters)
        if not statement:
            return Facets(counts={facet: {} for facet in FACETS})
        rows = await self._database.fetch(
            statement,
            values,
            workspace=principal.workspace,
            settings=TIMEOUT,
            setting_values={"timeout_ms": str(self._timeout_ms)},
        )
        return _facets(rows)


def _counts(principal: Principal, filters: Filters) -> tuple[str, dict[str, object]]:
    """Columns: collection, artifact type, language, first day of the month in UTC or null, count."""
    branches: list[str] = []
    values: dict[str, object] = {}
    for place, (collection, (table, number)) in enumerate(COUNTED.items()):
        passing = table.passing(principal, filters, place=place, collection=collection)
        if passing is not None:
            values |= passing.values
            branches.append(
                f"SELECT '{collection}', {table.alias}.artifact_type, {table.alias}.language,"
                f" date_trunc('month', {table.alias}.occurred_at AT TIME ZONE 'UTC')::date, {number}"
                f" FROM {table.rows} WHERE {passing.sql} GROUP BY 2, 3, 4"
            )
    return " UNION ALL ".join(branches), values


def _facets(rows: list[TupleRow]) -> Facets:
    """Return the sums by facet, each facet's values sorted; rows without a date count for no month."""
    counters: dict[str, Counter[str]] = {facet: Counter() for facet in FACETS}
    for collection, kind, language, month, number in rows:
        for facet, value in zip(FACETS, (collection, kind, language, month and f"{month:%Y-%m}"), strict=True):
            if value is not None:
                counters[facet][value] += number
    return Facets(counts={facet: dict(sorted(counter.items())) for facet, counter in counters.items()})


class PostgresContentCounts:
    """Counts in one statement, cancelled after ``timeout_ms``."""

    def __init__(self, database: Database, *, timeout_ms: int = 1_500) -> None:
        self._database = database
        self._timeout_ms = timeout_ms

    async def count(self, *, principal: Principal) -> ContentCounts:
        documents = visibility(principal, alias="d")
        statement = COUNTS.format(
            documents=documents.sql,
            items=visibility(principal, alias="i").sql,
            entities=readable_entities(principal).sql,
            facts=readable_facts(principal).sql,
        )
        (row,) = await self._database.fetch(
            statement,
            {**documents.values, "workspace": principal.workspace, "refreshed_at_once": REFRESHED_AT_ONCE},
            workspace=principal.workspace,
            settings=TIMEOUT,
            setting_values={"timeout_ms": str(self._timeout_ms)},
        )
        stored, deleted, chunks, memories, turns, entities, facts, pages, read, refused, stale, *waiting = row
        return ContentCounts(
            documents=stored,
            deleted_documents=deleted,
            chunks=chunks,
            memories=memories,
            turns=turns,
            entities=entities,
            facts=facts,
            recognition=RecognitionCounts(pages=pages, done=read, failed=refused),
            statistics_are_stale=stale,
            waiting={
                name: BacklogCounts(pending=pending, failed=failed)
                for name, pending, failed in zip(WAITING, waiting[::2], waiting[1::2], strict=True)
            },
        )

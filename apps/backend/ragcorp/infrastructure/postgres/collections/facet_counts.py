"""The port FacetCounts over PostgreSQL."""

from collections import Counter

from psycopg.rows import TupleRow

from ragcorp.domain.collections import FACETS, Facets
from ragcorp.domain.filters import Filters
from ragcorp.domain.principal import Principal
from ragcorp.domain.retrieval import CHUNK_COLLECTION
from ragcorp.infrastructure.postgres.connections.database import Database
from ragcorp.infrastructure.postgres.tables.collections import ARTIFACTS, TABLES

TIMEOUT = "SELECT set_config('statement_timeout', %(timeout_ms)s, true)"


COUNTED = {name: (table, "count(*)") for name, table in TABLES.items()} | {
    CHUNK_COLLECTION: (ARTIFACTS, f"coalesce(sum({ARTIFACTS.alias}.chunk_count), 0)::bigint")
}
"""Chunks are counted through their documents, which have the same attributes and are fewer."""


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

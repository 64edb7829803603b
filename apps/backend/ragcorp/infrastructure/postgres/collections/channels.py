"""The port CollectionChannels over PostgreSQL."""

from datetime import datetime

from ragcorp.domain.embeddings import Vector
from ragcorp.domain.filters import Filters
from ragcorp.domain.ports.storage import SimilarChunks
from ragcorp.domain.principal import Principal
from ragcorp.domain.retrieval import Hit, RankedList, ScoreType
from ragcorp.domain.search.sources import FULL_TEXT
from ragcorp.infrastructure.postgres.collections import statements
from ragcorp.infrastructure.postgres.connections.database import Database
from ragcorp.infrastructure.postgres.dense.search import VectorScan, find_similar
from ragcorp.infrastructure.postgres.tables.collections import CollectionTable
from ragcorp.infrastructure.postgres.visibility.predicates import visibility


class PostgresCollectionChannels:
    """The dense and the sparse channel of one collection. Each call is one statement in one round trip."""

    def __init__(
        self,
        database: Database,
        *,
        table: CollectionTable,
        scan: VectorScan,
        default_language: str = "es",
        budget: int = statements.BUDGET,
    ) -> None:
        self._database = database
        self._table = table
        self._scan = scan
        self._default_language = default_language
        self._budget = budget

    async def similar(self, embedding: Vector, *, principal: Principal, filters: Filters, limit: int) -> SimilarChunks:
        return await find_similar(
            self._database,
            embedding,
            table=self._table,
            scan=self._scan,
            principal=principal,
            filters=filters,
            limit=limit,
        )

    async def matching(
        self, query: str, *, principal: Principal, filters: Filters, limit: int, since: datetime | None = None
    ) -> tuple[RankedList, bool]:
        visible, narrowed = self._table.visible(principal), self._table.narrowed(filters)
        statement = statements.matching(
            self._table,
            limit=limit,
            visible=visible.sql,
            visible_chunk=visibility(principal).sql,
            filtered=narrowed.sql if narrowed.clauses else None,
            bounded_in_time=since is not None,
            budget=self._budget,
        )
        values = visible.values | narrowed.values
        values |= {"query": query, "language": self._default_language, "since": since}
        rows = await self._database.fetch(
            statement, values, workspace=principal.workspace, settings=statements.SETTINGS
        )
        collection = self._table.collection
        ranked = RankedList(
            source=f"{collection}.{FULL_TEXT}",
            score_type=ScoreType.BM25,
            hits=tuple(
                Hit(item_id=str(key), collection=collection, score=score) for _, key, score in rows if key is not None
            ),
        )
        return ranked, rows[0][0]

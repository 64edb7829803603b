"""The dense and the sparse channel of one collection over PostgreSQL."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from pgvector import Vector as PgVector
from psycopg.rows import TupleRow

from ragcorp.domain.embeddings import Vector
from ragcorp.domain.filters import Filters
from ragcorp.domain.ports.storage import SimilarChunks
from ragcorp.domain.principal import Principal
from ragcorp.domain.retrieval import Hit, RankedList, ScoreType
from ragcorp.infrastructure.postgres.collections import statements as collection_statements
from ragcorp.infrastructure.postgres.connections.database import Database
from ragcorp.infrastructure.postgres.connections.positional_parameters import execute
from ragcorp.infrastructure.postgres.dense import statements
from ragcorp.infrastructure.postgres.dense.channels import MAX_EF_SEARCH
from ragcorp.infrastructure.postgres.models.registry import ActiveModel
from ragcorp.infrastructure.postgres.tables.collections import CollectionTable
from ragcorp.infrastructure.postgres.visibility.predicates import visibility

DENSE, FULL_TEXT = "dense", "full_text"


class PostgresCollectionChannels:
    """Each call is one statement; its settings travel with it in one pipelined round trip."""

    def __init__(
        self,
        database: Database,
        *,
        table: CollectionTable,
        model: ActiveModel | None,
        ef_search: int,
        max_scan_tuples: int,
        default_language: str = "es",
        budget: int = collection_statements.BUDGET,
    ) -> None:
        self._database = database
        self._table = table
        self._model = model
        self._ef_search = ef_search
        self._max_scan_tuples = str(max_scan_tuples)
        self._default_language = default_language
        self._budget = budget

    async def similar(self, embedding: Vector, *, principal: Principal, filters: Filters, limit: int) -> SimilarChunks:
        source = f"{self._table.collection}.{DENSE}"
        if self._model is None:
            return SimilarChunks(
                ranked_list=RankedList(source=source, score_type=ScoreType.COSINE_SIMILARITY), seen=0.0
            )
        visible, narrowed = self._table.visible(principal), self._table.narrowed(filters)
        statement = collection_statements.similar(
            self._table,
            model_id=self._model.id,
            dimensions=self._model.dimensions,
            limit=limit,
            visible=visible.sql,
            filtered=narrowed.sql if narrowed.clauses else None,
        )
        scan = {
            "ef_search": str(min(MAX_EF_SEARCH, max(self._ef_search, limit))),
            "max_scan_tuples": self._max_scan_tuples,
        }
        rows = await self._rows(
            statements.SCAN_SETTINGS,
            scan,
            statement,
            visible.values | narrowed.values | {"embedding": PgVector(list(embedding))},
            principal.workspace,
        )
        waiting, embedded = rows[0][:2]
        return SimilarChunks(
            ranked_list=self._ranked(source, ScoreType.COSINE_SIMILARITY, [row[2:] for row in rows]),
            seen=embedded / (embedded + waiting) if waiting else 1.0,
        )

    async def matching(
        self, query: str, *, principal: Principal, filters: Filters, limit: int, since: datetime | None = None
    ) -> tuple[RankedList, bool]:
        visible, narrowed = self._table.visible(principal), self._table.narrowed(filters)
        statement = collection_statements.matching(
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
        rows = await self._rows(collection_statements.SETTINGS, {}, statement, values, principal.workspace)
        ranked = self._ranked(f"{self._table.collection}.{FULL_TEXT}", ScoreType.BM25, [row[1:] for row in rows])
        return ranked, rows[0][0]

    def _ranked(self, source: str, score_type: ScoreType, rows: list[TupleRow]) -> RankedList:
        return RankedList(
            source=source,
            score_type=score_type,
            hits=tuple(
                Hit(item_id=str(key), collection=self._table.collection, score=score)
                for key, score in rows
                if key is not None
            ),
        )

    async def _rows(
        self,
        scan_settings: str,
        scan: Mapping[str, object],
        statement: str,
        values: Mapping[str, object],
        workspace: str,
    ) -> list[TupleRow]:
        async def work() -> list[TupleRow]:
            async with self._database.autocommit(workspace) as connection:
                async with connection.pipeline():
                    await connection.execute(scan_settings, scan, prepare=True)
                    cursor = await execute(connection, statement, values)
                return await cursor.fetchall()

        return await self._database.read(work)

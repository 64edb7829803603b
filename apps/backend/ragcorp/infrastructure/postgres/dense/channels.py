"""The retrieval channels over PostgreSQL: dense by pgvector, sparse by full-text search, and the chunks' content."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from pgvector import Vector as PgVector
from psycopg.rows import TupleRow

from ragcorp.domain.documents import Chunk
from ragcorp.domain.embeddings import Vector
from ragcorp.domain.filters import Filters
from ragcorp.domain.ports.storage import SimilarChunks
from ragcorp.domain.principal import Principal
from ragcorp.domain.retrieval import Hit, RankedList, ScoreType
from ragcorp.infrastructure.postgres.chunks.ids import database_ids
from ragcorp.infrastructure.postgres.chunks.rows import chunk
from ragcorp.infrastructure.postgres.connections.database import Database
from ragcorp.infrastructure.postgres.dense import similarity_scores, statements
from ragcorp.infrastructure.postgres.models.registry import ActiveModel
from ragcorp.infrastructure.postgres.visibility.predicates import filtered, matching_documents, visibility

DENSE = "dense"

MAX_EF_SEARCH = 1000
"""pgvector's upper bound of hnsw.ef_search."""


class ChunkChannels:
    """Finds chunks by vector, by id and by position.

    Each call is one statement; settings travel with it in one pipelined round trip.
    """

    def __init__(self, database: Database, *, model: ActiveModel | None, ef_search: int, max_scan_tuples: int) -> None:
        self._database = database
        self._model = model
        self._ef_search = ef_search
        self._max_scan_tuples = str(max_scan_tuples)

    async def similar(self, embedding: Vector, *, principal: Principal, filters: Filters, limit: int) -> SimilarChunks:
        if self._model is None:
            return SimilarChunks(ranked_list=RankedList(source=DENSE, score_type=ScoreType.COSINE_SIMILARITY), seen=0.0)
        visible, narrowed = visibility(principal), filtered(filters)
        statement = statements.similar_chunks(
            model_id=self._model.id,
            dimensions=self._model.dimensions,
            limit=limit,
            visible=visible.sql,
            filtered=narrowed.sql if narrowed.clauses else None,
            matching=matching_documents(principal, filters) if narrowed.clauses else None,
        )
        values = visible.values | narrowed.values | {"embedding": PgVector(list(embedding))}
        scan = {
            "ef_search": str(min(MAX_EF_SEARCH, max(self._ef_search, limit))),
            "max_scan_tuples": self._max_scan_tuples,
        }

        async def work() -> list[TupleRow]:
            async with self._database.autocommit(principal.workspace) as connection:
                async with connection.pipeline():
                    await connection.execute(statements.SCAN_SETTINGS, scan, prepare=True)
                    cursor = await connection.execute(statement, values, prepare=True, binary=True)
                return await cursor.fetchall()

        rows = await self._database.read(work)
        waiting, embedded = rows[0][:2]
        return SimilarChunks(
            ranked_list=RankedList(
                source=DENSE,
                score_type=ScoreType.COSINE_SIMILARITY,
                hits=tuple(Hit(chunk_id=str(row[2]), score=row[3]) for row in rows if row[2] is not None),
            ),
            seen=embedded / (embedded + waiting) if waiting else 1.0,
        )

    async def half_centred(
        self, embedding: Vector, chunk_ids: Sequence[str], *, principal: Principal
    ) -> dict[str, float]:
        if self._model is None:
            return {}
        visible = visibility(principal)
        statement = similarity_scores.half_centred(
            model_id=self._model.id, dimensions=self._model.dimensions, visible=visible.sql
        )
        values = visible.values | {"ids": database_ids(chunk_ids), "embedding": PgVector(list(embedding))}

        async def work() -> list[TupleRow]:
            async with self._database.autocommit(principal.workspace) as connection:
                cursor = await connection.execute(statement, values, prepare=True, binary=True)
                return await cursor.fetchall()

        return {str(row[0]): row[1] for row in await self._database.read(work)}

    async def chunks(self, chunk_ids: Sequence[str], *, principal: Principal) -> dict[str, Chunk]:
        visible = visibility(principal)
        statement = statements.CHUNKS_BY_ID.format(visible=visible.sql)
        values = visible.values | {"ids": database_ids(chunk_ids)}

        async def work() -> list[TupleRow]:
            async with self._database.autocommit(principal.workspace) as connection:
                cursor = await connection.execute(statement, values, prepare=True, binary=True)
                return await cursor.fetchall()

        return {str(row[0]): chunk(row) for row in await self._database.read(work)}

    async def chunk_ids(
        self, positions: Sequence[tuple[UUID, int]], *, principal: Principal
    ) -> dict[tuple[UUID, int], str]:
        visible = visibility(principal)
        statement = statements.CHUNK_IDS_BY_POSITION.format(visible=visible.sql)
        values = visible.values | {
            "document_ids": [document_id for document_id, _ in positions],
            "indexes": [index for _, index in positions],
        }

        async def work() -> list[TupleRow]:
            async with self._database.autocommit(principal.workspace) as connection:
                return await (await connection.execute(statement, values)).fetchall()

        return {(row[0], row[1]): str(row[2]) for row in await self._database.read(work)}

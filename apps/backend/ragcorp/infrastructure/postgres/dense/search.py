"""Dense search over any collection with vectors."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from pgvector import Vector as PgVector
from psycopg.rows import TupleRow

from ragcorp.domain.embeddings import Vector
from ragcorp.domain.filters import Filters
from ragcorp.domain.ports.storage import SimilarChunks
from ragcorp.domain.principal import Principal
from ragcorp.domain.retrieval import CHUNK_COLLECTION, Hit, RankedList, ScoreType, chunk_hits
from ragcorp.domain.search.sources import DENSE
from ragcorp.infrastructure.postgres.connections.database import Database
from ragcorp.infrastructure.postgres.connections.statement_text import Statement
from ragcorp.infrastructure.postgres.dense import statements
from ragcorp.infrastructure.postgres.models.registry import ActiveModel
from ragcorp.infrastructure.postgres.tables.collections import CollectionTable
from ragcorp.infrastructure.postgres.visibility.predicates import matching_documents

MAX_EF_SEARCH = 1000
"""pgvector's upper bound of hnsw.ef_search."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorScan:
    """The model whose vectors are searched (None: no vectors), and the bounds of a scan of its HNSW indexes."""

    model: ActiveModel | None
    ef_search: int
    max_scan_tuples: int

    def settings(self, limit: int) -> dict[str, str]:
        """Return the values of ``SCAN_SETTINGS`` for a scan that returns ``limit`` rows."""
        return {
            "ef_search": str(min(MAX_EF_SEARCH, max(self.ef_search, limit))),
            "max_scan_tuples": str(self.max_scan_tuples),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilaritySearch:
    """The rows of a table nearest to a vector, by a ``statement`` under ``settings``; without a model neither."""

    statement: Statement | None
    settings: Statement | None
    nothing: RankedList

    @classmethod
    def of(
        cls,
        embedding: Vector,
        *,
        table: CollectionTable,
        scan: VectorScan,
        principal: Principal,
        filters: Filters,
        limit: int,
    ) -> Self:
        source = DENSE if table.collection == CHUNK_COLLECTION else f"{table.collection}.{DENSE}"
        nothing = RankedList(source=source, score_type=ScoreType.COSINE_SIMILARITY)
        if scan.model is None:
            return cls(statement=None, settings=None, nothing=nothing)
        visible, narrowed = table.visible(principal), table.narrowed(filters)
        statement = statements.similar(
            table,
            model_id=scan.model.id,
            dimensions=scan.model.dimensions,
            limit=limit,
            visible=visible.sql,
            filtered=narrowed.sql if narrowed.clauses else None,
            matching=matching_documents(principal, filters) if table.by_documents and narrowed.clauses else None,
        )
        values = {**visible.values, **narrowed.values, "embedding": PgVector(list(embedding))}
        return cls(
            statement=(statements.as_arrays(statement), values),
            settings=(statements.SCAN_SETTINGS, scan.settings(limit)),
            nothing=nothing,
        )

    def read(self, rows: Sequence[TupleRow]) -> SimilarChunks:
        """Return the hits of the rows of ``statement``, none without a model."""
        if not rows:
            return SimilarChunks(ranked_list=self.nothing, seen=0.0)
        waiting, embedded, keys, scores = rows[0]
        keys, scores = keys or (), scores or ()
        if self.nothing.source == DENSE:
            hits = chunk_hits(keys, scores)
        else:
            collection = self.nothing.source.removesuffix(f".{DENSE}")
            hits = tuple(
                Hit(item_id=str(key), collection=collection, score=score)
                for key, score in zip(keys, scores, strict=True)
            )
        return SimilarChunks(
            ranked_list=self.nothing.with_hits(hits), seen=embedded / (embedded + waiting) if waiting else 1.0
        )


async def find_similar(
    database: Database,
    embedding: Vector,
    *,
    table: CollectionTable,
    scan: VectorScan,
    principal: Principal,
    filters: Filters,
    limit: int,
) -> SimilarChunks:
    """Return the rows of a table nearest to a vector, in one round trip."""
    search = SimilaritySearch.of(embedding, table=table, scan=scan, principal=principal, filters=filters, limit=limit)
    if search.statement is None:
        return search.read(())
    (rows,) = await database.fetch_together([search.statement], workspace=principal.workspace, settings=search.settings)
    return search.read(rows)

"""Dense search over any collection with vectors."""

from dataclasses import dataclass, replace

from pgvector import Vector as PgVector

from ragcorp.domain.embeddings import Vector
from ragcorp.domain.filters import Filters
from ragcorp.domain.ports.storage import SimilarChunks
from ragcorp.domain.principal import Principal
from ragcorp.domain.retrieval import CHUNK_COLLECTION, Hit, RankedList, ScoreType
from ragcorp.domain.search.sources import DENSE
from ragcorp.infrastructure.postgres.connections.database import Database
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
    """Return the rows of a table nearest to a vector, in one statement; its settings share the round trip."""
    of_chunks = table.collection == CHUNK_COLLECTION
    nothing = RankedList(
        source=DENSE if of_chunks else f"{table.collection}.{DENSE}", score_type=ScoreType.COSINE_SIMILARITY
    )
    if scan.model is None:
        return SimilarChunks(ranked_list=nothing, seen=0.0)
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
    values = visible.values | narrowed.values | {"embedding": PgVector(list(embedding))}
    rows = await database.fetch(
        statement,
        values,
        workspace=principal.workspace,
        settings=statements.SCAN_SETTINGS,
        setting_values=scan.settings(limit),
    )
    waiting, embedded = rows[0][:2]
    hits = tuple(
        Hit(chunk_id=str(key), score=score)
        if of_chunks
        else Hit(item_id=str(key), collection=table.collection, score=score)
        for *_, key, score in rows
        if key is not None
    )
    return SimilarChunks(
        ranked_list=replace(nothing, hits=hits), seen=embedded / (embedded + waiting) if waiting else 1.0
    )

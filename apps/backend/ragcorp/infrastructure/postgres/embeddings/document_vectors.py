"""Vectors of whole documents: the mean direction of their chunks' vectors (ADR-030)."""

from collections.abc import Sequence
from uuid import UUID

from ragcorp.infrastructure.postgres.connections.database import DriverConnection

_REFRESH = """
    WITH settled AS MATERIALIZED (
        SELECT given.id FROM unnest(%(document_ids)s::uuid[]) AS given (id)
        WHERE NOT EXISTS ({waiting})),
    means AS MATERIALIZED (
        SELECT s.id, m.id AS model_id, whole.workspace, whole.mean
        FROM settled s JOIN embedding_models m ON {model},
             LATERAL (
                 SELECT min(e.workspace) AS workspace, avg(e.embedding) AS mean
                 FROM chunks c JOIN chunk_embeddings e ON e.chunk_id = c.id AND e.model_id = m.id
                 WHERE c.document_id = s.id) AS whole),
    directed AS (
        SELECT id, model_id, workspace, l2_normalize(mean) AS direction FROM means WHERE vector_norm(mean) > 0),
    gone AS (
        DELETE FROM document_embeddings d USING means
        WHERE d.document_id = means.id AND d.model_id = means.model_id
          AND NOT EXISTS (SELECT FROM directed WHERE directed.id = means.id))
    INSERT INTO document_embeddings (document_id, model_id, workspace, embedding)
    SELECT id, model_id, workspace, direction FROM directed
    ON CONFLICT (document_id, model_id) DO UPDATE SET embedding = excluded.embedding
"""
"""A mean of zero has no direction, so its document gets no vector. LATERAL computes one document at a time: a join
would read the vectors of every document."""

REFRESH = _REFRESH.format(
    model="m.active", waiting="SELECT FROM embedding_backlog b WHERE b.document_id = given.id AND NOT b.failed"
)

REFRESH_OF_MODEL = _REFRESH.format(
    model="m.id = %(model_id)s",
    waiting="""
        SELECT FROM chunks c
        WHERE c.document_id = given.id AND c.id <> ALL(%(rejected)s::bigint[]) AND NOT EXISTS (
            SELECT FROM chunk_embeddings e WHERE e.chunk_id = c.id AND e.model_id = %(model_id)s)""",
)
"""The same for a model that is not active yet, for which the backlog is empty."""


async def refresh_document_vectors(connection: DriverConnection, document_ids: Sequence[UUID]) -> None:
    """Compute the active model's vectors of documents without waiting chunks. The caller has locked the documents.

    Chunks that failed for good do not count; documents with waiting chunks keep their vector.
    """
    await connection.execute(REFRESH, {"document_ids": list(document_ids)})

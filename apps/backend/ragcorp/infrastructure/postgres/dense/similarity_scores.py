"""Half-centred cosine of given chunks, and the mean vector of the workspace."""

SAMPLE = 1000
"""Vectors sampled for the mean of a workspace that has none stored: 30 gave the same nDCG (docs/retrieval.md)."""


def half_centred(*, model_id: int, dimensions: int, visible: str) -> str:
    """Return the statement for cos(q - m/2, p - m/2) of the chunks ``ids``. Columns: chunk id, cosine."""
    vector = f"vector({dimensions})"
    return f"""
        WITH mean AS MATERIALIZED (
            SELECT array_fill(0.5::real, ARRAY[{dimensions}])::{vector} * coalesce(
                (SELECT mean_vector FROM workspace_means WHERE workspace = %(workspace)s AND model_id = {model_id}),
                (SELECT avg(embedding) FROM (
                    SELECT e.embedding FROM chunk_embeddings e
                    WHERE e.model_id = {model_id} AND e.workspace = %(workspace)s LIMIT {SAMPLE}) sampled)
            )::{vector} AS half),
        query AS MATERIALIZED (SELECT half, %(embedding)s::{vector} - half AS centred FROM mean)
        SELECT c.id, 1 - ((e.embedding::{vector} - query.half) <=> query.centred)
        FROM query, unnest(%(ids)s::bigint[]) AS wanted (id)
        JOIN chunk_embeddings e ON e.chunk_id = wanted.id AND e.model_id = {model_id}
        JOIN chunks c ON c.id = e.chunk_id
        WHERE {visible}
    """


MEAN_IS_STALE = """
    SELECT EXISTS (
        SELECT 1
        FROM embedding_models m
        CROSS JOIN LATERAL (
            SELECT count(*) AS chunks FROM chunk_embeddings e
            WHERE e.model_id = m.id AND e.workspace = %(workspace)s) now
        LEFT JOIN workspace_means stored ON stored.model_id = m.id AND stored.workspace = %(workspace)s
        WHERE m.active AND now.chunks > 0 AND abs(now.chunks - coalesce(stored.chunks, 0)) > 0.05 * now.chunks)
"""

_STORE_MEAN = """
    INSERT INTO workspace_means (workspace, model_id, chunks, mean_vector)
    SELECT %(workspace)s, m.id, count(*), avg(e.embedding)
    FROM embedding_models m JOIN chunk_embeddings e ON e.model_id = m.id
    WHERE {model} AND e.workspace = %(workspace)s
    GROUP BY m.id
    ON CONFLICT (workspace, model_id) DO UPDATE SET chunks = excluded.chunks, mean_vector = excluded.mean_vector
"""

STORE_MEAN, STORE_MEAN_OF_MODEL = (_STORE_MEAN.format(model=model) for model in ("m.active", "m.id = %(model_id)s"))
"""Store the mean vector of a workspace: of the active model, and of any model."""

-- The chunks nearest to a vector, without a filter.
-- exact_limit: the number of vectors up to which all are compared, 20 * sqrt(vectors of the table).
-- few: whether the workspace has no more vectors than that. Counting stops one above the limit.
-- nearest: the HNSW scan (iterative, relaxed order; ix_chunk_embeddings_hnsw_<model>), unless few.
-- everything: the exact scan, if few or if the HNSW scan ended below the limit. "+ 0" keeps the planner from using the
-- HNSW index for it. A branch that is not needed has a one-time filter and costs nothing.
-- share: rows that wait for a vector and rows that have one, up to 10,000 each, and only while some wait.
WITH
exact_limit AS MATERIALIZED (
  SELECT 20 * sqrt(greatest(reltuples, 10000))::int AS items
  FROM pg_class
  WHERE oid = 'chunk_embeddings'::regclass ),
few AS MATERIALIZED (
  SELECT count(*) <= (
    SELECT items
    FROM exact_limit) AS hold
  FROM (
    SELECT
    FROM chunk_embeddings e
    WHERE e.model_id = 1 AND e.workspace = %(workspace)s
    LIMIT (
      SELECT items + 1
      FROM exact_limit)) AS counted),
nearest AS MATERIALIZED (
  SELECT e.chunk_id AS key, e.embedding::vector(384) <=> %(embedding)s::vector(384) AS distance
  FROM chunk_embeddings e
  JOIN chunks c ON c.id = e.chunk_id
  WHERE e.model_id = 1 AND e.workspace = %(workspace)s AND c.workspace = %(workspace)s AND c.sensitivity <= %(clearance)s AND (c.visibility_scope = 'workspace' OR (c.visibility_scope = 'group' AND c.owner = ANY(%(groups)s)) OR (c.visibility_scope = 'private' AND c.owner = %(subject)s)) AND true AND true AND NOT (
    SELECT hold
    FROM few)
  ORDER BY e.embedding::vector(384) <=> %(embedding)s::vector(384)
  LIMIT 100),
everything AS (
  SELECT e.chunk_id AS key, e.embedding::vector(384) <=> %(embedding)s::vector(384) AS distance
  FROM chunk_embeddings e
  JOIN chunks c ON c.id = e.chunk_id
  WHERE e.model_id = 1 AND e.workspace = %(workspace)s AND c.workspace = %(workspace)s AND c.sensitivity <= %(clearance)s AND (c.visibility_scope = 'workspace' OR (c.visibility_scope = 'group' AND c.owner = ANY(%(groups)s)) OR (c.visibility_scope = 'private' AND c.owner = %(subject)s)) AND true AND true AND (
    SELECT count(*)
    FROM nearest) < 100
  ORDER BY (e.embedding::vector(384) <=> %(embedding)s::vector(384)) + 0, e.chunk_id
  LIMIT 100),
hits AS (
  SELECT *
  FROM nearest
  WHERE NOT (
    SELECT count(*)
    FROM nearest) < 100
  UNION ALL
  SELECT *
  FROM everything)
SELECT share.waiting, share.embedded, hits.key, 1 - hits.distance AS score
FROM (
  SELECT waiting.items AS waiting, embedded.items AS embedded
  FROM (
    SELECT count(*) AS items
    FROM (
      SELECT
      FROM (
        SELECT chunk_id
        FROM embedding_backlog
        WHERE workspace = %(workspace)s AND (EXISTS (
            SELECT
            FROM embedding_models m
            WHERE m.id = 1 AND m.active) OR chunk_id > (
            SELECT coalesce(max(last.chunk_id), 0)
            FROM chunk_embeddings last
            WHERE last.model_id = 1))
        UNION ALL
        SELECT newer.chunk_id
        FROM chunk_embeddings newer
        WHERE newer.workspace || '' = %(workspace)s AND NOT EXISTS (
          SELECT
          FROM embedding_models m
          WHERE m.id = 1 AND m.active) AND newer.chunk_id > (
          SELECT coalesce(max(last.chunk_id), 0)
          FROM chunk_embeddings last
          WHERE last.model_id = 1)
        LIMIT 10000) AS looked_at ) w) AS waiting, LATERAL (
    SELECT count(*) AS items
    FROM (
      SELECT
      FROM (
        SELECT e.chunk_id
        FROM chunk_embeddings e
        WHERE e.model_id = 1 AND e.workspace = %(workspace)s AND waiting.items > 0
        LIMIT 10000) AS looked_at ) v) AS embedded) AS share
LEFT JOIN hits ON true
ORDER BY hits.distance, hits.key

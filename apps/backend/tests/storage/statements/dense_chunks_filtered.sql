-- The chunks nearest to a vector that meet a filter.
-- passing: the matching documents, which have the attributes of their chunks and are fewer. few counts their chunks
-- without reading them; only if they are few are their vectors compared one by one (first branch of everything).
-- Else the HNSW scan filters as it goes (nearest), and the exact scan of all vectors replaces it below the limit.
WITH
exact_limit AS MATERIALIZED (
  SELECT 20 * sqrt(greatest(reltuples, 10000))::int AS items
  FROM pg_class
  WHERE oid = 'chunk_embeddings'::regclass ),
passing AS MATERIALIZED (
  SELECT d.id, d.chunk_count
  FROM documents d
  WHERE d.workspace = %(workspace)s AND d.sensitivity <= %(clearance)s AND (d.visibility_scope = 'workspace' OR (d.visibility_scope = 'group' AND d.owner = ANY(%(groups)s)) OR (d.visibility_scope = 'private' AND d.owner = %(subject)s)) AND d.language = ANY(%(filter_0)s::text[])),
few AS MATERIALIZED (
  SELECT count(*) <= (
    SELECT items
    FROM exact_limit) AS hold
  FROM (
    SELECT
    FROM passing, generate_series(1, passing.chunk_count)
    LIMIT (
      SELECT items + 1
      FROM exact_limit)) AS counted),
nearest AS MATERIALIZED (
  SELECT e.chunk_id AS key, e.embedding::vector(384) <=> %(embedding)s::vector(384) AS distance
  FROM chunk_embeddings e
  JOIN chunks c ON c.id = e.chunk_id
  WHERE e.model_id = 1 AND e.workspace = %(workspace)s AND c.workspace = %(workspace)s AND c.sensitivity <= %(clearance)s AND (c.visibility_scope = 'workspace' OR (c.visibility_scope = 'group' AND c.owner = ANY(%(groups)s)) OR (c.visibility_scope = 'private' AND c.owner = %(subject)s)) AND true AND c.language = ANY(%(filter_0)s::text[]) AND NOT (
    SELECT hold
    FROM few)
  ORDER BY e.embedding::vector(384) <=> %(embedding)s::vector(384)
  LIMIT 100),
everything AS ( (
    SELECT e.chunk_id AS key, e.embedding::vector(384) <=> %(embedding)s::vector(384) AS distance
    FROM passing
    JOIN chunks c ON c.document_id = passing.id
    JOIN chunk_embeddings e ON e.chunk_id = c.id
    WHERE e.model_id = 1 AND e.workspace = %(workspace)s AND (
      SELECT hold
      FROM few)
    ORDER BY (e.embedding::vector(384) <=> %(embedding)s::vector(384)) + 0, e.chunk_id
    LIMIT 100)
  UNION ALL (
    SELECT e.chunk_id AS key, e.embedding::vector(384) <=> %(embedding)s::vector(384) AS distance
    FROM chunk_embeddings e
    JOIN chunks c ON c.id = e.chunk_id
    WHERE e.model_id = 1 AND e.workspace = %(workspace)s AND c.workspace = %(workspace)s AND c.sensitivity <= %(clearance)s AND (c.visibility_scope = 'workspace' OR (c.visibility_scope = 'group' AND c.owner = ANY(%(groups)s)) OR (c.visibility_scope = 'private' AND c.owner = %(subject)s)) AND true AND c.language = ANY(%(filter_0)s::text[]) AND NOT (
      SELECT hold
      FROM few) AND (
      SELECT count(*)
      FROM nearest) < 100
    ORDER BY (e.embedding::vector(384) <=> %(embedding)s::vector(384)) + 0, e.chunk_id
    LIMIT 100)),
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

-- Memory items nearest to a vector that meet a filter; history items and entities of documents have the same form.
-- passing: the keys of the matching items, up to one above the exact limit. If they are few, only they are compared.
-- share: readable items only, so that hidden items that wait are not revealed.
WITH
exact_limit AS MATERIALIZED (
  SELECT 20 * sqrt(greatest(reltuples, 10000))::int AS items
  FROM pg_class
  WHERE oid = 'memory_embeddings'::regclass ),
passing AS MATERIALIZED (
  SELECT i.id AS key
  FROM memory_items i
  WHERE i.workspace = %(workspace)s AND i.sensitivity <= %(clearance)s AND (i.visibility_scope = 'workspace' OR (i.visibility_scope = 'group' AND i.owner = ANY(%(groups)s)) OR (i.visibility_scope = 'private' AND i.owner = %(subject)s)) AND true AND i.language = ANY(%(filter_0)s::text[])
  LIMIT (
    SELECT items + 1
    FROM exact_limit)),
few AS MATERIALIZED (
  SELECT count(*) <= (
    SELECT items
    FROM exact_limit) AS hold
  FROM (
    SELECT
    FROM passing) AS counted),
nearest AS MATERIALIZED (
  SELECT e.item_id AS key, e.embedding::vector(384) <=> %(embedding)s::vector(384) AS distance
  FROM memory_embeddings e
  JOIN memory_items i ON i.id = e.item_id
  WHERE e.model_id = 1 AND e.workspace = %(workspace)s AND i.workspace = %(workspace)s AND i.sensitivity <= %(clearance)s AND (i.visibility_scope = 'workspace' OR (i.visibility_scope = 'group' AND i.owner = ANY(%(groups)s)) OR (i.visibility_scope = 'private' AND i.owner = %(subject)s)) AND true AND i.language = ANY(%(filter_0)s::text[]) AND NOT (
    SELECT hold
    FROM few)
  ORDER BY e.embedding::vector(384) <=> %(embedding)s::vector(384)
  LIMIT 100),
everything AS ( (
    SELECT e.item_id AS key, e.embedding::vector(384) <=> %(embedding)s::vector(384) AS distance
    FROM passing
    JOIN memory_embeddings e ON e.item_id = passing.key
    WHERE e.model_id = 1 AND e.workspace = %(workspace)s AND (
      SELECT hold
      FROM few)
    ORDER BY (e.embedding::vector(384) <=> %(embedding)s::vector(384)) + 0, e.item_id
    LIMIT 100)
  UNION ALL (
    SELECT e.item_id AS key, e.embedding::vector(384) <=> %(embedding)s::vector(384) AS distance
    FROM memory_embeddings e
    JOIN memory_items i ON i.id = e.item_id
    WHERE e.model_id = 1 AND e.workspace = %(workspace)s AND i.workspace = %(workspace)s AND i.sensitivity <= %(clearance)s AND (i.visibility_scope = 'workspace' OR (i.visibility_scope = 'group' AND i.owner = ANY(%(groups)s)) OR (i.visibility_scope = 'private' AND i.owner = %(subject)s)) AND true AND i.language = ANY(%(filter_0)s::text[]) AND NOT (
      SELECT hold
      FROM few) AND (
      SELECT count(*)
      FROM nearest) < 100
    ORDER BY (e.embedding::vector(384) <=> %(embedding)s::vector(384)) + 0, e.item_id
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
        SELECT item_id
        FROM memory_backlog
        WHERE workspace = %(workspace)s AND (EXISTS (
            SELECT
            FROM embedding_models m
            WHERE m.id = 1 AND m.active) OR item_id > (
            SELECT coalesce(max(last.item_id), 0)
            FROM memory_embeddings last
            WHERE last.model_id = 1))
        UNION ALL
        SELECT newer.item_id
        FROM memory_embeddings newer
        WHERE newer.workspace || '' = %(workspace)s AND NOT EXISTS (
          SELECT
          FROM embedding_models m
          WHERE m.id = 1 AND m.active) AND newer.item_id > (
          SELECT coalesce(max(last.item_id), 0)
          FROM memory_embeddings last
          WHERE last.model_id = 1)
        LIMIT 10000) AS looked_at
      JOIN memory_items i ON i.id = looked_at.item_id
      WHERE i.workspace = %(workspace)s AND i.sensitivity <= %(clearance)s AND (i.visibility_scope = 'workspace' OR (i.visibility_scope = 'group' AND i.owner = ANY(%(groups)s)) OR (i.visibility_scope = 'private' AND i.owner = %(subject)s)) AND true
      LIMIT 2000) w) AS waiting, LATERAL (
    SELECT count(*) AS items
    FROM (
      SELECT
      FROM (
        SELECT e.item_id
        FROM memory_embeddings e
        WHERE e.model_id = 1 AND e.workspace = %(workspace)s AND waiting.items > 0
        LIMIT 10000) AS looked_at
      JOIN memory_items i ON i.id = looked_at.item_id
      WHERE i.workspace = %(workspace)s AND i.sensitivity <= %(clearance)s AND (i.visibility_scope = 'workspace' OR (i.visibility_scope = 'group' AND i.owner = ANY(%(groups)s)) OR (i.visibility_scope = 'private' AND i.owner = %(subject)s)) AND true
      LIMIT 2000) v) AS embedded) AS share
LEFT JOIN hits ON true
ORDER BY hits.distance, hits.key

-- Whole documents nearest to a vector: as for chunks, over document_embeddings.
-- share: a sample of 2000 documents from document_terms, since document keys are random. A readable document that waits
-- counts even outside the sample.
WITH
exact_limit AS MATERIALIZED (
  SELECT 20 * sqrt(greatest(reltuples, 10000))::int AS items
  FROM pg_class
  WHERE oid = 'document_embeddings'::regclass ),
few AS MATERIALIZED (
  SELECT count(*) <= (
    SELECT items
    FROM exact_limit) AS hold
  FROM (
    SELECT
    FROM document_embeddings e
    WHERE e.model_id = 1 AND e.workspace = %(workspace)s
    LIMIT (
      SELECT items + 1
      FROM exact_limit)) AS counted),
nearest AS MATERIALIZED (
  SELECT e.document_id AS key, e.embedding::vector(384) <=> %(embedding)s::vector(384) AS distance
  FROM document_embeddings e
  JOIN documents d ON d.id = e.document_id
  WHERE e.model_id = 1 AND e.workspace = %(workspace)s AND d.workspace = %(workspace)s AND d.sensitivity <= %(clearance)s AND (d.visibility_scope = 'workspace' OR (d.visibility_scope = 'group' AND d.owner = ANY(%(groups)s)) OR (d.visibility_scope = 'private' AND d.owner = %(subject)s)) AND d.deleted_at IS NULL AND true AND NOT (
    SELECT hold
    FROM few)
  ORDER BY e.embedding::vector(384) <=> %(embedding)s::vector(384)
  LIMIT 100),
everything AS (
  SELECT e.document_id AS key, e.embedding::vector(384) <=> %(embedding)s::vector(384) AS distance
  FROM document_embeddings e
  JOIN documents d ON d.id = e.document_id
  WHERE e.model_id = 1 AND e.workspace = %(workspace)s AND d.workspace = %(workspace)s AND d.sensitivity <= %(clearance)s AND (d.visibility_scope = 'workspace' OR (d.visibility_scope = 'group' AND d.owner = ANY(%(groups)s)) OR (d.visibility_scope = 'private' AND d.owner = %(subject)s)) AND d.deleted_at IS NULL AND true AND (
    SELECT count(*)
    FROM nearest) < 100
  ORDER BY (e.embedding::vector(384) <=> %(embedding)s::vector(384)) + 0, e.document_id
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
  SELECT greatest(count(*) - count(e.document_id), (EXISTS (
        SELECT
        FROM (
          SELECT document_id
          FROM embedding_backlog
          WHERE workspace = %(workspace)s
          LIMIT 10000) AS w
        JOIN documents d ON d.id = w.document_id
        WHERE d.workspace = %(workspace)s AND d.sensitivity <= %(clearance)s AND (d.visibility_scope = 'workspace' OR (d.visibility_scope = 'group' AND d.owner = ANY(%(groups)s)) OR (d.visibility_scope = 'private' AND d.owner = %(subject)s)) AND d.deleted_at IS NULL AND NOT EXISTS (
          SELECT
          FROM document_embeddings e
          WHERE e.document_id = w.document_id AND e.model_id = 1)))::int) AS waiting, count(e.document_id) AS embedded
  FROM (
    SELECT t.document_id
    FROM document_terms t
    WHERE t.workspace = %(workspace)s AND (EXISTS (
        SELECT
        FROM embedding_backlog
        WHERE workspace = %(workspace)s) OR NOT EXISTS (
        SELECT
        FROM embedding_models m
        WHERE m.id = 1 AND m.active))
    ORDER BY t.document_id
    LIMIT 2000) AS t
  JOIN documents d ON d.id = t.document_id AND d.workspace = %(workspace)s AND d.sensitivity <= %(clearance)s AND (d.visibility_scope = 'workspace' OR (d.visibility_scope = 'group' AND d.owner = ANY(%(groups)s)) OR (d.visibility_scope = 'private' AND d.owner = %(subject)s)) AND d.deleted_at IS NULL
  LEFT JOIN document_embeddings e ON e.document_id = t.document_id AND e.model_id = 1) AS share
LEFT JOIN hits ON true
ORDER BY hits.distance, hits.key

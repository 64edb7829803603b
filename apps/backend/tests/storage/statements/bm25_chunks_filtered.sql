-- The best chunks by BM25 that meet a filter.
-- plan: bm25_plan() chooses the keys and impact levels to scan so that at most the budget of postings is read.
-- postings: one GIN scan of ix_bm25_chunks_impacts per row of the plan; if the filter leaves few chunks, those instead.
-- scored, pool, foremost: scores of all postings, then the best readable ones; unfinished: more are needed, so all
-- scored chunks are checked.
-- A result is certified if its score exceeds theta: every chunk of a higher score was seen.
WITH
plan AS MATERIALIZED (
  SELECT *
  FROM bm25_plan( %(workspace)s, %(lexemes)s::text[], %(weights)s::float8[], 20, 30000, %(theta)s::float8)),
every_word AS MATERIALIZED (
  SELECT NULL::tsquery AS query),
matching AS MATERIALIZED (
  SELECT d.id, d.chunk_count
  FROM documents d
  WHERE d.workspace = %(workspace)s AND d.sensitivity <= %(clearance)s AND (d.visibility_scope = 'workspace' OR (d.visibility_scope = 'group' AND d.owner = ANY(%(groups)s)) OR (d.visibility_scope = 'private' AND d.owner = %(subject)s)) AND d.language = ANY(%(filter_0)s::text[])),
few AS MATERIALIZED (
  SELECT count(*) <= (
    SELECT 20 * sqrt(greatest(chunks, 10000))::integer
    FROM plan) AS hold
  FROM (
    SELECT
    FROM matching m, generate_series(1, m.chunk_count)
    LIMIT (
      SELECT 20 * sqrt(greatest(chunks, 10000))::integer + 1
      FROM plan)) AS counted),
postings AS (
  SELECT plan.keys, plan.weights, plan.lexemes, scan.number, b.chunk_id, b.damping, unnest(b.common) AS posting
  FROM plan, unnest(plan.required, plan.alternatives)
  WITH ORDINALITY AS scan (required, alternatives, number), LATERAL (
    SELECT b.workspace_id, b.chunk_id, 1.2::float8 * (0.25::float8 + 0.75::float8 * b.length / plan.average_length) AS damping, bm25_common(b.terms, plan.postings) AS common
    FROM bm25_chunks b
    WHERE bm25_impacts(b.terms, b.length) OPERATOR(pg_catalog.&&) scan.required::integer[] AND bm25_impacts(b.terms, b.length) OPERATOR(pg_catalog.&&) scan.alternatives::integer[]
    LIMIT (
      SELECT most
      FROM plan)) AS b
  WHERE b.workspace_id = plan.workspace_id AND NOT (
    SELECT hold
    FROM few)
  UNION ALL
  SELECT plan.keys, plan.weights, plan.lexemes, 0, b.chunk_id, 1.2::float8 * (0.25::float8 + 0.75::float8 * b.length / plan.average_length), unnest(bm25_common(b.terms, plan.postings))
  FROM plan, matching m
  CROSS JOIN LATERAL (
    SELECT *
    FROM chunks
    WHERE document_id = m.id OFFSET 0) AS c
  JOIN bm25_chunks b ON b.chunk_id = c.id
  WHERE (
    SELECT hold
    FROM few) AND c.workspace = %(workspace)s AND c.sensitivity <= %(clearance)s AND (c.visibility_scope = 'workspace' OR (c.visibility_scope = 'group' AND c.owner = ANY(%(groups)s)) OR (c.visibility_scope = 'private' AND c.owner = %(subject)s)) AND c.language = ANY(%(filter_0)s::text[])),
scored AS MATERIALIZED (
  SELECT number, chunk_id, round(1e9 * sum(weight * gain)) / 1e9 AS score, round(1e9 * sum(weight * weight * gain)) / 1e9 AS evidence
  FROM (
    SELECT number, chunk_id, weights[term] AS weight, 2.2::float8 / (1 + damping / CASE WHEN posting & 15 < 15 THEN posting & 15 ELSE coalesce((
          SELECT cardinality(entry.positions)
          FROM chunks c, unnest(c.lexemes) AS entry
          WHERE c.id = p.chunk_id AND entry.lexeme = p.lexemes[p.term]), 15) END) AS gain
    FROM (
      SELECT *, array_position(keys, posting & -16) AS term
      FROM postings) AS p OFFSET 0) AS gains
  GROUP BY number, chunk_id),
ranked AS (
  SELECT best.*, CASE WHEN c.tsv @@ (
    SELECT query
    FROM every_word) THEN ts_rank_cd(c.tsv, (
      SELECT query
      FROM every_word))::float8 END AS every
  FROM (
    SELECT DISTINCT ON (score, chunk_id) score, chunk_id, evidence
    FROM scored
    ORDER BY score DESC, chunk_id) AS best
  CROSS JOIN LATERAL (
    SELECT *
    FROM chunks
    WHERE id = best.chunk_id OFFSET 0) AS c
  WHERE c.workspace = %(workspace)s AND c.sensitivity <= %(clearance)s AND (c.visibility_scope = 'workspace' OR (c.visibility_scope = 'group' AND c.owner = ANY(%(groups)s)) OR (c.visibility_scope = 'private' AND c.owner = %(subject)s)) AND c.language = ANY(%(filter_0)s::text[]) AND c.lexemes @@ (
    SELECT string_agg(array_to_tsvector(ARRAY[lexeme])::text, '|')::tsquery
    FROM plan, unnest(plan.lexemes) AS lexeme)
  ORDER BY best.score DESC, best.chunk_id
  LIMIT 100)
SELECT ranked.chunk_id, ranked.score, (
  SELECT hold
  FROM few) OR plan.theta = 0 OR ranked.score >= plan.theta + 1e-08 AS certified, plan.is_cut AND NOT (
  SELECT hold
  FROM few) AS cut, (
  SELECT count(*)
  FROM scored) AS scored, CASE WHEN (
  SELECT hold
  FROM few) THEN 0 ELSE plan.theta END AS theta, ranked.evidence, ranked.every
FROM plan
LEFT JOIN ranked ON true
ORDER BY ranked.score DESC NULLS LAST, ranked.chunk_id

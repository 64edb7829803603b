-- The best memory items by BM25 that meet a filter; history items and documents have the same form.
-- typed, unknown, terms: the query's lexemes in every language of the workspace; words without a readable row are
-- replaced by the nearest word of a readable chunk.
-- candidates: one GIN scan of ix_memory_items_impacts, up to the budget. df is counted among them (weights).
-- totals: N and average length of the readable rows, an index-only scan.
-- held: excludes items whose keys only collide with those of the lexemes.
WITH
languages AS MATERIALIZED (
  SELECT query_languages(%(workspace)s, %(language)s) AS codes, hashtext(%(workspace)s) AS seed),
words AS MATERIALIZED (
  SELECT l.place, w.*, bm25_key(languages.seed, w.lexeme) AS key
  FROM languages, unnest(languages.codes)
  WITH ORDINALITY AS l (code, place), query_words(l.code, %(query)s) AS w),
typed AS MATERIALIZED (
  SELECT w.position, w.word, w.kind, w.lexeme, w.key
  FROM words w
  WHERE w.kind <> 'word' OR EXISTS (
    SELECT
    FROM words f
    WHERE f.place = 1 AND f.position = w.position AND f.word = w.word)),
unknown AS MATERIALIZED (
  SELECT string_agg(word, ' ') AS words
  FROM (
    SELECT t.word
    FROM typed t, LATERAL (
      SELECT EXISTS (
        SELECT
        FROM (
          SELECT *
          FROM memory_items
          WHERE bm25_impacts(terms, length) OPERATOR(pg_catalog.&&) ARRAY[t.key] OFFSET 0) AS i
        WHERE i.workspace = %(workspace)s AND i.sensitivity <= %(clearance)s AND (i.visibility_scope = 'workspace' OR (i.visibility_scope = 'group' AND i.owner = ANY(%(groups)s)) OR (i.visibility_scope = 'private' AND i.owner = %(subject)s)) AND true) AS here) AS held
    WHERE t.kind = 'word' AND t.word ~ '^[[:alpha:]]{4,40}$'
    GROUP BY t.word HAVING NOT bool_or(held.here)
    ORDER BY min(t.position)
    LIMIT 20) AS missing),
terms AS MATERIALIZED (
  SELECT t.key, max(t.weight) AS weight, array_agg(t.lexeme) AS lexemes
  FROM (
    SELECT key, 1::float8 AS weight, lexeme
    FROM typed
    UNION ALL
    SELECT bm25_key(languages.seed, near.lexeme), near.similarity, near.lexeme
    FROM languages, unknown, query_terms(%(workspace)s, languages.codes, unknown.words) AS near
    WHERE near.typed IS NOT NULL AND EXISTS (
      SELECT
      FROM (
        SELECT b.chunk_id
        FROM bm25_workspaces s
        CROSS JOIN LATERAL (
          SELECT chunk_id
          FROM bm25_chunks
          WHERE bm25_impacts(terms, length) OPERATOR(pg_catalog.&&) ARRAY[bm25_key(s.id, near.lexeme)]
          LIMIT 1000) AS b
        WHERE s.workspace = %(workspace)s) AS holding
      CROSS JOIN LATERAL (
        SELECT *
        FROM chunks
        WHERE id = holding.chunk_id OFFSET 0) AS c
      WHERE c.workspace = %(workspace)s AND c.sensitivity <= %(clearance)s AND (c.visibility_scope = 'workspace' OR (c.visibility_scope = 'group' AND c.owner = ANY(%(groups)s)) OR (c.visibility_scope = 'private' AND c.owner = %(subject)s)))) AS t
  GROUP BY t.key),
words_query AS MATERIALIZED (
  SELECT string_agg(array_to_tsvector(ARRAY[lexeme])::text, '|')::tsquery AS query
  FROM terms, unnest(terms.lexemes) AS lexeme),
scan AS MATERIALIZED (
  SELECT ARRAY(
    SELECT key
    FROM terms) AS keys, ARRAY(
    SELECT key | tf
    FROM terms, generate_series(1, 15) AS tf
    ORDER BY 1) AS postings),
candidates AS MATERIALIZED (
  SELECT *
  FROM (
    SELECT i.id AS key, i.length, bm25_common(i.terms, scan.postings) AS common
    FROM scan
    CROSS JOIN LATERAL (
      SELECT *
      FROM memory_items
      WHERE bm25_impacts(terms, length) OPERATOR(pg_catalog.&&) scan.keys OFFSET 0) AS i
    WHERE i.workspace = %(workspace)s AND i.sensitivity <= %(clearance)s AND (i.visibility_scope = 'workspace' OR (i.visibility_scope = 'group' AND i.owner = ANY(%(groups)s)) OR (i.visibility_scope = 'private' AND i.owner = %(subject)s)) AND true AND i.language = ANY(%(filter_0)s::text[])) AS c
  LIMIT 30001),
totals AS MATERIALIZED (
  SELECT count(*)::float8 AS rows, avg(length)::float8 AS average
  FROM (
    SELECT i.length
    FROM memory_items i
    WHERE i.workspace = %(workspace)s AND i.sensitivity <= %(clearance)s AND (i.visibility_scope = 'workspace' OR (i.visibility_scope = 'group' AND i.owner = ANY(%(groups)s)) OR (i.visibility_scope = 'private' AND i.owner = %(subject)s)) AND true
    ORDER BY i.workspace, i.id
    LIMIT 50000) AS r),
postings AS MATERIALIZED (
  SELECT c.key, 1.2::float8 * (0.25::float8 + 0.75::float8 * c.length / totals.average) AS damping, unnest(c.common) AS posting
  FROM totals, candidates c),
weights AS MATERIALIZED (
  SELECT t.key AS term, t.weight * ln(1 + (greatest(totals.rows, n.df) - n.df + 0.5) / (n.df + 0.5)) AS weight
  FROM totals, terms t
  JOIN (
    SELECT posting & -16 AS term, count(*) AS df
    FROM postings
    GROUP BY 1) AS n ON n.term = t.key),
scored AS MATERIALIZED (
  SELECT p.key, round(1e9 * sum(w.weight * 2.2::float8 / (1 + p.damping / (p.posting & 15)))) / 1e9 AS score
  FROM postings p
  JOIN weights w ON w.term = p.posting & -16
  GROUP BY p.key),
ranked AS (
  SELECT best.key, best.score
  FROM words_query AS words, (
    SELECT key, score
    FROM scored
    ORDER BY score DESC, key) AS best
  CROSS JOIN LATERAL (
    SELECT
    FROM memory_items
    WHERE id = best.key AND lexemes @@ words.query
    LIMIT 1) AS held
  ORDER BY best.score DESC, best.key
  LIMIT 100)
SELECT looked.cut, ranked.key, ranked.score
FROM (
  SELECT count(*) > 30000 AS cut
  FROM candidates) AS looked
LEFT JOIN ranked ON true
ORDER BY ranked.score DESC NULLS LAST, ranked.key

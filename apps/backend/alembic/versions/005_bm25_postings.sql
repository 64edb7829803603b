-- Tables, postings and document frequencies of BM25 (ADR-025).
--
-- A posting is an integer: 28 bits of hash of workspace and lexeme (its key), 4 bits of tf, 15 standing for that and
-- more. An impact is an integer too: a key, and in the low 4 bits one level, 0 to 9, that the posting reaches.

CREATE TABLE bm25_workspaces (
    id           integer GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_bm25_workspaces PRIMARY KEY,
    workspace    text NOT NULL CONSTRAINT uq_bm25_workspaces_workspace UNIQUE,
    chunks       bigint NOT NULL DEFAULT 0,
    total_length bigint NOT NULL DEFAULT 0,
    refreshed_at timestamptz
);

CREATE TABLE bm25_chunks (
    chunk_id     bigint CONSTRAINT pk_bm25_chunks PRIMARY KEY,
    workspace_id integer NOT NULL,
    length       integer NOT NULL,
    terms        integer[] NOT NULL
);

-- what was added to a workspace (or, below zero, taken from it) since its refresh: writers never wait for one another
CREATE TABLE bm25_changes (
    id           bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_bm25_changes PRIMARY KEY,
    workspace_id integer NOT NULL,
    changed      bigint NOT NULL,
    chunks       bigint NOT NULL,
    total_length bigint NOT NULL
);
CREATE INDEX ix_bm25_changes_workspace_id ON bm25_changes (workspace_id);

-- levels[n + 1] chunks reach level n; levels[1] is the document frequency. Only keys that 32 chunks or more hold.
CREATE TABLE bm25_statistics (
    workspace_id integer NOT NULL,
    key          integer NOT NULL,
    levels       integer[] NOT NULL,
    CONSTRAINT pk_bm25_statistics PRIMARY KEY (workspace_id, key)
);


CREATE FUNCTION bm25_key(workspace_id integer, lexeme text) RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (hashtextextended(lexeme, workspace_id) >> 32)::integer & -16;

-- tf is the number of positions, 1 where a lexeme has none
CREATE FUNCTION bm25_terms(workspace_id integer, lexemes tsvector) RETURNS TABLE (length integer, terms integer[])
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT coalesce(sum(tf), 0)::integer, coalesce(array_agg(posting ORDER BY posting), '{}')
    FROM unnest(lexemes) AS entry,
         LATERAL (SELECT coalesce(cardinality(entry.positions), 1) AS tf) AS counted,
         LATERAL (SELECT bm25_key(workspace_id, entry.lexeme) | least(tf, 15) AS posting) AS packed;
END;

-- Levels of tf * 2.2 / (tf + 1.2 (.25 + .75 length / 60)). The reference length of 60 lexemes is fixed, as an index
-- needs; bm25_bounds corrects for the average. A tf of 15 or more is on top, since it may be anything.
CREATE FUNCTION bm25_level(tf integer, length integer) RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN tf = 15 THEN 9 ELSE width_bucket(
    tf * 2.2::float8 / (tf + 0.3::float8 + 0.9::float8 * length / 60),
    '{0.95,1.1,1.25,1.4,1.55,1.7,1.8,1.9,2.0}'::float8[]) END;

CREATE FUNCTION bm25_impacts(terms integer[], length integer) RETURNS integer[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE COST 2000
BEGIN ATOMIC
    SELECT array_agg((posting & -16) | level)
    FROM unnest(terms) AS posting, generate_series(0, bm25_level(posting & 15, length)) AS level;
END;

-- the most that a posting below level n can add to a score, by idf, at [n + 1]; [11] is for any posting
CREATE FUNCTION bm25_bounds(average_length float8) RETURNS float8[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT '{0}'::float8[]
           || array_agg(2.2 / (1 + (2.2 / threshold - 1) * least(1, 60 / average_length)) ORDER BY threshold)
           || 2.2::float8
    FROM unnest('{0.95,1.1,1.25,1.4,1.55,1.7,1.8,1.9,2.0}'::float8[]) AS threshold;
END;


CREATE FUNCTION bm25_totals(
    p_workspace text,
    OUT id integer, OUT chunks bigint, OUT total_length bigint, OUT changed bigint, OUT snapshot bigint)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT w.id, w.chunks + coalesce(sum(c.chunks), 0)::bigint,
           w.total_length + coalesce(sum(c.total_length), 0)::bigint, coalesce(sum(c.changed), 0)::bigint, w.chunks
    FROM bm25_workspaces w LEFT JOIN bm25_changes c ON c.workspace_id = w.id
    WHERE w.workspace = p_workspace
    GROUP BY w.id;
END;

-- A key without statistics is rare or new: it is counted, up to 10,000 chunks.
CREATE FUNCTION bm25_levels(p_workspace_id integer, p_key integer) RETURNS integer[]
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT coalesce(
        (SELECT s.levels FROM bm25_statistics s WHERE s.workspace_id = p_workspace_id AND s.key = p_key),
        -- the key alone first: asked for both, a planner without statistics reads all chunks of the workspace
        (WITH holding AS MATERIALIZED (
            SELECT b.workspace_id FROM bm25_chunks b
            WHERE bm25_impacts(b.terms, b.length) OPERATOR(pg_catalog.&&) ARRAY[p_key]
            LIMIT 10000)
         SELECT array_fill(count(*)::integer, ARRAY[10]) FROM holding WHERE workspace_id = p_workspace_id));
END;

CREATE FUNCTION lexeme_frequencies(p_workspace text, p_lexemes text[]) RETURNS bigint[]
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT coalesce(
        array_agg(coalesce((bm25_levels(w.id, bm25_key(w.id, lexeme)))[1], 0)::bigint ORDER BY position), '{}')
    FROM unnest(p_lexemes) WITH ORDINALITY AS given (lexeme, position)
    LEFT JOIN bm25_workspaces w ON w.workspace = p_workspace;
END;

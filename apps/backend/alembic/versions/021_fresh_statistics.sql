-- Search statistics that show whether they are outdated, and estimates between two counts (ADR-025).

ALTER TABLE bm25_workspaces ADD COLUMN estimated_chunks bigint NOT NULL DEFAULT 0;

-- the state of the chunks that the lexicon was last completed for: bm25_workspaces.refreshed_at, and changes since then
ALTER TABLE lexicon_progress ADD COLUMN refreshed_at timestamptz, ADD COLUMN changed bigint;


-- frequencies: one chunk in twenty changed since they were counted. lexicon: a change since it was completed. mean: its
-- vectors differ from the chunks by one in twenty, which chunks that wait for their vectors explain too.
CREATE VIEW search_statistics WITH (security_invoker = true) AS
SELECT present.*, frequencies_are_stale OR lexicon_is_stale OR mean_may_be_stale AS is_stale
FROM (
    SELECT w.workspace, w.chunks + c.chunks AS chunks,
           (w.total_length + c.total_length)::float8 / nullif(w.chunks + c.chunks, 0) AS average_length,
           c.changed, c.changed > 0.05 * w.chunks AS frequencies_are_stale,
           (w.chunks + c.chunks > 0 OR l.workspace IS NOT NULL)
           AND (w.refreshed_at, c.changed) IS DISTINCT FROM (l.refreshed_at, l.changed) AS lexicon_is_stale,
           CASE WHEN m.id IS NULL THEN false
                WHEN v.chunks IS NULL THEN EXISTS (
                    SELECT FROM chunk_embeddings e WHERE e.model_id = m.id AND e.workspace = w.workspace)
                ELSE abs(w.chunks + c.chunks - v.chunks) > 0.05 * (w.chunks + c.chunks) END AS mean_may_be_stale
    FROM bm25_workspaces w
    CROSS JOIN LATERAL (
        SELECT coalesce(sum(c.chunks), 0)::bigint AS chunks, coalesce(sum(c.total_length), 0)::bigint AS total_length,
               coalesce(sum(c.changed), 0)::bigint AS changed
        FROM bm25_changes c WHERE c.workspace_id = w.id) AS c
    LEFT JOIN lexicon_progress l ON l.workspace = w.workspace
    LEFT JOIN embedding_models m ON m.active
    LEFT JOIN workspace_means v ON v.workspace = w.workspace AND v.model_id = m.id) AS present;

CREATE OR REPLACE FUNCTION bm25_needs_refresh(p_workspace text) RETURNS boolean
LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT coalesce((SELECT frequencies_are_stale FROM search_statistics WHERE workspace = p_workspace), false);
END;


-- Replace the statistics by those of every chunk (p_mask 0), or estimate them from one in p_mask + 1, a power of two.
CREATE FUNCTION bm25_count(p_workspace_id integer, p_mask integer) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM bm25_statistics WHERE workspace_id = p_workspace_id;
    INSERT INTO bm25_statistics (workspace_id, key, levels)
    SELECT p_workspace_id, key, ARRAY[
        sum(chunks),
        coalesce(sum(chunks) FILTER (WHERE level >= 1), 0),
        coalesce(sum(chunks) FILTER (WHERE level >= 2), 0),
        coalesce(sum(chunks) FILTER (WHERE level >= 3), 0),
        coalesce(sum(chunks) FILTER (WHERE level >= 4), 0),
        coalesce(sum(chunks) FILTER (WHERE level >= 5), 0),
        coalesce(sum(chunks) FILTER (WHERE level >= 6), 0),
        coalesce(sum(chunks) FILTER (WHERE level >= 7), 0),
        coalesce(sum(chunks) FILTER (WHERE level >= 8), 0),
        coalesce(sum(chunks) FILTER (WHERE level >= 9), 0)]
    FROM (
        SELECT posting & -16 AS key, bm25_level(posting & 15, length) AS level, count(*) * (p_mask + 1) AS chunks
        FROM (
            SELECT length, unnest(terms) AS posting FROM bm25_chunks
            WHERE workspace_id = p_workspace_id AND (hashint8(chunk_id) & p_mask) = 0) AS postings
        GROUP BY 1, 2) AS histogram
    GROUP BY key HAVING sum(chunks) >= greatest(32, 8 * (p_mask + 1));
END $$;

-- Count the workspace anew. Returns false, having done nothing, while another session does, for an unknown workspace,
-- and with p_if_stale for one whose statistics are still good.
DROP FUNCTION bm25_refresh;
CREATE FUNCTION bm25_refresh(p_workspace text, p_if_stale boolean DEFAULT false) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    counted_id integer := (SELECT id FROM bm25_workspaces WHERE workspace = p_workspace);
BEGIN
    IF counted_id IS NULL OR NOT pg_try_advisory_xact_lock(hashtext('bm25_refresh'), counted_id) THEN
        RETURN false;
    END IF;
    -- with the lock, and a new snapshot: another session may just have counted
    IF p_if_stale AND NOT bm25_needs_refresh(p_workspace) THEN
        RETURN false;
    END IF;
    WITH folded AS (DELETE FROM bm25_changes WHERE workspace_id = counted_id)
    UPDATE bm25_workspaces w
    SET chunks = counted.chunks, total_length = counted.total_length, refreshed_at = clock_timestamp(),
        estimated_chunks = 0
    FROM (SELECT count(*) AS chunks, coalesce(sum(length), 0) AS total_length
          FROM bm25_chunks WHERE workspace_id = counted_id) AS counted
    WHERE w.id = counted_id;
    PERFORM bm25_count(counted_id, 0);
    RETURN true;
END $$;

-- Estimate the statistics of a workspace that has doubled since they were counted or estimated: a search without them
-- reads every posting of its words. Returns whether it did. A snapshot older than the rows to replace cannot.
CREATE FUNCTION bm25_estimate(p_workspace_id integer) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    known bigint;
    present bigint;
BEGIN
    SELECT greatest(w.chunks, w.estimated_chunks), w.chunks + coalesce(sum(c.chunks), 0) INTO known, present
    FROM bm25_workspaces w LEFT JOIN bm25_changes c ON c.workspace_id = w.id
    WHERE w.id = p_workspace_id
    GROUP BY w.id;
    IF present >= greatest(1000, 2 * known) AND current_setting('transaction_isolation') = 'read committed'
       AND pg_try_advisory_xact_lock(hashtext('bm25_refresh'), p_workspace_id) THEN
        UPDATE bm25_workspaces SET estimated_chunks = present WHERE id = p_workspace_id;
        -- from 2,000 to 4,000 chunks
        PERFORM bm25_count(p_workspace_id, (2 ^ floor(log(2, greatest(present / 2000, 1))))::integer - 1);
        RETURN true;
    END IF;
    RETURN false;
END $$;

CREATE FUNCTION bm25_after_change() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    PERFORM bm25_estimate(NEW.workspace_id);
    RETURN NULL;
END $$;

-- of the small writes one in a hundred looks
CREATE TRIGGER bm25_estimate AFTER INSERT ON bm25_changes
    FOR EACH ROW WHEN (NEW.chunks >= 1000 OR mod(NEW.id, 100) = 0) EXECUTE FUNCTION bm25_after_change();

CREATE OR REPLACE FUNCTION bm25_after_truncate() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    TRUNCATE bm25_chunks, bm25_changes, bm25_statistics;
    UPDATE bm25_workspaces SET chunks = 0, total_length = 0, refreshed_at = NULL, estimated_chunks = 0;
    RETURN NULL;
END $$;


-- As before (migration 006), and marks the state of the chunks that it completes the lexicon for.
CREATE OR REPLACE FUNCTION refresh_lexicon(p_workspace text, p_anew boolean DEFAULT false) RETURNS bigint
LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE
    progress lexicon_progress;
    seen record;
    running pg_snapshot;
    complete bigint;
    added bigint;
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtext('refresh_lexicon'), hashtext(p_workspace)) THEN
        RETURN 0;
    END IF;
    IF p_anew OR NOT EXISTS (SELECT FROM chunks WHERE workspace = p_workspace) THEN
        DELETE FROM lexicon WHERE workspace = p_workspace;
        DELETE FROM lexicon_progress WHERE workspace = p_workspace;
    END IF;
    SELECT * INTO progress FROM lexicon_progress WHERE workspace = p_workspace;
    -- one statement: what it counts as changed, it has an id for
    SELECT (SELECT max(id) FROM chunks) AS newest, pg_current_snapshot() AS running,
           (SELECT refreshed_at FROM bm25_workspaces WHERE workspace = p_workspace) AS refreshed_at,
           (SELECT changed FROM bm25_totals(p_workspace)) AS changed
    INTO seen;
    running := seen.running;
    complete := CASE
        WHEN pg_snapshot_xmin(running) = pg_snapshot_xmax(running) THEN seen.newest
        WHEN pg_snapshot_xmin(running)::text::bigint >= progress.next_transaction THEN progress.read_to
        ELSE coalesce(progress.complete_to, 0) END;
    WITH fresh AS MATERIALIZED (
        SELECT language, title, heading_path, content FROM chunks
        WHERE workspace = p_workspace AND id > coalesce(progress.complete_to, 0) AND id <= seen.newest),
    typed AS (
        SELECT DISTINCT language, word
        FROM fresh, string_to_table(regexp_replace(
            folded_text(concat_ws(' ', title, array_to_string(heading_path, ' '), content)),
            '[^[:alnum:]]+', ' ', 'g'), ' ') AS word
        WHERE word ~ '^[[:alpha:]]{4,40}$'),
    inserted AS (
        INSERT INTO lexicon (workspace, word, lexeme, sound)
        SELECT DISTINCT p_workspace, word, lexeme, word_sound(word)
        FROM typed, unnest(tsvector_to_array(folded_words(language, word))) AS lexeme
        ORDER BY word, lexeme
        ON CONFLICT DO NOTHING
        RETURNING 1)
    SELECT count(*) INTO added FROM inserted;
    IF EXISTS (SELECT FROM chunks WHERE workspace = p_workspace) THEN
        INSERT INTO lexicon_progress (workspace, read_to, complete_to, next_transaction, refreshed_at, changed)
        VALUES (p_workspace, seen.newest, complete, pg_snapshot_xmax(running)::text::bigint,
                seen.refreshed_at, seen.changed)
        ON CONFLICT (workspace) DO UPDATE
        SET read_to = excluded.read_to, complete_to = excluded.complete_to,
            next_transaction = excluded.next_transaction, refreshed_at = excluded.refreshed_at,
            changed = excluded.changed;
    END IF;
    RETURN added;
END $$;

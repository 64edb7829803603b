-- What keeps BM25 in step with the chunks: triggers, and the snapshot of the statistics (ADR-025).

CREATE FUNCTION bm25_needs_refresh(p_workspace text) RETURNS boolean
LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT coalesce((SELECT changed > 0.05 * snapshot FROM bm25_totals(p_workspace)), false);
END;

-- Count the workspace anew. Returns false, having done nothing, while another session does, or for an unknown one.
CREATE FUNCTION bm25_refresh(p_workspace text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    counted_id integer := (SELECT id FROM bm25_workspaces WHERE workspace = p_workspace);
BEGIN
    IF counted_id IS NULL OR NOT pg_try_advisory_xact_lock(hashtext('bm25_refresh'), counted_id) THEN
        RETURN false;
    END IF;
    WITH folded AS (DELETE FROM bm25_changes WHERE workspace_id = counted_id)
    UPDATE bm25_workspaces w
    SET chunks = counted.chunks, total_length = counted.total_length, refreshed_at = now()
    FROM (SELECT count(*) AS chunks, coalesce(sum(length), 0) AS total_length
          FROM bm25_chunks WHERE workspace_id = counted_id) AS counted
    WHERE w.id = counted_id;
    DELETE FROM bm25_statistics WHERE workspace_id = counted_id;
    INSERT INTO bm25_statistics (workspace_id, key, levels)
    SELECT counted_id, key, ARRAY[
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
        SELECT posting & -16 AS key, bm25_level(posting & 15, length) AS level, count(*) AS chunks
        FROM (SELECT length, unnest(terms) AS posting FROM bm25_chunks WHERE workspace_id = counted_id) AS postings
        GROUP BY 1, 2) AS histogram
    GROUP BY key HAVING sum(chunks) >= 32;
    RETURN true;
END $$;

-- Make one row of the changes of a workspace. Returns false while another session does, or refreshes.
CREATE FUNCTION bm25_compact(p_workspace text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    compacted_id integer := (SELECT id FROM bm25_workspaces WHERE workspace = p_workspace);
BEGIN
    IF compacted_id IS NULL OR NOT pg_try_advisory_xact_lock(hashtext('bm25_refresh'), compacted_id) THEN
        RETURN false;
    END IF;
    WITH taken AS (DELETE FROM bm25_changes WHERE workspace_id = compacted_id RETURNING changed, chunks, total_length)
    INSERT INTO bm25_changes (workspace_id, changed, chunks, total_length)
    SELECT compacted_id, sum(changed), sum(chunks), sum(total_length) FROM taken HAVING count(*) > 0;
    RETURN true;
END $$;

-- Move what GIN keeps aside of recent writes into its index: a thousand such chunks cost each query 6 to 12 ms.
CREATE FUNCTION bm25_flush() RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT gin_clean_pending_list(to_regclass('ix_bm25_chunks_impacts'))
$$;


-- Index every chunk anew, as after a change of the analysis that no trigger sees. Writers of chunks wait for it.
CREATE FUNCTION bm25_rebuild() RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    LOCK TABLE chunks IN SHARE ROW EXCLUSIVE MODE;
    TRUNCATE bm25_chunks, bm25_changes;
    INSERT INTO bm25_workspaces (workspace)
    SELECT DISTINCT workspace FROM chunks ORDER BY workspace ON CONFLICT DO NOTHING;
    INSERT INTO bm25_chunks (chunk_id, workspace_id, length, terms)
    SELECT c.id, w.id, t.length, t.terms
    FROM chunks c JOIN bm25_workspaces w USING (workspace), bm25_terms(w.id, c.lexemes) AS t;
    PERFORM bm25_refresh(workspace) FROM bm25_workspaces;
END $$;


CREATE FUNCTION bm25_after_insert() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    INSERT INTO bm25_workspaces (workspace)
    SELECT DISTINCT n.workspace FROM new_chunks n
    WHERE NOT EXISTS (SELECT FROM bm25_workspaces w WHERE w.workspace = n.workspace)
    ORDER BY n.workspace
    ON CONFLICT DO NOTHING;
    WITH added AS (
        INSERT INTO bm25_chunks (chunk_id, workspace_id, length, terms)
        SELECT n.id, w.id, t.length, t.terms
        FROM new_chunks n JOIN bm25_workspaces w USING (workspace), bm25_terms(w.id, n.lexemes) AS t
        RETURNING workspace_id, length)
    INSERT INTO bm25_changes (workspace_id, changed, chunks, total_length)
    SELECT workspace_id, count(*), count(*), sum(length) FROM added GROUP BY workspace_id;
    RETURN NULL;
END $$;

-- Plans of triggers are made once a session, for as many rows as its first statement has: so rows are found by arrays
-- of ids, which are right for one and for a million.
CREATE FUNCTION bm25_after_delete() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    WITH removed AS (
        DELETE FROM bm25_chunks WHERE chunk_id = ANY (ARRAY(SELECT id FROM old_chunks)) RETURNING workspace_id, length)
    INSERT INTO bm25_changes (workspace_id, changed, chunks, total_length)
    SELECT workspace_id, count(*), -count(*), -sum(length) FROM removed GROUP BY workspace_id;
    RETURN NULL;
END $$;

CREATE FUNCTION bm25_after_update() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET enable_nestloop = off AS $$
DECLARE
    gone bigint[];
    come bigint[];
BEGIN
    SELECT array_agg(o.id), array_agg(n.id) INTO gone, come
    FROM old_chunks o FULL JOIN new_chunks n ON n.id = o.id
    WHERE (o.workspace, o.lexemes) IS DISTINCT FROM (n.workspace, n.lexemes);
    IF gone IS NULL THEN
        RETURN NULL;
    END IF;
    WITH removed AS (DELETE FROM bm25_chunks WHERE chunk_id = ANY (gone) RETURNING workspace_id, length)
    INSERT INTO bm25_changes (workspace_id, changed, chunks, total_length)
    SELECT workspace_id, count(*), -count(*), -sum(length) FROM removed GROUP BY workspace_id;
    INSERT INTO bm25_workspaces (workspace)
    SELECT DISTINCT n.workspace FROM new_chunks n
    WHERE n.id = ANY (come) AND NOT EXISTS (SELECT FROM bm25_workspaces w WHERE w.workspace = n.workspace)
    ORDER BY n.workspace
    ON CONFLICT DO NOTHING;
    WITH added AS (
        INSERT INTO bm25_chunks (chunk_id, workspace_id, length, terms)
        SELECT n.id, w.id, t.length, t.terms
        FROM new_chunks n JOIN bm25_workspaces w USING (workspace), bm25_terms(w.id, n.lexemes) AS t
        WHERE n.id = ANY (come)
        RETURNING workspace_id, length)
    INSERT INTO bm25_changes (workspace_id, changed, chunks, total_length)
    SELECT workspace_id, count(*), count(*), sum(length) FROM added GROUP BY workspace_id;
    RETURN NULL;
END $$;

CREATE FUNCTION bm25_after_truncate() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    TRUNCATE bm25_chunks, bm25_changes, bm25_statistics;
    UPDATE bm25_workspaces SET chunks = 0, total_length = 0, refreshed_at = NULL;
    RETURN NULL;
END $$;

CREATE TRIGGER bm25_insert AFTER INSERT ON chunks REFERENCING NEW TABLE AS new_chunks
    FOR EACH STATEMENT EXECUTE FUNCTION bm25_after_insert();
CREATE TRIGGER bm25_delete AFTER DELETE ON chunks REFERENCING OLD TABLE AS old_chunks
    FOR EACH STATEMENT EXECUTE FUNCTION bm25_after_delete();
CREATE TRIGGER bm25_update AFTER UPDATE ON chunks REFERENCING OLD TABLE AS old_chunks NEW TABLE AS new_chunks
    FOR EACH STATEMENT EXECUTE FUNCTION bm25_after_update();
CREATE TRIGGER bm25_truncate AFTER TRUNCATE ON chunks
    FOR EACH STATEMENT EXECUTE FUNCTION bm25_after_truncate();

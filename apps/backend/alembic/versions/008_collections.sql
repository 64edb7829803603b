-- What indexes the items of memory and history, and keeps the terms of whole documents (ADR-030).

-- Keys of items are made of a hash of the workspace's name: their tables need no list of workspaces.
CREATE FUNCTION index_item() RETURNS trigger
LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    NEW.lexemes := chunk_lexemes(NEW.language, coalesce(NEW.speaker, ''), '{}', NEW.text);
    SELECT t.length, t.terms INTO NEW.length, NEW.terms FROM bm25_terms(hashtext(NEW.workspace), NEW.lexemes) AS t;
    RETURN NEW;
END $$;

-- A vector is of the text that it was made from. The argument is the table of vectors.
CREATE FUNCTION drop_item_vectors() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    EXECUTE 'DELETE FROM ' || quote_ident(TG_ARGV[0]) || ' WHERE item_id = $1' USING NEW.id;
    RETURN NULL;
END $$;


-- The postings of a document are the sums of its chunks', so its keys are those of bm25_workspaces.id. A document
-- without chunks has none, and no vector. Its plan is made once a session, perhaps on empty tables: by nested loops
-- over indexes it is right for one chunk and for a million.
CREATE FUNCTION document_terms_refresh(document_ids uuid[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off AS $$
DECLARE
    gone uuid[] := ARRAY(
        SELECT given.id FROM unnest(document_ids) AS given (id)
        WHERE NOT EXISTS (SELECT FROM chunks c WHERE c.document_id = given.id));
BEGIN
    IF gone <> '{}' THEN
        DELETE FROM document_terms WHERE document_id = ANY (gone);
        DELETE FROM document_embeddings WHERE document_id = ANY (gone);
    END IF;
    INSERT INTO document_terms (document_id, workspace, length, terms)
    SELECT given.id, whole.workspace, whole.length, summed.terms
    FROM unnest(document_ids) AS given (id),
         LATERAL (
             SELECT min(c.workspace) AS workspace, sum(b.length)::integer AS length
             FROM chunks c JOIN bm25_chunks b ON b.chunk_id = c.id
             WHERE c.document_id = given.id) AS whole,
         LATERAL (
             SELECT coalesce(array_agg(posting ORDER BY posting), '{}') AS terms
             FROM (
                 SELECT (posting & -16) | least(15, sum(posting & 15))::integer AS posting
                 FROM chunks c JOIN bm25_chunks b ON b.chunk_id = c.id, unnest(b.terms) AS posting
                 WHERE c.document_id = given.id
                 GROUP BY posting & -16) AS postings) AS summed
    WHERE whole.workspace IS NOT NULL
    ON CONFLICT (document_id) DO UPDATE SET
        workspace = excluded.workspace, length = excluded.length, terms = excluded.terms;
END $$;

-- Sum up every document anew: after bm25_rebuild(), whose postings no trigger sees. Writers of chunks wait for it.
CREATE FUNCTION document_terms_rebuild() RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    LOCK TABLE chunks IN SHARE ROW EXCLUSIVE MODE;
    TRUNCATE document_terms;
    PERFORM document_terms_refresh(ARRAY(SELECT DISTINCT document_id FROM chunks));
END $$;


CREATE FUNCTION document_terms_after_insert() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    PERFORM document_terms_refresh(ARRAY(SELECT DISTINCT document_id FROM new_chunks));
    RETURN NULL;
END $$;

CREATE FUNCTION document_terms_after_delete() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    PERFORM document_terms_refresh(ARRAY(SELECT DISTINCT document_id FROM old_chunks));
    RETURN NULL;
END $$;

CREATE FUNCTION document_terms_after_update() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET enable_nestloop = off AS $$
DECLARE
    touched uuid[];
BEGIN
    SELECT array_agg(DISTINCT document_id) INTO touched
    FROM (
        SELECT unnest(ARRAY[o.document_id, n.document_id]) AS document_id
        FROM old_chunks o FULL JOIN new_chunks n ON n.id = o.id
        WHERE (o.document_id, o.workspace, o.lexemes) IS DISTINCT FROM (n.document_id, n.workspace, n.lexemes)
    ) AS changed
    WHERE document_id IS NOT NULL;
    IF touched IS NOT NULL THEN
        PERFORM document_terms_refresh(touched);
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION document_terms_after_truncate() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    -- no TRUNCATE: one of documents that cascades has these tables in hand
    DELETE FROM document_terms;
    DELETE FROM document_embeddings;
    RETURN NULL;
END $$;

-- Triggers fire in the order of their names: these after those named bm25_..., whose postings they sum.
CREATE TRIGGER document_terms_insert AFTER INSERT ON chunks REFERENCING NEW TABLE AS new_chunks
    FOR EACH STATEMENT EXECUTE FUNCTION document_terms_after_insert();
CREATE TRIGGER document_terms_delete AFTER DELETE ON chunks REFERENCING OLD TABLE AS old_chunks
    FOR EACH STATEMENT EXECUTE FUNCTION document_terms_after_delete();
CREATE TRIGGER document_terms_update AFTER UPDATE ON chunks REFERENCING OLD TABLE AS old_chunks NEW TABLE AS new_chunks
    FOR EACH STATEMENT EXECUTE FUNCTION document_terms_after_update();
CREATE TRIGGER document_terms_truncate AFTER TRUNCATE ON chunks
    FOR EACH STATEMENT EXECUTE FUNCTION document_terms_after_truncate();

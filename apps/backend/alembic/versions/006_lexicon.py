"""The words of each workspace, for those that a query misspells, and the languages that it is written in (ADR-026)."""

from __future__ import annotations

from alembic import op

revision = "006"
down_revision = "005"
branch_labels = None
depends_on = None

TABLES = """
    CREATE TABLE lexicon (
        workspace text,
        word      text COLLATE "C",
        lexeme    text COLLATE "C",
        sound     text COLLATE "C" NOT NULL,
        CONSTRAINT pk_lexicon PRIMARY KEY (workspace, word, lexeme)
    );
    CREATE INDEX ix_lexicon_workspace_sound ON lexicon (workspace, sound);
    CREATE TABLE lexicon_progress (
        workspace        text CONSTRAINT pk_lexicon_progress PRIMARY KEY,
        read_to          bigint NOT NULL,
        complete_to      bigint NOT NULL,
        next_transaction bigint NOT NULL
    );
    CREATE TABLE chunk_languages (
        workspace text,
        language  text,
        CONSTRAINT pk_chunk_languages PRIMARY KEY (workspace, language)
    );
    CREATE TABLE default_languages (
        workspace text CONSTRAINT pk_default_languages PRIMARY KEY,
        language  text NOT NULL
    )
"""

SOUNDS = (
    ("ñ", "n"), ("x", "s"), ("ph", "f"), ("ch", "x"), ("h", ""), ("qu", "k"), ("q", "k"), ("ce", "se"), ("ci", "si"),
    ("c", "k"), ("z", "s"), ("ge", "je"), ("gi", "ji"), ("gue", "ge"), ("gui", "gi"), ("v", "b"), ("w", "b"),
    ("ll", "i"), ("y", "i"), ("mb", "nb"), ("mp", "np"),
)  # fmt: skip
"""What is confused in writing Spanish, in this order: b and v, s and z and c, g and j, ll and y, the silent h, ñ and n,
m and n before b and p. Doubled letters count once."""

LETTERS = "abcdefghijklmnñopqrstuvwxyz"
SOUND_LETTERS = "abdefgijklmnoprstux"


def _word_sound() -> str:
    sound = "word"
    for written, spoken in SOUNDS:
        sound = f"replace({sound}, '{written}', '{spoken}')"
    return f"""
        CREATE FUNCTION word_sound(word text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
        RETURN regexp_replace({sound}, '(.)\\1+', '\\1', 'g')
    """


WORD_NEIGHBOURS = """
    CREATE FUNCTION word_neighbours(word text, letters text) RETURNS text[] LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    BEGIN ATOMIC
        SELECT array_agg(DISTINCT neighbour)
        FROM generate_series(0, length(word)) AS at,
             LATERAL (SELECT left(word, at) AS before, substr(word, at + 1) AS after) AS cut,
             LATERAL (
                SELECT before || substr(after, 2) AS neighbour
                UNION ALL SELECT before || substr(after, 2, 1) || left(after, 1) || substr(after, 3)
                UNION ALL SELECT before || letter || after FROM string_to_table(letters, NULL) AS letter
                UNION ALL SELECT before || letter || substr(after, 2) FROM string_to_table(letters, NULL) AS letter
             ) AS changed;
    END
"""
"""The word, and every other at one omission, exchange, insertion or replacement of letters (Damerau 1964)."""

ADD_TRIGRAMS = """
    DO $$ BEGIN
        CREATE EXTENSION IF NOT EXISTS pg_trgm;
    EXCEPTION WHEN insufficient_privilege OR undefined_file OR feature_not_supported THEN
        RAISE NOTICE 'pg_trgm is not available: words with two mistakes find no replacement';
    END $$
"""
TRIGRAMS_SCHEMA = "SELECT extnamespace::regnamespace::text FROM pg_extension WHERE extname = 'pg_trgm'"

TRIGRAM_SIMILARITY = """
    CREATE FUNCTION trigram_similarity(a text, b text) RETURNS float8 LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    BEGIN ATOMIC
        WITH left_one AS (
                SELECT DISTINCT substr('  ' || a || ' ', n, 3) AS trigram FROM generate_series(1, length(a) + 1) AS n),
             right_one AS (
                SELECT DISTINCT substr('  ' || b || ' ', n, 3) AS trigram FROM generate_series(1, length(b) + 1) AS n)
        SELECT count(l.trigram || r.trigram)::float8 / count(*)
        FROM left_one l FULL JOIN right_one r USING (trigram);
    END
"""
"""Common trigrams over all trigrams: what pg_trgm's similarity says of two words."""

SIMILAR_WORDS = """
    CREATE FUNCTION similar_words(p_workspace text, p_word text) RETURNS SETOF lexicon LANGUAGE sql STABLE PARALLEL SAFE
    BEGIN ATOMIC
        -- apart, or the planner compares every word of a workspace rather than ask the index
        WITH alike AS MATERIALIZED (SELECT * FROM lexicon l WHERE {condition})
        SELECT * FROM alike WHERE workspace = p_workspace;
    END
"""

NEAREST_WORD = """
    CREATE FUNCTION nearest_word(
        p_workspace text, p_word text, OUT lexeme text, OUT document_frequency bigint, OUT similarity float8)
    LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE SET search_path = public, pg_temp
    SET enable_seqscan = off AS $$
    #variable_conflict use_column
    DECLARE
        spoken text := word_sound(p_word);
        -- made once: in a condition they would be made anew for every row that is looked at
        sounds text[] := word_neighbours(spoken, '{sounds}');
        spellings text[] := word_neighbours(p_word, '{letters}');
    BEGIN
        SELECT candidate.lexeme, frequency, candidate.similarity INTO lexeme, document_frequency, similarity
        FROM (
            SELECT array_agg(l.lexeme) AS lexemes, array_agg(l.sound = spoken) AS alikes,
                   array_agg(trigram_similarity(l.word, p_word)) AS similarities,
                   lexeme_frequencies(p_workspace, array_agg(l.lexeme)) AS frequencies
            FROM (
                SELECT l.* FROM lexicon l
                WHERE l.workspace = p_workspace AND l.sound = ANY (sounds)
                UNION
                SELECT l.* FROM lexicon l
                WHERE l.workspace = p_workspace AND l.word = ANY (spellings)) AS l) AS found,
            unnest(found.lexemes, found.frequencies, found.alikes, found.similarities)
                AS candidate (lexeme, frequency, alike, similarity)
        WHERE frequency > 0 AND (alike OR length(p_word) >= 5 AND candidate.similarity >= 0.3)
        ORDER BY alike DESC, candidate.similarity DESC, frequency DESC, candidate.lexeme
        LIMIT 1;
        IF lexeme IS NOT NULL OR length(p_word) < 7 THEN
            RETURN;
        END IF;
        SELECT candidate.lexeme, frequency, candidate.similarity INTO lexeme, document_frequency, similarity
        FROM (
            SELECT array_agg(l.lexeme) AS lexemes, array_agg(trigram_similarity(l.word, p_word)) AS similarities,
                   lexeme_frequencies(p_workspace, array_agg(l.lexeme)) AS frequencies
            FROM similar_words(p_workspace, p_word) l
            WHERE abs(length(l.word) - length(p_word)) <= 2 AND trigram_similarity(l.word, p_word) >= 0.5) AS found,
            unnest(found.lexemes, found.frequencies, found.similarities) AS candidate (lexeme, frequency, similarity)
        WHERE frequency > 0
        ORDER BY candidate.similarity DESC, frequency DESC, candidate.lexeme
        LIMIT 1;
    END $$
"""
"""The word of the workspace that was probably meant: one that sounds alike, else one at a single mistake of sound, else
the most similar by trigrams. NULL where there is none. Figures for the limits in ADR-026."""

REFRESH_LEXICON = """
    CREATE FUNCTION refresh_lexicon(p_workspace text, p_anew boolean DEFAULT false) RETURNS bigint
    LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
    DECLARE
        progress lexicon_progress;
        running pg_snapshot;
        newest bigint;
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
        SELECT max(id), pg_current_snapshot() INTO newest, running FROM chunks;
        complete := CASE
            WHEN pg_snapshot_xmin(running) = pg_snapshot_xmax(running) THEN newest
            WHEN pg_snapshot_xmin(running)::text::bigint >= progress.next_transaction THEN progress.read_to
            ELSE coalesce(progress.complete_to, 0) END;
        WITH fresh AS MATERIALIZED (
            SELECT language, title, heading_path, content FROM chunks
            WHERE workspace = p_workspace AND id > coalesce(progress.complete_to, 0) AND id <= newest),
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
            INSERT INTO lexicon_progress (workspace, read_to, complete_to, next_transaction)
            VALUES (p_workspace, newest, complete, pg_snapshot_xmax(running)::text::bigint)
            ON CONFLICT (workspace) DO UPDATE
            SET read_to = excluded.read_to, complete_to = excluded.complete_to,
                next_transaction = excluded.next_transaction;
        END IF;
        RETURN added;
    END $$
"""
"""Takes in the words of new chunks and returns how many are new; ``p_anew`` forgets those of deleted chunks first.

Ids are given out before their transactions end: one that is under way now will come late. So the lexicon is complete up
to the newest id only if no transaction is running; else up to where the last refresh read to, if all that ran then have
ended. What lies beyond is read again.
"""

KEEP_LANGUAGES = """
    INSERT INTO chunk_languages (workspace, language) SELECT DISTINCT workspace, language FROM chunks;
    CREATE FUNCTION keep_languages() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    BEGIN
        INSERT INTO chunk_languages (workspace, language)
        SELECT DISTINCT n.workspace, n.language FROM new_chunks n
        WHERE NOT EXISTS (
            SELECT FROM chunk_languages l WHERE l.workspace = n.workspace AND l.language = n.language)
        ORDER BY n.workspace, n.language
        ON CONFLICT DO NOTHING;
        RETURN NULL;
    END $$;
    CREATE TRIGGER languages_insert AFTER INSERT ON chunks REFERENCING NEW TABLE AS new_chunks
        FOR EACH STATEMENT EXECUTE FUNCTION keep_languages();
    CREATE TRIGGER languages_update AFTER UPDATE ON chunks REFERENCING NEW TABLE AS new_chunks
        FOR EACH STATEMENT EXECUTE FUNCTION keep_languages()
"""
"""With the chunks themselves: a document is found by its words from its first moment. A language stays when its chunks
go: an analysis that finds nothing costs little."""

WORKSPACE_LANGUAGES = """
    CREATE FUNCTION workspace_languages(p_workspace text) RETURNS text[] LANGUAGE sql STABLE PARALLEL SAFE
    BEGIN ATOMIC
        SELECT coalesce(array_agg(language ORDER BY language), '{}')
        FROM chunk_languages WHERE workspace = p_workspace;
    END;
    CREATE FUNCTION query_languages(p_workspace text, p_default text) RETURNS text[]
    LANGUAGE sql STABLE PARALLEL SAFE
    BEGIN ATOMIC
        SELECT ARRAY[first] || array_remove(workspace_languages(p_workspace), first)
        FROM (SELECT coalesce(
            (SELECT language FROM default_languages WHERE workspace = p_workspace), p_default) AS first) AS chosen;
    END
"""

QUERY_TERMS = """
    CREATE FUNCTION query_terms(p_workspace text, p_languages text[], p_text text)
    RETURNS TABLE (
        "position" int, word text, lexeme text, kind text, document_frequency bigint, typed text, similarity float8)
    LANGUAGE sql STABLE PARALLEL SAFE
    BEGIN ATOMIC
        WITH languages AS (
            SELECT language, min(place) AS place FROM unnest(p_languages) WITH ORDINALITY AS given (language, place)
            GROUP BY language),
        words AS MATERIALIZED (
            SELECT l.place, w.* FROM languages l, query_words(l.language, p_text) AS w),
        frequencies AS MATERIALIZED (
            SELECT counted.lexeme, counted.frequency
            FROM (SELECT array_agg(DISTINCT w.lexeme) AS lexemes FROM words w) AS every,
                 unnest(every.lexemes, lexeme_frequencies(p_workspace, every.lexemes)) AS counted (lexeme, frequency)),
        judged AS MATERIALIZED (
            SELECT w.*, f.frequency,
                   min(w.place) OVER same AS first_place,
                   count(*) FILTER (WHERE w.kind = 'word') OVER same AS as_word,
                   max(f.frequency) FILTER (WHERE w.kind IN ('word', 'whole', 'joined')) OVER same AS known
            FROM words w JOIN frequencies f USING (lexeme)
            WINDOW same AS (PARTITION BY w.position, w.word)),
        kept AS MATERIALIZED (
            SELECT DISTINCT ON (j.position, j.lexeme)
                   j.position, j.word, j.lexeme, j.kind, j.frequency, known = 0 AS unknown
            FROM judged j
            WHERE (j.kind <> 'word' OR j.first_place = (SELECT min(place) FROM languages))
              AND (j.frequency > 0
                   OR j.known = 0 AND j.kind = 'whole' AND j.lexeme = j.word
                   OR j.known = 0 AND j.kind = 'word' AND j.place = j.first_place
                      AND j.as_word >= (SELECT count(*) FROM languages))
            ORDER BY j.position, j.lexeme, j.place)
        SELECT k.position, k.word, coalesce(n.lexeme, k.lexeme), k.kind,
               coalesce(n.document_frequency, k.frequency),
               CASE WHEN n.lexeme IS NOT NULL THEN k.lexeme END,
               coalesce(n.similarity, 1)
        FROM kept k
        LEFT JOIN LATERAL nearest_word(
            p_workspace,
            CASE WHEN k.unknown AND k.kind = 'word' AND k.word ~ '^[[:alpha:]]{4,40}$' THEN k.word END) AS n ON true
        ORDER BY k.position, 3;
    END
"""
"""The terms of a query as they are searched: ``query_words`` in each language, with document frequencies.

A word is kept in each language in which the workspace knows it, else in the first; a stop word of the first language is
none, nor is an unknown word that is a stop word elsewhere. Of the spellings of an identifier those that exist are kept,
else the one that was typed. An unknown word becomes the nearest known one; identifiers never do.
"""

FUNCTIONS = (
    "query_terms(text, text[], text)",
    "query_languages(text, text)",
    "workspace_languages(text)",
    "refresh_lexicon(text, boolean)",
    "nearest_word(text, text)",
    "similar_words(text, text)",
    "trigram_similarity(text, text)",
    "word_neighbours(text, text)",
    "word_sound(text)",
)


def upgrade() -> None:
    connection = op.get_bind()
    connection.exec_driver_sql(ADD_TRIGRAMS)
    trigrams = connection.exec_driver_sql(TRIGRAMS_SCHEMA).scalar()
    connection.exec_driver_sql(TABLES)
    if trigrams is None:
        connection.exec_driver_sql(TRIGRAM_SIMILARITY)
        similar = "false"
    else:
        connection.exec_driver_sql(
            f"CREATE INDEX ix_lexicon_word ON lexicon USING gin (word {trigrams}.gin_trgm_ops);"
            "CREATE FUNCTION trigram_similarity(a text, b text) RETURNS float8 LANGUAGE sql IMMUTABLE STRICT"
            f" PARALLEL SAFE RETURN {trigrams}.similarity(a, b)"
        )
        similar = f"l.word OPERATOR({trigrams}.%%) p_word"
    for statement in (
        _word_sound(),
        WORD_NEIGHBOURS,
        SIMILAR_WORDS.format(condition=similar),
        NEAREST_WORD.format(letters=LETTERS, sounds=SOUND_LETTERS),
        REFRESH_LEXICON,
        KEEP_LANGUAGES,
        WORKSPACE_LANGUAGES,
        QUERY_TERMS,
        "SELECT refresh_lexicon(workspace) FROM (SELECT DISTINCT workspace FROM chunks) AS present",
    ):
        connection.exec_driver_sql(statement)


def downgrade() -> None:
    op.execute("DROP TRIGGER languages_insert ON chunks")
    op.execute("DROP TRIGGER languages_update ON chunks")
    op.execute("DROP FUNCTION keep_languages()")
    for function in FUNCTIONS:
        op.execute(f"DROP FUNCTION {function}")
    for table in ("default_languages", "chunk_languages", "lexicon_progress", "lexicon"):
        op.execute(f"DROP TABLE {table}")

-- The plan of BM25 and the terms of a query, at a fraction of their former time (ADR-025, ADR-026).

-- The most that a posting below level n can add to a score, by idf, at [n + 1]; [11] is for any posting. Expressions:
-- a function with FROM starts the executor for each call.
CREATE FUNCTION bm25_bound(threshold float8, average_length float8) RETURNS float8
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 2.2::float8 / (1 + (2.2::float8 / threshold - 1) * least(1, 60 / average_length));

CREATE OR REPLACE FUNCTION bm25_bounds(average_length float8) RETURNS float8[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY[
    0, bm25_bound(0.95, average_length), bm25_bound(1.1, average_length), bm25_bound(1.25, average_length),
    bm25_bound(1.4, average_length), bm25_bound(1.55, average_length), bm25_bound(1.7, average_length),
    bm25_bound(1.8, average_length), bm25_bound(1.9, average_length), bm25_bound(2.0, average_length), 2.2];


-- The cheapest level for each term such that all postings below sum to less than p_score; 10: the term is not scanned.
-- p_costs[10 (i - 1) + n + 1] postings of term i reach level n. The multiplier of Lagrange's method is searched for:
-- the higher, the lower the levels. So a term's level lies between those at the two ends of the search.
CREATE OR REPLACE FUNCTION bm25_cut(
    p_weights float8[], p_costs float8[], p_bounds float8[], p_score float8, p_skipped integer DEFAULT 0)
RETURNS integer[] LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    low float8 := 0.01;
    high float8 := 1e9;
    multiplier float8;
    weighted float8;
    unseen float8 := 0;
    price float8;
    best float8;
    base integer;
    chosen integer;
    levels integer[] := array_fill(10, ARRAY[cardinality(p_weights)]);
    too_high integer[] := levels;
    found integer[] := array_fill(0, ARRAY[cardinality(p_weights)]);
BEGIN
    FOR i IN 1..cardinality(p_weights) LOOP
        IF i <> p_skipped THEN
            unseen := unseen + p_weights[i] * p_bounds[11];
        END IF;
    END LOOP;
    IF unseen < p_score THEN
        RETURN levels;
    END IF;
    IF p_skipped > 0 THEN
        found[p_skipped] := 10;
    END IF;
    LOOP
        multiplier := sqrt(low * high);
        unseen := 0;
        FOR i IN 1..cardinality(p_weights) LOOP
            CONTINUE WHEN i = p_skipped;
            chosen := too_high[i];
            IF chosen > found[i] THEN
                base := 10 * i - 9;
                weighted := multiplier * p_weights[i];
                best := weighted * p_bounds[chosen + 1] + CASE WHEN chosen = 10 THEN 0 ELSE p_costs[base + chosen] END;
                FOR level IN REVERSE chosen - 1..found[i] LOOP
                    price := weighted * p_bounds[level + 1] + p_costs[base + level];
                    IF price < best THEN
                        best := price;
                        chosen := level;
                    END IF;
                END LOOP;
                levels[i] := chosen;
            END IF;
            unseen := unseen + p_weights[i] * p_bounds[chosen + 1];
        END LOOP;
        IF unseen < p_score THEN
            high := multiplier;
            found := levels;
        ELSE
            low := multiplier;
            too_high := levels;
        END IF;
        EXIT WHEN high < low * 1.3;
    END LOOP;
    RETURN found;
END $$;

-- The score that about p_wanted chunks reach, if terms are independent: a convolution of the terms' level histograms
-- over 60 steps of score. A wrong guess costs time, never a result.
CREATE OR REPLACE FUNCTION bm25_guess(
    p_weights float8[], p_costs float8[], p_bounds float8[], p_chunks float8, p_wanted integer)
RETURNS float8 LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    step float8 := 0;
    steps float8;
    typical float8[] := ARRAY[0.93 * p_bounds[2]];
    expected float8[] := ARRAY[p_chunks] || array_fill(0::float8, ARRAY[59]);
    next_expected float8[];
    top integer := 0;
    share float8;
    gain integer;
    base integer;
    reached float8 := 0;
BEGIN
    FOR i IN 1..cardinality(p_weights) LOOP
        step := step + p_weights[i];
    END LOOP;
    step := step * 2.2 / 60;
    FOR level IN 1..9 LOOP
        typical[level + 1] := 0.6 * p_bounds[level + 1] + 0.4 * p_bounds[level + 2];
    END LOOP;
    FOR i IN 1..cardinality(p_weights) LOOP
        base := 10 * i - 9;
        steps := p_weights[i] / step;
        share := greatest(0, 1 - p_costs[base] / p_chunks);
        next_expected := expected;
        FOR j IN 1..top + 1 LOOP
            next_expected[j] := expected[j] * share;
        END LOOP;
        FOR level IN 0..9 LOOP
            share := p_costs[base + level];
            IF p_costs[base] = p_costs[base + 9] THEN  -- counted, of unknown levels
                EXIT WHEN level > 0;
            ELSIF level < 9 THEN
                share := share - p_costs[base + level + 1];
            END IF;
            CONTINUE WHEN share <= 0;
            share := share / p_chunks;
            gain := floor(steps * typical[level + 1]);
            FOR j IN 1..least(top + 1, 60 - gain) LOOP
                next_expected[j + gain] := next_expected[j + gain] + expected[j] * share;
            END LOOP;
        END LOOP;
        top := least(59, top + gain);
        expected := next_expected;
    END LOOP;
    FOR j IN REVERSE 60..1 LOOP
        reached := reached + expected[j];
        IF reached >= p_wanted THEN
            RETURN (j - 1) * step;
        END IF;
    END LOOP;
    RETURN 0;
END $$;

-- What to scan so that every chunk of a score of at least theta is seen: the chunks that hold one of the impacts
-- required[n] and one of alternatives[n], for any n. p_theta null: guessed so that p_certified chunks reach it. Where
-- more than p_budget postings would be read, theta is raised until they are not, and is_cut says so. Where that leaves
-- next to nothing, as with a million postings of one impact, the first `most` chunks are taken, and nothing is proven.
CREATE OR REPLACE FUNCTION bm25_plan(
    p_workspace text, p_lexemes text[], p_weights float8[], p_certified integer, p_budget integer, p_theta float8,
    OUT workspace_id integer, OUT chunks bigint, OUT average_length float8,
    OUT keys integer[], OUT lexemes text[], OUT weights float8[], OUT postings integer[],
    OUT required text[], OUT alternatives text[], OUT most integer, OUT theta float8, OUT is_cut boolean)
LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
#variable_conflict use_column
DECLARE
    costs float8[];
    bounds float8[];
    best float8 := 0;
    cost float8;
    allowed float8;
    levels integer[];
    levels_before integer[];
    others integer[];
    alone integer[] := '{}';
    other_impacts integer[];
    level integer;
    above integer;
    rest float8;
BEGIN
    required := '{}'; alternatives := '{}'; is_cut := false; theta := 0;
    -- of each subquery's result one value is read several times: without OFFSET 0 it would be made as often
    SELECT t.id, t.chunks, t.average_length, given.*
    INTO workspace_id, chunks, average_length, keys, lexemes, weights, costs, postings
    FROM (
        SELECT id, chunks, total_length::float8 / nullif(chunks, 0) AS average_length
        FROM bm25_totals(p_workspace)) AS t
    CROSS JOIN LATERAL (
        SELECT array_agg(term.key), array_agg(term.lexeme),
               array_agg(term.weight * ln(
                   1 + (greatest(t.chunks, term.df) - term.df + 0.5::float8) / (term.df + 0.5::float8))),
               ARRAY(SELECT unnest(array_agg(term.levels)))::float8[],
               ARRAY(SELECT key | tf FROM unnest(array_agg(term.key)) AS key, generate_series(1, 15) AS tf ORDER BY 1)
        FROM (
            SELECT wanted.key, wanted.lexeme, wanted.weight, known.levels, known.levels[1] AS df
            FROM (
                SELECT DISTINCT ON (hashed.key)
                       hashed.key, given.lexeme, coalesce(given.weight, 1) AS weight, given.position
                FROM unnest(p_lexemes, p_weights) WITH ORDINALITY AS given (lexeme, weight, position),
                     LATERAL (SELECT bm25_key(t.id, given.lexeme) AS key OFFSET 0) AS hashed
                WHERE given.lexeme IS NOT NULL
                ORDER BY hashed.key, given.position) AS wanted
            LEFT JOIN bm25_statistics s ON s.workspace_id = t.id AND s.key = wanted.key
            CROSS JOIN LATERAL (SELECT coalesce(s.levels, bm25_levels(t.id, wanted.key)) AS levels OFFSET 0) AS known
            ORDER BY wanted.position) AS term
        WHERE term.df > 0 AND term.weight > 0) AS given;
    IF average_length IS NULL OR keys IS NULL THEN
        keys := '{}'; lexemes := '{}'; weights := '{}';
        RETURN;
    END IF;
    FOR i IN 1..cardinality(keys) LOOP
        best := best + 2.2 * weights[i];
    END LOOP;
    bounds := bm25_bounds(average_length);
    theta := coalesce(p_theta, bm25_guess(weights, costs, bounds, chunks, p_certified));
    -- a chunk that is scanned brings a posting for each of its lexemes that the query has: more in a long one
    allowed := p_budget / greatest(1, cardinality(keys) / 12.0);
    LOOP
        levels := bm25_cut(weights, costs, bounds, greatest(theta, 1e-9));
        cost := 0;
        FOR i IN 1..cardinality(keys) LOOP
            IF levels[i] < 10 THEN
                cost := cost + costs[10 * (i - 1) + levels[i] + 1];
            END IF;
        END LOOP;
        EXIT WHEN cost <= allowed;
        levels_before := levels;
        theta := greatest(theta, best * 0.02) * CASE WHEN cardinality(keys) <= 16 THEN 1.06 ELSE 1.12 END;
        is_cut := true;
    END LOOP;
    IF is_cut AND cost < allowed / 10 THEN
        levels := levels_before;
        most := allowed;
        theta := best;
    END IF;
    FOR i IN 1..cardinality(keys) LOOP
        level := levels[i];
        WHILE level < 10 LOOP
            -- postings of this level and the next few, up to `above`: they need another term's to reach theta. In a
            -- long query, to look for these costs more than it spares.
            above := least(10, (level / 3 + 1) * 3);
            rest := theta - weights[i] * bounds[above + 1];
            IF rest <= 0 OR costs[10 * (i - 1) + level + 1] < 300 OR cardinality(keys) > 40
               OR most IS NOT NULL THEN
                alone := alone || (keys[i] | level);
                EXIT;
            END IF;
            others := bm25_cut(weights, costs, bounds, rest, i);
            other_impacts := '{}';
            FOR j IN 1..cardinality(keys) LOOP
                IF others[j] < 10 THEN
                    other_impacts := other_impacts || (keys[j] | others[j]);
                END IF;
            END LOOP;
            IF cardinality(other_impacts) > 0 THEN
                required := required || ARRAY[keys[i] | level]::text;
                alternatives := alternatives || other_impacts::text;
            END IF;
            level := above;
        END LOOP;
    END LOOP;
    IF cardinality(alone) > 0 THEN
        required := required || alone::text;
        alternatives := alternatives || alone::text;
    END IF;
END $$;


-- The words of most queries are letters alone, with spaces between: each is a token, and stems to its lexemes.
CREATE OR REPLACE FUNCTION public.query_words(language text, value text)
RETURNS TABLE ("position" int, word text, lexeme text, kind text)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE ROWS 10 SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    folded text := public.folded_text(coalesce(value, ''));
BEGIN
    IF octet_length(folded) > 2000 OR folded ~ '[0-9]|[[:alnum:]][-._@/?&=#%~:]{1,3}[[:alnum:]]' THEN
        RETURN QUERY SELECT * FROM public.query_compounds(language, value);
        RETURN;
    END IF;
    "position" := 0;
    kind := 'word';
    FOREACH word IN ARRAY string_to_array(btrim(regexp_replace(folded, '[^[:alnum:]]+', ' ', 'g')), ' ') LOOP
        "position" := "position" + 1;
        FOREACH lexeme IN ARRAY tsvector_to_array(public.folded_words(language, word)) LOOP
            RETURN NEXT;
        END LOOP;
    END LOOP;
END $$;

-- In FROM, so that it becomes part of the statement: the languages in which a query is analysed, the default first.
CREATE FUNCTION languages_of_query(p_workspace text, p_default text) RETURNS TABLE (codes text[])
LANGUAGE sql STABLE PARALLEL SAFE ROWS 1
BEGIN ATOMIC
    SELECT ARRAY[first] || array_remove(present, first)
    FROM (
        SELECT coalesce((SELECT language FROM default_languages WHERE workspace = p_workspace), p_default) AS first,
               (SELECT array_agg(language ORDER BY language) FROM chunk_languages WHERE workspace = p_workspace)
                   AS present
        OFFSET 0) AS chosen;
END;

-- The terms of a query as they are searched: query_words in each language, with document frequencies.
--
-- A word is kept in each language in which the workspace knows it, else in the first; a stop word of the first language
-- is none, nor is an unknown word that is a stop word elsewhere. Of the spellings of an identifier those that exist are
-- kept, else the one that was typed. An unknown word becomes the nearest known one; identifiers never do. At most 24
-- unknown words are replaced: each costs a millisecond.
--
-- Plans are generic: planning costs more than all the rest.
CREATE OR REPLACE FUNCTION query_terms(p_workspace text, p_languages text[], p_text text)
RETURNS TABLE (
    "position" int, word text, lexeme text, kind text, document_frequency bigint, typed text, similarity float8)
LANGUAGE plpgsql STABLE PARALLEL SAFE SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    places bigint[];
    positions int[];
    words text[];
    lexemes text[];
    kinds text[];
    frequencies bigint[];
BEGIN
    SELECT array_agg(l.place), array_agg(w.position), array_agg(w.word), array_agg(w.lexeme), array_agg(w.kind),
           array_agg(coalesce(
               (SELECT s.levels[1] FROM bm25_statistics s
                WHERE s.workspace_id = b.id AND s.key = bm25_key(b.id, w.lexeme)),
               (lexeme_frequencies(p_workspace, ARRAY[w.lexeme]))[1]))
    INTO places, positions, words, lexemes, kinds, frequencies
    FROM (SELECT language, min(place) AS place FROM unnest(p_languages) WITH ORDINALITY AS given (language, place)
          GROUP BY language) AS l
    CROSS JOIN LATERAL query_words(l.language, p_text) AS w
    LEFT JOIN bm25_workspaces b ON b.workspace = p_workspace;
    IF cardinality(p_languages) = 1 AND NOT 0 = ANY (frequencies) THEN
        -- all are kept
        similarity := 1;
        FOR i IN 1..cardinality(lexemes) LOOP
            position := positions[i];
            word := words[i];
            lexeme := lexemes[i];
            kind := kinds[i];
            document_frequency := frequencies[i];
            RETURN NEXT;
        END LOOP;
        RETURN;
    END IF;
    RETURN QUERY
    WITH judged AS MATERIALIZED (
        SELECT w.*,
               min(w.place) OVER same AS first_place,
               count(*) FILTER (WHERE w.kind = 'word') OVER same AS as_word,
               max(w.frequency) FILTER (WHERE w.kind IN ('word', 'whole', 'joined')) OVER same AS known
        FROM unnest(places, positions, words, lexemes, kinds, frequencies)
                 AS w (place, position, word, lexeme, kind, frequency)
        WINDOW same AS (PARTITION BY w.position, w.word)),
    kept AS MATERIALIZED (
        SELECT DISTINCT ON (j.position, j.lexeme)
               j.position, j.word, j.lexeme, j.kind, j.frequency, j.known = 0 AS unknown
        FROM judged j
        WHERE (j.kind <> 'word' OR j.first_place = 1)
          AND (j.frequency > 0
               OR j.known = 0 AND j.kind = 'whole' AND j.lexeme = j.word
               OR j.known = 0 AND j.kind = 'word' AND j.place = j.first_place
                  AND j.as_word >= (SELECT count(DISTINCT language) FROM unnest(p_languages) AS language))
        ORDER BY j.position, j.lexeme, j.place)
    SELECT k.position, k.word, coalesce(n.lexeme, k.lexeme), k.kind, coalesce(n.document_frequency, k.frequency),
           CASE WHEN n.lexeme IS NOT NULL THEN k.lexeme END, coalesce(n.similarity, 1)
    FROM (
        SELECT kept.*,
               count(*) FILTER (WHERE kept.unknown AND kept.kind = 'word')
                   OVER (ORDER BY kept.position, kept.lexeme) AS nth
        FROM kept) AS k
    LEFT JOIN LATERAL nearest_word(
        p_workspace,
        CASE WHEN k.unknown AND k.kind = 'word' AND k.nth <= 24 AND k.word ~ '^[[:alpha:]]{4,40}$' THEN k.word END
    ) AS n ON true
    ORDER BY k.position, 3;
END $$;

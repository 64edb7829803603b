-- What a query scans: the levels, the score that the best reach, the scans (ADR-025).

-- The cheapest level for each term such that all postings below sum to less than p_score; 10: the term is not scanned.
-- p_costs[10 (i - 1) + n + 1] postings of term i reach level n. The multiplier of Lagrange's method is searched for.
CREATE FUNCTION bm25_cut(
    p_weights float8[], p_costs float8[], p_bounds float8[], p_score float8, p_skipped integer DEFAULT 0)
RETURNS integer[] LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    low float8 := 0;
    high float8 := 1e9;
    multiplier float8;
    unseen float8;
    price float8;
    best float8;
    levels integer[];
    found integer[] := array_fill(0, ARRAY[cardinality(p_weights)]);
BEGIN
    IF p_skipped > 0 THEN
        found[p_skipped] := 10;
    END IF;
    FOR round IN 0..26 LOOP
        multiplier := CASE round WHEN 0 THEN 0 WHEN 1 THEN 1e9 ELSE sqrt(greatest(low, 0.01) * high) END;
        unseen := 0;
        levels := '{}';
        FOR i IN 1..cardinality(p_weights) LOOP
            levels[i] := 10;
            CONTINUE WHEN i = p_skipped;
            best := multiplier * p_weights[i] * p_bounds[11];
            FOR level IN REVERSE 9..0 LOOP
                price := p_costs[10 * (i - 1) + level + 1] + multiplier * p_weights[i] * p_bounds[level + 1];
                IF price < best THEN
                    best := price;
                    levels[i] := level;
                END IF;
            END LOOP;
            unseen := unseen + p_weights[i] * p_bounds[levels[i] + 1];
        END LOOP;
        IF unseen < p_score THEN
            high := multiplier;
            found := levels;
            EXIT WHEN round = 0;
        ELSE
            low := multiplier;
        END IF;
        EXIT WHEN round > 1 AND high < low * 1.3;
    END LOOP;
    RETURN found;
END $$;

-- The score that about p_wanted chunks reach, if terms are independent: a convolution of the terms' level histograms
-- over 60 steps of score. A wrong guess costs time, never a result.
CREATE FUNCTION bm25_guess(
    p_weights float8[], p_costs float8[], p_bounds float8[], p_chunks float8, p_wanted integer)
RETURNS float8 LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    step float8;
    expected float8[] := ARRAY[p_chunks] || array_fill(0::float8, ARRAY[60]);
    next_expected float8[];
    top integer := 0;
    next_top integer;
    share float8;
    gain integer;
    reached float8 := 0;
BEGIN
    SELECT sum(weight) * 2.2 / 60 INTO step FROM unnest(p_weights) AS weight;
    FOR i IN 1..cardinality(p_weights) LOOP
        next_expected := array_fill(0::float8, ARRAY[61]);
        next_top := top;
        share := greatest(0, 1 - p_costs[10 * i - 9] / p_chunks);
        FOR j IN 1..top + 1 LOOP
            next_expected[j] := expected[j] * share;
        END LOOP;
        FOR level IN 0..9 LOOP
            IF p_costs[10 * i - 9] = p_costs[10 * i] THEN  -- counted, of unknown levels
                share := CASE level WHEN 0 THEN p_costs[10 * i] / p_chunks ELSE 0 END;
            ELSE
                share := (p_costs[10 * i - 9 + level]
                          - CASE WHEN level < 9 THEN p_costs[10 * i - 8 + level] ELSE 0 END) / p_chunks;
            END IF;
            CONTINUE WHEN share <= 0;
            gain := floor(p_weights[i] / step * CASE level
                WHEN 0 THEN 0.93 * p_bounds[2] ELSE 0.6 * p_bounds[level + 1] + 0.4 * p_bounds[level + 2] END);
            FOR j IN 1..least(top + 1, 60 - gain) LOOP
                next_expected[j + gain] := next_expected[j + gain] + expected[j] * share;
            END LOOP;
            next_top := greatest(next_top, least(59, top + gain));
        END LOOP;
        top := next_top;
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
CREATE FUNCTION bm25_plan(
    p_workspace text, p_lexemes text[], p_weights float8[], p_certified integer, p_budget integer, p_theta float8,
    OUT workspace_id integer, OUT chunks bigint, OUT average_length float8,
    OUT keys integer[], OUT lexemes text[], OUT weights float8[], OUT postings integer[],
    OUT required text[], OUT alternatives text[], OUT most integer, OUT theta float8, OUT is_cut boolean)
LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
#variable_conflict use_column
DECLARE
    costs float8[] := '{}';
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
    term record;
BEGIN
    keys := '{}'; lexemes := '{}'; weights := '{}'; required := '{}'; alternatives := '{}'; is_cut := false; theta := 0;
    SELECT t.id, t.chunks, t.total_length::float8 / nullif(t.chunks, 0)
    INTO workspace_id, chunks, average_length FROM bm25_totals(p_workspace) AS t;
    IF average_length IS NULL THEN
        RETURN;
    END IF;
    FOR term IN
        SELECT key, lexeme, weight, bm25_levels(workspace_id, key) AS levels
        FROM (
            SELECT DISTINCT ON (key) key, lexeme, weight, position
            FROM unnest(p_lexemes, p_weights) WITH ORDINALITY AS given (lexeme, given_weight, position),
                 LATERAL (SELECT bm25_key(workspace_id, lexeme) AS key, coalesce(given_weight, 1) AS weight) AS hashed
            WHERE lexeme IS NOT NULL
            ORDER BY key, position) AS wanted
        ORDER BY position
    LOOP
        CONTINUE WHEN term.levels[1] = 0 OR term.weight <= 0;
        keys := keys || term.key;
        lexemes := lexemes || term.lexeme;
        weights := weights || term.weight * ln(
            1 + (greatest(chunks, term.levels[1]) - term.levels[1] + 0.5::float8) / (term.levels[1] + 0.5::float8));
        costs := costs || term.levels::float8[];
        best := best + 2.2 * weights[cardinality(weights)];
    END LOOP;
    IF cardinality(keys) = 0 THEN
        RETURN;
    END IF;
    SELECT array_agg(key | tf ORDER BY key | tf) INTO postings FROM unnest(keys) AS key, generate_series(1, 15) AS tf;
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

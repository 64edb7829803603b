"""One text analysis for index and query, in SQL, and the column of the chunks that holds it (ADR-026).

``folded_text`` folds case, accents, compatibility forms and dashes; ``folded_words`` stems with PostgreSQL's built-in
configurations; ``compound_forms`` writes a code, path or number in the ways that people type it. Every function is
immutable, safe in parallel workers and independent of the session's settings.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from alembic import op

revision = "004"
down_revision = "003"
branch_labels = None
depends_on = None

PURE = "LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE"
ENTRY = PURE + " SET search_path = pg_catalog, pg_temp"
"""Of the functions that others call; those below them inherit the path, and save the time to set it."""

WORDS = json.loads(Path(__file__).with_name("004_words.json").read_text(encoding="utf-8"))
CONFIGURATIONS: Mapping[str, str] = WORDS["configurations"]
"""By language (ISO 639-1); the words of any other language are indexed as they are."""

STOP_STEMS: Mapping[str, list[str]] = WORDS["stop_stems"]
"""Stems of question words, and of stop words that the configuration's own list misses once accents are folded. None is
the stem of a word of content."""

STOP_WORDS: Mapping[str, list[str]] = WORDS["stop_words"]
"""Those whose stem is also that of another word: ``mas`` of ``masa``, ``seria`` of ``serie``."""

ENDINGS: Mapping[str, list[list[str]]] = WORDS["endings"]
"""Accents that the stemmers need: without them ``gestion`` and ``gestiones`` have one stem, ``contratacion`` and
``contrataciones`` have two. The Portuguese one knows no plural of ``decisao`` at all."""

SEPARATORS = "-._@/?&=#%~:,"

COMPOUND = (
    "[[:alnum:]]+(?:(?:[-._@]|[/?&=#%~]{1,3}|:/{1,2}|(?<=[0-9]),(?=[0-9])|:(?=[0-9]))[[:alnum:]]+)+"
    "|[[:alpha:]]+[0-9][[:alnum:]]*|[0-9]+[[:alpha:]][[:alnum:]]*|(?<![[:alnum:]])0[0-9]{2,}"
)
"""A token with separators inside, one that mixes letters and digits, or a number with leading zeros."""

_DIGIT = "(?=[a-z]*[0-9])"
_START, _END = f"(?<![{SEPARATORS}[:alnum:]])", f"(?![{SEPARATORS}]{{0,3}}[[:alnum:]])"
SPACED = "|".join(
    (
        rf"(?<=\+)[0-9]{{1,3}}(?:[ ().-]{{1,3}}[0-9]{{2,5}}){{2,5}}{_END}",
        rf"(?<=\()[0-9]{{2,5}}\)[ -]?[0-9]{{3,4}}[ -]?[0-9]{{4}}{_END}",
        f"{_START}[0-9]{{2,4}} [0-9]{{3,4}}[ -][0-9]{{4}}{_END}",
        f"{_START}[0-9]{{1,3}}(?: [0-9]{{3}})+(?:,[0-9]{{1,2}})?{_END}",
        f"{_START}[a-z]{{2}}[0-9]{{2}}(?: {_DIGIT}[0-9a-z]{{4}}){{3,7}}(?: {_DIGIT}[0-9a-z]{{1,3}})?{_END}",
    )
)
"""What is written with spaces and is one token: telephone numbers, amounts, IBANs.

None begins or ends inside a compound, so both patterns find the same tokens at once (queries) and one after the other
(texts), which takes half the time."""


def _replaced(expression: str, *replacements: tuple[str, str]) -> str:
    for old, new in replacements:
        expression = f"replace({expression}, '{old}', '{new}')"
    return expression


def _array(words: Sequence[str]) -> str:
    return f"'{{{','.join(words)}}}'::text[]"


def _by_language(values: Mapping[str, str], *, otherwise: str) -> str:
    return " ".join(("CASE language", *(f"WHEN '{k}' THEN {v}" for k, v in values.items()), f"ELSE {otherwise} END"))


ACUTE = _replaced("lower(value)", *zip("áéíóúü", "aeiouu", strict=True))
LIGATURES = _replaced("folded", ("ø", "o"), ("ł", "l"), ("đ", "d"), ("œ", "oe"), ("æ", "ae"), ("ß", "ss"))

FOLDED_TEXT = rf"""
    CREATE FUNCTION public.folded_text(value text) RETURNS text {PURE} STRICT AS $$
    DECLARE
        folded text := {ACUTE};
    BEGIN
        IF folded ~ '[^\u0001-\u007fñ¿¡«»“”\u2018\u2019…€]' THEN
            -- ordinal signs and footnote marks would grow into the word before them
            folded := regexp_replace(folded, '[ºª°™℠\u00bc-\u00be]|(?<!m)[¹²³\u2070-\u2079]', ' ', 'g');
            folded := replace(lower(normalize(folded, NFKD)), U&'n\0303', 'ñ');
            folded := regexp_replace(
                folded, '[\u0300-\u036f\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]+', '', 'g');
            folded := regexp_replace(folded, '[\u2010-\u2015\u2212]', '-', 'g');
            IF folded ~ '[øłđœæß]' THEN
                folded := {LIGATURES};
            END IF;
            IF folded ~ '[\u1100-\u11ff\u3099\u309a]' THEN
                folded := normalize(folded, NFC);
            END IF;
        END IF;
        RETURN replace(folded, '\', '/');
    END $$
"""
"""Folds case, accents (but ñ), compatibility forms, dashes and backslashes; drops invisible characters.

The letters of plain Spanish come first, as most texts need no more: the rest costs five times as much. Hangul and kana
are composed again: their letters, taken apart, would be words of their own.
"""

MAX_WORD = 2000
"""Bytes. A lexeme holds 2,046; a longer word is left out, without the notice that to_tsvector would give."""

SPELLING = {
    language: _replaced(
        "plain", *((f" {word} ", "  ") for word in STOP_WORDS.get(language, ())), *ENDINGS.get(language, ())
    )
    for language in (*STOP_WORDS, *ENDINGS)
}

CONFIGURATION = _by_language(
    {language: f"'pg_catalog.{name}'::regconfig" for language, name in CONFIGURATIONS.items()},
    otherwise="'pg_catalog.simple'::regconfig",
)
STOPPED = _by_language({language: _array(stems) for language, stems in STOP_STEMS.items()}, otherwise=_array(()))

FOLDED_WORDS = rf"""
    CREATE FUNCTION public.folded_words(language text, folded text) RETURNS tsvector {PURE} AS $$
    DECLARE
        plain text := ' ' || regexp_replace(folded, '[^[:alnum:]]+', '  ', 'g') || ' ';
    BEGIN
        IF octet_length(plain) > {MAX_WORD} AND EXISTS (
            SELECT FROM string_to_table(plain, ' ') AS word WHERE octet_length(word) > {MAX_WORD}) THEN
            SELECT coalesce(string_agg(word, '  ' ORDER BY position), '') INTO plain
            FROM string_to_table(plain, ' ') WITH ORDINALITY AS words (word, position)
            WHERE octet_length(word) BETWEEN 1 AND {MAX_WORD};
            plain := ' ' || plain || ' ';
        END IF;
        plain := {_by_language(SPELLING, otherwise="plain")};
        RETURN ts_delete(
            to_tsvector({CONFIGURATION}, plain),
            {STOPPED});
    END $$
"""
"""Stems the words of a folded text and drops the stop words. To the parser every separator is a space: it would read
2024-001 as 2024 and -1, and a path or host as one word."""

MAX_COMPOUND = 200
"""Characters: what is longer (an encoded blob) is indexed by its parts only."""
MAX_JOINED = 40

RUNS = "^(?:([[:alpha:]]+)([0-9]+)|([0-9]+)([[:alpha:]]+))$"
"""Letters, then digits, or the other way round."""

AMOUNT = "[0-9]{1,3}(?:[.,][0-9]{3})+(?:[.,][0-9]{1,2})?"

SUFFIX = "(?:[._/]+[[:alpha:]]+|-[[:alpha:]]{2,})+$"
"""What follows a code without being of it: the type of a file, a unit, the first word after a full stop."""

COMPOUND_FORMS = rf"""
    CREATE FUNCTION public.compound_forms(
        token text, OUT whole text[], OUT joined text[], OUT inside text[], OUT words text)
    {PURE} AS $$
    DECLARE
        -- no patterns where plain functions do: a pattern costs ten times as much
        parts text[] := array_remove(string_to_array(translate(token, '{SEPARATORS}()', '{" " * 15}'), ' '), '');
        glued text := array_to_string(parts, '');
        letters boolean := translate(glued, '0123456789', '') <> '';
        digits boolean := translate(glued, '0123456789', '') <> glued;
        spaced boolean := strpos(token, ' ') > 0;
        address boolean := strpos(token, '@') > 0 OR strpos(token, ':/') > 0;
        bare text;
        part text;
        runs text[];
    BEGIN
        whole := '{{}}'; joined := '{{}}'; inside := '{{}}'; words := '';
        IF length(token) > {MAX_COMPOUND} THEN
            RETURN;
        END IF;
        IF NOT spaced AND (letters OR cardinality(parts) > 1) THEN
            whole := ARRAY[token];
        END IF;
        IF address OR strpos(token, '/') > 0 THEN
            inside := ARRAY(
                SELECT segment FROM string_to_table(translate(token, '/@?&=#%~:', '         '), ' ') AS segment
                WHERE translate(segment, '-._', '') <> segment);
        ELSIF digits AND token ~ '^{AMOUNT}-{AMOUNT}$' THEN
            inside := string_to_array(token, '-');
        END IF;
        IF digits AND letters AND token ~ '{SUFFIX}' THEN
            inside := inside || regexp_replace(token, '{SUFFIX}', '');
        END IF;
        IF digits AND NOT address THEN
            inside := inside || ARRAY(
                SELECT translate(segment, '{SEPARATORS}', '') FROM unnest(inside) AS segment
                WHERE segment ~ '[0-9]' AND length(segment) <= {MAX_JOINED});
        END IF;
        IF cardinality(parts) > 1 AND NOT address AND length(glued) <= {MAX_JOINED} THEN
            IF digits THEN
                joined := ARRAY[glued];
                IF letters THEN
                    bare := ltrim(token, 'abcdefghijklmnñopqrstuvwxyz-._/');
                    IF bare <> token AND translate(bare, '{SEPARATORS}', '') <> bare THEN
                        glued := translate(bare, '{SEPARATORS}', '');
                        IF token ~ '^v(?:er)?[-._]?[0-9]' THEN
                            whole := whole || bare;
                            joined := joined || glued;
                        ELSE
                            inside := inside || bare || glued;
                        END IF;
                    END IF;
                ELSIF token ~ '^[0-9]{{1,3}}(?:[., ][0-9]{{3}})+[.,][0-9]{{1,2}}$' THEN
                    joined := joined || array_to_string(parts[:cardinality(parts) - 1], '');
                ELSIF spaced AND cardinality(parts) > 2 AND token !~ '^[0-9]{{1,3}}(?: [0-9]{{3}})+$' THEN
                    FOR at IN 1..cardinality(parts) - 1 LOOP
                        inside := inside || array_to_string(parts[at:], '');
                        IF length(parts[cardinality(parts)]) <= 2 AND at < cardinality(parts) - 1 THEN
                            inside := inside || array_to_string(parts[at:cardinality(parts) - 1], '');
                        END IF;
                    END LOOP;
                END IF;
            ELSIF translate(token, '/?&=#%~', '') = token THEN
                words := ' ' || glued;
            END IF;
        END IF;
        IF digits AND cardinality(parts) <= 8 AND (letters OR strpos(token, '0') > 0) THEN
            FOREACH part IN ARRAY parts LOOP
                IF letters THEN
                    runs := regexp_match(part, '{RUNS}');
                    IF runs IS NOT NULL THEN
                        words := words || ' ' || array_to_string(runs, ' ');
                        part := coalesce(runs[2], runs[3]);
                    END IF;
                END IF;
                IF left(part, 1) = '0' AND length(part) > 2 AND ltrim(part, '0123456789') = '' THEN
                    words := words || ' ' || ltrim(part, '0');
                END IF;
            END LOOP;
        END IF;
    END $$
"""
"""A number of two digits after a telephone number may be an hour.

``whole``: the token, folded; a version also without its v. ``joined``: without separators; an amount also without
its decimals. ``inside``: codes within it (a host, a file name, a code without its letters, a number without its
prefix). ``words``: further words to be stemmed: letters and digits of ``cas456``, ``4521`` of ``00004521``, ``wifi``.
"""

FOLDED_LEXEMES = rf"""
    CREATE FUNCTION public.folded_lexemes(language text, folded text) RETURNS tsvector {PURE} AS $$
    DECLARE
        tokens text[];
        token text;
        forms record;
        keys text[];
        words text;
    BEGIN
        SELECT array_agg(found.token) INTO tokens
        FROM (
            SELECT match[1] FROM regexp_matches(folded, '{COMPOUND}', 'g') AS match
            UNION SELECT match[1] FROM regexp_matches(folded, '{SPACED}', 'g') AS match) AS found (token);
        -- letters and digits alone, the most of them, at once: what compound_forms says of such a token
        SELECT coalesce(array_agg(simple.token), '{{}}'),
               coalesce(string_agg(
                   concat_ws(' ', '', runs[1], runs[2], runs[3], runs[4], CASE
                       WHEN coalesce(runs[2], runs[3]) ~ '^0[0-9]*[1-9]' AND length(coalesce(runs[2], runs[3])) > 2
                       THEN ltrim(coalesce(runs[2], runs[3]), '0') END), ''), '')
        INTO keys, words
        FROM unnest(tokens) AS simple (token),
             regexp_match(simple.token, '{RUNS}') AS runs
        WHERE runs IS NOT NULL AND length(simple.token) <= {MAX_COMPOUND};
        FOR token IN SELECT t FROM unnest(tokens) AS t WHERE t !~ '{RUNS}' LOOP
            forms := public.compound_forms(token);
            keys := keys || forms.whole || forms.joined || forms.inside;
            words := words || ' ' || forms.words;
        END LOOP;
        IF cardinality(keys) = 0 THEN
            RETURN public.folded_words(language, folded || words);
        END IF;
        RETURN public.folded_words(language, folded || words) || array_to_tsvector(keys);
    END $$
"""

PIECE = 50_000
"""Characters of folded text that are analysed at once: their lexemes cannot reach the limit of a tsvector (1 MB)."""

MAX_VECTOR = 1_000_000

TEXT_LEXEMES = rf"""
    CREATE FUNCTION public.text_lexemes(language text, value text) RETURNS tsvector {ENTRY} AS $$
    DECLARE
        folded text := public.folded_text(coalesce(value, ''));
        lexemes tsvector;
        piece text;
        more tsvector;
    BEGIN
        IF length(folded) <= {PIECE} THEN
            RETURN public.folded_lexemes(language, folded);
        END IF;
        lexemes := '';
        WHILE folded <> '' LOOP
            piece := left(folded, {PIECE});
            IF length(piece) = {PIECE} THEN
                piece := coalesce(substring(piece FROM '^.*[[:space:]]'), piece);
            END IF;
            folded := substr(folded, length(piece) + 1);
            more := public.folded_lexemes(language, piece);
            EXIT WHEN pg_column_size(lexemes) + pg_column_size(more) > {MAX_VECTOR};
            lexemes := lexemes || more;
        END LOOP;
        RETURN lexemes;
    END $$
"""
"""Returns the lexemes of a text. Never raises: what does not fit into a tsvector, at the end of a text of more than
100,000 different words, is left out. Lexemes of compound tokens have no positions."""

CHUNK_LEXEMES = f"""
    CREATE FUNCTION public.chunk_lexemes(language text, title text, heading_path text[], content text) RETURNS tsvector
    {ENTRY} AS $$
    BEGIN
        RETURN public.text_lexemes(language, concat_ws('. ', title, array_to_string(heading_path, '. '), content));
    END $$
"""

SHORTEST_CODE = 5
"""A number of so many digits names something; a shorter one may be a count, a day or a year."""

QUERY_WORDS = rf"""
    CREATE FUNCTION public.query_words(language text, value text)
    RETURNS TABLE ("position" int, word text, lexeme text, kind text)
    {ENTRY.replace("plpgsql", "sql")} AS $$
    WITH tokens AS MATERIALIZED (
        SELECT found.position::int, found.token[1] AS token, public.folded_words(language, found.token[1]) AS words
        FROM regexp_matches(public.folded_text(value), '{SPACED}|{COMPOUND}|[[:alnum:]]+', 'g')
             WITH ORDINALITY AS found (token, position)
        WHERE octet_length(found.token[1]) <= {MAX_WORD} OR found.token[1] ~ '[^[:alnum:]]'),
    compounds AS MATERIALIZED (
        SELECT t.position, t.token, forms.*
        FROM tokens t, public.compound_forms(t.token) AS forms
        WHERE t.token ~ '[^[:alnum:]]|[[:alpha:]][0-9]|[0-9][[:alpha:]]|^0[0-9]{{2,}}$'),
    neighbours AS (
        SELECT position, token, lead(token) OVER following AS second, lead(token, 2) OVER following AS third,
               lead(token, 3) OVER following AS fourth
        FROM (SELECT position, CASE WHEN words <> '' THEN token END AS token FROM tokens) AS content
        WINDOW following AS (ORDER BY position)),
    runs AS (
        SELECT position, word, regexp_replace(word, '[^[:alnum:]]+', '', 'g') AS lexeme
        FROM neighbours,
             unnest(ARRAY[
                token || ' ' || second, token || ' ' || second || ' ' || third,
                token || ' ' || second || ' ' || third || ' ' || fourth]) AS word
        WHERE word ~ '[0-9]'),
    typed AS (
        SELECT position, token AS word, unnest(whole) AS lexeme, 'whole' AS kind FROM compounds
        UNION ALL
        SELECT position, token, token, 'whole' FROM tokens WHERE token ~ '^[0-9]{{{SHORTEST_CODE},}}$'
        UNION ALL SELECT position, token, unnest(joined), 'joined' FROM compounds
        UNION ALL SELECT position, token, unnest(inside), 'part' FROM compounds
        UNION ALL
        SELECT position, token, unnest(tsvector_to_array(public.folded_words(language, words))),
               CASE WHEN token ~ '[0-9]' THEN 'part' ELSE 'joined' END
        FROM compounds
        UNION ALL
        SELECT position, token, unnest(tsvector_to_array(words)),
               CASE WHEN token ~ '[^[:alnum:]]' THEN 'part' ELSE 'word' END
        FROM tokens
        UNION ALL
        SELECT position, word, lexeme, 'joined' FROM runs WHERE length(lexeme) <= {MAX_JOINED})
    SELECT DISTINCT ON (position, lexeme) position, word, lexeme, kind
    FROM typed
    WHERE lexeme <> ''
    ORDER BY position, lexeme, array_position(ARRAY['whole', 'joined', 'word', 'part'], kind), word
    $$
"""
"""Returns the lexemes of a query, token by token; every one of them that a text holds is among the text's lexemes.

Two to four neighbours of which one has a digit (``REQ 2024 001``) are candidates for one code that was typed with
spaces: ``joined`` under the position of the first. No character is an operator.
"""

FUNCTIONS = (
    "query_words(text, text)", "chunk_lexemes(text, text, text[], text)", "text_lexemes(text, text)",
    "folded_lexemes(text, text)", "compound_forms(text)", "folded_words(text, text)", "folded_text(text)",
)  # fmt: skip

CHECK_ENCODING = """
    DO $$ BEGIN
        IF current_setting('server_encoding') <> 'UTF8' THEN
            RAISE 'ragcorp needs a database with the encoding UTF8';
        END IF;
    END $$
"""


def upgrade() -> None:
    execute = op.get_bind().exec_driver_sql
    execute(CHECK_ENCODING)
    for statement in (
        FOLDED_TEXT, FOLDED_WORDS, COMPOUND_FORMS, FOLDED_LEXEMES, TEXT_LEXEMES, CHUNK_LEXEMES, QUERY_WORDS,
    ):  # fmt: skip
        # not op.execute: to SQLAlchemy a colon in a pattern is a parameter, as a percent sign is to the driver
        execute(statement.replace("%", "%%"))
    op.execute("""
        ALTER TABLE chunks ADD COLUMN lexemes tsvector
            GENERATED ALWAYS AS (chunk_lexemes(language, title, heading_path, content)) STORED
    """)


def downgrade() -> None:
    op.execute("ALTER TABLE chunks DROP COLUMN lexemes")
    for function in FUNCTIONS:
        op.execute(f"DROP FUNCTION public.{function}")

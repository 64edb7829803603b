"""At most 24 unknown words of a query are replaced by their nearest: each costs a millisecond."""

from __future__ import annotations

import runpy
from pathlib import Path

from alembic import op

revision = "010"
down_revision = "009"
branch_labels = None
depends_on = None

QUERY_TERMS = """
    CREATE OR REPLACE FUNCTION query_terms(p_workspace text, p_languages text[], p_text text)
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
        FROM (
            SELECT kept.*,
                   count(*) FILTER (WHERE unknown AND kind = 'word') OVER (ORDER BY kept.position, kept.lexeme) AS nth
            FROM kept) AS k
        LEFT JOIN LATERAL nearest_word(
            p_workspace,
            CASE WHEN k.unknown AND k.kind = 'word' AND k.nth <= 24 AND k.word ~ '^[[:alpha:]]{4,40}$' THEN k.word END
        ) AS n ON true
        ORDER BY k.position, 3;
    END
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(QUERY_TERMS)


def downgrade() -> None:
    before = runpy.run_path(str(Path(__file__).with_name("006_lexicon.py")))["QUERY_TERMS"]
    op.get_bind().exec_driver_sql(before.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION", 1))

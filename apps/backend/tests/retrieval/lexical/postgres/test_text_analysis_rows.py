"""The text analysis as rows, sessions and the port have it."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from ragcorp.infrastructure.postgres.lexical.text_analysis import PostgresTextAnalyzer
from support.retrieval.bm25 import insert_chunks
from support.storage.postgres import open_database


@pytest.fixture
def connection(dsn: str) -> Iterator[Connection[TupleRow]]:
    with psycopg.connect(dsn, autocommit=True) as connection:
        yield connection


# the column


def test_the_column_holds_title_headings_and_content(connection: Connection[TupleRow]) -> None:
    row = connection.execute(
        "SELECT tsvector_to_array(chunk_lexemes('es', %s, %s, %s))",
        ("Ticket CAS-902", ["Huellas", "Notebooks"], "REQ-2024-001."),
    ).fetchone()
    assert row is not None
    assert {"cas-902", "ticket", "huell", "notebooks", "req-2024-001"} <= set(row[0])
    assert not {lexeme for lexeme in row[0] if "902huellas" in lexeme}


def test_chunks_are_written_without_a_search_path_as_a_restore_does(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        insert_chunks(connection, "default", ["Política CAS-456"], language="es")
        connection.execute("SET search_path = ''")
        connection.execute("UPDATE public.chunks SET content = content || ' nueva'")
        row = connection.execute("SELECT pg_catalog.tsvector_to_array(lexemes) FROM public.chunks").fetchone()
    assert row is not None
    assert set(row[0]) == {"polit", "cas-456", "cas456", "cas", "456", "nuev"}


SETTINGS = (
    "SET default_text_search_config = 'pg_catalog.english'",
    "SET search_path = ''",
    "SET search_path = hostile, pg_catalog",
    "SET standard_conforming_strings = off",
    "SET datestyle = 'SQL, DMY'",
    "SET lc_numeric = 'C'",
    "SET timezone = 'America/Caracas'",
    "SET client_encoding = 'LATIN1'",
    "SET array_nulls = off",
)


def test_no_setting_of_the_session_changes_the_analysis(owner_dsn: str) -> None:
    text = "Política de contratación N.º 0003-00004521: $ 5.880.600,00, CAS-456 y +54 341 555-0182"
    statement = "SELECT public.text_lexemes('es', %s)::text, ARRAY(SELECT q::text FROM public.query_words('es', %s) q)"
    with psycopg.connect(owner_dsn, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA hostile")
        connection.execute("CREATE FUNCTION hostile.lower(text) RETURNS text LANGUAGE sql AS $$ SELECT 'x' $$")
        connection.execute("CREATE FUNCTION hostile.folded_text(text) RETURNS text LANGUAGE sql AS $$ SELECT 'x' $$")
        connection.execute("CREATE TEXT SEARCH CONFIGURATION hostile.spanish (COPY = pg_catalog.simple)")
        expected = connection.execute(statement, (text, text)).fetchone()
        for setting in SETTINGS:
            connection.execute(setting)
            assert connection.execute(statement, (text, text)).fetchone() == expected, setting
            connection.execute("RESET ALL")


def test_the_functions_are_immutable_and_safe_in_parallel(connection: Connection[TupleRow]) -> None:
    names = ["text_lexemes", "chunk_lexemes", "query_words", "folded_text", "folded_words"]
    rows = connection.execute(
        "SELECT proname, provolatile, proparallel FROM pg_proc WHERE proname = ANY (%s) ORDER BY proname", (names,)
    ).fetchall()
    assert rows == [(name, "i", "s") for name in sorted(names)]


# the port


@pytest.mark.anyio
async def test_answers_see_words_as_the_index_does(dsn: str) -> None:
    async with open_database(dsn) as database:
        analyzer = PostgresTextAnalyzer(database=database)
        result = await analyzer.lexemes(["¿Cuáles son los plazos?", "de la que", "", "x" * 5000], language="es")
        assert result == [frozenset({"plaz"}), frozenset(), frozenset(), frozenset()]
        assert await analyzer.lexemes(["running"], language="en") == [frozenset({"run"})]
        assert await analyzer.lexemes([], language="es") == []
        assert await analyzer.document_frequencies([], workspace="default") == {}
        assert await analyzer.document_frequencies(["plaz", "a'b"], workspace="default") == {"plaz": 0, "a'b": 0}
        assert await analyzer.count_chunks(workspace="default") == 0

"""The terms of a query: frequencies, spellings that exist, languages, and the nearest word for a misspelt one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg import Connection
from psycopg.rows import TupleRow

from ragcorp.infrastructure.postgres.administration.migrations import migrate
from ragcorp.infrastructure.postgres.workspaces.registry import WorkspaceLanguages
from support.models.embedders import TEST_MODEL
from support.retrieval.bm25 import insert_chunks
from support.retrieval.lexicon import HOME, Term, refresh, store, terms
from support.storage.postgres import open_database


@pytest.fixture
def connection(dsn: str) -> Iterator[Connection[TupleRow]]:
    """As the application, which owns nothing."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        yield connection


def nearest(connection: Connection[TupleRow], word: str, workspace: str = HOME) -> str | None:
    row = connection.execute("SELECT lexeme FROM nearest_word(%s, %s)", (workspace, word)).fetchone()
    return row[0] if row else None


def vocabulary(connection: Connection[TupleRow], workspace: str = HOME) -> list[str]:
    rows = connection.execute("SELECT word FROM lexicon WHERE workspace = %s ORDER BY word", (workspace,))
    return [row[0] for row in rows]


# the lexicon


def test_the_lexicon_takes_in_words_and_leaves_out_the_rest(connection: Connection[TupleRow]) -> None:
    insert_chunks(connection, HOME, ["La póliza CAS-456 vence: pólizas, IVA 2024.", "x" * 60, "también"], language="es")
    assert refresh(connection) == 3
    rows = connection.execute("SELECT word, lexeme, sound FROM lexicon ORDER BY word").fetchall()
    assert rows == [("poliza", "poliz", "polisa"), ("polizas", "poliz", "polisas"), ("vence", "venc", "bense")]


def test_a_refresh_reads_what_is_new(connection: Connection[TupleRow]) -> None:
    store(connection, "contrato marco")
    assert refresh(connection) == 0
    store(connection, "contrato nuevo", "factura")
    assert vocabulary(connection) == ["contrato", "factura", "marco", "nuevo"]
    assert vocabulary(connection, "other") == []


def test_a_chunk_that_was_committed_late_is_not_missed(dsn: str, connection: Connection[TupleRow]) -> None:
    store(connection, "inicio")
    with psycopg.connect(dsn) as slow:
        insert_chunks(slow, HOME, ["tardanza"], language="es")
        store(connection, "puntualidad")
        assert vocabulary(connection) == ["inicio", "puntualidad"]
        slow.commit()
    assert refresh(connection) == 1
    assert vocabulary(connection) == ["inicio", "puntualidad", "tardanza"]


def test_what_is_complete_is_not_read_again(connection: Connection[TupleRow]) -> None:
    store(connection, "contrato")
    for _ in range(100):
        connection.execute("DELETE FROM lexicon")
        # again only while some transaction of the server, such as an automatic ANALYZE, is under way
        if refresh(connection) == 0:
            break
    store(connection, "marco")
    assert vocabulary(connection) == ["marco"]


def test_words_of_deleted_chunks_go_at_a_refresh_anew(connection: Connection[TupleRow]) -> None:
    first, _ = store(connection, "contrato marco", "factura")
    connection.execute("DELETE FROM chunks WHERE id = %s", (first,))
    refresh(connection)
    assert "contrato" in vocabulary(connection)
    refresh(connection, anew=True)
    assert vocabulary(connection) == ["factura"]
    connection.execute("DELETE FROM chunks")
    refresh(connection)
    assert vocabulary(connection) == []


def test_a_second_refresh_at_the_same_time_does_nothing(dsn: str, connection: Connection[TupleRow]) -> None:
    insert_chunks(connection, HOME, ["contrato"], language="es")
    with psycopg.connect(dsn) as other:
        assert refresh(other) == 1
        assert refresh(connection) == 0
        other.rollback()
    assert refresh(connection) == 1


# languages


@pytest.mark.anyio
async def test_queries_are_read_in_the_default_language_and_those_of_the_chunks(
    dsn: str, connection: Connection[TupleRow]
) -> None:
    async with open_database(dsn) as database:
        languages = WorkspaceLanguages(database=database)
        assert await languages.query_languages(HOME, default="es") == ("es",)
        store(connection, "the contract", language="en")
        store(connection, "o contrato", language="pt")
        assert await languages.query_languages(HOME, default="es") == ("es", "en", "pt")
        assert await languages.query_languages(HOME, default="pt") == ("pt", "en")
        assert await languages.query_languages("other", default="es") == ("es",)
        await languages.set_default(HOME, "fr")
        await languages.set_default(HOME, "en")
        assert await languages.query_languages(HOME, default="es") == ("en", "pt")
        await languages.set_default(HOME, None)
        assert await languages.query_languages(HOME, default="es") == ("es", "en", "pt")


def test_a_word_is_looked_up_in_every_language_that_knows_it(connection: Connection[TupleRow]) -> None:
    store(connection, "the running company", "companies run", language="en")
    store(connection, "la compañía corre", "running de playa")
    results = terms(connection, "running companies", "es", "en", "en")
    assert [(t.position, t.lexeme, t.frequency) for t in results] == [
        (1, "run", 2),
        (1, "running", 1),
        (2, "compani", 2),
    ]
    assert [t.lexeme for t in terms(connection, "running", "es")] == ["running"]


def test_stop_words_where_there_are_several_languages(connection: Connection[TupleRow]) -> None:
    store(connection, "sin and son", language="en")
    store(connection, "once contratos")
    # the first language's, and what is unknown in the first and a stop word in another
    assert terms(connection, "sin son the", "es", "en") == []
    assert [t.lexeme for t in terms(connection, "once", "es", "en")] == ["once"]
    assert [t.lexeme for t in terms(connection, "son", "en", "es")] == ["son"]


# frequencies and spellings


def test_terms_carry_document_frequencies(connection: Connection[TupleRow]) -> None:
    store(connection, "contrato contrato", "contrato marco", "factura")
    assert terms(connection, "¿El contrato marco?") == [
        Term(position=2, word="contrato", lexeme="contrat", kind="word", frequency=2, typed=None, similarity=1.0),
        Term(position=3, word="marco", lexeme="marc", kind="word", frequency=1, typed=None, similarity=1.0),
    ]
    assert terms(connection, "de la que", kinds="all") == []
    assert terms(connection, "", kinds="all") == []
    assert [t.frequency for t in terms(connection, "contrato", workspace="other")] == [0]


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("REQ 2024 001", {("2024001", "joined"), ("req2024001", "joined")}),
        ("req-2024-001", {("req-2024-001", "whole"), ("req2024001", "joined")}),
        ("REQ/2024/001", {("req2024001", "joined")}),
        ("REQ-2024-999", {("req-2024-999", "whole")}),
        ("REQ 2024 999", set()),
        ("2024 001", {("2024001", "joined")}),
        ("98765", {("98765", "whole")}),
    ],
)
def test_of_the_spellings_of_an_identifier_those_that_exist_are_kept(
    connection: Connection[TupleRow], typed: str, expected: set[tuple[str, str]]
) -> None:
    store(connection, "REQ-2024-001: columna de costo", "REQ-2024-010: otra")
    results = terms(connection, typed, kinds="all")
    assert {(t.lexeme, t.kind) for t in results if t.kind in ("whole", "joined")} == expected
    assert all(t.frequency for t in results if t.kind in ("joined", "part"))


# misspelt words

MISSPELT = [
    ("vacasiones", "vacaciones"),
    ("bacaciones", "vacaciones"),
    ("vacacoines", "vacaciones"),
    ("vacciones", "vacaciones"),
    ("vvacaciones", "vacaciones"),
    ("vacacionez", "vacaciones"),
    ("teletravajo", "teletrabajo"),
    ("resicion", "rescisión"),
    ("causion", "caución"),
    ("malagueno", "malagueño"),
    ("ferreira", "Ferreyra"),
    ("certificdo", "certificado"),
    ("confidencialdad", "confidencialidad"),
    ("confidencalidda", "confidencialidad"),
    ("jerente", "gerente"),
    ("ora", None),
    ("orario", "horario"),
    ("yamada", "llamada"),
    ("espediente", "expediente"),
    ("conbenio", "convenio"),
    ("nimbuz", "Nimbus"),
    ("krokodil", None),
    ("zzzzzz", None),
]


@pytest.mark.parametrize(("typed", "meant"), MISSPELT)
def test_a_misspelt_word_becomes_the_nearest_known_one(
    connection: Connection[TupleRow], typed: str, meant: str | None
) -> None:
    store(connection, *(word for _, word in MISSPELT if word), "hora")
    (term,) = terms(connection, typed)
    row = connection.execute("SELECT tsvector_to_array(text_lexemes('es', %s))", (meant or typed,)).fetchone()
    assert row is not None
    assert [term.lexeme] == row[0]
    assert (term.typed is None) == (meant is None)
    assert (term.frequency == 0) == (meant is None)
    assert term.similarity == 1.0 if meant is None else 0 < term.similarity < 1


def test_what_sounds_alike_goes_before_what_looks_alike(connection: Connection[TupleRow]) -> None:
    store(connection, "caución", "canción canción", "causeon")
    assert nearest(connection, "causion") == "caucion"


def test_ties_go_to_the_more_frequent_word_then_to_the_alphabet(connection: Connection[TupleRow]) -> None:
    store(connection, "planta", "planto", "plantu plantu", "plantu", language="xx")
    assert nearest(connection, "plantt") == "plantu"
    store(connection, "planto", "planta", language="xx")
    assert nearest(connection, "plantt") == "planta"


def test_known_words_identifiers_and_short_words_stay(connection: Connection[TupleRow]) -> None:
    store(connection, "casa caza CAS-456 cas456x 12345678 sol contrato")
    for typed in ("caza", "casa", "CAS-457", "cas457", "12345679", "sal", "contratos"):
        assert [t.typed for t in terms(connection, typed, kinds="all") if t.typed] == [], typed


def test_a_word_of_another_workspace_or_of_no_chunk_is_not_offered(connection: Connection[TupleRow]) -> None:
    (deleted,) = store(connection, "vacaciones")
    store(connection, "teletrabajo", workspace="other")
    assert nearest(connection, "vacasiones") == "vacacion"
    assert nearest(connection, "teletravajo") is None
    connection.execute("DELETE FROM chunks WHERE id = %s", (deleted,))
    assert nearest(connection, "vacasiones") is None


def osa_distance(a: str, b: str) -> int:
    """Optimal string alignment: insertions, omissions, replacements, and exchanges of neighbours."""
    rows = [list(range(len(b) + 1))]
    for i, x in enumerate(a, 1):
        row = [i]
        for j, y in enumerate(b, 1):
            row.append(min(rows[i - 1][j] + 1, row[j - 1] + 1, rows[i - 1][j - 1] + (x != y)))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                row[j] = min(row[j], rows[i - 2][j - 2] + 1)
        rows.append(row)
    return rows[-1][-1]


WORD = st.text(st.sampled_from("abe"), max_size=5)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(word=WORD, others=st.lists(WORD, min_size=1, max_size=30))
def test_the_neighbours_of_a_word_are_those_at_one_mistake(
    connection: Connection[TupleRow], word: str, others: list[str]
) -> None:
    row = connection.execute("SELECT word_neighbours(%s, 'abe')", (word,)).fetchone()
    assert row is not None
    neighbours = set(row[0])
    assert len(neighbours) == len(row[0])
    for other in (*others, word):
        assert (other in neighbours) == (osa_distance(word, other) <= 1), other


def trigrams(word: str) -> set[str]:
    padded = f"  {word} "
    return {padded[at : at + 3] for at in range(len(padded) - 2)}


def test_without_trigrams_a_word_with_one_mistake_is_still_found(
    postgres_server: Any, make_database: Callable[..., str]
) -> None:
    name = make_database()
    with postgres_server.superuser(name) as superuser:
        superuser.execute("DROP EXTENSION pg_trgm")
        # only the owner of a database adds extensions to it
        superuser.execute(f'ALTER DATABASE "{name}" OWNER TO postgres')
        superuser.execute(f'GRANT CONNECT, TEMPORARY ON DATABASE "{name}" TO ragcorp_owner, ragcorp_app')
    migrate(
        postgres_server.dsn(name, role="ragcorp_owner"),
        embedding_model=(TEST_MODEL.name, TEST_MODEL.dimensions),
        application_dsn=postgres_server.dsn(name),
    )
    with psycopg.connect(postgres_server.dsn(name), autocommit=True) as connection:
        assert connection.execute("SELECT 1 FROM pg_extension WHERE extname = 'pg_trgm'").fetchone() is None
        store(connection, "vacaciones", "confidencialidad")
        (term,) = terms(connection, "vacasiones")
        common, every = trigrams("vacasiones") & trigrams("vacaciones"), trigrams("vacasiones") | trigrams("vacaciones")
        assert (term.lexeme, term.typed) == ("vacacion", "vacasion")
        assert term.similarity == pytest.approx(len(common) / len(every), abs=1e-6)
        assert [t.typed for t in terms(connection, "confidencalidda")] == [None]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(one=st.text("abcñ", min_size=1, max_size=8), other=st.text("abcñ", min_size=1, max_size=8))
def test_similarity_is_the_share_of_common_trigrams(connection: Connection[TupleRow], one: str, other: str) -> None:
    row = connection.execute("SELECT trigram_similarity(%s, %s)", (one, other)).fetchone()
    assert row is not None
    a, b = trigrams(one), trigrams(other)
    assert row[0] == pytest.approx(len(a & b) / len(a | b), abs=1e-6)

"""One text analysis for index and query: what is typed in any form finds what is written in any other."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg import Connection
from psycopg.rows import TupleRow


@pytest.fixture(scope="module")
def connection(postgres_server: Any, template_database: str) -> Iterator[Connection[TupleRow]]:
    """As the application, which owns nothing. One database for all tests: what they call leaves nothing behind."""
    name = f"analysis_{os.getpid()}"
    with postgres_server.superuser() as superuser:
        superuser.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template_database}" OWNER ragcorp_owner')
        with psycopg.connect(postgres_server.dsn(name), autocommit=True) as connection:
            yield connection
        superuser.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def lexemes(connection: Connection[TupleRow], text: str, language: str = "es") -> set[str]:
    row = connection.execute("SELECT tsvector_to_array(text_lexemes(%s, %s))", (language, text)).fetchone()
    assert row is not None
    return set(row[0])


def words(connection: Connection[TupleRow], text: str, language: str = "es") -> list[tuple[int, str, str, str]]:
    return connection.execute("SELECT * FROM query_words(%s, %s)", (language, text)).fetchall()


def of_kind(connection: Connection[TupleRow], text: str, *kinds: str) -> list[str]:
    return [lexeme for _, _, lexeme, kind in words(connection, text) if kind in kinds]


# words


@pytest.mark.parametrize(
    ("written", "typed"),
    [
        ("días", "dias"),
        ("contratación", "contratacion"),
        ("contratación", "contrataciones"),
        ("CONTRATACIÓN", "contratacion"),
        ("tecnología", "tecnologias"),
        ("gestión", "gestiones"),
        ("política", "Políticas"),
        ("pingüino", "pinguinos"),
        ("Ñandú", "ñandu"),
        ("façade", "facade"),
        ("Łódź", "lodz"),
        ("œuvre", "oeuvre"),
        ("Straße", "strasse"),
        ("ﬁrma", "firma"),
        ("con\u00adtrato", "contrato"),
        ("con\u200btrato", "contrato"),
        ("\u201cfirma\u201d", "firma"),
        ("plazo¹", "plazo"),
        ("120 m²", "m2"),
        ("1.º trimestre", "trimestre"),
        ("teórico-práctico", "practico teorico"),
        ("wi-fi", "wifi"),
        ("wifi", "Wi-Fi"),
        ("S.R.L.", "srl"),
        ("한국어", "한국어"),
        ("ガス", "ガス"),
    ],
)
def test_a_word_is_found_in_every_spelling(connection: Connection[TupleRow], written: str, typed: str) -> None:
    for one, other in ((written, typed), (unicodedata.normalize("NFD", written), typed)):
        wanted = set(of_kind(connection, other, "word", "joined")) or set(of_kind(connection, other, "part"))
        assert wanted, "nothing of the query is left"
        assert wanted <= lexemes(connection, f"Antes {one}, después."), (one, other)
        assert (
            wanted == set(of_kind(connection, unicodedata.normalize("NFD", other), "word", "joined", "part")) & wanted
        )


@pytest.mark.parametrize(("one", "other"), [("año", "ano"), ("peña", "pena"), ("caña", "cana")])
def test_a_letter_of_its_own_is_no_accent(connection: Connection[TupleRow], one: str, other: str) -> None:
    assert lexemes(connection, one) != lexemes(connection, other)
    assert lexemes(connection, one) == lexemes(connection, unicodedata.normalize("NFD", one.upper()))


STOP_WORDS = {
    "es": "¿Cuál cual cuáles cuánto cuanto cuánta cuántos dónde donde quién quien cómo como según segun así asi aún aun"
    " más mas también tambien sí si está estan están será sera serían serian había habia tenía tenia mío mia qué que",
    "en": "What is the of and don't when where who WHICH how",
    "pt": "não nao são sao você voce até ate também tambem já ja só so quanto qual quais onde está",
    "fr": "à été êtes même quand combien où ou l'",
    "de": "für fur über uber können konnen würde wurde dass während",
    "it": "più piu perché perche quale quanto sarà avrà",
    "ca": "el la els les de dels amb que quina aquest",
}


@pytest.mark.parametrize("language", STOP_WORDS)
def test_stop_words_are_dropped_with_and_without_accents(connection: Connection[TupleRow], language: str) -> None:
    for word in STOP_WORDS[language].split():
        assert lexemes(connection, word, language) == set(), word
    assert words(connection, STOP_WORDS[language], language) == []


@pytest.mark.parametrize(
    "word",
    [
        "masa",
        "masas",
        "serie",
        "series",
        "serio",
        "seres",
        "parar",
        "sobrar",
        "aula",
        "asilo",
        "cuantía",
        "medición",
        "miope",
        "habitar",
        "tenaz",
        "estante",
        "tendero",
        "cualidad",
        "fuero",
        "semana",
        "tuvo-ase",
        "habichuela",
    ],
)
def test_no_word_of_content_goes_with_the_stop_words(connection: Connection[TupleRow], word: str) -> None:
    assert lexemes(connection, word)


def test_two_stop_words_side_by_side_are_both_dropped(connection: Connection[TupleRow]) -> None:
    assert lexemes(connection, "mas mas, si: seria mas (sera) contrato") == {"contrat"}


def test_each_language_has_its_stems(connection: Connection[TupleRow]) -> None:
    text = "running corriendo decisões cities"
    results = {language: lexemes(connection, text, language) for language in ("es", "en", "pt", "xx")}
    assert "run" in results["en"]
    assert "citi" in results["en"]
    assert "corr" in results["es"]
    assert results["xx"] == {"running", "corriendo", "decisoes", "cities"}
    assert lexemes(connection, "contratações", "pt") == lexemes(connection, "contratacao", "pt")
    assert lexemes(connection, "rescisões", "pt") == lexemes(connection, "rescisão", "pt")
    assert len(set(map(frozenset, results.values()))) == 4


# compound tokens

COMPOUNDS = [
    # written, look-alike, ways to type it
    ("REQ-2024-001", "REQ-2024-010", ["req-2024-001", "REQ 2024 001", "REQ/2024/001", "req_2024_001", "req2024001",
                                      "2024-001", "2024 001", "2024/001", "REQ–2024–001", "REQ—2024—001",
                                      "REQ‑2024‑001", "«REQ-2024-001»", "(REQ-2024-001).", "-REQ-2024-001",
                                      "REQ-2024-001,"]),
    ("CAS-456", "CAS-465", ["cas456", "CAS 456", "cas_456", "CAS–456", "caso CAS-456?"]),
    ("cas456", "cas465", ["CAS-456", "CAS 456", "cas.456"]),
    ("ISO-27001", "ISO-9001", ["ISO 27001", "iso27001", "ISO/27001", "27001"]),
    ("ISO-9001:2015", "ISO-9001:2008", ["ISO 9001 2015", "iso 9001:2015", "9001:2015"]),
    ("INC-88213", "INC-88231", ["inc88213", "INC 88213", "88213"]),
    ("CTR-2024-018", "CTR-2024-017", ["ctr 2024/018", "CTR2024018", "ctr-2024 018"]),
    ("0003-00004521", "0003-00004512", ["factura 4521", "00004521", "0003 00004521", "000300004521", "4521"]),
    ("v2.3.1", "v2.13.1", ["2.3.1", "versión 2.3.1", "V2.3.1", "v.2.3.1", "v 2.3.1", "231"]),
    ("2.3.1", "2.13.1", ["v2.3.1", "ver 2.3.1", "v-2.3.1"]),
    ("30-71234567-8", "30-71234576-8", ["30712345678", "CUIT 30712345678", "30 71234567 8", "30.71234567.8"]),
    ("12.345.678-5", "12.345.687-5", ["123456785", "12345678-5", "12 345 678 5"]),
    ("B-12345678", "B-12345687", ["B12345678", "b 12345678", "12345678"]),
    ("+54 341 555-0182", "+54 341 555-0128", ["+54 341 555-0182", "+543415550182", "341 555-0182", "3415550182",
                                              "(341) 555-0182", "555-0182", "5550182", "+54-341-555-0182"]),
    ("(0341) 555-0182", "(0341) 555-0128", ["0341 555-0182", "03415550182", "555-0182"]),
    ("$ 5.880.600", "$ 5.880.660", ["5880600", "5.880.600", "5 880 600", "$5.880.600", "5,880,600"]),
    ("$ 5.880.600,00", "$ 5.880.660,00", ["5880600", "5.880.600", "5.880.600,00"]),
    ("28 080 €", "28 088 €", ["28080", "28.080", "28 080", "28\u00a0080 €"]),
    ("28\u202f080 €", "28\u202f088 €", ["28080", "28 080"]),
    ("2024-03-15", "2024-03-16", ["20240315", "2024-03-15", "2024/03/15", "2024 03 15"]),
    ("ES91 2100 0418 4502 0005 1332", "ES91 2100 0418 4502 0005 1333", ["ES9121000418450200051332",
                                                                        "ES91 2100 0418 4502 0005 1332"]),
    ("/var/log/zafiro/import.log", "/var/log/zafiro/export.log", ["var/log/zafiro/import.log", "import.log",
                                                                  "\\var\\log\\zafiro\\import.log"]),
    (r"C:\Zafiro\conf\app.ini", r"C:\Zafiro\conf\web.ini", ["c:/zafiro/conf/app.ini", "app.ini"]),
    ("privacidad@grupoceibal.example", "personal@grupoceibal.example", ["PRIVACIDAD@GRUPOCEIBAL.EXAMPLE",
                                                                        "<privacidad@grupoceibal.example>"]),
    ("https://www.acme.com/docs/guia.html", "https://www.acme.com/docs/manual.html",
     ["https://www.acme.com/docs/guia.html.", "guia.html"]),
    ("ES98 7654 3210 9876 5432 1098 y avisar", "ES98 7654 3210 9876 5432 1099", ["ES9876543210987654321098"]),
    ("+54 11 4321 9999 10 a 18 h", "+54 11 4321 9998 10 a 18 h", ["43219999", "1143219999", "541143219999"]),
    ("10.500.000-12.500.000", "10.600.000-12.600.000", ["10500000", "10.500.000", "12500000"]),
    ("3.000.000/mes", "3.100.000/mes", ["3000000", "3.000.000"]),
    ("20-12345678-9/IIBB", "20-12345687-9/IIBB", ["20123456789", "20-12345678-9"]),
    ("30-70777777-3-RI", "30-70777778-3-RI", ["30707777773", "30-70777777-3"]),
    ("REQ-2024-001.pdf", "REQ-2024-010.pdf", ["REQ-2024-001", "req2024001", "REQ 2024 001"]),
    ("REQ-2024-001.El", "REQ-2024-010.El", ["REQ-2024-001"]),
    ("10.0.12.1", "10.0.1.21", ["10.0.12.1"]),
    ("12e5abf", "12e5abc", ["12E5ABF"]),
    ("1e5", "1e6", ["1E5"]),
    ("0x1f", "0x1e", ["0X1F"]),
    ("node.js", "vue.js", ["nodejs", "Node.js"]),
]  # fmt: skip


@pytest.mark.parametrize(("written", "look_alike", "typed"), COMPOUNDS, ids=[case[0] for case in COMPOUNDS])
def test_a_compound_is_found_however_it_is_typed(
    connection: Connection[TupleRow], written: str, look_alike: str, typed: list[str]
) -> None:
    """By a lexeme that the look-alike does not have."""
    own = lexemes(connection, f"Ver {written}: listo.")
    other = lexemes(connection, f"Ver {look_alike}: listo.")
    for query in (written, *typed):
        wanted = {lexeme for _, _, lexeme, _ in words(connection, query)}
        assert wanted & (own - other), (query, wanted)


@pytest.mark.parametrize(
    ("typed", "whole", "joined"),
    [
        ("REQ-2024-001", ["req-2024-001"], ["req2024001"]),
        ("«CAS–456».", ["cas-456"], ["cas456"]),
        ("cas456", ["cas456"], []),
        ("v2.3.1", ["2.3.1", "v2.3.1"], ["231", "v231"]),
        ("30712345678", ["30712345678"], []),
        ("2024", [], []),
        ("-5 grados", [], ["5grados"]),
        ("5.880.600,00", ["5.880.600,00"], ["5880600", "588060000"]),
        ("a@b.example", ["a@b.example"], []),
        ("y/o", ["y/o"], []),
        ("REQ 2024", [], ["req2024"]),
        ("orden de 7781", [], []),
        ("x b c d 5 de", [], ["bcd5", "cd5", "d5"]),
    ],
)
def test_identifiers_are_told_from_words(
    connection: Connection[TupleRow], typed: str, whole: list[str], joined: list[str]
) -> None:
    assert of_kind(connection, typed, "whole") == whole
    assert sorted(of_kind(connection, typed, "joined")) == joined


def test_the_terms_of_a_query_in_order(connection: Connection[TupleRow]) -> None:
    assert words(connection, "¿Cuánto de la factura 0003-00004521?") == [
        (4, "factura", "factur", "word"),
        (4, "factura 0003-00004521", "factura000300004521", "joined"),
        (5, "0003-00004521", "00004521", "part"),
        (5, "0003-00004521", "0003", "part"),
        (5, "0003-00004521", "0003-00004521", "whole"),
        (5, "0003-00004521", "000300004521", "joined"),
        (5, "0003-00004521", "3", "part"),
        (5, "0003-00004521", "4521", "part"),
    ]


@pytest.mark.parametrize(
    "text", ["-contrato", "contrato or", '"contrato"', "contrato/", "!contrato", "contrato:*", "contrato & |"]
)
def test_no_character_is_an_operator(connection: Connection[TupleRow], text: str) -> None:
    assert [lexeme for _, _, lexeme, _ in words(connection, text) if lexeme != "or"] == ["contrat"]


def test_a_minus_never_sticks_to_a_number(connection: Connection[TupleRow]) -> None:
    results = lexemes(connection, "REQ-2024-001, -15 y 3-4; a -7 +8 1e-5")
    assert {"2024", "001", "15", "3", "4", "7", "8"} <= results
    assert not [lexeme for lexeme in results if re.match(r"[-+]", lexeme)]


# any text

STORABLE = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=200)
TYPED = st.text(
    st.sampled_from("aeñÑáücrz0123459 .,-_/@:\\+&=?#%~()€ºª²\u00a0\u0301\u0303\u200b–—\n'\"<>!|*ßœﬁ½"), max_size=60
)


@given(text=STORABLE | TYPED, language=st.sampled_from(["es", "en", "pt", "fr", "xx"]))
def test_a_text_holds_every_lexeme_of_itself_as_a_query(
    connection: Connection[TupleRow], text: str, language: str
) -> None:
    own = lexemes(connection, text, language)
    for _, word, lexeme, kind in words(connection, text, language):
        assert lexeme in own or (kind == "joined" and " " in word), (word, lexeme, kind)


@given(text=STORABLE | TYPED)
def test_every_unicode_form_of_a_text_is_one(connection: Connection[TupleRow], text: str) -> None:
    expected = lexemes(connection, text)
    for form in ("NFC", "NFD"):
        assert lexemes(connection, unicodedata.normalize(form, text)) == expected


def test_a_long_word_is_left_out_and_the_rest_stays(connection: Connection[TupleRow]) -> None:
    notices: list[Any] = []
    connection.add_notice_handler(notices.append)
    long = "x" * 5000
    assert lexemes(connection, f"inicio {long} fin aguja") == {"inici", "fin", "aguj"}
    assert lexemes(connection, long) == set()
    assert words(connection, f"{long} aguja") == [(2, "aguja", "aguj", "word")]
    assert lexemes(connection, "ab-" * 5000 + " aguja") == {"ab", "aguj"}
    assert notices == []


def test_a_text_beyond_the_limit_of_a_vector_is_indexed_in_parts(connection: Connection[TupleRow]) -> None:
    repeated = "La póliza número siete vence en marzo. " * 60_000
    assert len(repeated) > 2_000_000
    assert lexemes(connection, repeated + "aguja") == {"poliz", "numer", "siet", "venc", "marz", "aguj"}
    unique = lexemes(connection, "aguja " + " ".join(f"w{n:x}z" for n in range(150_000)), "xx")
    assert "aguja" in unique
    assert len(unique) > 20_000


def test_parts_are_cut_between_words(connection: Connection[TupleRow]) -> None:
    filler = "ab " * 16_664
    assert len(filler) == 49_992
    assert lexemes(connection, filler + "REQ-2024-001 fin", "xx") == lexemes(connection, "ab REQ-2024-001 fin", "xx")

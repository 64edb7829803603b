"""What of a question is looked for literally."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcorp.application.files.keyword_extraction import MAX_KEYWORDS, foremost, given_terms, keywords, stem
from ragcorp.domain.files.values import MAX_GREP_TERMS, GrepRequest


@pytest.mark.parametrize(
    ("question", "terms"),
    [
        ('¿Dónde dice "periodo de prueba"?', ("periodo de prueba",)),
        ("¿Dónde dice «periodo de prueba»?", ("periodo de prueba",)),
        ("¿Dónde dice “periodo de prueba”?", ("periodo de prueba",)),
        ("¿Dónde dice \u2018periodo de prueba\u2019?", ("periodo de prueba",)),
        ("¿Dónde dice 'periodo de prueba'?", ("periodo de prueba",)),
        ("¿Qué es `rrf_k = 60`?", ("rrf_k = 60",)),
    ],
)
def test_quoted_phrases(question: str, terms: tuple[str, ...]) -> None:
    assert keywords(question) == terms


@pytest.mark.parametrize(
    "identifier",
    [
        "calcular_total",
        "__init__",
        "MAX_GREP_TERMS",
        "FusionService",
        "rankFusion",
        "REQ-2026-014",
        "docker-compose",
        "ragcorp.main.settings.schema",
        "settings.py",
        "docs/guía/retrieval.md",
        "/etc/cron.d",
        ".gitignore",
        "--no-config",
        "std::vector",
        "sha256",
        "v2.1",
        "12/03/2026",
        "25.000,50",
        "2026",
        "0x80070005",
        "ERR-17",
        "IVA",
        "C++",
        "C#",
        "30 días",
        "500 MB",
        "12,5 %",
    ],
)
def test_identifiers_codes_and_numbers(identifier: str) -> None:
    assert keywords(f"¿Qué es {identifier}?") == (identifier,)
    assert keywords(f"dime, por favor, qué hace {identifier}.") == (identifier,)


def test_names_come_as_a_phrase_and_by_word() -> None:
    assert keywords("¿Qué hay con la Universidad de Salamanca y con Mapfre?") == (
        "Universidad de Salamanca",
        "Universidad",
        "Salamanca",
        "Mapfre",
    )
    assert keywords("Contrato marco. Vacaciones") == ("contrato", "marco", "vacacion"), "sentences begin with capitals"


def test_the_first_word_of_a_sentence_may_belong_to_a_name() -> None:
    assert keywords("Amparo Iriarte") == ("Amparo Iriarte", "Iriarte", "amparo")
    assert keywords("¿Cuándo llama Iriarte? Dime Mapfre") == ("Iriarte", "Mapfre"), "words that ask do not"


@pytest.mark.parametrize(
    ("question", "terms"),
    [
        ("la factura con la serie R", ("serie R", "factura", "serie")),
        ("¿qué dice el anexo 3?", ("anexo 3", "anexo")),
        ("¿qué dice el artículo 14.2 del pliego?", ("14.2", "artículo", "pliego")),
        ("¿son 3 o 4?", ()),
    ],
)
def test_what_has_a_letter_or_a_number_for_a_name(question: str, terms: tuple[str, ...]) -> None:
    assert keywords(question) == terms


def test_the_order_is_quotes_identifiers_names_then_the_rarest_words() -> None:
    question = 'La penalización del contrato de Acme por retraso, según REQ-2026-014 y "fuerza mayor"'
    frequencies = {"penalización": 3, "contrato": 900, "retraso": 12}
    assert keywords(question, frequencies) == (
        "fuerza mayor",
        "REQ-2026-014",
        "Acme",
        "penalización",
        "retraso",
        "contrato",
    )
    assert keywords(question, {**frequencies, "contrato": 1})[3:] == ("contrato", "penalización", "retraso")


def test_words_that_no_text_is_known_to_hold_come_last_in_their_order() -> None:
    question = "contarto penalización zapirote retraso"
    assert keywords(question, {"retraso": 40, "penalización": 41, "contarto": 0}) == (
        "retraso",
        "penalización",
        "contarto",
        "zapirote",
    )
    assert keywords(question) == ("contarto", "penalización", "zapirote", "retraso")
    assert keywords("zapirote retraso en calcular_iva", {"retraso": 9}) == ("calcular_iva", "retraso", "zapirote")


def test_there_are_eight_at_most() -> None:
    words = [f"palabra{letter}" for letter in "abcdefghijk"]
    frequencies = {word: 100 - number for number, word in enumerate(words)}
    assert keywords(" ".join(words), frequencies) == tuple(reversed(words))[:MAX_KEYWORDS]


@pytest.mark.parametrize(
    "question",
    [
        "¿qué es esto?",
        "¿Y ella?",
        "hola, ¿qué tal? gracias",
        "dime",
        "explícame",
        "busca",
        "show me",
        "please find it",
        "de la y/o and/or",
        "¿Cuántos son 5?",
        "😀",
        "?!",
        "",
        "\u200b",
        "x" * 2000,
    ],
)
def test_without_anything_to_look_for_there_are_none(question: str) -> None:
    assert keywords(question) == ()


@pytest.mark.parametrize(
    "verb", ["dime", "explica", "busca", "muéstrame", "show", "find", "tell me", "¿puedes explicar"]
)
def test_verbs_of_asking_are_no_terms(verb: str) -> None:
    assert keywords(f"{verb} las vacaciones") == ("vacacion",)


def test_a_shouted_question_has_codes_but_no_names() -> None:
    assert keywords("ERROR 0x80070005 AL INICIAR EL SERVIDOR") == ("0x80070005", "error", "iniciar", "servidor")
    assert keywords("IVA") == ("iva",)


def test_a_term_comes_once_whatever_its_case_and_accents() -> None:
    assert keywords("gestión GESTION Gestión gestio\u0301n de la gestion") == ("GESTION",)
    assert keywords("gestio\u0301n") == ("gestión",)


def test_elisions_and_possessives() -> None:
    assert keywords("don't break the server's cache d'empresa") == ("break", "server", "cache", "empresa")


@pytest.mark.parametrize(
    ("word", "begin"),
    [
        ("contratos", "contrato"),
        ("vacaciones", "vacacion"),
        ("proveedores", "proveedor"),
        ("clientes", "cliente"),
        ("invoices", "invoice"),
        ("orders", "order"),
        ("files", "file"),
        ("crisis", "crisis"),
        ("status", "status"),
        ("process", "process"),
        ("mes", "mes"),
        ("luces", "luce"),
        ("Plazo", "plazo"),
    ],
)
def test_both_numbers_of_a_noun_begin_with_its_stem(word: str, begin: str) -> None:
    assert stem(word) == begin
    assert word.lower().startswith(begin), "what finds it finds the word"


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("rrf k 60", ("rrf k 60", "rrf", "60")),
        ("Política de vacaciones", ("Política de vacaciones", "Política", "vacaciones")),
        ("calcular_total", ("calcular_total",)),
        ("«plazo de entrega» factura", ("plazo de entrega", "factura")),
        ("RRF, k=60;  fusión lineal", ("RRF", "k=60", "fusión lineal", "fusión", "lineal")),
        ("foo(bar)", ("foo(bar)", "foo(bar")),
        ("de la", ("de la", "de", "la")),
        ("k", ("k",)),
        ("...", ("...",)),
        ("línea\notra", ("línea", "otra")),
    ],
)
def test_given_keywords_are_the_phrase_its_parts_and_their_words(text: str, terms: tuple[str, ...]) -> None:
    assert given_terms(text) == terms


def test_given_keywords_have_a_bound() -> None:
    assert given_terms("x" * 3000) == ()
    words = tuple(f"palabra{letter}{other}" for letter in "abcdefgh" for other in "abcdefgh")
    assert given_terms(" ".join(words)) == (" ".join(words), *words)
    assert foremost(given_terms(" ".join(words))) == (" ".join(words), *words[: MAX_GREP_TERMS - 1])
    assert foremost(("uno", "dos")) == ("uno", "dos")


def test_of_too_many_given_keywords_those_that_say_the_most_are_kept() -> None:
    words = [f"palabra{letter}{other}" for letter in "abcdef" for other in "abcdef"]
    text = " ".join([*words, "SOLO-GREP-42", "escaso", "raro", '"dos palabras"', "calcular_total"])
    terms = foremost(given_terms(text), {"raro": 1, "escaso": 5, "palabraaa": 900}, limit=6)
    phrase = " ".join([*words, "SOLO-GREP-42", "escaso", "raro"])
    assert terms == ("dos palabras", phrase, "calcular_total", "SOLO-GREP-42", "escaso", "raro")
    assert foremost(given_terms(text.upper()), limit=3) == ("DOS PALABRAS", "CALCULAR_TOTAL", "SOLO-GREP-42")


@pytest.mark.parametrize("hyphen", ["\u2010", "\u2011", "\u2012", "\u2013", "\u2212"])
def test_a_code_with_printed_hyphens_is_one_identifier(hyphen: str) -> None:
    assert keywords(f"¿Qué es REQ{hyphen}2026{hyphen}014?") == ("REQ-2026-014",)


TEXTS = st.text(max_size=300) | st.lists(
    st.sampled_from(
        [
            '"',
            "«",
            "»",
            "'",
            "`",
            "de",
            "La",
            "REQ-2026-014",
            "a_b",
            "Acme",
            "IVA",
            ".",
            "?",
            "\n",
            "/",
            "5 %",
            "\u0301",
        ]
    ),
    max_size=40,
).map(" ".join)


@given(TEXTS)
def test_whatever_is_asked_gives_terms_that_can_be_looked_for(text: str) -> None:
    for terms in (keywords(text, limit=MAX_GREP_TERMS), foremost(given_terms(text))):
        assert len(set(terms)) == len(terms)
        if terms and "\x00" not in text:
            GrepRequest(query="x", terms=terms)
    assert keywords(text) == keywords(text, limit=MAX_GREP_TERMS)[:MAX_KEYWORDS]


@given(TEXTS, st.randoms(use_true_random=False))
def test_the_frequencies_order_and_never_add(text: str, chance: random.Random) -> None:
    frequencies = {word: chance.randrange(50) for word in text.split()}
    assert sorted(keywords(text, frequencies, limit=MAX_GREP_TERMS)) == sorted(keywords(text, limit=MAX_GREP_TERMS))


def test_long_hostile_texts_take_no_time() -> None:
    """They end; a pattern that backtracks would not, before the test's time is over."""
    for text in ("1." * 1000, "a-" * 1000, '"' * 2000, "«" * 2000, "A " * 1000, "'" * 2000, "1,1" * 600, "_" * 2000):
        keywords(text)
        given_terms(text)

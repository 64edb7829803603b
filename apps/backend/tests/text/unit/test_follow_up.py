"""Follow-up questions without a language model."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcorp.domain.text.follow_up import anchors, is_follow_up, rewritten

CONTRACT = "¿Cuál es el plazo del contrato CTR-2026-014 con Acme Corporation?"


@pytest.mark.parametrize(
    ("question", "found"),
    [
        (CONTRACT, ["CTR-2026-014", "Acme Corporation"]),
        ("¿Qué le dije a Priya de las vacaciones?", ["Priya"]),
        ("What did I tell Priya about vacation?", ["Priya"]),
        ("¿Cuál es el IVA de la factura 2026/0047 de Tejas del Norte?", ["IVA", "2026/0047", "Tejas del Norte"]),
        ('Límite de «Obras del Canal» y de "Plan B"', ["Obras del Canal", "Plan B"]),
        ("Norma ISO27001. Acme la cumple. ¿Y v2.3?", ["ISO27001", "v2.3"]),
        ("¿Quién es María de la Cruz y dónde vive?", ["María de la Cruz"]),
        ("¿Cuánto son 30 días a 1.500,00 euros en 2026?", []),
        ("¿Cuántos días de vacaciones hay?", []),
        ("CUAL ES EL PLAZO DE ACME", []),
        ("CUAL ES EL PLAZO DE CTR-1", ["CTR-1"]),
        ("May I ask what I said to Ana, and to ana?", ["Ana"]),
        ("Qual é o prazo do contrato do Banco do Brasil?", ["Banco do Brasil"]),
        ("", []),
    ],
)  # fmt: skip
def test_names_and_identifiers_of_a_question(question: str, found: list[str]) -> None:
    assert anchors(question) == found


@pytest.mark.parametrize(
    "question",
    [
        "¿y cuándo vence?",
        "¿Y la penalización?",
        "¿y el plazo de entrega del segundo lote?",
        "¿Cuánto cuesta?",
        "¿Quién lo firma?",
        "¿Cuándo se renueva su contrato?",
        "y en ese caso, ¿quién paga?",
        "¿Qué pasa si se retrasa?",
        "what about the price?",
        "vale, y cuándo vence",
        "gracias, ¿y cuándo vence?",
        "¿y cuándo vence? Gracias",
        "¿Cuánto vale?",
        "¿Cuántos días?",
        "And when does it expire?",
        "How much is it?",
        "Who signed that?",
        "What are their conditions?",
        "e quando vence?",
        "E qual é o valor dele?",
        "Quem assinou isso?",
    ],
)
def test_a_follow_up_takes_the_names_of_the_question_before(question: str) -> None:
    assert is_follow_up(question)
    assert rewritten(question, [CONTRACT], max_characters=2000) == f"{question} CTR-2026-014 Acme Corporation"


@pytest.mark.parametrize(
    "question",
    [
        "¿Cuántos días de vacaciones hay?",
        "¿Qué dice la política de viajes sobre hoteles?",
        "¿Y la penalización de CTR-2025-001?",
        "¿Y la de Globex?",
        "¿Cuál es el importe máximo por noche de hotel?",
        "¿Cuántas vacaciones quedan este año?",
        "What is the deadline for the report that we signed?",
        "What did the company say about this year?",
        "Qual é o prazo de entrega do fornecedor?",
        "",
        "¿?",
    ],
)
def test_a_question_that_names_its_subject_is_left_alone(question: str) -> None:
    assert not is_follow_up(question)
    assert rewritten(question, [CONTRACT], max_characters=2000) == question


@pytest.mark.parametrize(
    "text",
    [
        "gracias", "Muchas gracias por la ayuda", "no", "hola", "Sí", "sí, claro", "y", "a", "1", "2025", "👍", "vale",
        "¿vale?", "¿Y ella?", "¿Cuándo?", "¿Qué tal?", "Buenos días.", "what about it?", "yes", "No, thanks",
        "thank you very much", "Hi!", "ok", "obrigado", "Bom dia!", "não", "sim",
    ],
)  # fmt: skip
def test_words_without_content_stay_as_they_are(text: str) -> None:
    assert rewritten(text, [CONTRACT], max_characters=2000) == text


@pytest.mark.parametrize("between", ["gracias", "Sí", "¿Y ella?", "ok", "Muchas gracias por la ayuda"])
def test_thanks_in_between_change_no_subject(between: str) -> None:
    assert rewritten("¿y cuándo vence?", [CONTRACT, between], max_characters=2000) == (
        "¿y cuándo vence? CTR-2026-014 Acme Corporation"
    )


def test_a_follow_up_of_a_follow_up_goes_back_to_the_names() -> None:
    before = [CONTRACT, "¿y cuándo vence?", "¿Quién lo firma?"]
    assert rewritten("¿y la penalización?", before, max_characters=2000) == (
        "¿y la penalización? CTR-2026-014 Acme Corporation"
    )


def test_what_lies_before_another_subject_is_not_spoken_of() -> None:
    before = [CONTRACT, "¿Cuántos días de vacaciones hay?"]
    assert rewritten("¿y cuándo se piden?", before, max_characters=2000) == "¿y cuándo se piden?"
    assert (
        rewritten("¿y cuándo vence?", [CONTRACT, "¿Y el de Globex?"], max_characters=2000) == "¿y cuándo vence? Globex"
    )


def test_nothing_before_changes_nothing() -> None:
    assert rewritten("¿y cuándo vence?", [], max_characters=2000) == "¿y cuándo vence?"


def test_names_that_have_no_room_stay_away() -> None:
    question = "¿y cuándo vence?"
    room = len(question) + len(" CTR-2026-014")
    assert rewritten(question, [CONTRACT], max_characters=room) == f"{question} CTR-2026-014"
    assert rewritten(question, [CONTRACT], max_characters=room - 1) == question
    many = " ".join(f"AB-{number}" for number in range(100))
    assert rewritten(question, [many], max_characters=2000).split()[3:] == [f"AB-{number}" for number in range(8)]


@given(st.text(max_size=200), st.lists(st.text(max_size=200), max_size=4), st.integers(0, 400))
def test_the_question_stands_first_and_the_bound_holds(question: str, before: list[str], bound: int) -> None:
    text = rewritten(question, before, max_characters=bound)
    assert text.startswith(question)
    assert text == question or len(text) <= bound
    assert text == question or is_follow_up(question)

"""What must hold of the entities of a text and of clause numbers, whatever the text."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragcorp.domain.structure.entities import EntityKind
from ragcorp.domain.text.checks import is_blank
from ragcorp.domain.text.clause_numbers import clause_numbers, enclosing_numbers, number_at
from ragcorp.infrastructure.structure import identifiers
from ragcorp.infrastructure.structure.text_entities import text_entities
from support.structure.clause_number import clause_number

PIECES = st.sampled_from(
    [
        "CLÁUSULA SEGUNDA.- Precio", "Cláusula 4.2", "PRIMERA.- ", "Segunda bis. ", "TERCERA: Fin",
        "4. PRECIO", "4.1 Plazo",
        "4.2 Plazo.", "4.2.1 Urgencias", "1. Uno", "Artículo 14.- ", "ARTÍCULO 14 BIS", "Art. 1.902",
        "ANEXO II", "ANEXO",
        "CAPÍTULO I", "CAPÍTULO I\nComunes\n", "TÍTULO PRELIMINAR", "2. Uso", "3. Fin", "FRA‑2024‑0999", "T-9", "–",
        "E01–E05", "ES91 2100 0418 4502 0005 1332", "PLC-7/B", "3f2504e0-4f89-41d3-9a0c-0305e82c3301",
        "Disposición adicional primera. ", "# ", "## Plazo", "### 4.2 Plazo", "---", "===", "```", "~~~",
        "- ", "> ", "**", "__", "| a | b |", "|---|---|", "FAC-2024-0113", "ACME/2024/7", "B12345678", " ........ 4",
        "Contrato. Las partes", "según la cláusula segunda", "\n", "\n\n", " ", "\t", "    ", "\r", "\f", "\x00",
        "\u2028", "\ufeff", "😀", "e\u0301", "ﬁ", "\ud800",
    ]
)  # fmt: skip
TEXTS = st.one_of(
    st.text(max_size=200), st.lists(st.one_of(PIECES, PIECES, st.text(max_size=8)), max_size=40).map("".join)
)
LINES = st.lists(st.one_of(PIECES, st.text(max_size=8)), max_size=40).map("\n".join)


@given(text=st.one_of(TEXTS, LINES), plain=st.booleans())
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_entities_share_a_text_out(text: str, plain: bool) -> None:
    check_entities(text, plain=plain)


@given(text=st.one_of(TEXTS, LINES, st.text(st.sampled_from("aXñ_.-/9٣ª \n"), max_size=150)))
def test_codes_are_looked_for_near_digits_and_missed_nowhere(text: str) -> None:
    spans = [match.span() for match in identifiers._tokens(text)]
    assert spans == [match.span() for match in identifiers._TOKEN.finditer(text)]


@pytest.mark.soak
@pytest.mark.timeout(600)
@given(text=st.one_of(TEXTS, LINES), plain=st.booleans())
@settings(max_examples=5_000, suppress_health_check=[HealthCheck.too_slow])
def test_entities_share_many_texts_out(text: str, plain: bool) -> None:
    check_entities(text, plain=plain)


def check_entities(text: str, *, plain: bool) -> None:
    results = text_entities(text, path="a/d.md", plain=plain)
    assert results == text_entities(text, path="a/d.md", plain=plain)
    assert bool(results) == (not is_blank(text))
    keys = [entity.key for entity in results]
    assert len(set(keys)) == len(keys)
    shared = [entity for entity in results if entity.kind is not EntityKind.IDENTIFIER]
    position = 0
    for entity in shared:
        assert position <= entity.start < entity.end
        assert is_blank(text[position : entity.start])
        position = entity.end
    assert is_blank(text[position:])
    by_key = {entity.key: entity for entity in results}
    lines = text.count("\n") + 1
    for entity in results:
        assert 1 <= entity.line_start <= entity.line_end <= lines
        assert len(entity.key) <= 300
        if entity.container is not None:
            outer = by_key[entity.container]
            assert outer.kind not in {EntityKind.FILE, EntityKind.IDENTIFIER}
            assert outer.start <= entity.start
            assert outer.line_start <= entity.line_start
            assert outer.line_end >= entity.line_end
        if entity.kind is EntityKind.IDENTIFIER:
            assert entity.content is not None
            assert entity.name in entity.content
            assert len(entity.content) <= 1_000
        else:
            assert entity.content is None


@given(text=TEXTS, expected=st.booleans(), start=st.integers(0, 50))
def test_a_canonical_number_stays_as_it_is(text: str, expected: bool, start: int) -> None:
    result = number_at(text, start, expected=expected)
    if result:
        assert start == result.start < result.end <= len(text)
        assert clause_number(result.number) == result.number
        assert all(clause_number(number) == number for number in enclosing_numbers(result.number))
    for item in clause_numbers(text, start, expected=expected):
        assert clause_number(item.number) == item.number


@given(
    number=st.lists(st.integers(1, 99), min_size=1, max_size=5), tail=st.sampled_from(["", ".", ".-", ":", " ", ")"])
)
def test_figures_are_read_as_they_are_written(number: list[int], tail: str) -> None:
    written = ".".join(map(str, number))
    assert clause_number(written + tail) == written

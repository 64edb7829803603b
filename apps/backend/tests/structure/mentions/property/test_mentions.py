"""What must hold of mentions, whatever is asked and however it is wrapped."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ragcorp.application.structure.mentions.parsing import MAX_STRONG, mentions
from ragcorp.application.structure.mentions.shapes import Mention
from ragcorp.domain.structure.entities import NameKind
from ragcorp.domain.text.entity_names import is_empty

PIECES = [
    "auth.go", "src/auth", "src\\x.py", "validate_token", "Session.validate", "login()", "::", "cláusula ", "4.2",
    "art. ", "14", " y ", "la función ", "login", "«", "»", "`", '"', "'", " ", "\n", ".", "/", ":", "-", "@", "#L1",
    "FAC-2024-0113", "el apartado ", "Plazo de entrega", "ª", "IV", "C:\\", "../", "(", ")", "x", "Ñandú", "e\u0301",
    "\ud800", "🙂", " the ", " module", "https://", "www.", "a.b", "__", "_", "$", "§", ", ", "segunda ", "bis",
    "\u00a0", "\u2028", "漢字",
]  # fmt: skip
texts = st.text(max_size=200) | st.lists(st.sampled_from(PIECES), max_size=25).map("".join)

NAMED = [
    ("auth.go", "file:auth.go"),
    ("src/auth/session.py", "file:session.py"),
    ("validate_token", "symbol:validatetoken"),
    ("ValidateToken", "symbol:validatetoken"),
    ("MAX_RETRIES", "symbol:maxretries"),
    ("Session.validate", "symbol:session.validate"),
    ("auth::login", "symbol:auth.login"),
    ("FAC-2024-0113", "identifier:fac20240113"),
    ("user.service.ts", "file:user.service.ts"),
]
CUED = [
    ("función", "login", "symbol:login"),
    ("method", "close", "symbol:close"),
    ("clase", "Foo", "symbol:foo"),
    ("fichero", "auth", "stem:auth"),
    ("módulo", "pagos", "stem:pagos"),
    ("cláusula", "4.2", "clause:4.2"),
    ("cláusula", "segunda", "clause:2"),
    ("artículo", "14 bis", "article:14 bis"),
    ("apartado", "Garantías", "heading:garantias"),
    ("sección", "Garantías", "heading:garantias"),
]
QUOTES = ["{}", "`{}`", "«{}»", "“{}”", '"{}"', "'{}'", "\u2018{}\u2019", "({})", "[{}]", "**{}**", "<{}>"]
AROUND = [
    "{}",
    "¿Qué hace {}?",
    "Arregla {}, por favor.",
    "¡Mira {}!",
    "Hola. {}: no va",
    "a\n{}\nb",
    "fix {}; ok",
    "El {}…",
]


def names(said: tuple[Mention, ...]) -> set[str]:
    return {name for mention in said if not mention.weak for name in mention.names}


@given(texts)
@example("cláusula " * 30)
@example("`" * 50)
@example("C:\\" * 9)
def test_any_text_is_read(text: str) -> None:
    said = mentions(text)
    assert said == mentions(text)
    assert sum(not mention.weak for mention in said) <= MAX_STRONG
    order = [(mention.start, -mention.end) for mention in said]
    assert order == sorted(order)
    assert len({(item.start, item.end, item.names) for item in said}) == len(said)


@given(texts)
def test_a_mention_has_names_and_places(text: str) -> None:
    for mention in mentions(text):
        assert 0 <= mention.start < mention.end
        assert mention.names
        assert len(set(mention.names)) == len(mention.names)
        assert len(mention.spans) in {0, len(mention.names)}
        for name in mention.names:
            assert name.partition(":")[0] in {kind.value for kind in NameKind}
            assert not is_empty(name)
            start, end = mention.span_of(name)
            assert mention.start <= start < end <= mention.end
            assert mention.written(name)


@given(st.sampled_from(NAMED), st.sampled_from(QUOTES), st.sampled_from(AROUND))
def test_a_name_survives_quotes_and_text_around(named: tuple[str, str], quotes: str, around: str) -> None:
    written, name = named
    assert name in names(mentions(around.format(quotes.format(written))))


@given(
    st.sampled_from(CUED),
    st.sampled_from(QUOTES[:8]),
    st.sampled_from(AROUND),
    st.sampled_from([str.lower, str.upper, str.title]),
    st.sampled_from([" ", "  ", ": ", "\u00a0"]),
)
def test_what_a_cue_names_survives_too(
    cued: tuple[str, str, str], quotes: str, around: str, case: Callable[[str], str], gap: str
) -> None:
    cue, written, name = cued
    numbered = name.startswith(("clause", "article"))
    shown = written if numbered else quotes.format(written)
    said = mentions(around.format(f"la {case(cue)}{' ' if numbered else gap}{shown}"))
    assert name in names(said)


@given(texts, st.sampled_from(NAMED))
def test_words_before_a_line_take_nothing_away(text: str, named: tuple[str, str]) -> None:
    written, name = named
    said = mentions(f"{text[:60]}\n\n{written}\n\n")
    quoted = any(mark in text for mark in "`\"'«“„‘‹")
    assert name in names(said) or quoted or sum(not item.weak for item in said) == MAX_STRONG


@pytest.mark.soak
@given(st.text(max_size=4000))
def test_long_texts_are_read(text: str) -> None:
    assert mentions(text) == mentions(text)

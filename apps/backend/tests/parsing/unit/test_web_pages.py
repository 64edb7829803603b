"""HTML: what a browser shows comes out, however it is nested."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragcorp.domain.documents import UnreadKind
from ragcorp.infrastructure.parsing.kinds.web import _flattened
from support.parsing.kinds import parse, parts_of


def text(source: str) -> str:
    return parse("a.html", source.encode()).text


def test_a_page_in_a_form() -> None:
    source = "<body><p>Antes</p><form><h1>Tarifas</h1><p>La cuota anual es de 85 euros.</p></form></body>"
    assert text(source) == "Antes\n\n# Tarifas\n\nLa cuota anual es de 85 euros."


def test_fields_and_their_values() -> None:
    form = (
        '<form><label>Etiqueta</label><input value="Rigoberta"><input type="hidden" value="oculto">'
        "<input type='password' value='clave'><textarea>12,75 ha</textarea></form>"
    )
    assert text(form).split() == ["Etiqueta", "Rigoberta", "12,75", "ha"]


def test_noscript_and_drawings() -> None:
    source = "<p>Uno</p><noscript><p>Contenido</p></noscript><svg><text>Total 340</text></svg>"
    assert text(source).split("\n\n") == ["Uno", "Contenido", "Total 340"]


def test_powers_and_indices() -> None:
    assert text("<p>10<sup>3</sup> m<sup>2</sup>, H<sub>2</sub>O, 1<sup>er</sup></p>") == "10³ m², H₂O, 1er"


@pytest.mark.parametrize("tag", ["div", "section", "span", "blockquote", "ul><li", "table><tr><td"])
def test_deep_nesting(tag: str) -> None:
    names = tag.split("><")
    opening, closing = "".join(f"<{name}>" for name in names), "".join(f"</{name}>" for name in reversed(names))
    shown = text(f"{opening * 70}<p>hondo</p>{closing * 70}<p>fuera</p>")
    assert "hondo" in shown
    assert shown.endswith("fuera")


def test_what_is_not_shown() -> None:
    source = (
        '<!-- <div> a > b --><script>if (a<b) "<div>"</script><style>p{}</style><template><p>t</p></template><p>sí</p>'
    )
    assert text(source) == "sí"


def test_frames_are_named() -> None:
    parsed = parse("a.xhtml", b'<p>uno</p><iframe src="x"></iframe>')
    assert parts_of(parsed) == {(UnreadKind.EMBEDDED_OBJECT, 1, ())}


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.sampled_from(["<div>", "</div>", "<b>", "</b>", "<p>", "</p>", "<ul>", "</ul>", "x ", "<", '"', "<!--"])
    )
)
def test_no_text_is_lost_by_flattening(pieces: list[str]) -> None:
    source = "".join(pieces)
    if "<!--" not in source:
        assert "".join(_flattened(source)).count("x ") == source.count("x ")


def test_the_work_grows_with_the_page() -> None:
    for piece in ("<div>", "<a ", '<a "', "<!--", "<script>", "</div>", "<b><i></b>"):
        assert sum(map(len, _flattened(piece * 20_000))) <= 20_000 * 12

"""HTML: what a browser shows comes out, however it is nested."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragcorp.domain.documents import UnreadKind
from ragcorp.infrastructure.parsing.kinds.html_layout import unwrap_layouts
from ragcorp.infrastructure.parsing.kinds.web import _flattened, _shown
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


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ('<select><option>Norte</option><option value="2" selected>Sur<option>Este</select>', "Zona Sur fin"),
        ('<select><option value="selected">Norte</option><option>Sur</option></select>', "Zona Norte fin"),
        ("<select multiple><option>Norte<option selected>Sur<option selected>Este</select>", "Zona Sur, Este fin"),
        ("<select multiple><option>Norte</option></select>", "Zona fin"),
        ("<input list=l value=Oeste><datalist id=l><option>Norte</option></datalist>", "Zona Oeste fin"),
    ],
)
def test_lists_show_what_is_chosen(options: str, expected: str) -> None:
    assert text(f"<p>Zona {options} fin</p>") == expected


def test_noscript_and_drawings() -> None:
    source = "<p>Uno</p><noscript><p>Contenido</p></noscript><svg><text>Total 340</text></svg>"
    assert text(source).split("\n\n") == ["Uno", "Contenido", "Total 340"]


def test_powers_and_indices() -> None:
    assert text("<p>10<sup>3</sup> m<sup>2</sup>, H<sub>2</sub>O, 1<sup>er</sup></p>") == "10³ m², H₂O, 1er"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("<fieldset><input type=checkbox checked> Acepta <input type='radio'> Rehúsa</fieldset>", "☒ Acepta ☐ Rehúsa"),
        ("<p>x<math><mfrac><mn>1</mn><mn>2</mn></mfrac><msup><mn>10</mn><mn>3</mn></msup></math></p>", "x 1/210^3"),
        ("<p>a<math><mi>b</p>", "a b"),
        ("<blockquote><p>cita</p></blockquote><hr><p>fin</p>", "> cita\n\nfin"),
        ("<table><tr><td><h1>Título</h1><p>uno</p></td><td>dos</td></tr></table>", "# Título\n\nuno\n\ndos"),
        ("<table><tr><td>uno</td></tr><tr><td><ul><li>dos</ul></td></tr></table>", "uno\n\n- dos"),
        (
            (
                "<table><tr><td>A</td><td><table><tr><th>n</th><th>m</th></tr><tr><td>1</td><td>2</td></tr></table></td>"
                "</tr></table>"
            ),
            "A\n\n| n | m |\n| --- | --- |\n| 1 | 2 |",
        ),
        ("<dl><dt>Plazo</dt><dd>45 días</dd></dl>", "Plazo\n45 días"),
        ("<details><summary>Más</summary><p>Dentro</p></details>", "**Más**\n\nDentro"),
        ('<p hidden>no</p><p style="display:none">no</p><p>sí</p>', "sí"),
        ("<pre>a\n  b</pre>", "```\na\n  b\n```"),
        ("<p>&Aacute;rea &#243; m&sup2; &euro; super<wbr>cali&shy;fragilis</p>", "Área ó m² € supercalifragilis"),
        ('<p>Vea</p><img src="a.png" alt="Plano de planta">', "Vea\n\n![Plano de planta](a.png)"),
    ],
)
def test_what_a_page_may_hold(source: str, expected: str) -> None:
    assert " ".join(text(source).split(" ")).strip() == expected


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
        assert "".join(_flattened("".join(_shown(source)))).count("x ") == source.count("x ")


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(["<table>", "</table>", "<tr>", "<td>", "</td>", "<h1>", "x ", '"'])))
def test_no_text_is_lost_with_layouts(pieces: list[str]) -> None:
    assert unwrap_layouts("".join(pieces)).count("x ") == pieces.count("x ")


def test_the_work_grows_with_the_page() -> None:
    for piece in ("<div>", "<a ", '<a "', "<!--", "<script>", "</div>", "<b><i></b>"):
        assert sum(map(len, _flattened("".join(_shown(piece * 20_000))))) <= 20_000 * 12

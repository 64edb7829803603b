"""RTF files: what kreuzberg alone loses or shows in the wrong place."""

from __future__ import annotations

import pytest

from ragcorp.domain.documents import UnreadKind
from support.parsing.kinds import parse, parts_of

BOX = r"{\shp{\*\shpinst{\sp{\sn posh}{\sv 3}}{\shptxt \pard Caja\par}}{\shprslt{\*\do{\dptxbxtext Caja\par}}}}"


def blocks(source: str) -> list[str]:
    parsed = parse("a.rtf", (r"{\rtf1\ansi\ansicpg1252{\fonttbl{\f0 Arial;}}" + source + "}").encode())
    return parsed.text.split("\n\n")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (r"\pard Plazo de {\b\deleted\revauthdel1 20}{\revised 25} d\'edas\par", ["Plazo de 25 días"]),
        (r"\pard uno \deleted dos \deleted0 tres\par", ["uno tres"]),
        (r"\pard Antes" + BOX + r" y sigue\par \pard Fin\par", ["Antes y sigue", "Caja", "Fin"]),
        (r"\pard {\upr{mal}{\*\ud{a\u241?o}}} 2026\par", ["año 2026"]),
        (
            r"\pard El plazo{\super\chftn{\footnote \plain{\super\chftn} En agosto, 40.}} corre.\par \pard Fin\par",
            ["El plazo (nota: En agosto, 40) corre.", "Fin"],
        ),
        (
            r"\pard Uno{\footnote " + "largo " * 60 + r"} dos.\par \pard Fin\par",
            ["Uno dos.", f"Nota: {'largo ' * 60}".strip(), "Fin"],
        ),
        (
            (
                r"\pard Importe{\*\atnid AG}{\*\atnauthor Ana}\chatn{\*\annotation{\*\atndate 5}\pard revisar}"
                r" final\par \pard Fin\par"
            ),
            ["Importe final", "Comentario de Ana: revisar", "Fin"],
        ),
        (
            r"{\header Olivar del Sur}{\footer Registro 33}{\footer P\'e1gina \chpgn}\pard Texto\par",
            ["Olivar del Sur", "Registro 33", "Texto"],
        ),
        (
            (
                r"\trowd\cellx1000\cellx2000\pard\intbl A{\*\annotation ojo}\cell B\cell\row"
                r"\trowd\cellx1000\cellx2000\pard\intbl C\cell D\cell\row\pard Fin\par"
            ),
            ["| A Comentario: ojo | B |\n| --- | --- |\n| C | D |", "Fin"],
        ),
        (r"\pard sin final{\*\annotation ojo}", ["sin final", "Comentario: ojo"]),
    ],
)
def test_what_a_text_may_hold(source: str, expected: list[str]) -> None:
    assert blocks(source) == expected


def test_images_and_objects_are_named() -> None:
    image = r"{\*\shppict{\pict\pngblip 8950}}{\nonshppict{\pict\wmetafile8 0100}}"
    packed = r"{\pict\bin3 }{\}"
    embedded = r"{\object\objemb{\*\objdata 0105}{\result Hoja}}"
    parsed = parse("a.rtf", (r"{\rtf1\ansi\pard Texto " + image + packed + embedded + r"\par}").encode())
    assert parsed.text == "Texto Hoja"
    assert parts_of(parsed) == {(UnreadKind.IMAGE, 2, ()), (UnreadKind.EMBEDDED_OBJECT, 1, ())}


@pytest.mark.parametrize(
    "source", ["}" * 1000, "{" * 100_000, r"{\footnote" * 10_000, "{\\rtf1 a\\", r"{\rtf1\bin99999 a}"]
)
def test_odd_files_are_read_or_refused(source: str) -> None:
    from ragcorp.domain.exceptions import UnreadableDocumentError

    try:
        parse("a.rtf", source.encode())
    except UnreadableDocumentError as error:
        assert error.field == "content"


@pytest.mark.parametrize(
    ("inner", "expected"),
    [
        (" Plazo {\\deleted 20}{\\revised 25} d\\'edas", "Plazo 25 días"),
        (" {\\listtext 2.1.\\tab}uno\\par{\\pntext\\'b7\\tab}dos", "2.1. uno\n\n• dos"),
        ("{\\shp{\\*\\shpinst{\\shptxt caja\\par}}{\\shprslt caja}}Texto", "Texto\n\ncaja"),
    ],
)
def test_numbers_and_what_follows_a_group(inner: str, expected: str) -> None:
    assert parse("a.rtf", f"{{\\rtf1\\ansi{inner}\\par}}".encode()).text == expected


@pytest.mark.parametrize(
    ("head", "letter"), [("\\mac", "96"), ("\\pca", "a4"), ("\\ansicpg850", "a4"), ("\\ansi", "f1")]
)
def test_code_pages(head: str, letter: str) -> None:
    assert parse("a.rtf", f"{{\\rtf1{head} a\\'{letter}o\\par}}".encode()).text == "año"

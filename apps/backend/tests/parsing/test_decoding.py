"""Encodings: marked, declared and guessed."""

from __future__ import annotations

import pytest

from ragcorp.domain.exceptions import UnreadableDocumentError
from ragcorp.infrastructure.parsing.decoding import clean, decode

SPANISH = "Año 2026: la cigüeña de Logroño costó 3 € — ¿«sí» o “no”?"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252"])
def test_spanish(encoding: str) -> None:
    assert decode(SPANISH.encode(encoding)) == SPANISH


def test_latin_1() -> None:
    assert decode("El camión azul pasó por la señal".encode("latin-1")) == "El camión azul pasó por la señal"


def test_other_alphabets_are_detected() -> None:
    russian = "Договор вступает в силу с момента подписания и действует до полного исполнения обязательств."
    assert decode(russian.encode("cp1251")) == russian


def test_the_declared_charset_counts_where_the_bytes_are_not_utf_8() -> None:
    assert decode("Ελλάδα".encode("iso8859-7"), declared="ISO-8859-7") == "Ελλάδα"
    assert decode("año".encode(), declared="iso-8859-1") == "año"
    assert decode("50 €".encode("cp1252"), declared="ISO-8859-1") == "50 €"
    assert decode(b"a\xf1o", declared="idna") == "año"
    assert decode(b"a\xf1o", declared="no-existe") == "año"


def test_a_stray_nul_is_no_binary_file() -> None:
    assert clean(decode("uno\0dós".encode())) == "uno dós"
    with pytest.raises(UnreadableDocumentError):
        decode(bytes(range(256)) * 4)


def test_clean() -> None:
    assert clean("a\r\nb\rc\x0cd\x0be\tf") == "a\nb\nc d e\tf"
    assert clean("an\u0303o con\u00adtra\u200bto \x1b[0m\x7f") == "año contrato [0m"

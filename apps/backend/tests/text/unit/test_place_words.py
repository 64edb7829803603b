"""The words of paths, titles and queries are folded alike, by hand."""

from __future__ import annotations

import pytest

from ragcorp.domain.text.place_words import MAX_WORDS, place_words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("zzz/largo/mas", ["zzz", "largo", "mas"]),
        ("src/authToken.go", ["src", "authtoken", "auth", "token"]),
        ("a/contrato-vidrieras-y-cristales.md", ["contratovidrierasycristales", "contrato", "vidrieras", "cristales"]),
        ("2024-0031_acme.pdf", ["20240031acme", "2024", "0031", "acme"]),
        ("Contrato de Ascensores Bravó, S.L.", ["contrato", "de", "ascensores", "bravo", "sl"]),
        ("cláusula 4 de TECNOVÍA\\anexos", ["clausula", "de", "tecnovia", "anexos"]),
        ("¿- / x?", []),
        ("", []),
    ],
)
def test_words_of_a_text(text: str, words: list[str]) -> None:
    assert list(place_words(text)) == words


def test_of_a_long_text_the_first_words_count() -> None:
    words = [f"w{number:03}" for number in range(3 * MAX_WORDS)]
    assert list(place_words("/".join(words))) == words[:MAX_WORDS]

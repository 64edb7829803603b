"""Questions that are a noun with what belongs to it, and no verb: "¿y el precio?", "¿El plazo del contrato Globex?".

They ask for what the noun names, never for yes or no. No dictionary of verbs is at hand: a word in small letters is
taken for a noun behind an article or a preposition, and for an adjective by its ending.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ragcorp.domain.text.folding import folded_in_place
from ragcorp.infrastructure.extractive.vocabulary.words import listed

_OPENING = frozenset(listed("y e o ni and but or so pero mas entonces tambien also"))
_OR_PRONOUNS = frozenset(listed("el la los las o os as"))
"""Behind a noun they would be pronouns, or begin another: a verb stands between."""
_ARTICLES = _OR_PRONOUNS | frozenset(
    listed(
        "un una unos unas su sus mi mis tu tus nuestro nuestra nuestros nuestras ese esa esos esas otro otra otros "
        "otras um uma seu sua seus suas meu minha al del ao aos da do das dos na nas pelo pela cada an these those"
    )
)
_ENGLISH = frozenset(listed("the its their his her our your my"))
_PREPOSITIONS = frozenset(
    listed("a de en con para por sin sobre entre hasta desde segun em com ate of for in on with from to by at about")
)
_NOUNS = frozenset(
    listed(
        "precio coste costo importe tarifa plazo fecha horario duracion vigencia vencimiento penalizacion multa fianza "
        "garantia descuento telefono correo direccion numero codigo responsable titular proveedor porcentaje preaviso "
        "antelacion ubicacion preco prazo valor price cost fee date deadline discount penalty warranty phone address"
    )
)
"""They need no article before them."""

_ADJECTIVE = re.compile(
    r"\w+(?:al|ales|arios?|ivos?|osos?|bles?|mente|rior(?:es)?|yor(?:es)?|nor(?:es)?|jor(?:es)?)|\w{2,}[ai]d[oa]s?"
    r"|\w{3,}(?:arias?|[ts]ivas?|osas?)|(?:max|min|ult|prox|opt)im[oa]s?|vigentes?|(?:si|correspond|pend)\w*ientes?"
    r"|(?:nuev|economic|tecnic|juridic|electronic|basic|unic|complet|fij|net|brut|medi)[oa]s?"
)
_WORD = re.compile(r"\w+(?:[-./&]\w+)*")
_MARKED = re.compile(r"[^?\uff1f]*[?\uff1f]")


def as_asked(text: str) -> str | None:
    """Return what a noun question asks, folded and with the word that asks; None for any other question."""
    found = _MARKED.match(text)
    words = _WORD.findall(found.group().rpartition("¿")[2]) if found else []
    while words and _opens(words):
        words = words[1:]
    if not words:
        return None
    plain = folded_in_place(" ".join(words))
    if folded_in_place(words[0]) in _ENGLISH:
        return f"what is {plain}"  # English has its verb in front where it asks for yes or no
    return f"cual es {plain}" if _are_nouns(words) else None


def _opens(words: Sequence[str]) -> bool:
    """Say whether the first word only joins; "o" before a noun is an article."""
    first, following = folded_in_place(words[0]), folded_in_place(words[1]) if len(words) > 1 else ""
    return first in _OPENING and (first != "o" or following in _ARTICLES)


def _are_nouns(words: Sequence[str]) -> bool:
    wanted = folded_in_place(words[0]) in _ARTICLES | _PREPOSITIONS | _NOUNS
    if not wanted:
        return False
    for number, word in enumerate(words):
        plain = folded_in_place(word)
        if plain in _OR_PRONOUNS and not wanted:
            return False
        if plain in _ARTICLES or plain in _PREPOSITIONS or (number and plain in _OPENING):
            wanted = True
        elif wanted:
            wanted = False
        elif not (word[0].isupper() or word[0].isdigit() or _ADJECTIVE.fullmatch(plain)):
            return False
    return True

"""Words that ask and say nothing of what is asked for: no text is evidence for holding them."""

from __future__ import annotations

import re
import unicodedata

# in stop word lists they stand without their accents, if at all
_BY_LANGUAGE = {
    "es": "que cual cuales cuanto cuanta cuantos cuantas cuando donde adonde quien quienes como segun",
    "en": "what which who whom whose when where why how much many",
    "pt": "qual quais quanto quanta quantos quantas quando onde quem",
    "fr": "quel quelle quels quelles combien quand qui comment pourquoi",
    "it": "quale quali quanti quante dove chi perche",
    "de": "was welche welcher welches wer wann wo warum wie viel viele",
    "ca": "quin quina quins quines quan on qui com",
}
QUESTION_WORDS = frozenset(word for words in _BY_LANGUAGE.values() for word in words.split())

_WORD = re.compile(r"\w+")
_NAME = re.compile(r"[^\W\d_a-záéíóúüñç]|\w*\d")


def without_question_words(question: str) -> str:
    """Return the question without them; all other characters, codes among them, stay as they are."""
    return _WORD.sub(lambda word: " " if _folded(word.group()) in QUESTION_WORDS else word.group(), question)


def without_names(question: str) -> str:
    """Return the question without what looks like a name: capitalised words but the first, and words with a digit.

    What is left is what the question asks about the names; a question of names alone leaves nothing.
    """
    first = _WORD.search(question)
    start = first.start() if first else 0
    return _WORD.sub(lambda word: " " if word.start() > start and _NAME.match(word.group()) else word.group(), question)


def _folded(word: str) -> str:
    decomposed = unicodedata.normalize("NFD", word.lower())
    return "".join(character for character in decomposed if not unicodedata.combining(character))

"""What a question asks for: kinds of values, yes or no, the names that it is about, and its parts."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ragcorp.domain.text.folding import folded_in_place
from ragcorp.infrastructure.extractive.question.asked_kinds import asked_kinds
from ragcorp.infrastructure.extractive.question.noun_questions import as_asked
from ragcorp.infrastructure.extractive.question.words import HELPING_WORDS
from ragcorp.infrastructure.extractive.vocabulary.values import MONTHS, ValueKind
from ragcorp.infrastructure.extractive.vocabulary.words import listed

_FOCUS = re.compile(
    r"(?:que|cual(?:es)?(?: (?:es|son|fue|era|sera))?(?: (?:el|la|los|las))?|cuant[oa]s|how many|which|"
    r"quien(?:es)? (?:es|son|fue|era|sera) (?:el|la|los|las)|who (?:is|was) the|"
    r"what(?: (?:is|are|was))?(?: the)?|qual e [oa]|que)\s+([^\W\d_]{3,})"
)
LOOSE_FOCUS = frozenset(
    listed(
        "ciudad pais lugar sitio localidad tipo clase parte cosa significa dia fecha hora numero codigo "
        "importe cantidad persona nombre tiempo plazo antelacion preaviso duracion periodo precio coste costo "
        "valor version metros kilos kilometros litros grados date number code time day city country kind "
        "minimum price cost amount porcentaje percentage mes meses month dias fechas horas "
        "veces semanas anos años minutos "
    )
)
"""Nouns that a value of the asked kind stands for, or that say little."""

_CLAUSE = re.compile(
    r"\b(?:que|cual|en que|which|what)\b[^?]{0,20}\b"
    r"(?:clausula|articulo|apartado|estipulacion|clause|article|section)\b"
)
_WORD = re.compile(r"[^\W_]+(?:[-./'][^\W_]+)*%?")
_ALWAYS = r"cual(?:es)?|cuant[oa]s?|what|which|who|whom|whose|when|where|how|quanto|quanta|quantos|quantas|qual|quais"
_AT_HEAD = r"(?:por )?que|quien(?:es)?|donde|adonde|cuando|como|quem|onde|quando"
_PREPOSITION = r"(?:a|ante|con|de|desde|en|entre|hasta|para|por|segun|sobre|em|com|ate)"
_ASKS = re.compile(
    rf"\b(?:{_ALWAYS})\b|(?:^|[¿,.;:?]|\b[ye]\b)\W{{0,4}}(?:{_PREPOSITION}\s+)?(?P<head>(?:{_AT_HEAD})\b)|"
    rf"^\W{{0,4}}{_PREPOSITION}\s+(?:\w+\s+){{0,3}}{_PREPOSITION}\s+(?P<inner>que\b)"
)
_ACCENTED = re.compile(r"\b(?:qué|cuál(?:es)?|cuánt[oa]s?|cuándo|quién(?:es)?|dónde|cómo)\b", re.IGNORECASE)
_WORD_BEFORE = re.compile(r"\b(?:cada|a|con)\s+$")
"""Words before the one that asks which change what it asks for: each how many, to whom."""

_WORDS_AFTER = re.compile(r"\W*\w+\W+\w")
_PART = re.compile(
    r",?\s+(?:y|and|e)\s+(?=(?:a |con |de |en |por |para |desde |hasta |in |with )?"
    r"(?:que|cual(?:es)?|cuant\w+|cuando|quien(?:es)?|donde|como|what|which|who|when|where|how)\b)"
)
_VERB_FIRST = re.compile(r"^\W*(?:se )?(?:puedo|puede|pueden|podemos|hay|es|esta|tiene|tengo|debe|existe)\b")
_AUXILIARY = re.compile(r"^\W*(?:is|are|was|were|do|does|did|can|could|may|must|will|would|has|have|should)\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question as the answerer sees it. ``kinds`` is empty where any sentence may answer.

    ``focus`` is the noun, folded, that the question word asks about, unless a value of the asked kind stands for it.
    """

    text: str
    kinds: frozenset[ValueKind]
    names: tuple[str, ...]
    focus: str | None
    asks_yes_or_no: bool
    asks_clause: bool


def parse_question(text: str) -> Question:
    plain = folded_in_place(text)
    words = [(found.group(), found.start()) for found in _WORD.finditer(text)]
    return Question(
        text=text,
        kinds=frozenset() if _CLAUSE.search(plain) else _kinds(text),
        names=tuple(word for word, start in words if _is_name(word, start, text) or folded_in_place(word) in MONTHS),
        focus=_focus(text),
        asks_yes_or_no=_asks_yes_or_no(text),
        asks_clause=_CLAUSE.search(plain) is not None,
    )


def parts_of(text: str) -> list[str]:
    """Return the questions that ``text`` joins with "y" and a question word: at least one."""
    plain = folded_in_place(text)
    cuts = [found.span() for found in _PART.finditer(plain) if _WORDS_AFTER.match(plain, found.end())]
    starts = [0, *(end for _, end in cuts)]
    ends = [*(start for start, _ in cuts), len(text)]
    return [text[start:end] for start, end in zip(starts, ends, strict=True)]


def _asked_from(text: str) -> int | None:
    """Return where the word that asks stands: one with its accent, else one that always asks or that leads a clause."""
    if accented := _ACCENTED.search(text):
        return accented.start()
    plain = folded_in_place(text)
    certain = re.search(rf"\b(?:{_ALWAYS})\b", plain)
    if certain or not (found := _ASKS.search(plain)):
        return certain.start() if certain else None
    return found.start(found.lastgroup or 0)


def _kinds(text: str) -> frozenset[ValueKind]:
    plain = folded_in_place(text)
    start = _asked_from(text)
    if start is None and (noun := as_asked(text)):
        return asked_kinds(noun)
    start = start or 0
    if before := _WORD_BEFORE.search(plain[:start]):
        start = before.start()
    return asked_kinds(" ".join(plain[start:].split()))


def _focus(text: str) -> str | None:
    start = _asked_from(text)
    found = None if start is None else _FOCUS.match(folded_in_place(text), start)
    noun = found.group(1) if found else ""
    return None if noun in HELPING_WORDS | LOOSE_FOCUS or not noun else noun


def _is_name(word: str, start: int, text: str) -> bool:
    """Capitalised inside a sentence, or all in capitals, or with a digit."""
    if any(character.isdigit() for character in word) or (len(word) > 1 and word.isupper()):
        return True
    if word == "I":
        return False
    before = text[:start].rstrip(" ¿¡«“\"'(")
    return bool(before) and before[-1] not in ".?!:¿" and word[0].isupper()


def _asks_yes_or_no(text: str) -> bool:
    plain = folded_in_place(text)
    if _AUXILIARY.match(plain):
        return True
    if _asked_from(text) is not None or as_asked(text):
        return False
    return "?" in text or _VERB_FIRST.match(plain) is not None

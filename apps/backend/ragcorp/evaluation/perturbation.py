"""Queries as people mistype them: without accents, with a slip of a finger, without their rarest words."""

import random
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from enum import StrEnum
from functools import partial

from ragcorp.domain.text.folding import folded
from ragcorp.evaluation.sets import EvaluationSet, Passage

RARE_WORDS = 2
SHORTEST_MISTYPED = 4
"""Letters of a word that a slip may hit."""

_WORD = re.compile(r"\w+(?:[-./@]\w+)*")
_LETTERS = re.compile(r"[^\W\d_]+")
_NEIGHBOURS = {
    letter: row[max(at - 1, 0) : at] + row[at + 1 : at + 2]
    for row in ("qwertyuiop", "asdfghjklñ", "zxcvbnm")
    for at, letter in enumerate(row)
}


class Variant(StrEnum):
    """How the queries of a set are changed.

    >>> Variant('typos')
    <Variant.TYPOS: 'typos'>
    """

    ACCENTS = "accents"
    TYPOS = "typos"
    RARE = "rare"


def varied(evaluation_set: EvaluationSet, variant: Variant, *, seed: int) -> EvaluationSet:
    """Return the set with changed queries. The same seed changes a query the same way, whichever others are there.

    >>> evaluation_set = EvaluationSet(name='set', passages=[], queries=[], qrels={})
    >>> varied(evaluation_set, Variant.ACCENTS, seed=1).queries
    []
    """
    change: Callable[[str], str]
    match variant:
        case Variant.ACCENTS:
            change = without_accents
        case Variant.TYPOS:
            change = partial(with_a_typo, seed=seed)
        case Variant.RARE:
            change = partial(without_rarest_words, frequencies=document_frequencies(evaluation_set.passages))
    queries = [replace(query, text=change(query.text)) for query in evaluation_set.queries]
    return replace(evaluation_set, queries=queries)


def without_accents(text: str) -> str:
    """Return the text as typed without accents. Unlike folding, this also turns ñ into n.

    >>> without_accents('¿Cuántos años?')
    '¿Cuantos anos?'
    """
    decomposed = unicodedata.normalize("NFD", text)
    return "".join(character for character in decomposed if not unicodedata.combining(character))


def with_a_typo(text: str, *, seed: int) -> str:
    """Return the text with one letter left out, doubled, swapped with the next or hit beside.

    It happens inside one word of letters alone, after its first letter. A text without such a word stays as it is.

    >>> with_a_typo('plazo', seed=1) == with_a_typo('plazo', seed=1) != 'plazo'
    True
    """
    rng = random.Random(f"{seed}:{text}")  # noqa: S311 - a simulation, repeatable
    words = [match for match in _WORD.finditer(text) if _LETTERS.fullmatch(match[0])]
    words = [match for match in words if len(match[0]) >= SHORTEST_MISTYPED]
    if not words:
        return text
    match = rng.choice(words)
    return text[: match.start()] + _mistyped(match[0], rng) + text[match.end() :]


def _mistyped(word: str, rng: random.Random) -> str:
    at = rng.randrange(1, len(word) - 1)
    letter, following = word[at], word[at + 1]
    slips = [word[:at] + word[at + 1 :], word[:at] + letter + word[at:]]
    if letter != following:
        slips.append(word[:at] + following + letter + word[at + 2 :])
    slips += [word[:at] + near + word[at + 1 :] for near in _NEIGHBOURS.get(without_accents(letter).lower(), "")]
    return rng.choice(slips)


def document_frequencies(passages: Iterable[Passage]) -> Mapping[str, int]:
    """Return the number of passages with each word (folded).

    >>> document_frequencies([Passage(id='a', title='', text='El plazo')])['plazo']
    1
    """
    return Counter(
        word
        for passage in passages
        for word in {folded(match[0]) for match in _words(f"{passage.title} {passage.text}")}
    )


def without_rarest_words(text: str, frequencies: Mapping[str, int]) -> str:
    """Return the text without its two rarest words, the first of equals first; one word at least is kept.

    A word of no passage is the rarest.

    >>> without_rarest_words('el plazo de entrega', {'el': 9, 'de': 9})
    'el de'
    """
    words = _words(text)
    rarest = sorted(words, key=lambda match: (frequencies.get(folded(match[0]), 0), match.start()))
    dropped = {match.span() for match in rarest[: min(RARE_WORDS, len(words) - 1)]}
    parts, end = [], 0
    for match in words:
        parts.append(text[end : match.start()] + ("" if match.span() in dropped else match[0]))
        end = match.end()
    return " ".join(("".join(parts) + text[end:]).split())


def _words(text: str) -> list[re.Match[str]]:
    return list(_WORD.finditer(text))

"""Finds the words of a query in a shown line, whatever their accents and endings."""

import re
from collections.abc import Iterable

from ragcorp.domain.text.folding import folded_in_place

STEM = 4
"""Shorter words are marked only if they occur exactly as typed."""
ENDING = 2
"""Letters by which a word may be longer or shorter than the query's: plazo, plazos."""
MOST_SEARCHED = 20_000
"""Characters of a line that are searched for marks: longer ones are no lines for reading."""

_WORD = re.compile(r"\w+")
_JOINED = re.compile(r"\w+(?:[-./:@]+\w+)*")
_SMALL = frozenset(
    _WORD.findall(
        "a al ante con cual cuando de del desde donde e el ella en entre es esta este la las le lo los mas me mi no "
        "nos o para pero por que quien se si sin sobre su sus un una uno unos y ya and are as at be by for from how in "
        "is it of on or that the this to was what when where which who why with"
    )
)


class QueryMarks:
    """The marks of one query. ``lexemes`` are stems that the search itself matched."""

    def __init__(self, query: str, lexemes: Iterable[str] = ()) -> None:
        tokens = [folded_in_place(match[0]) for match in _JOINED.finditer(query)]
        self._joined = tuple({token for token in tokens if not _WORD.fullmatch(token)})
        words = {token for token in tokens if _WORD.fullmatch(token)}
        self._words = tuple((words - _SMALL) or words)
        self._stems = tuple({folded_in_place(lexeme) for lexeme in lexemes if len(lexeme) >= STEM})

    def spans(self, line: str) -> list[tuple[int, int]]:
        """Return the sorted, disjoint spans [start, end) of the query's words; if there are none, of parts of words."""
        plain = folded_in_place(line[:MOST_SEARCHED])
        joined = (span for token in self._joined for span in _places(plain, token))
        words = (word.span() for word in _WORD.finditer(plain) if self._matches(word[0]))
        return _merged((*joined, *words)) or _merged(self._inside(plain))

    def _inside(self, plain: str) -> Iterable[tuple[int, int]]:
        """Return words inside longer words, which a literal search finds too: pasarela in PasarelaLenta."""
        for word in self._words:
            if len(word) >= STEM:
                yield from (match.span() for match in re.finditer(re.escape(word), plain))

    def _matches(self, word: str) -> bool:
        if word in self._words:
            return True
        if word in _SMALL:
            return False
        return any(_alike(word, query_word) for query_word in self._words) or any(
            word.startswith(stem) and len(word) - len(stem) <= 2 * ENDING for stem in self._stems
        )


def _alike(word: str, query_word: str) -> bool:
    short, long = sorted((word, query_word), key=len)
    return len(short) >= STEM and len(long) - len(short) <= ENDING and long.startswith(short)


def _places(text: str, token: str) -> Iterable[tuple[int, int]]:
    pattern = re.compile(rf"(?<!\w){re.escape(token)}(?!\w)")
    return (match.span() for match in pattern.finditer(text))


def _merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged

"""Finds clauses and articles mentioned by number, in Spanish, English and Portuguese. Pure."""

import re
from collections.abc import Iterator

from ragcorp.application.structure.mentions.shapes import Mention, distinct
from ragcorp.domain.structure.entities import EntityKind
from ragcorp.domain.text.clause_numbers import NumberSpan, clause_numbers, enclosing_numbers, number_at
from ragcorp.domain.text.entity_names import article_name, clause_name, heading_name

_KINDS = {"clause": frozenset({EntityKind.CLAUSE}), "article": frozenset({EntityKind.ARTICLE})}
"""A numbered section of a manual matches ``cláusula 2`` only where no clause does."""

_SPACE = "[ \t\u00a0\u202f]"
_ARTICLE_CUE = "articulos?|articles?|artigos?|arts?"
_CLAUSE_CUE = "clausulas?|claus|clauses?|estipulacion(?:es)?"
_PART_CUE = (
    "apartados?|apdos?|numeral(?:es)?|punto|puntos|secc?ion(?:es)?|secao|sections?|subsections?|epigrafes?|paragraphs?|"
    "parrafos?|capitulos?|chapters?|titulos?|anexos?|annex|annexes|appendix|apendices?|disposicion|schedule|exhibit"
)
_NUMBER_SIGN = rf"(?:n\.?{_SPACE}?[oº°]s?\.?|num(?:ero)?\.?|number|no\.){_SPACE}*"
_CUE = re.compile(
    rf"(?<!\w)(?:(?P<article>{_ARTICLE_CUE})|(?P<clause>{_CLAUSE_CUE})|(?P<part>{_PART_CUE}))(?!\w)"
    rf"\.?{_SPACE}{{0,5}}(?:{_NUMBER_SIGN})?|(?P<sign>§{{1,2}}){_SPACE}{{0,3}}"
)
_WITHIN = re.compile(
    rf"{_SPACE}*,?{_SPACE}*(?:(?:apartado|apdo|numeral|punto|parrafo|inciso|letra|paragraph|point|item|section)\.?"
    rf"{_SPACE}+(?:{_NUMBER_SIGN})?)"
)
_LETTER = re.compile(r"([a-z])(?!\w)\)?")
_OF = re.compile(
    rf"{_SPACE}+(?:del?|da|do|of){_SPACE}+(?:(?:la|el|the|a|o){_SPACE}+)?"
    rf"(?:(?P<article>{_ARTICLE_CUE})|(?P<clause>{_CLAUSE_CUE}))(?!\w)\.?{_SPACE}{{0,5}}(?:{_NUMBER_SIGN})?"
)
_DOUBTFUL = re.compile(r"[ivxl]+", re.IGNORECASE)
_ROMAN_NUMERALS = "i ii iii iv v vi vii viii ix x xi xii xiii xiv xv xvi xvii xviii xix xx"
_ROMAN = tuple(_ROMAN_NUMERALS.split())
_TEXT_FOLLOWS = re.compile(rf"{_SPACE}+(?!(?:del?|da|do|of|y|e|and|bis|in|en|em)\b)[a-z]")
_COUNTED = re.compile(rf"{_SPACE}+(?:veces|times|dias?|meses|a[nñ]os?|days?|months?|years?|vezes)\b")


def numbered(text: str, plain: str) -> Iterator[tuple[Mention, int, int]]:
    """Yield the mentions by number with their spans, cues included; ``plain`` is the text's plain form."""
    end = 0
    for cue in _CUE.finditer(plain):
        if cue.start() < end:
            continue
        numbers = clause_numbers(text, cue.end())
        if not numbers or not _is_number(text, plain, cue, numbers[0]):
            continue
        for place, number in enumerate(numbers):
            start = number.start if place else cue.start()
            mention, end = _mention(text, plain, cue, number, start, last=place == len(numbers) - 1)
            yield mention, start, end


def _mention(
    text: str, plain: str, cue: re.Match[str], number: NumberSpan, start: int, *, last: bool
) -> tuple[Mention, int]:
    """Return the mention of one number and its end: ``cuarta, apartado 2`` and its reverse are 4.2."""
    whole, end = number.number, number.end
    kind = cue.lastgroup or "part"
    if kind == "part" and last and (outer := _OF.match(plain, end)):
        container = number_at(text, outer.end(), expected=True)
        if container:
            whole, end = f"{container.number}.{whole}", container.end
            kind = outer.lastgroup or kind
    elif kind != "part" and last:
        whole, end = _with_part(text, plain, whole, end)
    filled = number_at(text, number.start, expected=True) is None
    written = number.number if filled else text[start:end]
    names = _names(kind, whole, cue[0], text[number.start : number.end], number.number)
    return Mention(text=written, start=start, end=end, names=names, kinds=_KINDS.get(kind, frozenset())), end


def _with_part(text: str, plain: str, number: str, end: int) -> tuple[str, int]:
    for _ in range(3):
        cue = _WITHIN.match(plain, end)
        if not cue:
            break
        letter = _LETTER.match(plain, cue.end())
        inner = None if letter else number_at(text, cue.end(), expected=True)
        if letter:
            number, end = f"{number}.{letter[1]}", letter.end()
        elif inner:
            number, end = f"{number}.{inner.number}", inner.end
        else:
            break
    return number, end


def _names(kind: str, number: str, cue: str, written: str, own: str) -> tuple[str, ...]:
    numbers = (number, *enclosing_numbers(number))
    if kind == "article":
        return distinct(*map(article_name, numbers))
    if kind == "sign":
        return distinct(*(name(item) for item in numbers for name in (article_name, clause_name)))
    clauses = tuple(map(clause_name, numbers))
    if kind == "clause":
        return distinct(*clauses)
    label = re.sub(r"[^\w ].*", "", cue).strip()
    roman = _ROMAN[int(own) - 1] if own.isdecimal() and 0 < int(own) <= len(_ROMAN) else own
    headings = [heading_name(f"{label} {spelt}") for spelt in (written, own, roman)]
    singular = [heading_name(f"{label[:-1]} {spelt}") for spelt in (written, own, roman) if label.endswith("s")]
    by_heading = label.startswith(("cap", "cha", "tit", "ane", "ann", "app", "ape", "dis", "sch", "exh"))
    return distinct(*headings, *singular, *(() if by_heading else clauses))


def _is_number(text: str, plain: str, cue: re.Match[str], number: NumberSpan) -> bool:
    """Return whether the number belongs to the cue, unlike in "the article I wrote", "una cláusula dos veces"."""
    written = text[number.start : number.end]
    if cue.lastgroup == "sign" and not written[0].isdigit():
        return False
    if _COUNTED.match(plain, number.end):
        return False
    doubtful = _DOUBTFUL.fullmatch(written) and (len(written) == 1 or written.islower())
    if doubtful and _TEXT_FOLLOWS.match(plain, number.end):
        return False
    glued = cue.end() == number.start and cue[0][-1:].isalnum()
    return not glued

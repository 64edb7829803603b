"""Extracts the keywords of a question for a literal search. Pure, by rules; for Spanish first, English, and code.

In this order, each group in the order of the text: quoted phrases; amounts with their unit; identifiers, codes, numbers
and file names; words labelled by a letter or a small number (plan B, anexo 3); names, as a phrase and word by word;
then the other words, rarest first. Words that no text contains come last: each may be a typo.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from ragcorp.domain.files.values import MAX_GREP_QUERY, MAX_GREP_TERMS
from ragcorp.domain.text.checks import is_blank
from ragcorp.domain.text.folding import folded
from ragcorp.domain.text.follow_up import anchors
from ragcorp.domain.text.utterances import content_words, without_courtesies

MAX_KEYWORDS = 8
MAX_KEYWORD = 200
"""Characters. A longer token, such as an encoded blob, is no keyword."""

SHORTEST_WORD = 3
SHORTEST_STEM = 4
MANY_DIGITS = 3
"""A number with this many digits names something; a shorter one is a count."""

_UNKNOWN: Mapping[str, int] = MappingProxyType({})

_QUESTION_WORDS = """
    aparece aparecen ayuda ayudame busca buscame buscar busco compara cosa cosas cuenta cuentame debe deben deberia
    debo decir describe dice dicen dime dinos encontrar encuentra encuentro ensename enseñame enumera existe existen
    explica explicame explicar favor forma haber hace hacemos hacen hacer hago indica indicame lista listame llama
    llaman manera mostrar muestra muestrame necesita necesitamos necesito permite podemos poder podria podrias pueda
    puede pueden puedes puedo queremos quiere quiero quisiera recuerda refiere resume resumeme saber sabes seria
    significa significan sirve sirven tenemos tener tengo
    describe did does doing explain find get give happens have having know list look mean means need please search
    should show tell use used using want work works
    descreva diga explique fazer liste mostre pode posso preciso procure quero significa
"""
_FUNCTION_WORDS = """
    acerca alguna algunas alguno algunos antes aunque bajo cada contra cualquier despues durante hacia hasta mediante
    mientras mismo misma ningun ninguna otra otras otro otros relacion respecto segun siempre solo toda todas todo todos
    tras
    after all any before between during each every into only other over same some such than through under until
    while within without
    cada entre outra outras outro outros toda todas todo todos
"""
_EMPTY = frozenset(_QUESTION_WORDS.split()) | frozenset(_FUNCTION_WORDS.split())
"""Words that find no text, in addition to those of ``content_words``; in lower case without accents."""

_QUOTED = re.compile(
    r"«([^«»]{1,200})»|“([^“”]{1,200})”|„([^„“”]{1,200})[\u201c\u201d]|\"([^\"]{1,200})\"|`([^`]{1,200})`"
    r"|\u2018([^\u2018\u2019]{1,200})\u2019(?!\w)|(?<!\w)'([^']{1,200})'(?!\w)"
)
_TOKEN = re.compile(r"(?:(?<!\w)(?:--?|\.{0,2}/|[.$@#]))?\w+(?:[-.,/\\:@#~+'\u2019]{1,3}\w+)*(?:\+\+|#(?!\w))?")
_UNIT = (
    r"%|€|\$|°C|ºC|euros?|eur|usd|d[oó]lares|d[ií]as?|mes(?:es)?|a[nñ]os?|semanas?|horas?|minutos?|segundos?|km|cm|mm|m2"
    r"|kg|mg|kb|mb|gb|tb|ms|kwh?|days?|months?|years?|weeks?|hours?|minutes?|seconds?"
)
_AMOUNT = re.compile(rf"(?<![\w.,-])\d+(?:[.,]\d+)*[ \u00a0]?(?:{_UNIT})(?!\w)", re.IGNORECASE)
_LABELLED = re.compile(r"(?<!\w)([^\W\d_]{3,}) (?:[A-ZÑ]|\d{1,2})(?![\w.,]*\w)")
_WORD = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)?")
_HYPHENS = re.compile(r"(?<=\w)[\u2010-\u2013\u2212](?=\w)")
"""Printed hyphens and dashes within a code, searched as the typed one."""
_APOSTROPHES = re.compile("['\u2019]")
_HUMP = re.compile(r"[^\W\d_A-Z][A-ZÁÉÍÓÚÑ]")
_LIST = re.compile(r"[,;|\n]+")
_EDGES = ".,;:!?¡¿()[]{}<>\"'`«»“”\u2018\u2019…"
_BREAK = " | "
"""Marks a place where a part was removed from a text: no name continues across it."""


def keywords(text: str, frequencies: Mapping[str, int] = _UNKNOWN, *, limit: int = MAX_KEYWORDS) -> tuple[str, ...]:
    """Return at most ``limit`` keywords, each once whatever its case and accents.

    ``frequencies`` maps each word, as written in ``text``, to the number of chunks that contain it; 0 or absent:
    unknown. Plurals are cut to the part that both numbers share, because a literal search knows no grammar.
    """
    composed = _HYPHENS.sub("-", unicodedata.normalize("NFC", text))
    rest, quoted = _taken(_QUOTED, without_courtesies(_spaced(composed)))
    rest, amounts = _taken(_AMOUNT, rest)
    labelled = [label[0] for label in _LABELLED.finditer(rest) if _is_informative(label[1])]
    rest, identifiers = _without_identifiers(rest)
    names = _names(rest)
    of_names = {folded(name) for name in names}
    spelt = [word for match in _WORD.findall(rest) for word in _without_apostrophe(match)]
    words = [word for word in spelt if folded(word) not in of_names and _is_informative(word)]
    ranked = sorted(words, key=lambda word: (not frequencies.get(word, 0), frequencies.get(word, 0)))
    return _distinct([*quoted, *amounts, *identifiers, *labelled, *names, *map(stem, ranked)])[:limit]


def given_terms(text: str) -> tuple[str, ...]:
    """Return the terms of a caller's own query: the whole as a phrase, its parts, and their words.

    Quotes keep words together, and so do the commas of a list; then there is no whole. Words without content count only
    if there are no others. There may be more than a search accepts: see ``foremost``.
    """
    rest, quoted = _taken(_QUOTED, text)
    listed = [part for part in map(_spaced, _LIST.split(rest.replace(_BREAK, "\n"))) if part.strip(_EDGES)]
    words = [word.strip(_EDGES) or word for part in listed for word in part.split()]
    telling = [word for word in words if len(word) > 1 and _has_content(word)]
    terms = _distinct([*quoted, *listed, *(telling or ([] if quoted else words))])
    return terms or _distinct([_spaced(text)])


def foremost(
    terms: Sequence[str], frequencies: Mapping[str, int] = _UNKNOWN, *, limit: int = MAX_GREP_TERMS
) -> tuple[str, ...]:
    """Return the ``limit`` most informative terms, in their order.

    The first phrase comes first, then identifiers and codes, other phrases, and words, the rarest first; words of
    unknown frequency come last, in their order.
    """
    shouted = all(word.isupper() for term in terms for word in _WORD.findall(term) if len(word) > 1)
    first_phrase = next((number for number, term in enumerate(terms) if " " in term), None)

    def key(number: int) -> tuple[int, bool, int, int]:
        term = terms[number]
        if number == first_phrase:
            kind = 0
        elif _TOKEN.fullmatch(term) and _is_identifier(term, shouted=shouted):
            kind = 1
        else:
            kind = 2 if " " in term else 3
        frequency = frequencies.get(term, 0)
        return kind, not frequency, frequency, number

    return tuple(terms[number] for number in sorted(sorted(range(len(terms)), key=key)[:limit]))


def stem(word: str) -> str:
    """Return the beginning that singular and plural share: ``contrato`` of contratos, ``vacacion`` of vacaciones."""
    lower = word.lower()
    for ending in (r"(?<=[lrnd])es$", r"(?<=[^\Wisu_])s$"):
        begin = re.split(ending, lower, maxsplit=1)[0]
        if SHORTEST_STEM <= len(begin) < len(lower):
            return begin
    return lower


def _without_identifiers(text: str) -> tuple[str, list[str]]:
    shouted = all(word.isupper() for word in _WORD.findall(text) if len(word) > 1)
    tokens = [token for token in _TOKEN.finditer(text) if _is_identifier(token[0], shouted=shouted)]
    starts, ends = [0, *(token.end() for token in tokens)], [*(token.start() for token in tokens), len(text)]
    rest = _BREAK.join(text[start:end] for start, end in zip(starts, ends, strict=True))
    return rest, [token[0] for token in tokens]


def _is_identifier(token: str, *, shouted: bool) -> bool:
    """Return whether a token looks like an identifier: underscore, digit, inner dot or dash, humps, or capitals."""
    digits = sum(character.isdigit() for character in token)
    if len(token) > MAX_KEYWORD:
        return False
    if digits:
        return digits >= MANY_DIGITS or any(character.isalpha() or character in "._-/:" for character in token)
    if "_" in token.strip("_") or token.startswith("__"):
        return True
    if not token[0].isalnum() or not token[-1].isalnum():
        return True
    parts = re.split(r"[-./\\:@#~+]+", token)
    if len(parts) > 1:
        return any(_is_informative(part) for part in parts)
    if shouted or _APOSTROPHES.search(token):
        return False
    return _HUMP.search(token) is not None or (len(token) > 1 and token.isupper())


def _names(text: str) -> list[str]:
    """Return names, each behind the phrase that it belongs to; so may the first word of a sentence before it."""
    names: list[str] = []
    for phrase in anchors(text):
        before = re.search(rf"([^\W\d_]+) {re.escape(phrase)}", text)
        if before and before[1][0].isupper() and _is_informative(before[1]):
            names.append(before[0])
        parts = [part for part in _WORD.findall(phrase) if _is_informative(part)]
        names += [name for name in dict.fromkeys((phrase, *parts)) if len(name) > 1]
    return names


def _without_apostrophe(word: str) -> list[str]:
    """Return an elided or possessive word without its affix: ``empresa`` of l'empresa; nothing of don't."""
    parts = _APOSTROPHES.split(word)
    return [] if parts[1:] == ["t"] else [max(parts, key=len)]


def _is_informative(word: str) -> bool:
    shortest = SHORTEST_WORD - word.isupper()
    return shortest <= len(word) <= MAX_KEYWORD and _has_content(word)


def _has_content(word: str) -> bool:
    return folded(word) not in _EMPTY and (bool(content_words(word)) or not _WORD.search(word))


def _taken(pattern: re.Pattern[str], text: str) -> tuple[str, list[str]]:
    """Return the text without the pattern's matches, and the matches: the group that matched, or all of it."""
    parts = [next((group for group in match.groups() if group), match[0]) for match in pattern.finditer(text)]
    return pattern.sub(_BREAK, text), [_spaced(part) for part in parts]


def _spaced(text: str) -> str:
    return " ".join(text.split())


def _distinct(terms: Iterable[str]) -> tuple[str, ...]:
    kept: dict[str, str] = {}
    for term in terms:
        if not is_blank(term) and len(term) <= MAX_GREP_QUERY:
            kept.setdefault(folded(term), term)
    return tuple(kept.values())

"""Rewrites a follow-up question without a language model, by adding the names of the question before. Pure.

"¿y cuándo vence?" after "¿Cuál es el plazo del contrato CTR-2026-014?" becomes "¿y cuándo vence? CTR-2026-014".
"""

import re
from collections.abc import Sequence

from ragcorp.domain.text.utterances import content_words, is_small_talk, without_courtesies

MAX_ANCHORS = 8
MAX_SHORT = 1
"""A question with at most this many content words names no subject."""
MAX_ELLIPTIC = 5
"""The same for a question that begins like a continuation: "and ...", "what about ..."."""
MAX_PRONOMINAL = 4
"""The same for a question with a pronoun that refers back."""

_QUOTED = re.compile(r"«([^«»\n]{2,100})»|“([^“”\n]{2,100})”|\"([^\"\n]{2,100})\"")
_TOKEN = re.compile(r"[^\W_](?:[\w./\-+&@]*[\w])?")
_AMOUNT = re.compile(r"\d{1,3}(?:[.,]\d{3})*(?:[.,]\d+)?|\d{1,4}")
_SENTENCE_START = re.compile(r"(?:^|[.!?¡¿:;…\n])[\s\"«“¿¡(]*$")
_CONNECTORS = frozenset({"de", "del", "la", "las", "los", "el", "y", "e", "of", "the", "da", "do", "dos", "das", "von"})
_NO_NAMES = frozenset({"i", "i'm", "i've", "i'll", "i'd"})

_ELLIPSIS = re.compile(
    r"^[\W_]*(?:y|e|and|but|pero|mas|entonces|so|o|or|ou|what\s+about|how\s+about|"
    r"qu[eé]\s+(?:hay|pasa|tal)|que\s+tal|"
    r"también|tambien|also|além|ademas|además)\b",
    re.IGNORECASE,
)
_TIME = r"(?!\s+(?:años?|mes(?:es)?|semanas?|trimestres?|ejercicios?|year|month|week|quarter|ano|mês|morning)\b)"
_PRONOUN = re.compile(
    rf"\b(?:él|ella|ello|ellos|ellas|est[aeo]s?{_TIME}|es[aeo]s?{_TIME}|aquel|aquell[ao]s?|sus?|lo(?!\s+que\b)"
    r"|dich[ao]s?|mism[ao]s?|ah[ií]|all[ií]"
    rf"|it|its|they|them|their|theirs|this{_TIME}|these|those|he|she|him|his|hers?|that(?!\s+\w)"
    r"|ele|ela|eles|elas|isso|isto|aquilo|essas?|esses?|seus?|suas?|dele|dela|deles|delas|nele|nela)\b",
    re.IGNORECASE,
)


def rewritten(question: str, previous: Sequence[str], *, max_characters: int) -> str:
    """Return the question, a follow-up with the names of the last of the ``previous`` (oldest first) that has any."""
    if not is_follow_up(question):
        return question
    for earlier in reversed(previous):
        if names := anchors(earlier):
            return _with_anchors(question, names, max_characters)
        if content_words(earlier) and not is_small_talk(earlier) and not is_follow_up(earlier):
            break
    return question


def is_follow_up(question: str) -> bool:
    """Return whether a question names no subject of its own. Small talk and empty words ("¿Y ella?") are none."""
    if anchors(question):
        return False
    content = len(content_words(question))
    if is_small_talk(question) or not content or question.strip().isdigit():
        return False
    if content <= MAX_SHORT:
        return True
    if content <= MAX_ELLIPTIC and (_ELLIPSIS.search(question) or _ELLIPSIS.search(without_courtesies(question))):
        return True
    return content <= MAX_PRONOMINAL and _PRONOUN.search(question) is not None


def anchors(question: str) -> list[str]:
    """Return quotations, codes, acronyms and names in order; no names from sentence starts or capitals only."""
    anchored: list[tuple[int, str]] = []
    rest = question
    for quoted in _QUOTED.finditer(question):
        phrase = next(group for group in quoted.groups() if group is not None)
        anchored.append((quoted.start(), phrase.strip()))
        rest = rest[: quoted.start()] + " " * len(quoted[0]) + rest[quoted.end() :]
    shouted = question.upper() == question
    name: list[re.Match[str]] = []
    for token in [*_TOKEN.finditer(rest), None]:
        if token is not None and not _is_code(token[0]) and not shouted and _continues(rest, name, token):
            name.append(token)
            continue
        anchored += _closed(rest, name)
        name = []
        if token is None:
            break
        if _is_code(token[0]):
            anchored.append((token.start(), token[0]))
        elif not shouted and _is_name(rest, token):
            name = [token]
    return list({text.casefold(): text for _, text in sorted(anchored) if text}.values())


def _is_code(token: str) -> bool:
    """Return whether a token has a digit and is more than a small number or an amount."""
    return any(character.isdigit() for character in token) and _AMOUNT.fullmatch(token) is None


def _is_name(text: str, token: re.Match[str]) -> bool:
    word = token[0]
    if word.lower() in _NO_NAMES or not word[0].isupper():
        return False
    is_acronym = len(word) > 1 and word.isupper()
    return is_acronym or _SENTENCE_START.search(text[: token.start()]) is None


def _continues(text: str, name: Sequence[re.Match[str]], token: re.Match[str]) -> bool:
    """Return whether a token continues the name that is being read; a connector does provisionally."""
    if not name or text[name[-1].end() : token.start()].strip():
        return False
    return token[0] in _CONNECTORS or _is_name(text, token)


def _closed(text: str, name: Sequence[re.Match[str]]) -> list[tuple[int, str]]:
    """Return the name that was read, without connectors at its end."""
    kept = list(name)
    while kept and kept[-1][0] in _CONNECTORS:
        kept.pop()
    return [(kept[0].start(), " ".join(text[kept[0].start() : kept[-1].end()].split()))] if kept else []


def _with_anchors(question: str, names: Sequence[str], max_characters: int) -> str:
    text = question
    for anchor in names[:MAX_ANCHORS]:
        longer = f"{text} {anchor}"
        if len(longer) <= max_characters:
            text = longer
    return text

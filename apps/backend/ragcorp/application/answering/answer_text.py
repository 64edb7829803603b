"""Makes the text of a model harmless while it streams: a hostile passage may have dictated it.

Pure. The result cites existing passages only, loads nothing, links only to addresses in the passages, and has no
character that controls a terminal or the direction of the text.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence

from ragcorp.domain.text.neutral_text import neutral_lines

REMOVED = "…"
"""Replaces addresses that are in no passage, and marks of a prompt."""

MAX_CITATION_CHARACTERS = 300
"""After this length an unfinished bracket is no citation."""

_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_KEPT = frozenset("\n\t\u200c\u200d")
"""Joiners are a part of words in some scripts, and of emoji."""
_LINE_ENDS = frozenset("\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029")
_LOOK_ALIKES = {
    **dict.fromkeys("\uff3b\u3010\u301a\u3014\u3016\u27e6\u2045\ufe5d\ufe47\ufe39\ufe3b\ufe17\u298b\u298d\u298f", "["),
    **dict.fromkeys("\uff3d\u3011\u301b\u3015\u3017\u27e7\u2046\ufe5e\ufe48\ufe3a\ufe3c\ufe18\u298c\u298e\u2990", "]"),
}

_DIGITS = "\\d\u00b2\u00b3\u00b9\u2070-\u2079\u2080-\u2089\u2460-\u249b\u24ea-\u24ff\u2776-\u2793"
_NUMBER = f"[{_DIGITS}]+"
_DASHES = "\\-\u2010-\u2015"
_PART = f"[{_DIGITS}\\s,;^{_DASHES}\\[\\]]"
_CITATIONS = re.compile(rf"(\s?)\[\s*({_NUMBER}(?:\s*[,;]\s*{_NUMBER})*)\s*(?:\u2020[^\[\]]{{0,40}})?\]")
_ENDS_A_WORD = re.compile(r"[.,)]*(?:\s|\Z)")
"""Before this, the white space in front of a removed citation is removed too. Elsewhere it stays: the parts around it,
perhaps in an earlier piece, would become one word, as in `< [9]/a`."""
_RANGE = re.compile(rf"\[(?![0-9]{{1,9}}\])([\s,;^{_DASHES}]*{_NUMBER}[{_DIGITS}\s,;^{_DASHES}]*)\]")
_ENDLESS = re.compile(rf"\[(?={_PART}{{{MAX_CITATION_CHARACTERS}}})")
_UNFINISHED = re.compile(rf"\s?\[{_PART}{{0,{MAX_CITATION_CHARACTERS}}}\Z")
_CITED = re.compile(r"\[\d{1,9}\]")
_WITHIN_A_LINE = re.compile(r"(?:\w[.,;)]? ?|\])\Z")
"""Text before a citation that does not begin a line, an item of a list or a quotation."""

_EAST_ASIAN = "\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef"
_BREAK = re.compile(rf"\s|(?<![!-~])[{_EAST_ASIAN}]")
"""Text may be cut before such a character: the patterns below match between two of them."""

_LINK = re.compile(r"\](?=\()")
_DEFINITION = re.compile(r"(\[[^\[\]\s]*)?\](?=:)")
_TAG = re.compile(r"<(?=[/!?|\uff5cA-Za-z])([^<>\s]*)(>?)")
_ENTITY = re.compile(r"&(?=#?\w{1,32};)")
_MARK = re.compile(r"(?:PASSAGES?|QUESTION|END|TEXT|CONVERSATION|MEMORY)-[0-9a-f]{16,}", re.IGNORECASE)
_ADDRESS = re.compile(
    rf"((?:[a-z][a-z0-9+.-]{{0,31}}:/[/\\]|\bwww\.|\b(?:javascript|vbscript|data|mailto|xmpp):)"
    rf"[^\s<>\u2039\u203a\"\u00ab\u00bb{_EAST_ASIAN}]+)([^\s<]*)",
    re.IGNORECASE,
)
"""The second group is text that a program may take for a part of the address."""
_AFTER_ADDRESS = ".,;:!?)]}'*_`…"


class AnswerText:
    """Makes text harmless that comes in pieces; the results together are the answer, wherever the text was cut.

    Citations [n] stay if ``allowed`` contains n; [1, 2] becomes [1][2]. A link [a](b) becomes [a] (b), the angles of a
    tag become single guillemets, and an address in none of the ``sources`` an ellipsis. White space around is stripped.
    """

    def __init__(self, *, allowed: frozenset[int], sources: Iterable[str] = ()) -> None:
        self._allowed = allowed
        self._sources = sources
        self._readable: Sequence[str] | None = None
        self._pending = ""
        self._before = ""
        self._spaces = ""

    def feed(self, text: str) -> str:
        """Return the text that is safe to show; the last word waits."""
        self._pending += text if text.isascii() and text.isprintable() else "".join(map(_plain, text))
        if len(self._pending) > MAX_CITATION_CHARACTERS:
            self._pending = _ENDLESS.sub("(", self._pending)
        cut = self._cut()
        text, self._pending = self._pending[:cut], self._pending[cut:]
        return self._shown(text)

    def finish(self) -> str:
        """Return the rest of the text."""
        text, self._pending = self._pending, ""
        return self._shown(text)

    def _cut(self) -> int:
        """Return the last place where the text may be cut, 0 if there is none."""
        place = len(self._pending)
        if not _BREAK.search(self._pending, 1):
            return 0
        while place > 0:
            place -= 1
            while place > 0 and not _BREAK.match(self._pending, place):
                place -= 1
            unfinished = _UNFINISHED.search(self._pending, 0, place)
            if unfinished is None:
                return place
            place = unfinished.start() + 1
        return 0

    def _shown(self, text: str) -> str:
        # repeated: the text around a removed citation may be a citation, as in [9[9]]
        while (checked := _RANGE.sub(r"(\1)", _CITATIONS.sub(self._allowed_citations, text))) != text:
            text = checked
        text = _LINK.sub("] ", text)
        text = _ENTITY.sub("& ", _TAG.sub(lambda tag: f"\u2039{tag[1]}{tag[2] and chr(0x203A)}", text))
        text = _ADDRESS.sub(self._address, _MARK.sub(REMOVED, text))
        if not self._before:
            text = text.lstrip()
        text = _DEFINITION.sub(self._defused, text)
        self._before = (self._before + text)[-2:]
        # white space waits: it may be the last of the text
        whole = self._spaces + text
        shown = whole.rstrip()
        self._spaces = whole[len(shown) :]
        return shown

    def _allowed_citations(self, match: re.Match[str]) -> str:
        numbers = (_value(number) for number in re.findall(_NUMBER, match[2]))
        kept = "".join(f"[{n}]" for n in numbers if n in self._allowed)
        if not kept and _ENDS_A_WORD.match(match.string, match.end()):
            return ""
        return match[1] + kept

    def _defused(self, match: re.Match[str]) -> str:
        """Separate the end of a label from its colon: [1]: at the start of a line defines a link."""
        begin = match.start()
        before = (self._before + match.string[max(0, begin - 2) : begin])[-2:]
        if _WITHIN_A_LINE.search(before) and _CITED.fullmatch(match[0]):
            return match[0]
        return f"{match[0]} "

    def _address(self, match: re.Match[str]) -> str:
        address = match[1].rstrip(_AFTER_ADDRESS)
        if self._readable is None:
            self._readable = [form for source in self._sources for form in (source, neutral_lines(source))]
        rest = _ADDRESS.sub(self._address, match[2])
        if not any(address in source for source in self._readable):
            return f"{REMOVED}{match[1][len(address) :]}{rest}"
        return f"{match[1]} {rest}" if rest else match[1]


def neutral_piece(text: str, *, sources: Iterable[str]) -> str:
    """Return a whole piece of an answer, made harmless, without any citation of its own."""
    checked = AnswerText(allowed=frozenset(), sources=sources)
    return checked.feed(text) + checked.finish()


def _plain(character: str) -> str:
    if character in _KEPT:
        return character
    if character in _LINE_ENDS:
        return "\n"
    if character in _LOOK_ALIKES:
        return _LOOK_ALIKES[character]
    if unicodedata.category(character) in _UNSEEN or "\U000e0000" <= character <= "\U000e0fff":
        return ""
    return character


def _value(number: str) -> int:
    plain = unicodedata.normalize("NFKC", number)
    return int(plain) if plain.isdecimal() and len(plain) < 10 else -1

"""Makes what a model writes harmless while it streams: it is data, and may be what a hostile passage told it to write.

Pure. What is left cites the passages that there are, loads nothing, leads nowhere but where a passage itself says, and
holds no character that does something to a terminal or to the order of the text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

from ragcorp.domain.text.neutral_text import neutral_lines

REMOVED = "…"
"""Stands for an address that no passage holds, and for a mark of a prompt."""

MAX_CITATION_CHARACTERS = 300
"""A bracket that could become a citation for longer than that is none."""

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
"""Before it white space goes with the citation that it led to. Elsewhere it stays: what stood apart, perhaps in an
earlier piece, would be one word now, as in `< [9]/a`."""
_RANGE = re.compile(rf"\[(?![0-9]{{1,9}}\])([\s,;^{_DASHES}]*{_NUMBER}[{_DIGITS}\s,;^{_DASHES}]*)\]")
_ENDLESS = re.compile(rf"\[(?={_PART}{{{MAX_CITATION_CHARACTERS}}})")
_UNFINISHED = re.compile(rf"\s?\[{_PART}{{0,{MAX_CITATION_CHARACTERS}}}\Z")
_CITED = re.compile(r"\[\d{1,9}\]")
_WITHIN_A_LINE = re.compile(r"(?:\w[.,;)]? ?|\])\Z")
"""What stands before a citation where no line begins, nor the text of a list's item or of a quotation."""

_EAST_ASIAN = "\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef"
_BREAK = re.compile(rf"\s|(?<![!-~])[{_EAST_ASIAN}]")
"""Before such a character a text may be cut: what is changed below stands between two of them."""

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
"""And what a reader's program would take for a part of it."""
_AFTER_ADDRESS = ".,;:!?)]}'*_`…"


class AnswerText:
    """Removes from text that comes in pieces what a reader must not get; the pieces together are the answer.

    They give what the whole text gives, wherever it is cut, without white space around it. Of [n] only those in
    ``allowed`` stay, and [1, 2] is written as [1][2]. A link [a](b) becomes [a] (b), the angles of a tag single
    guillemets, and an address that stands in none of the ``sources`` an ellipsis.
    """

    def __init__(self, *, allowed: frozenset[int], sources: Iterable[str] = ()) -> None:
        self._allowed = allowed
        self._sources = sources
        self._readable: Sequence[str] | None = None
        self._held = ""
        self._before = ""
        self._spaces = ""

    def feed(self, text: str) -> str:
        """Return what of the text so far is safe to show; the word that it ends in is held back."""
        self._held += _cleaned(text)
        if len(self._held) > MAX_CITATION_CHARACTERS:
            self._held = _ENDLESS.sub("(", self._held)
        cut = self._cut()
        text, self._held = self._held[:cut], self._held[cut:]
        return self._shown(text)

    def finish(self) -> str:
        """Return what was held back."""
        text, self._held = self._held, ""
        return self._shown(text)

    def _cut(self) -> int:
        """Return the last place where the text may be cut, 0 if there is none."""
        place = len(self._held)
        if not _BREAK.search(self._held, 1):
            return 0
        while place > 0:
            place -= 1
            while place > 0 and not _BREAK.match(self._held, place):
                place -= 1
            unfinished = _UNFINISHED.search(self._held, 0, place)
            if unfinished is None:
                return place
            place = unfinished.start() + 1
        return 0

    def _shown(self, text: str) -> str:
        # again until nothing changes: what is left around a removed one, as in [9[9]], may be one itself
        while (checked := _RANGE.sub(_in_round_brackets, _CITATIONS.sub(self._kept, text))) != text:
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

    def _kept(self, found: re.Match[str]) -> str:
        numbers = (_value(number) for number in re.findall(_NUMBER, found[2]))
        kept = "".join(f"[{n}]" for n in numbers if n in self._allowed)
        if not kept and _ENDS_A_WORD.match(found.string, found.end()):
            return ""
        return found[1] + kept

    def _defused(self, found: re.Match[str]) -> str:
        """Return the end of a label apart from its colon, as [1]: at the start of a line says where [1] leads."""
        begin = found.start()
        before = (self._before + found.string[max(0, begin - 2) : begin])[-2:]
        if _WITHIN_A_LINE.search(before) and _CITED.fullmatch(found[0]):
            return found[0]
        return f"{found[0]} "

    def _address(self, found: re.Match[str]) -> str:
        address = found[1].rstrip(_AFTER_ADDRESS)
        if self._readable is None:
            self._readable = [form for source in self._sources for form in (source, neutral_lines(source))]
        rest = _ADDRESS.sub(self._address, found[2])
        if not any(address in source for source in self._readable):
            return f"{REMOVED}{found[1][len(address) :]}{rest}"
        return f"{found[1]} {rest}" if rest else found[1]


def neutral_piece(text: str, *, sources: Iterable[str]) -> str:
    """Return a whole piece of an answer, made harmless, without any citation of its own."""
    checked = AnswerText(allowed=frozenset(), sources=sources)
    return checked.feed(text) + checked.finish()


def _cleaned(text: str) -> str:
    return "".join(map(_plain, text)) if not text.isascii() or not text.isprintable() else text


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


def _in_round_brackets(found: re.Match[str]) -> str:
    return f"({found[1]})"


def _value(number: str) -> int:
    plain = unicodedata.normalize("NFKC", number)
    return int(plain) if plain.isdecimal() and len(plain) < 10 else -1

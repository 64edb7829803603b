"""What a query mentions: files, symbols, clauses, articles, headings and codes, in any writing. Pure, by rules.

Strong mentions are told by their shape (``auth.go``, ``validateToken``), by quotation marks, or by a word beside them
("la función login", "cláusula 4.2"). Weak ones are the plain words that are left, alone and two to four together: each
counts only where it is the name of one thing. Linear in the length of the query.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ragcorp.application.structure.mentions.cues import cue_of, cued, cued_behind, with_words_before
from ragcorp.application.structure.mentions.file_names import files_with_signs
from ragcorp.application.structure.mentions.numbered import numbered
from ragcorp.application.structure.mentions.relations import bound_to_files, kinds_of, speaks_of_code, with_owner
from ragcorp.application.structure.mentions.shapes import Mention, is_code_file, known, shaped
from ragcorp.application.structure.mentions.tokens import Token, composed, says_something, tokens
from ragcorp.domain.text.account_numbers import account_at
from ragcorp.domain.text.entity_names import identifier_name, stem_name, symbol_name
from ragcorp.domain.text.folding import folded_in_place

MAX_STRONG = 40
"""Mentions of a query that are looked up; those behind them are not."""

MAX_WEAK_WORDS = 20
"""Plain words of a query that are looked up, alone and together with those behind them."""

MAX_RUN = 4
_ACCOUNT = re.compile(r"(?<!\w)[A-Z]{2}[0-9]{2}[ \u00a0]")
MIN_DIGITS = 3
"""Of a code that is written with blanks: ``FAC 2024 0113``."""

__all__ = ["Mention", "mentions"]


def mentions(query: str) -> tuple[Mention, ...]:
    """Return the mentions in the order of the query; a longer one before those in it."""
    text = composed(query)
    strong: dict[tuple[int, int, tuple[str, ...]], Mention] = {}
    taken: list[tuple[int, int]] = []
    for mention, start, end in numbered(text, folded_in_place(text)):
        strong[mention.start, mention.end, mention.names] = mention
        taken.append((start, end))
        if len(strong) == MAX_STRONG:
            break
    for mention, start, end in (*_accounts(text), *files_with_signs(text)):
        if len(strong) == MAX_STRONG:
            break
        if not any(start < finish and begin < end for begin, finish in taken):
            strong.setdefault((mention.start, mention.end, mention.names), mention)
            taken.append((start, end))
    found = _outside(tokens(text), sorted(taken))
    claimed: set[int] = set()
    weak: list[Mention] = []
    for mention, first, behind in _strong(text, found):
        if len(strong) == MAX_STRONG:
            break
        if mention.weak:
            weak.append(mention)
            weak = weak[:MAX_STRONG]
        elif mention.names:
            strong.setdefault((mention.start, mention.end, mention.names), mention)
            claimed.update(range(first, behind))
    code = speaks_of_code(found, strong.values())
    weak = [replace(each, code=code) for each in (*weak, *_plain_words(text, found, claimed))]
    said = {(each.start, each.end, each.names): each for each in (*weak, *strong.values()) if each.names}
    ordered = sorted(said.values(), key=lambda each: (each.start, -each.end, each.weak, each.names))
    return tuple(bound_to_files(text, ordered))


def _strong(text: str, found: Sequence[Token]) -> Iterator[tuple[Mention, int, int]]:
    """Yield what is told by cues and by shapes, with the places of the tokens that it takes."""
    until = 0
    for place, token in enumerate(found):
        if place < until:
            continue
        if before := cued_behind(text, found, place):
            said = with_owner(text, found, place + 1, replace(before, kinds=kinds_of(token.text)))
            yield said if said.names[0].startswith("symbol:") else before, place, place
        if cue_of(token):
            for mention, behind in _told_more(text, found, place):
                yield mention, place, behind
                until = max(until, behind)  # a heading leaves the compound behind its cue to be read by its shape
            continue
        for mention in shaped(token):
            blanks = mention.extension and not mention.folders and not is_code_file(mention.text)
            file = with_words_before(text, found, place, mention) if blanks and not token.quote else mention
            symbol = bool(file.names) and file.names[0].startswith("symbol:")
            yield with_owner(text, found, place + 1, file) if symbol else file, place, place + 1


def _told_more(text: str, found: Sequence[Token], place: int) -> Iterator[tuple[Mention, int]]:
    """Yield what a cue names with the kind that it says, and what stands behind the last of them for all."""
    named = list(cued(text, found, place))
    for mention, behind in named:
        if not mention.names[0].startswith("symbol:"):
            yield mention, behind
            continue
        last = with_owner(text, found, _end(found, named[-1][0], named[-1][1]), mention)
        yield replace(last, kinds=kinds_of(found[place].text)), behind


def _end(found: Sequence[Token], mention: Mention, behind: int) -> int:
    """Return the place behind the whole of a mention of several words."""
    while behind < len(found) and found[behind].end <= mention.end:
        behind += 1
    return behind


def _plain_words(text: str, found: Sequence[Token], claimed: set[int]) -> Iterator[Mention]:
    looked_up = 0
    for place, token in enumerate(found):
        if place in claimed or not token.is_word:
            continue
        yield from _spaced_code(text, found, place)
        if not says_something(token.text):
            continue
        looked_up += 1
        if looked_up > MAX_WEAK_WORDS:
            return
        if cue_of(token) is None and not any(not each.weak for each in shaped(token)):
            yield Mention(
                text=token.text,
                start=token.start,
                end=token.end,
                names=known(symbol_name(token.text), stem_name(f"{token.text}.x")),
                weak=True,
                word=token.text,
            )
        yield from _runs(text, found, place, claimed)


def _runs(text: str, found: Sequence[Token], place: int, claimed: set[int]) -> Iterator[Mention]:
    """Yield the runs of words that begin at a place and may spell one name together: ``validate token``."""
    for last in range(place + 1, min(place + MAX_RUN, len(found))):
        token = found[last]
        if last in claimed or not token.glued or not token.is_word:
            return
        if says_something(token.text):
            joined = "".join(each.text for each in found[place : last + 1])
            yield Mention(
                text=text[found[place].start : token.end],
                start=found[place].start,
                end=token.end,
                names=known(symbol_name(joined), stem_name(f"{joined}.x")),
                weak=True,
            )


def _spaced_code(text: str, found: Sequence[Token], place: int) -> Iterator[Mention]:
    """Yield a code whose parts are separated by blanks: ``ISO 27001``, ``FAC 2024 0113``."""
    last = place
    for token in found[place + 1 : place + MAX_RUN]:
        if not token.glued or not token.text.isdecimal():
            break
        last += 1
    written = text[found[place].start : found[last].end]
    digits = sum(character.isdecimal() for character in written)
    if last > place and digits >= MIN_DIGITS and (found[place].text.isupper() or last > place + 1):
        yield Mention(
            text=written,
            start=found[place].start,
            end=found[last].end,
            names=known(identifier_name(written)),
            weak=True,
        )


def _accounts(text: str) -> Iterator[tuple[Mention, int, int]]:
    """Yield account numbers (IBAN) that are written in groups, with their spans."""
    for begin in _ACCOUNT.finditer(text):
        if account := account_at(text, begin.start()):
            end = begin.start() + len(account)
            code = Mention(text=account, start=begin.start(), end=end, names=known(identifier_name(account)))
            yield code, code.start, code.end


def _outside(found: Sequence[Token], taken: Sequence[tuple[int, int]]) -> list[Token]:
    """Return the tokens that lie in no span; spans come in order and apart from one another."""
    outside: list[Token] = []
    place = 0
    for token in found:
        while place < len(taken) and taken[place][1] <= token.outer_start:
            place += 1
        inside = place < len(taken) and taken[place][0] < token.outer_end
        if not inside or (token.quote and token.outer_end > taken[place][1] and token.outer_start < taken[place][0]):
            outside.append(token)
    return outside

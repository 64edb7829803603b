"""Finds the mentions of a query: files, symbols, clauses, articles, headings and codes. Pure; linear time.

Strong mentions have a telling shape (``auth.go``, ``validateToken``), quotation marks, or a cue next to them ("la
función login", "cláusula 4.2"). Weak ones are the remaining plain words, alone and in runs of two to four: they count
only as a unique name.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ragcorp.application.structure.mentions.cues import cue_of, cued, mention_before, with_words_before
from ragcorp.application.structure.mentions.numbered import numbered
from ragcorp.application.structure.mentions.relations import bound_to_files, kinds_of, speaks_of_code, with_owner
from ragcorp.application.structure.mentions.shapes import Mention, distinct, is_code_file, is_file, shaped
from ragcorp.application.structure.mentions.tokens import Token, composed, has_content, tokenize
from ragcorp.domain.text.account_numbers import account_at
from ragcorp.domain.text.entity_names import file_name, identifier_name, is_empty, stem_name, symbol_name
from ragcorp.domain.text.folding import folded_in_place

MAX_STRONG = 40
"""Maximum strong mentions of a query."""

MAX_WEAK_WORDS = 20
"""Maximum plain words of a query that start a weak mention."""

MAX_RUN = 4
_ACCOUNT = re.compile(r"(?<!\w)[A-Z]{2}[0-9]{2}[ \u00a0]")
MIN_DIGITS = 3
"""Minimum digits of a code with spaces: ``FAC 2024 0113``."""

MAX_FILE_WORDS = 5
"""Maximum words of a name with spaces."""

MAX_FILE_WORD = 80
"""Maximum characters of each word."""

_CHUNK = re.compile(r"\S+")
_LEADING = "¿¡\"'`«\u201c\u201e\u2018([<*"
_TRAILING = ".,;:!?)\"'`»\u201d\u2019]>*"
_SIGN = re.compile(r"\w['\u2019&+]\w|\)\.\w")
_BARE_WORD = re.compile(r"[(\"'`\u201c\u201e\u2018[*«]?[\w&+][\w'\u2019&+.-]*[)]?")


def mentions(query: str) -> tuple[Mention, ...]:
    """Return the mentions in query order; a longer one before those inside it."""
    text = composed(query)
    strong: dict[tuple[int, int, tuple[str, ...]], Mention] = {}
    taken: list[tuple[int, int]] = []
    for mention, start, end in numbered(text, folded_in_place(text)):
        strong[mention.start, mention.end, mention.names] = mention
        taken.append((start, end))
        if len(strong) == MAX_STRONG:
            break
    for mention, start, end in (*_accounts(text), *_files_with_signs(text)):
        if len(strong) == MAX_STRONG:
            break
        if not any(start < finish and begin < end for begin, finish in taken):
            strong.setdefault((mention.start, mention.end, mention.names), mention)
            taken.append((start, end))
    tokens = _outside(tokenize(text), sorted(taken))
    claimed: set[int] = set()
    weak: list[Mention] = []
    for mention, first, after in _strong(text, tokens):
        if len(strong) == MAX_STRONG:
            break
        if mention.weak:
            weak.append(mention)
            weak = weak[:MAX_STRONG]
        elif mention.names:
            strong.setdefault((mention.start, mention.end, mention.names), mention)
            claimed.update(range(first, after))
    code = speaks_of_code(tokens, strong.values())
    weak = [replace(mention, code=code) for mention in (*weak, *_plain_words(text, tokens, claimed))]
    by_place = {
        (mention.start, mention.end, mention.names): mention for mention in (*weak, *strong.values()) if mention.names
    }
    ordered = sorted(by_place.values(), key=lambda mention: (mention.start, -mention.end, mention.weak, mention.names))
    return tuple(bound_to_files(text, ordered))


def _strong(text: str, tokens: Sequence[Token]) -> Iterator[tuple[Mention, int, int]]:
    """Yield the mentions by cue and by shape, with the range of tokens that each claims."""
    until = 0
    for place, token in enumerate(tokens):
        if place < until:
            continue
        if before := mention_before(text, tokens, place):
            owned = with_owner(text, tokens, place + 1, replace(before, kinds=kinds_of(token.text)))
            yield owned if owned.names[0].startswith("symbol:") else before, place, place
        if cue_of(token):
            for mention, after in _cued_with_kind(text, tokens, place):
                yield mention, place, after
                until = max(until, after)  # the compound after a heading cue is also read by its shape
            continue
        for mention in shaped(token):
            blanks = mention.extension and not mention.folders and not is_code_file(mention.text)
            file = with_words_before(text, tokens, place, mention) if blanks and not token.quote else mention
            symbol = bool(file.names) and file.names[0].startswith("symbol:")
            yield with_owner(text, tokens, place + 1, file) if symbol else file, place, place + 1


def _cued_with_kind(text: str, tokens: Sequence[Token], place: int) -> Iterator[tuple[Mention, int]]:
    """Yield the mentions of a cue with its kind and, for all of them, the owner after the last one."""
    named = list(cued(text, tokens, place))
    for mention, after in named:
        if not mention.names[0].startswith("symbol:"):
            yield mention, after
            continue
        last = with_owner(text, tokens, _end(tokens, named[-1][0], named[-1][1]), mention)
        yield replace(last, kinds=kinds_of(tokens[place].text)), after


def _end(tokens: Sequence[Token], mention: Mention, after: int) -> int:
    """Return the index after the last token of a mention of several words."""
    while after < len(tokens) and tokens[after].end <= mention.end:
        after += 1
    return after


def _plain_words(text: str, tokens: Sequence[Token], claimed: set[int]) -> Iterator[Mention]:
    looked_up = 0
    for place, token in enumerate(tokens):
        if place in claimed or not token.is_word:
            continue
        yield from _spaced_code(text, tokens, place)
        if not has_content(token.text):
            continue
        looked_up += 1
        if looked_up > MAX_WEAK_WORDS:
            return
        if cue_of(token) is None and not any(not mention.weak for mention in shaped(token)):
            yield Mention(
                text=token.text,
                start=token.start,
                end=token.end,
                names=distinct(symbol_name(token.text), stem_name(f"{token.text}.x")),
                weak=True,
                word=token.text,
            )
        yield from _runs(text, tokens, place, claimed)


def _runs(text: str, tokens: Sequence[Token], place: int, claimed: set[int]) -> Iterator[Mention]:
    """Yield the runs of words from an index that may spell one name: ``validate token``."""
    for last in range(place + 1, min(place + MAX_RUN, len(tokens))):
        token = tokens[last]
        if last in claimed or not token.glued or not token.is_word:
            return
        if has_content(token.text):
            joined = "".join(token.text for token in tokens[place : last + 1])
            yield Mention(
                text=text[tokens[place].start : token.end],
                start=tokens[place].start,
                end=token.end,
                names=distinct(symbol_name(joined), stem_name(f"{joined}.x")),
                weak=True,
            )


def _spaced_code(text: str, tokens: Sequence[Token], place: int) -> Iterator[Mention]:
    """Yield a code whose parts are separated by spaces: ``ISO 27001``, ``FAC 2024 0113``."""
    last = place
    for token in tokens[place + 1 : place + MAX_RUN]:
        if not token.glued or not token.text.isdecimal():
            break
        last += 1
    written = text[tokens[place].start : tokens[last].end]
    digits = sum(character.isdecimal() for character in written)
    if last > place and digits >= MIN_DIGITS and (tokens[place].text.isupper() or last > place + 1):
        yield Mention(
            text=written,
            start=tokens[place].start,
            end=tokens[last].end,
            names=distinct(identifier_name(written)),
            weak=True,
        )


def _accounts(text: str) -> Iterator[tuple[Mention, int, int]]:
    """Yield account numbers (IBAN) written in groups, with their spans."""
    for begin in _ACCOUNT.finditer(text):
        if account := account_at(text, begin.start()):
            end = begin.start() + len(account)
            code = Mention(text=account, start=begin.start(), end=end, names=distinct(identifier_name(account)))
            yield code, code.start, code.end


def _files_with_signs(text: str) -> Iterator[tuple[Mention, int, int]]:
    """Yield files whose names have signs that no token has: ``Contrato Ñandú (firmado).md``; longest name first."""
    before: list[re.Match[str]] = []
    for chunk in _CHUNK.finditer(text):
        word = chunk[0]
        if len(word) <= MAX_FILE_WORD and _SIGN.search(word):
            end = chunk.start() + len(word.rstrip(_TRAILING))
            start = _opened(text, chunk.start(), end)
            if start < end and is_file(text[start:end]) and "/" not in word and "\\" not in word:
                yield _named_file(text, before, start, end), start, end
        before = (
            [*before[1 - MAX_FILE_WORDS :], chunk] if len(word) <= MAX_FILE_WORD and _BARE_WORD.fullmatch(word) else []
        )


def _named_file(text: str, before: list[re.Match[str]], start: int, end: int) -> Mention:
    starts = [_opened(text, match.start(), end) for match in before if "\n" not in text[match.start() : start]]
    names = {file_name(text[begin:end]): (begin, end) for begin in (*starts, start)}
    names = {name: span for name, span in names.items() if not is_empty(name)}
    first = min(begin for begin, _ in names.values())
    return Mention(
        text=text[first:end],
        start=first,
        end=end,
        names=tuple(names),
        extension=text[start:end].rpartition(".")[2].lower(),
        spans=tuple(names.values()),
    )


def _opened(text: str, start: int, end: int) -> int:
    """Return the start of a name after quotation marks and an unclosed parenthesis."""
    while start < end and text[start] in _LEADING:
        if text[start] == "(" and text.count("(", start, end) <= text.count(")", start, end):
            break
        start += 1
    return start


def _outside(tokens: Sequence[Token], taken: Sequence[tuple[int, int]]) -> list[Token]:
    """Return the tokens outside all spans, which are ordered and disjoint."""
    outside: list[Token] = []
    place = 0
    for token in tokens:
        while place < len(taken) and taken[place][1] <= token.outer_start:
            place += 1
        inside = place < len(taken) and taken[place][0] < token.outer_end
        if not inside or (token.quote and token.outer_end > taken[place][1] and token.outer_start < taken[place][0]):
            outside.append(token)
    return outside

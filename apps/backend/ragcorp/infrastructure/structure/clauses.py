"""Finds the lines and headings that begin clauses and articles of contracts and laws."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from ragcorp.domain.structure.entities import EntityKind
from ragcorp.domain.text.entity_names import article_name, clause_name, heading_name, is_empty
from ragcorp.infrastructure.markdown_blocks import BlockHeading
from ragcorp.infrastructure.structure.beginnings import CLAUSE, FIGURE, MAX_TITLE, Beginning, beginning, title_below
from ragcorp.infrastructure.structure.clause_order import in_order
from ragcorp.infrastructure.structure.text_span import Lines, Mark

MAX_HEAD = 300
"""Characters of a line that are looked at."""
MAX_ENTRY, FEW_WORDS = 120, 2
"""Of a line in a table of contents; one of few words may end with a stop (``Artículo 14.``)."""
SHORT_LINE = 60
"""Characters; a line of prose that is broken in its middle is longer."""

_LEAD = re.compile(r"[ \t\f\u00a0\ufeff>*_\\]{0,12}")
_CONTENTS = re.compile(r"(?:\.[ .]{2,}|\u2026[ .\u2026]*|\t+| {3,})[ \t]*[0-9]{1,4}[ \t]*$")
"""A line of a table of contents ends with a page number."""
_ENDS = (".", ":", ";", "!", "?", ")", "»", "”", '"', "-", "\u2013", "\u2014", "|", "*", "_")
_STOPS = " .:)]-\u2010\u2011\u2012\u2013\u2014\u2015\u2212ªº°|*_"
_JOINING = re.compile(
    r"(?:^|\W)(?:a|al|ante|and|art|arts|by|con|de|del|do|da|e|el|en|entre|in|la|las|lo|los|of|o|or|para|por|según|the|to|u"
    r"|und|under|with|y)\.?$",
    re.IGNORECASE,
)
_CONTRACT = re.compile(
    r"\b(?:contrato|convenio|acuerdo|estatutos|condiciones (?:generales|particulares)|agreement|contract"
    r"|terms and conditions|pliego|contracte|conveni|acordo)\b",
    re.IGNORECASE,
)
_PARTIES = re.compile(
    r"\b(?:cl[áa]usulas?|cl[àa]usules|estipulaciones|(?:las|ambas) partes|as partes|the parties|hereby|clauses?)\b",
    re.IGNORECASE,
)
BEGINNING = 500
"""Characters within which a contract names itself."""


_Found = tuple[int, Beginning]


def is_contract(text: str) -> bool:
    return _CONTRACT.search(text, 0, BEGINNING) is not None and _PARTIES.search(text) is not None


def clause_marks(
    text: str, lines: Lines, *, headings: Sequence[BlockHeading], closed: Sequence[tuple[int, int]]
) -> tuple[Mark, ...]:
    """Return the marks of clauses, articles, annexes and provisions in text order.

    A mark at the offset of a heading replaces it. References in running text, tables of contents and lists do not
    count; figures (``4.2 Plazo``) and bare ordinals (``SEGUNDA.-``) count if they come in order.
    """
    contract = is_contract(text)
    levels = {heading.offset: heading for heading in headings}
    found: list[_Found] = []
    for offset, index in _open_lines(lines, closed):
        heading = levels.get(offset)
        begins = beginning(heading.title, heading=True, contract=contract) if heading else _of_line(lines, index)
        if begins:
            found.append((offset, begins))
    kept = _without_contents(text, lines, _counted(found, contract=contract), frozenset(levels))
    begun = frozenset(levels).union(offset for offset, _ in kept)
    return tuple(
        _mark(offset, begins, levels.get(offset), below=_below(lines, offset, begins, begun)) for offset, begins in kept
    )


def _below(lines: Lines, offset: int, begins: Beginning, begun: frozenset[int]) -> str:
    """Return the title in the line below a number, or below a blank line; "" where a sentence begins there."""
    index = lines.index(offset) + 1
    alone = " ".join(_bare(lines, index - 1).split()).rstrip(_STOPS)
    if begins.title or not alone.endswith(begins.name.rstrip(_STOPS)):
        return ""
    gap = not _bare(lines, index)
    index += gap
    title = "" if _begins(lines, index, begun) else title_below(_bare(lines, index))
    after = "" if _begins(lines, index + 1, begun) else _bare(lines, index + 1)
    if not after:
        return "" if title.endswith(".") else title
    goes_on = after[0].islower() or _JOINING.search(title) is not None
    return "" if gap or goes_on else title.removesuffix(".")


def _bare(lines: Lines, index: int) -> str:
    return lines.head(index, MAX_HEAD).strip(" \t\u00a0*_") if index < len(lines.starts) else ""


def _begins(lines: Lines, index: int, begun: frozenset[int]) -> bool:
    return index < len(lines.starts) and lines.starts[index] in begun


def _open_lines(lines: Lines, closed: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    spans = iter((*closed, (len(lines.text) + 1, len(lines.text) + 1)))
    start, end = next(spans)
    for index, offset in enumerate(lines.starts):
        while offset >= end and start <= len(lines.text):
            start, end = next(spans)
        if not start <= offset < end:
            yield offset, index


def _of_line(lines: Lines, index: int) -> Beginning | None:
    start, text = lines.starts[index], lines.text
    lead = _LEAD.match(text, start)
    first = lead.end() if lead else start
    if first >= len(text) or not (text[first].isupper() or text[first] in "0123456789"):
        return None
    head = lines.head(index, MAX_HEAD)[first - start :]
    bold = "*" in text[start:first] or "__" in text[start:first]
    head = head.replace("*", "").replace("__", "").replace("\\", "").rstrip()
    begins = beginning(head, heading=False, contract=False)
    if begins is None or not _starts_paragraph(lines, index):
        return None
    if _CONTENTS.search(lines.tail(index, MAX_HEAD)):
        return replace(begins, sure=False, contents=True)
    if begins.sure or begins.titled:
        return begins
    brief = len(head) <= MAX_TITLE and not head.endswith((".", ";", ",", ":"))
    alone = brief and _stands_alone(lines, index)
    return replace(begins, titled=bool(begins.title) and (bold or alone or begins.title.isupper()), brief=brief)


def _stands_alone(lines: Lines, index: int) -> bool:
    return all(
        not lines.head(near, MAX_HEAD).strip() for near in (index - 1, index + 1) if 0 <= near < len(lines.starts)
    )


def _starts_paragraph(lines: Lines, index: int) -> bool:
    """Return whether a line does not continue the sentence of the line before."""
    if index == 0:
        return True
    before = lines.tail(index - 1, MAX_HEAD).rstrip()
    if not before.strip() or before.endswith(_ENDS):
        return True
    whole = lines.end(index - 1) - lines.starts[index - 1]
    return whole <= SHORT_LINE and not before.endswith(",") and not _JOINING.search(before)


def _counted(found: Sequence[_Found], *, contract: bool) -> list[_Found]:
    """Return the sure ones, and of the others those that come in order."""
    candidates = _until_cue(found, {offset for offset, begins in found if begins.sure and begins.rank == CLAUSE})
    numbered = [(offset, begins) for offset, begins in candidates if begins.number is not None]
    accepted = in_order([begins for _, begins in numbered], contract=contract)
    ordered = {numbered[position][0] for position in accepted}
    kept = [(offset, begins) for offset, begins in candidates if begins.sure or offset in ordered]
    return _until_cue(kept, {offset for offset, begins in kept if begins.rank == CLAUSE})


def _until_cue(found: Sequence[_Found], cues: set[int]) -> list[_Found]:
    """Omit single figures after the first named clause: they number its paragraphs."""
    first = min(cues, default=None)
    return [
        (offset, begins)
        for offset, begins in found
        if begins.sure or begins.rank != FIGURE or first is None or offset < first
    ]


def _without_contents(text: str, lines: Lines, found: list[_Found], levels: frozenset[int]) -> list[_Found]:
    """Omit the lines of a table of contents: entries that occur again later with more text."""
    bounds = [*sorted(levels | {offset for offset, _ in found}), len(text)]
    following = dict(pairwise(bounds))
    labels = [_label(begins) for _, begins in found]
    lengths = [len(text[offset : following[offset]].strip()) for offset, _ in found]
    longest: dict[str, int] = {}
    dropped = [begins.contents for _, begins in found]
    for position in range(len(found) - 1, -1, -1):
        offset = found[position][0]
        later = longest.get(labels[position])
        if later is not None and offset not in levels and _is_entry(lines, offset, following[offset]):
            behind = position + 1 < len(found) and dropped[position + 1]
            dropped[position] |= later > lengths[position] or behind
        longest[labels[position]] = max(later or 0, lengths[position])
    last = {label: position for position, label in enumerate(labels)}
    first = 0
    for position in range(1, len(found) - 1):
        if not dropped[position - 1]:
            first = position
        elif not dropped[position] and found[position][0] not in levels:
            # the text follows the last line of the contents
            dropped[position] = labels[position + 1] == labels[first] and last[labels[position]] > position
    return [entry for position, entry in enumerate(found) if not dropped[position]]


def _is_entry(lines: Lines, offset: int, end: int) -> bool:
    """Return whether a part is a single line that could be an entry of a table of contents."""
    index = lines.index(offset)
    line = lines.head(index, MAX_ENTRY + 1).rstrip("*_ ")
    alone = not lines.text[lines.end(index) : end].strip()
    return alone and len(line) <= MAX_ENTRY and (len(line.split()) <= FEW_WORDS or not line.endswith((".", ";", ":")))


def _label(begins: Beginning) -> str:
    if begins.kind is EntityKind.SECTION:
        return heading_name(begins.group or begins.name)
    return f"{begins.kind.value} {begins.number}"


def _mark(offset: int, begins: Beginning, heading: BlockHeading | None, *, below: str) -> Mark:
    title = heading.title if heading else begins.name
    written = [title, begins.name, begins.title, begins.group, below, below and f"{begins.name} {below}"]
    if begins.group and begins.title:
        written.append(begins.name.removesuffix(begins.title).rstrip(" .:-"))
    names = [heading_name(text) for text in written if text]
    label = title
    if begins.kind is not EntityKind.SECTION:
        label = f"{begins.kind.value} {begins.number}"
    if begins.number is not None:
        names.insert(0, (article_name if begins.kind is EntityKind.ARTICLE else clause_name)(begins.number))
    return Mark(
        offset=offset,
        kind=begins.kind,
        label=label,
        name=title,
        names=tuple(name for name in dict.fromkeys(names) if not is_empty(name)),
        level=heading.level if heading else None,
        rank=begins.rank,
        number=begins.number,
    )

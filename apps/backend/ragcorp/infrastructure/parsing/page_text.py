"""From the lines that a PDF shows to running text: whole sentences, headings, page starts."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from itertools import islice, takewhile

_PAGE_WORD = r"(?:p[áa]gina|p[áa]g\.?|page|p\.|hoja|folio)"
_DASH = "[-\u2013—]"
_TOTAL = r"(?:\s*(?:de|of|/)\s*\d{1,4})?"
_NUMBER_LINE = re.compile(rf"(?:{_PAGE_WORD}\s*)?{_DASH}?\s*(\d{{1,4}})\s*{_DASH}?{_TOTAL}", re.IGNORECASE)
_NUMBER_TAIL = re.compile(
    rf"\s*(?:[|·•\u2013—]\s*(?:{_PAGE_WORD}\s*)?|{_PAGE_WORD}\s+)\d{{1,4}}{_TOTAL}\s*$", re.IGNORECASE
)
_EDGE_LINES = 3
_MIN_REPEATS = 3
_MIN_NUMBERS = 2
_MIN_SHARE = 0.4

_HYPHEN = re.compile(r"(\w?)[\x02\u00ad\ufffe]\n?(\w?)")
_LIST_ITEM = re.compile(r"(?:[•▪●◦‣∙·*\u2013—-]|\(?\d{1,3}[.)]|\(?[a-zA-Z][.)])\s+\S")
_BULLET = re.compile(r"^[•▪●◦‣∙]\s*")
_NUMERIC = re.compile(r"(?<!\S)[-+]?[\d.,/:%€$]*\d[\d.,/:%€$]*(?!\S)")
_OUTLINE_NUMBER = re.compile(r"(\d{1,3}(?:\.\d{1,3})*)\.?\s")
_SENTENCE_END = tuple(".:;!?…")
_PROSE_WIDTH = 60
_MIN_HEADING = 3
_MAX_HEADING = 120
_FULL = 0.92
_MOSTLY_FULL = 0.6


def join_pages(pages: Sequence[str], headings: Collection[str] = ()) -> tuple[str, tuple[int, ...]]:
    """Return the text of all pages and the offset at which each starts; a blank page starts where the next one does.

    ``headings`` are lines thought to be headings; where found they become Markdown headings, ``1.`` of level 2,
    ``1.1.`` of level 3. A sentence that runs over a page break is joined. PDFium marks hyphens at line ends U+0002.
    """
    squeezed = (" ".join(heading.split()) for heading in headings)
    known = frozenset(heading for heading in squeezed if _is_heading(heading))
    laid_out: list[tuple[str, bool]] = []
    following = ""
    for lines, margin in reversed(without_furniture([_lines(page) for page in pages])):
        body = _paragraphs(lines, known)
        laid_out.append(_with_margin(body, "\n".join(margin), following))
        following = body or ("" if margin else following)
    parts: list[str] = []
    starts: list[int] = []
    length, joint = 0, ""
    for text, runs_on in reversed(laid_out):
        if text:
            parts += [joint, text]
            length += len(joint)
        starts.append(length)
        if text:
            length += len(text)
            joint = " " if runs_on else "\n\n"
    return "".join(parts), tuple(starts)


def _with_margin(body: str, margin: str, following: str) -> tuple[str, bool]:
    """Return a page with the lines of its margin, and whether its last sentence runs on in the page ``following``.

    They are a paragraph at its end, or above its last one if that runs on.
    """
    runs_on = bool(body and following) and _runs_on(body, following)
    gap = _last_gap(body) if runs_on and margin else len(body)
    if gap < 0:
        gap, runs_on = len(body), False
    return "\n\n".join(filter(None, [body[:gap], margin, body[gap:].lstrip("\n")])), runs_on


def _last_gap(text: str) -> int:
    """Return the offset of the last end of a paragraph that is no heading; -1 without one."""
    gap = text.rfind("\n\n")
    while gap > 0 and text.startswith("#", text.rfind("\n", 0, gap) + 1):
        gap = text.rfind("\n\n", 0, gap)
    return gap


def _is_heading(line: str) -> bool:
    starts_well = bool(line) and (line[0].isupper() or line[0].isdigit() or line[0] in "¿¡«")
    return starts_well and _MIN_HEADING <= len(line) <= _MAX_HEADING and not line.endswith((".", ",", ";", ":"))


def _lines(page: str) -> list[str]:
    joined = _HYPHEN.sub(_join_word, page.replace("\r\n", "\n"))
    return [line for line in (" ".join(line.split()) for line in joined.split("\n")) if line]


def _join_word(found: re.Match[str]) -> str:
    before, after = found.groups()
    within_word = before.isalpha() and after.isalpha() and after.islower()
    return before + ("" if within_word else "-") + after


def _paragraphs(lines: list[str], headings: frozenset[str]) -> str:
    lengths = sorted(map(len, lines))
    width = lengths[int(0.9 * (len(lengths) - 1))] if lengths else 0
    parts: list[str] = []
    for index, line in enumerate(lines):
        is_heading = line in headings
        if index:
            before = lines[index - 1]
            parts.append("\n\n" if is_heading or before in headings else _joint(before, line, width))
        parts.append(f"{_marks(line)} {line}" if is_heading else _BULLET.sub("- ", line))
    return "".join(parts)


def _marks(heading: str) -> str:
    number = _OUTLINE_NUMBER.match(heading)
    return "#" * min(6, 2 + number.group(1).count(".")) if number else "##"


def _joint(before: str, line: str, width: int) -> str:
    """Return the separator of two lines: a space if the first one is full and its sentence continues."""
    if before.startswith("| ") or line.startswith("| "):
        return "\n" if before.startswith("| ") and line.startswith("| ") else "\n\n"
    if _LIST_ITEM.match(line):
        return "\n"
    full = len(before) + 1 + len(line.split(" ", 1)[0]) > _FULL * width
    if before.endswith(_SENTENCE_END):
        return "\n" if full else "\n\n"
    goes_on = line[0].islower() or line[0] in "(«“"
    if not goes_on and (width < _PROSE_WIDTH or (_is_row(before) and _is_row(line))):
        return "\n"
    if full or (goes_on and width >= _PROSE_WIDTH and len(before) > _MOSTLY_FULL * width):
        return " "
    return "\n"


def _is_row(line: str) -> bool:
    return len(_NUMERIC.findall(line)) > 1


def _runs_on(before: str, after: str) -> bool:
    return after[0].islower() and (before[-1].isalpha() or before[-1] == ",")


def without_furniture(pages: Sequence[Sequence[str]]) -> list[tuple[list[str], list[str]]]:
    """Return the lines of each page, and apart from them its foot and the heads of earlier pages; no page numbers.

    A number is one where it moves with the pages; a head or foot is a line at the edge of at least three pages and
    40 % of them, up to its own page number, and no row of a table. Only an unbroken run from the edge inwards is looked
    at. A head stays among the lines where it comes first.
    """
    offset = _numbering(pages)
    repeats = Counter(
        key for lines in pages for key in {_key(line) for line in (*lines[:_EDGE_LINES], *lines[-_EDGE_LINES:])}
    )
    least = max(_MIN_REPEATS, _MIN_SHARE * len(pages))
    seen: set[str] = set()
    found: list[tuple[list[str], list[str]]] = []
    for page, lines in enumerate(pages, 1):

        def is_furniture(line: str, page: int = page) -> bool:
            return _is_number(line, page, offset) or (repeats[_key(line)] >= least and not line.startswith("| "))

        top = _run(lines, is_furniture)
        foot = len(lines) - _run(list(reversed(lines[top:])), is_furniture)
        kept: list[str] = []
        margin: list[str] = []
        for place, line in enumerate(lines):
            if top <= place < foot:
                kept.append(line)
            elif not _is_number(line, page, offset):
                (margin if place >= foot or _key(line) in seen else kept).append(_NUMBER_TAIL.sub("", line) or line)
                seen.add(_key(line))
        found.append((kept, margin))
    return found


def _numbering(pages: Sequence[Sequence[str]]) -> int | None:
    """Return printed minus physical page number where the first or last lines of the pages show one."""
    offsets = Counter(
        int(match.group(1)) - page
        for page, lines in enumerate(pages, 1)
        for line in {*lines[:1], *lines[-1:]}
        if (match := _NUMBER_LINE.fullmatch(line))
    )
    if not offsets:
        return None
    offset, hits = offsets.most_common(1)[0]
    return offset if hits >= _MIN_NUMBERS else None


def _is_number(line: str, page: int, offset: int | None) -> bool:
    match = _NUMBER_LINE.fullmatch(line) if offset is not None else None
    return match is not None and int(match.group(1)) - page == offset


def _key(line: str) -> str:
    return _NUMBER_TAIL.sub("", line).casefold() or line.casefold()


def _run(lines: Sequence[str], is_furniture: Callable[[str], bool]) -> int:
    return sum(1 for _ in takewhile(is_furniture, islice(lines, _EDGE_LINES)))

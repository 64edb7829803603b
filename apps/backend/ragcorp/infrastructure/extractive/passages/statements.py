"""Cuts passages into statements that can be quoted: sentences, list items, lines of code and rows of tables."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ragcorp.domain.text.sentences import SENTENCE_END
from ragcorp.infrastructure.extractive.passages.facts import Fact

MAX_STATEMENT = 420
MAX_STATEMENTS_READ = 500
"""Of one passage: a text of many short lines costs no more than a long one."""
MAX_WHOLE_LINE = 200
"""A labelled line, as "A-17. Task. Responsible: X.", up to this long is one statement."""
MAX_HEADING = 100

_SEPARATOR_CELL = re.compile(r":?-{2,}:?")
_MARKDOWN_HEADING = re.compile(r"#{1,6}\s+")
_CLAUSE_HEADING = re.compile(
    r"(?:cl[aá]usula|art[ií]culo|art\.|estipulaci[oó]n|cap[ií]tulo|secci[oó]n|apartado|anexo|clause|article|section)\b"
    r"[^.]{0,40}\.?\s+[^.]{2,70}",
    re.IGNORECASE,
)
_ORDINAL = (
    r"(?:(?:primer|segund|tercer|cuart|quint|sext|s[eé]ptim|octav|noven|und[eé]cim|duod[eé]cim)[oa]?"
    r"|(?:d[eé]cim|vig[eé]sim)[oa]? ?\w*|[0-9]{1,2}\.?[ªº])"
)
_ORDINAL_HEADING = re.compile(rf"{_ORDINAL}\s*[.:)—–-]*\s+[^.:]{{2,70}}\.?", re.IGNORECASE)  # noqa: RUF001
"""A clause whose number stands alone: "Sexta. Consumo previsto." """

_NUMBERED_TITLE = re.compile(r"\d{1,2}(?:\.\d{1,2})*[.)]?\s+[A-ZÁÉÍÓÚÑ¿][^.:;]{2,60}")
_NUMBERED_ITEM = re.compile(r"\d{1,2}[.)]")
_NUMBERED_CAPITALS = re.compile(r"(?:\d+(?:\.\d+)*[.)]?\s+|=+\s*)?[A-ZÁÉÍÓÚÜÑ0-9][A-ZÁÉÍÓÚÜÑ0-9 ,:;()/.-]*")
_LABEL = re.compile(
    r"(?:[-*•]\s+)?(?:\*\*)?(?:(?:[Aa]rt(?:[íi]culo)?|[Aa]cuerdo|[Dd]ecisi[oó]n|[Pp]unto|[Cc]l[aá]usula)\.?\s*\d+"
    r"|[A-ZÑ]{1,5}-?\d+|\d{1,3}|[A-Za-z]|[IVXLC]+)(?:\.\d+)*(?:[.ªº:)]+(?:\*\*)?|\*\*)"
)
_RULE = re.compile(r"[\W_]+")
_LEAD = re.compile(
    r"\*\*[^*]{1,160}\*\*|\[[^\]]{4,60}\].{0,120}|(?:De|Para|CC|Fecha|Asunto|From|To|Date|Subject)\s*:.*|.{3,200}:"
)
_MESSAGE = re.compile(r"(?:De|From)\s*:")
_SIGNED = re.compile(
    r"(?:en|in|em)\s+[A-ZÁÉÍÓÚÑ][^,.]{2,60},\s+(?:a\s+)?\d{1,2}(?:\s+de)?\s+\w+(?:\s+de)?\s+\d{4}\.?", re.IGNORECASE
)
SIGNING = "firma firmado fecha signed signature assinatura"
_ABBREVIATION = re.compile(
    r"\b(?:art|arts|núm|n\.º|nº|sr|sra|dña|d|pág|ej|s\.a|s\.l|tel|ext|no|mr|mrs|ms|dr|dra|cía|aprox|máx|mín)\.$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    header: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """``content[start:end]`` of a passage.

    ``lead`` are the lines that introduce it: a speaker and date, a label, a heading inside the passage. A row of a
    table has ``cells``, in order. ``implied`` are words that stand for what its form says: a place and a date that
    stand alone are those of the signing. ``line`` counts lines of the passage from 0. ``fact`` is what a fact of the
    graph states.
    """

    text: str
    start: int
    end: int
    line: int
    lead: str = ""
    heading: str = ""
    cells: tuple[Cell, ...] = ()
    is_heading: bool = False
    implied: str = ""
    fact: Fact | None = None

    @property
    def introduces(self) -> bool:
        """Say whether it announces what follows and holds nothing itself."""
        return self.text.endswith(":") and not self.cells


def statements(content: str) -> list[Statement]:
    """Return the first MAX_STATEMENTS_READ statements in order. Rules, separators and blank lines are none."""
    return list(itertools.islice(_statements(content), MAX_STATEMENTS_READ))


def is_clause_heading(heading: str) -> bool:
    return bool(_CLAUSE_HEADING.match(heading) or _ORDINAL_HEADING.fullmatch(heading.strip()))


def _statements(content: str) -> Iterator[Statement]:
    header: list[str] = []
    leads: list[str] = []
    heading = ""
    fenced = False
    lines = list(_lines(content))
    for number, (start, line) in enumerate(lines):
        stripped = line.strip()
        if stripped.startswith("```"):
            fenced = not fenced
            continue
        if not stripped or _RULE.fullmatch(stripped):
            if stripped:
                leads, heading = [], ""
            continue
        left = start + len(line) - len(line.lstrip())
        right = left + len(stripped)
        if stripped.startswith("|"):
            following = lines[number + 1][1].strip() if number + 1 < len(lines) else ""
            if following.startswith("|") and _is_separator(following):
                header = _cells(stripped)
                continue
            cells = tuple(
                Cell(header=header[i] if i < len(header) else "", text=text) for i, text in enumerate(_cells(stripped))
            )
            yield Statement(
                text=stripped,
                start=left,
                end=right,
                line=number,
                lead=leads[-1] if leads else "",
                heading=heading,
                cells=cells,
            )
            continue
        header = []
        if not fenced and (_is_heading(stripped) or _is_numbered_title(stripped, lines, number)):
            marks = _MARKDOWN_HEADING.match(stripped)
            begin = left + (marks.end() if marks else 0)
            heading, leads = content[begin:right], []
            yield Statement(text=content[begin:right], start=begin, end=right, line=number, is_heading=True)
            continue
        is_lead = not fenced and _LEAD.fullmatch(stripped) is not None
        if is_lead:
            leads = [stripped] if _MESSAGE.match(stripped) or not _in_message_head(leads) else [*leads, stripped]
        for begin, end in _sentences(content, left, right, whole=fenced or is_lead):
            text = content[begin:end]
            yield Statement(
                text=text,
                start=begin,
                end=end,
                line=number,
                lead="" if is_lead else " ".join(leads),
                heading=heading,
                implied=SIGNING if _SIGNED.fullmatch(text) else "",
            )


def _in_message_head(leads: list[str]) -> bool:
    return bool(leads) and _MESSAGE.match(leads[0]) is not None


def _is_separator(line: str) -> bool:
    return all(_SEPARATOR_CELL.fullmatch(cell.strip()) for cell in line.removeprefix("|").removesuffix("|").split("|"))


def _is_numbered_title(line: str, lines: Sequence[tuple[int, str]], number: int) -> bool:
    """Return whether a line as "4. Open day" is a heading: text follows, not the next item of a list."""
    if not _NUMBERED_TITLE.fullmatch(line):
        return False
    following = (lines[after][1].strip() for after in range(number + 1, len(lines)))
    text = next((each for each in following if each), "")
    return bool(text) and not _NUMBERED_ITEM.match(text)


def _is_heading(line: str) -> bool:
    if _MARKDOWN_HEADING.match(line):
        return True
    if len(line) <= MAX_HEADING and _ORDINAL_HEADING.fullmatch(line):
        return True
    if len(line) > MAX_HEADING or line.endswith((".", ":")):
        return False
    return bool(_CLAUSE_HEADING.fullmatch(line)) or (
        _NUMBERED_CAPITALS.fullmatch(line) is not None and sum(map(str.isalpha, line)) > len(line) // 2
    )


def _lines(content: str) -> Iterator[tuple[int, str]]:
    start = 0
    for line in content.split("\n"):
        yield start, line
        start += len(line) + 1


def _cells(row: str) -> list[str]:
    return [cell.strip().strip("*").strip() for cell in row.strip().strip("|").split("|")]


def _sentences(content: str, start: int, end: int, *, whole: bool) -> Iterator[tuple[int, int]]:
    """Yield spans of sentences of one line; a label stays with what it labels, and so does a short labelled line."""
    line = content[start:end]
    label = _LABEL.match(line)
    if whole or (label and len(line) <= MAX_WHOLE_LINE):
        yield from _bounded(start, end, content)
        return
    begin = 0
    for found in SENTENCE_END.finditer(line):
        head = line[begin : found.start()].strip()
        if _LABEL.fullmatch(head) or _ABBREVIATION.search(head):
            continue
        yield from _bounded(start + begin, start + found.start(), content)
        begin = found.end()
    if begin < len(line):
        yield from _bounded(start + begin, end, content)


def _bounded(start: int, end: int, content: str) -> Iterator[tuple[int, int]]:
    """Yield the span in pieces of at most MAX_STATEMENT characters, cut at spaces."""
    while end - start > MAX_STATEMENT:
        cut = content.rfind(" ", start, start + MAX_STATEMENT)
        cut = cut if cut > start else start + MAX_STATEMENT
        yield start, cut
        start = cut + 1 if content[cut : cut + 1] == " " else cut
    if start < end:
        yield start, end

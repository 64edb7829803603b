"""Cuts passages into statements to quote: sentences, list items, lines of code, rows of tables, facts of the graph."""

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ragcorp.domain.citations.checks import SENTENCE_END
from ragcorp.domain.collections import GRAPH, QUESTION, Collection
from ragcorp.domain.documents import Chunk
from ragcorp.domain.text.folding import folded_in_place

MAX_STATEMENT = 420
MAX_STATEMENTS_READ = 500
"""Per passage, so that many short lines cost no more than one long line."""
MAX_WHOLE_LINE = 200
"""A labelled line up to this length, like "A-17. Task. Responsible: X.", is one statement."""
MAX_HEADING = 100
MAX_TITLE = 60

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
"""A clause with its number alone: "Sexta. Consumo previsto." """

_NUMBERED_TITLE = re.compile(r"\d{1,2}(?:\.\d{1,2})*[.)]?\s+[A-ZÁÉÍÓÚÑ¿][^.:;]{2,60}")
_NUMBERED_ITEM = re.compile(r"\d{1,2}[.)]")
_NUMBERED_CAPITALS = re.compile(r"(?:\d+(?:\.\d+)*[.)]?\s+|=+\s*)?[A-ZÁÉÍÓÚÜÑ0-9][A-ZÁÉÍÓÚÜÑ0-9 ,:;()/.-]*")
_LABEL = re.compile(
    r"(?:[-*•]\s+)?(?:\*\*)?(?:(?:[Aa]rt(?:[íi]culo)?|[Aa]cuerdo|[Dd]ecisi[oó]n|[Pp]unto|[Cc]l[aá]usula)\.?\s*\d+"
    r"|[A-ZÑ]{1,5}-?\d+|\d{1,3}|[A-Za-z]|[IVXLC]+)(?:\.\d+)*(?:[.ªº:)]+(?:\*\*)?|\*\*)"
)
_TITLE = re.compile(r"[^\W\d_]+(?:[ '/-][^\W\d_]+)*")
_RULE = re.compile(r"[\W_]+")
_LEAD = re.compile(
    r"\*\*[^*]{1,160}\*\*|\[[^\]]{4,60}\].{0,120}|(?:De|Para|CC|Fecha|Asunto|From|To|Date|Subject)\s*:.*|.{3,200}:"
)
_MESSAGE = re.compile(r"(?:De|From)\s*:")
_SIGNED = re.compile(
    r"(?:en|in|em)\s+[A-ZÁÉÍÓÚÑ][^,.]{2,60},\s+(?:a\s+)?\d{1,2}(?:\s+de)?\s+\w+(?:\s+de)?\s+\d{4}\.?", re.IGNORECASE
)
SIGNING = "firma firmado fecha signed signature assinatura"
_APPLICANT = re.compile(
    r"(?:[-*•]\s+)?(?:nombre(?: completo| y apellidos)?|apellidos y nombre|(?:full )?name|nome|solicitante"
    r"|interesad[oa]|nombre del? (?:la )?(?:solicitante|interesad[oa]))(?: \([^)]*\))?\s*:\s*\S.*",
    re.IGNORECASE,
)
APPLICANT = "presenta solicita solicitante interesado titular firma applicant applies requerente"
_QUARTER = re.compile(r"(?:[TQ]([1-4])|([1-4])\.?º? ?[TQ])(?:[ /-]?(?:20)?\d\d)?")
_QUARTERS = ("primer", "segundo", "tercer", "cuarto")
_ABBREVIATION = re.compile(
    r"\b(?:art|arts|núm|n\.º|nº|sr|sra|dña|d|pág|ej|s\.a|s\.l|tel|ext|no|mr|mrs|ms|dr|dra|cía|aprox|máx|mín)\.$",
    re.IGNORECASE,
)
_QUESTION_END = re.compile(r"[?\uff1f][\s\"'»”)\]]*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    header: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A fact of the graph: the names of two entities, and the ``predicate`` between them in a sentence."""

    subject: str
    predicate: str
    object: str

    def new_names(self, question: str) -> tuple[str, ...]:
        """Return the names that the folded question lacks; none if it asks for the fact the other way round.

        Of "Ana is boss of Luis", Luis does not answer "who is boss of Ana?".
        """
        if self._is_inverted(question):
            return ()
        return tuple(name for name in (self.subject, self.object) if _offset(name, question) is None)

    def confirms(self, question: str) -> bool:
        """Return whether the folded question has both names in the order of the fact: "is Ana the boss of Luis?"."""
        subject, other = _offset(self.subject, question), _offset(self.object, question)
        return subject is not None and other is not None and subject < other and not self._is_inverted(question)

    def _is_inverted(self, question: str) -> bool:
        if folded_in_place(self.subject) == folded_in_place(self.object):
            return False
        predicate = r"\s+".join(map(re.escape, folded_in_place(self.predicate).split()))
        return _offset(self.subject, question, after=rf"{predicate}\s+(?:(?:el|la|los|las|the|o|a)\s+)?") is not None


def _offset(name: str, question: str, after: str = "") -> int | None:
    match = re.search(rf"(?<!\w){after}{re.escape(folded_in_place(name))}(?!\w)", question)
    return match.start() if match else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A part of a passage that can be quoted. ``line`` counts the lines of the passage from 0.

    ``lead`` are the lines that introduce it: a speaker and date, or a label; ``heading`` is the heading in the passage.
    A row of a table has ``cells``. ``implied`` are words for the meaning of its form: a place and a date alone
    belong to a signature, a field for a name to the person who fills in the form, and T3 to the third quarter.
    """

    text: str
    line: int
    lead: str = ""
    heading: str = ""
    cells: tuple[Cell, ...] = ()
    is_heading: bool = False
    implied: str = ""
    fact: Fact | None = None

    @property
    def is_title(self) -> bool:
        """Whether it looks like a title that is not marked as one: a short line without a value or punctuation."""
        return not self.cells and len(self.text) <= MAX_TITLE and _TITLE.fullmatch(self.text) is not None

    @property
    def introduces(self) -> bool:
        """Return whether it only announces what follows."""
        return self.text.endswith(":") and not self.cells


def statements_of(chunk: Chunk) -> list[Statement]:
    """Return the statements of a passage. Stored questions, and questions in memories and turns, state nothing."""
    if chunk.of_document:
        return statements(chunk.content)
    if chunk.collection == Collection.HISTORY and chunk.artifact_type == QUESTION:
        return []
    if chunk.collection == GRAPH:  # one statement: its colon introduces no list
        return [Statement(text=chunk.content, line=0, fact=fact_of(chunk))]
    return [statement for statement in statements(chunk.content) if not _QUESTION_END.search(statement.text)]


def fact_of(chunk: Chunk) -> Fact | None:
    """Return the fact in a passage of the graph, "Marta -> Acme: lleva el contrato de"; None in other passages."""
    if chunk.collection != GRAPH or len(chunk.entities) != 2:
        return None
    subject, other = chunk.entities
    head = f"{subject} -> {other}: "
    if not chunk.content.startswith(head):
        return None
    return Fact(subject=subject, predicate=chunk.content.removeprefix(head), object=other)


def statements(content: str) -> list[Statement]:
    """Return the first MAX_STATEMENTS_READ statements in order, without rules, separators and blank lines."""
    return list(itertools.islice(_statements(content), MAX_STATEMENTS_READ))


def is_clause_heading(heading: str) -> bool:
    return bool(_CLAUSE_HEADING.match(heading) or _ORDINAL_HEADING.fullmatch(heading.strip()))


def _statements(content: str) -> Iterator[Statement]:
    header: list[str] = []
    leads: list[str] = []
    heading = ""
    fenced = False
    lines = [line.strip() for line in content.split("\n")]
    for number, line in enumerate(lines):
        if line.startswith("```"):
            fenced = not fenced
            continue
        if not line:
            continue
        if _RULE.fullmatch(line):
            leads, heading = [], ""
            continue
        if line.startswith("|"):
            following = lines[number + 1] if number + 1 < len(lines) else ""
            if following.startswith("|") and _is_separator(following):
                header = _cells(line)
                continue
            cells = tuple(
                Cell(header=head, text=text)
                for head, text in zip(itertools.chain(header, itertools.repeat("")), _cells(line), strict=False)
            )
            lead = leads[-1] if leads else ""
            yield Statement(text=line, line=number, lead=lead, heading=heading, cells=cells, implied=_quarter_of(cells))
            continue
        header = []
        if not fenced and (_is_heading(line) or _is_numbered_title(lines, number)):
            marks = _MARKDOWN_HEADING.match(line)
            heading, leads = line[marks.end() :] if marks else line, []
            yield Statement(text=heading, line=number, is_heading=True)
            continue
        is_lead = not fenced and _LEAD.fullmatch(line) is not None
        if is_lead:
            in_message_head = leads and _MESSAGE.match(leads[0])
            leads = [line] if _MESSAGE.match(line) or not in_message_head else [*leads, line]
        for text in _sentences(line, whole=fenced or is_lead):
            yield Statement(
                text=text,
                line=number,
                lead="" if is_lead else " ".join(leads),
                heading=heading,
                implied=_implied_by(text),
            )


def _implied_by(text: str) -> str:
    return SIGNING if _SIGNED.fullmatch(text) else APPLICANT if _APPLICANT.fullmatch(text) else ""


def _quarter_of(cells: Sequence[Cell]) -> str:
    """Return the words for a cell like T3, 3T or Q3-2026."""
    for cell in cells:
        if quarter := _QUARTER.fullmatch(cell.text):
            return f"{_QUARTERS[int(quarter.group(1) or quarter.group(2)) - 1]} trimestre"
    return ""


def _is_separator(line: str) -> bool:
    return all(_SEPARATOR_CELL.fullmatch(cell.strip()) for cell in line.removeprefix("|").removesuffix("|").split("|"))


def _is_numbered_title(lines: Sequence[str], number: int) -> bool:
    """Return whether a line like "4. Open day" is a heading: the next line with text is not a list item."""
    if not _NUMBERED_TITLE.fullmatch(lines[number]):
        return False
    text = next((lines[after] for after in range(number + 1, len(lines)) if lines[after]), "")
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


def _cells(row: str) -> list[str]:
    return [cell.strip().strip("*").strip() for cell in row.strip().strip("|").split("|")]


def _sentences(line: str, *, whole: bool) -> Iterator[str]:
    """Yield the sentences of one line. A label stays with its text; a short labelled line is one statement."""
    if whole or (_LABEL.match(line) and len(line) <= MAX_WHOLE_LINE):
        yield from _bounded(line)
        return
    begin = 0
    for match in SENTENCE_END.finditer(line):
        sentence = line[begin : match.start()]
        if _LABEL.fullmatch(sentence.strip()) or _ABBREVIATION.search(sentence.strip()):
            continue
        yield from _bounded(sentence)
        begin = match.end()
    yield from _bounded(line[begin:])


def _bounded(text: str) -> Iterator[str]:
    """Yield the text in pieces of at most MAX_STATEMENT characters, cut at spaces."""
    while len(text) > MAX_STATEMENT:
        cut = text.rfind(" ", 1, MAX_STATEMENT)
        cut = cut if cut > 0 else MAX_STATEMENT
        yield text[:cut]
        text = text[cut:].removeprefix(" ")
    if text:
        yield text

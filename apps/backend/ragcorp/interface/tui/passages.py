"""Passages on the screen: place, ranking and lines."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from rich.text import Text

from ragcorp.domain.answers import Citation
from ragcorp.domain.documents import Chunk
from ragcorp.domain.retrieval import Contribution
from ragcorp.domain.search.requests import SearchHit
from ragcorp.interface.shapes.result_text import place_in
from ragcorp.interface.tui.line_view import Line
from ragcorp.interface.tui.printable_text import on_one_line, printable, shortened
from ragcorp.interface.tui.query_marks import QueryMarks


def place_of(chunk: Chunk) -> str:
    """Return ``path:12-15``, ``path page 3``, or the speaker or title of an item of another collection."""
    path = chunk.source_path
    if path is None:
        return on_one_line(chunk.speaker or chunk.shown_title or chunk.collection)
    return place_in(
        on_one_line(path),
        chunk.line_start,
        chunk.line_end,
        page=chunk.page_start,
        recognition_confidence=chunk.recognition_confidence,
    )


def cited_place(citation: Citation) -> str:
    if citation.path is None:
        return on_one_line(citation.title or citation.external_id)
    return place_in(
        on_one_line(citation.path),
        citation.line_start,
        citation.line_end,
        page=citation.page,
        recognition_confidence=citation.recognition_confidence,
    )


def title_of(chunk: Chunk) -> str:
    return on_one_line(chunk.shown_title or (chunk.heading_path[-1] if chunk.heading_path else chunk.content[:80]))


def row_of(hit: SearchHit, width: int, tall: bool) -> Text:
    """Return a passage as a row of the list, at most ``width`` cells wide; ``tall`` puts the place on a second line."""
    head = f"{hit.rank:>2} {number(hit.score):<5} "
    row = Text(head, style="bold", no_wrap=True)
    place = place_of(hit.chunk)
    if tall:
        row.append(shortened(title_of(hit.chunk), width - len(head)), style="not bold")
        row.append("\n" + " " * 3 + shortened_place(place, width - 3), style="not bold dim")
        return row
    room = width - len(head)
    place = shortened_place(place, max(room * 2 // 3, 12))
    row.append(place, style="not bold")
    row.append(shortened("  " + title_of(hit.chunk), room - len(place)), style="not bold dim")
    return row


def shortened_place(place: str, cells: int) -> str:
    """Return a path cut at its beginning: the file's name and the lines matter more than the folder."""
    return place if len(place) <= cells else "…" + place[-max(cells - 1, 1) :]


def number(value: float) -> str:
    """Return a score with three significant digits: .0325, .81, 12.3."""
    written = f"{value:.3g}"
    return written.replace("0.", ".", 1) if written.startswith(("0.", "-0.")) else written


def marks_of(hit: SearchHit, query: str) -> QueryMarks:
    """Return the marks of a query in a passage: its words, and the lexemes that the text search matched."""
    lexemes = (match.lexeme for evidence in hit.evidence.values() for match in evidence.matches)
    return QueryMarks(query, lexemes)


def passage_lines(hit: SearchHit, marks: QueryMarks) -> list[Line]:
    """Return a passage with its place, title, ranks by source, steps and collections."""
    chunk = hit.chunk
    heading = " > ".join(on_one_line(part) for part in chunk.heading_path) or on_one_line(chunk.shown_title)
    notes = [place_of(chunk), heading, sources_note(hit.sources, hit)]
    notes += [f"{step}: {_values(note)}" for step, note in hit.steps.items()]
    if len(hit.collections) > 1 or not chunk.of_document:
        notes.append("in " + ", ".join(on_one_line(name) for name in hit.collections))
    lines = [Line(text=note, note=True) for note in notes if note]
    return [*lines, Line(text="", note=True), *text_lines(chunk, hit.matched_lines, marks)]


def sources_note(sources: Sequence[Contribution], hit: SearchHit) -> str:
    """Return rank, score and contribution of each source."""
    parts = [
        f"{on_one_line(source.source)} #{source.rank} {number(source.score)} +{number(source.value)}"
        for source in sources
    ]
    return f"{hit.score_type} {number(hit.score)}" + (" = " + " · ".join(parts) if parts else "")


def text_lines(chunk: Chunk, matched_lines: Iterable[int], marks: QueryMarks) -> list[Line]:
    """Return the lines of a passage, numbered if its text is that of the file; matched or marked ones are pointed."""
    texts = printable(chunk.content).split("\n")
    numbered = chunk.page_start is None and len(texts) == chunk.line_end - chunk.line_start + 1
    matched = frozenset(matched_lines) if numbered else frozenset()
    return [
        Line(
            text=text,
            number=line_number if numbered else None,
            pointed=line_number in matched if matched else bool(marks.spans(text)),
        )
        for line_number, text in enumerate(texts, start=chunk.line_start)
    ]


def file_lines(
    text: str, *, first: int, pointed: Iterable[int], span: tuple[int, int], marks: Callable[[str], object]
) -> list[Line]:
    """Return a file's lines from number ``first`` on. Without ``pointed``, marked lines of ``span`` are."""
    pointed_lines = frozenset(pointed)
    return [
        Line(
            text=line,
            number=place,
            pointed=place in pointed_lines if pointed_lines else span[0] <= place <= span[1] and bool(marks(line)),
            span=span[0] <= place <= span[1],
        )
        for place, line in enumerate(printable(text).split("\n"), start=first)
    ]


def _values(note: Mapping[str, object]) -> str:
    return ", ".join(f"{on_one_line(name)} {_value(value)}" for name, value in note.items())


def _value(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case int():
            return str(value)
        case float():
            return number(value)
        case str():
            return on_one_line(value)
        case Mapping():
            return " ".join(_value(part) for part in value.values())
        case list() | tuple():
            return "; ".join(_value(part) for part in value) or "none"
    return "none"

"""Results as plain text in the format of ADR-003's tool (one fact a line, for any passage), and their counts. Pure."""

from collections.abc import Iterable, Iterator

from typing_extensions import TypedDict

from ragcorp.domain.answers import Answer
from ragcorp.domain.citations.quoting import HIDDEN, harmless
from ragcorp.domain.collections import GRAPH, Collection
from ragcorp.domain.documents import Chunk
from ragcorp.domain.files.source_paths import is_generic
from ragcorp.domain.files.values import FILES, GrepPassage, GrepResult, SkippedFiles
from ragcorp.domain.retrieval import ScoreType, SourceReport
from ragcorp.domain.search.requests import SearchHit, SearchResponse
from ragcorp.domain.search.sources import BUILT_IN, GREP
from ragcorp.domain.text.neutral_text import neutral_lines
from ragcorp.interface.shapes.unread import unread_in_words

SNIPPET_CHARACTERS = 200
NO_RESULTS = "No results found."
NO_MATCHES = "No matches found."
NO_MATCHES_YET = "No matches found before the deadline."

_KINDS = {
    Collection.ARTIFACT_CHUNKS: "chunk",
    Collection.ARTIFACTS: "artifact",
    Collection.MEMORY: "memory",
    Collection.HISTORY: "turn",
    GRAPH: "fact",
    FILES: "passage",
}

_LINE_BREAKING = dict.fromkeys((*range(9), *range(10, 32), *range(127, 160), 0x2028, 0x2029), " ")
_DIRECTION = dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)), "")
_REPLACED = str.maketrans({**_LINE_BREAKING, **_DIRECTION})
"""For lines of files, which keep their punctuation: it may be code, and a line number precedes it."""


def search_text(response: SearchResponse) -> str:
    """Return the results of a search. ``searched`` lists the collections that answered, also those without results."""
    degraded = [_degraded(response.degraded)] if response.degraded else []
    if not response.hits:
        return "\n".join((NO_RESULTS, *degraded))
    head = f"Found {len(response.hits)} results (searched: {', '.join(searched(response))}):"
    return "\n".join((head, *degraded, "", *(line for hit in response.hits for line in _hit_lines(hit))))


def searched(response: SearchResponse) -> tuple[str, ...]:
    """Return the collections whose sources answered, by name."""
    answered = {
        BUILT_IN[report.source].collection
        for report in response.reports
        if report.answered and report.source in BUILT_IN
    }
    return tuple(sorted(answered | {name for hit in response.hits for name in hit.collections}))


def grep_text(result: GrepResult) -> str:
    """Return passages of files, with ``>`` before the lines that match."""
    notes = list(_grep_notes(result))
    if not result.passages:
        return "\n".join((NO_MATCHES_YET if result.timed_out else NO_MATCHES, *notes))
    head = f"Found {len(result.passages)} passages in {result.files} files:"
    passages = (line for n, passage in enumerate(result.passages, 1) for line in _passage_lines(n, passage))
    return "\n".join((head, *notes, "", *passages))


def answer_text(answer: Answer) -> str:
    """Return an answer, the sources of its [n], and which were not read whole; mark an abstention."""
    if answer.abstained:
        lines = [f"Abstained: {answer.text}"]
    else:
        sources = [
            f"[{cited.n}] {_on_one_line(cited.path or cited.external_id)}:{cited.line_start}-{cited.line_end}"
            for cited in answer.citations
        ]
        lines = [answer.text, "", "Sources:", *sources]
    for document in answer.incomplete:
        unread = unread_in_words(document.unread)
        lines.append(f"Not read whole: {_on_one_line(document.external_id)} ({_on_one_line(unread)})")
    return "\n".join((*lines, *([_degraded(answer.degraded)] if answer.degraded else [])))


def snippet(text: str) -> str:
    """Return the beginning of a text on one line, with ``...`` if the text is longer."""
    # a longer slice matters only if most of it is white space
    line = _on_one_line(text[: SNIPPET_CHARACTERS * 20])
    return line if len(line) <= SNIPPET_CHARACTERS else f"{line[:SNIPPET_CHARACTERS]}..."


def _hit_lines(hit: SearchHit) -> Iterator[str]:
    chunk = hit.chunk
    score_name = "RRF" if hit.score_type == ScoreType.RRF else hit.score_type
    yield f"[{hit.rank}] {score_name} score: {hit.score:.3f} (from: {', '.join(hit.collections)})"
    yield f"Type: {_KINDS.get(chunk.collection, chunk.artifact_type)} | ID: {_on_one_line(chunk.id)}"
    if title := chunk.shown_title:
        yield f"Title: {_on_one_line(title)}"
    yield f"Source: {_source(chunk)} | Sensitivity: {chunk.sensitivity.label}"
    yield f'Snippet: "{snippet(_from_first_match(hit))}"'
    if (place := _place(chunk)) is not None:
        yield f"Evidence: {place}"
    yield ""


def _from_first_match(hit: SearchHit) -> str:
    """Return the content. A passage of a file begins ten lines before its first match: return it from the match on."""
    chunk = hit.chunk
    skipped = min(hit.matched_lines, default=0) - chunk.line_start
    if chunk.collection != FILES or skipped <= 0:
        return chunk.content
    return "\n".join(chunk.content.split("\n")[skipped:]) or chunk.content


def _source(chunk: Chunk) -> str:
    system = chunk.metadata.get("source_system")
    return _on_one_line(_meaningful(system) or chunk.artifact_type)


def _place(chunk: Chunk) -> str | None:
    if (path := chunk.source_path) is not None:
        return f"{_on_one_line(path)}:{chunk.line_start}-{chunk.line_end}"
    url = _meaningful(chunk.metadata.get("source_url"))
    return None if url is None else _on_one_line(url)


def _meaningful(value: object) -> str | None:
    """Return the value of the metadata if it is a meaningful text."""
    return value if isinstance(value, str) and value and not is_generic(value) else None


def _degraded(reports: Iterable[SourceReport]) -> str:
    return f"Degraded: {', '.join(f'{report.source} ({report.reason})' for report in reports)}"


def _grep_notes(result: GrepResult) -> Iterator[str]:
    if result.timed_out or result.cut:
        yield f"Degraded: {GREP} ({'timeout' if result.timed_out else 'too many matches'})"
    if result.unavailable:
        yield f"Degraded: {GREP} (root unavailable: {', '.join(map(_on_one_line, result.unavailable))})"
    if result.relaxed:
        yield "No file holds the query as a whole: its words were looked for, any of them."
    if result.left_out:
        yield f"Not looked for, as there are too many words: {', '.join(map(_on_one_line, result.left_out))}"
    if result.skipped != SkippedFiles():
        skipped = result.skipped
        yield f"Skipped files: {skipped.binary} binary, {skipped.too_large} too large, {skipped.refused} refused."


def _passage_lines(number: int, passage: GrepPassage) -> Iterator[str]:
    terms = ", ".join(map(_on_one_line, passage.terms))
    yield f"[{number}] {_on_one_line(passage.path)}:{passage.line_start}-{passage.line_end} (terms: {terms})"
    matched = {mark.line for mark in passage.marks}
    for line, text in enumerate(passage.text.split("\n"), passage.line_start):
        printable = HIDDEN.sub("", text.translate(_REPLACED))
        yield f"{'>' if line in matched else ' '} {line}: {printable}"
    yield ""


def _on_one_line(text: str) -> str:
    """Return text on one line, safe for an assistant's prompt: without tags, roles, citations or links."""
    return " ".join(harmless(neutral_lines(text)).split())


class GrepStatus(TypedDict):
    """How much was found, in numbers and in words."""

    tool: str
    characters: int
    passages: int
    files: int
    message: str


def search_status(tool: str, response: SearchResponse) -> GrepStatus:
    """Return the status of a search: its passages are chunks, its files their distinct sources."""
    hits = response.hits
    characters = sum(len(hit.chunk.content) for hit in hits)
    message = f"{tool}: {counted(len(hits), 'chunk')}, {counted(characters, 'character')}"
    if response.degraded:
        message += f" (degraded: {', '.join(f'{report.source} {report.reason}' for report in response.degraded)})"
    return {
        "tool": tool,
        "characters": characters,
        "passages": len(hits),
        "files": len({hit.chunk.source_path or hit.chunk.external_id for hit in hits}),
        "message": message,
    }


def grep_status(result: GrepResult, *, tool: str = "grep_search") -> GrepStatus:
    """Return the status of a search in files; ``files`` counts all that match, also those without a passage here."""
    passages = len(result.passages)
    message = (
        f"{tool}: {counted(passages, 'passage')} in {counted(result.files, 'file')}, "
        f"{counted(result.characters, 'character')}"
    )
    if result.timed_out:
        message += " (timeout: what was found until then)"
    elif result.cut:
        message += " (cut: too many matches)"
    if result.unavailable:
        message += f" (unavailable: {', '.join(result.unavailable)})"
    return {
        "tool": tool,
        "characters": result.characters,
        "passages": passages,
        "files": result.files,
        "message": message,
    }


def place_in(
    path: str,
    line_start: int,
    line_end: int,
    *,
    page: int | None,
    page_end: int | None = None,
    recognition_confidence: float | None = None,
) -> str:
    """Return ``path page 3``, ``path pages 3-4`` or ``path:12-15``; ``path page 3 (OCR 97 %)`` for recognised text."""
    if page is not None:
        mark = "" if recognition_confidence is None else f" (OCR {100 * recognition_confidence:.0f} %)"
        return f"{path} page {page}{mark}" if page_end in (None, page) else f"{path} pages {page}-{page_end}{mark}"
    return f"{path}:{line_start}" if line_start == line_end else f"{path}:{line_start}-{line_end}"


def file_length(lines: int) -> str:
    return f"The file has {counted(lines, 'line')}."


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"

"""Passages of files, and lines of a file."""

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import ConfigDict, Field, with_config
from typing_extensions import TypedDict

from ragcorp.domain.files.values import MAX_ANSWER_CHARACTERS, GrepPassage, GrepResult
from ragcorp.interface.shapes.result_text import GrepStatus, grep_status
from ragcorp.interface.shapes.values import Identified, filled

FILE_EXAMPLE: dict[str, Any] = {
    "path": "docs/contratos/marco.md",
    "text": "## Entrega\n\nEl plazo de entrega es de 30 días.",
    "line_start": 10,
    "line_end": 12,
    "total_lines": 12,
    "encoding": "utf-8",
}

GREP_RESULTS_EXAMPLE: dict[str, Any] = {
    "request_id": "6f1c",
    "passages": [
        {
            "path": "docs/contratos/marco.md",
            "line_start": 10,
            "line_end": 12,
            "text": "## Entrega\n\nEl plazo de entrega es de 30 días.",
            "marks": [{"line": 12, "start": 3, "end": 19, "term": 0}],
            "matched_lines": [12],
            "terms": ["plazo de entrega"],
            "score": 1.5,
            "rank": 1,
            "document_id": "0199a1c2-7d3e-7a55-9c1b-2f6f0d1e8a10",
            "chunk_id": "4711",
        }
    ],
    "terms": ["plazo de entrega"],
    "files": 1,
    "matched_lines": 1,
    "searched": 120,
    "skipped": {"binary": 2, "too_large": 0, "refused": 0},
    "relaxed": False,
    "cut": False,
    "timed_out": False,
    "unavailable": [],
    "left_out": [],
    "status": {
        "tool": "grep_search",
        "characters": 46,
        "passages": 1,
        "files": 1,
        "message": "grep_search: 1 passage in 1 file, 46 characters",
    },
}


class PassageMark(TypedDict):
    """A match: characters (code points) `start` to `end`, without `end`, of a line."""

    line: int
    start: int
    end: int
    term: Annotated[int, Field(description="Which of the result's `terms` stands there, from 0.")]


class _PassageLines(TypedDict):
    path: str
    line_start: int
    line_end: int
    text: str


class _PassageMarks(TypedDict):
    marks: list[PassageMark]


class _PassageMatches(TypedDict):
    matched_lines: list[int]
    terms: Annotated[Sequence[str], Field(description="Those that the passage holds.")]
    score: Annotated[float, Field(description="Distinct terms, and half of the share of their rarity.")]
    rank: int
    document_id: Annotated[str | None, Field(description="The document that was made of the file, if any.")]
    chunk_id: Annotated[str | None, Field(description="Its passage that holds the same lines.")]


class UnmarkedPassage(_PassageLines, _PassageMatches):
    """A passage as the MCP tool returns it: marks may be longer than the text."""


class FilePassage(_PassageLines, _PassageMarks, _PassageMatches):
    """Lines of a file around matches, ten before and ten behind each."""


class FilesSkipped(TypedDict):
    """Files that were not searched."""

    binary: int
    too_large: int
    refused: int


class _GrepCounts(TypedDict):
    terms: Annotated[Sequence[str], Field(description="What was looked for.")]
    files: Annotated[int, Field(description="Files that match, also those behind `max`.")]
    matched_lines: int
    searched: int
    skipped: FilesSkipped
    relaxed: Annotated[bool, Field(description="No file holds the query as a whole: its words were looked for.")]
    cut: Annotated[
        bool,
        Field(
            description="There were too many matches: not all lines of a file (1,000 a term), all files, or all "
            f"passages ({MAX_ANSWER_CHARACTERS:,} characters) are told."
        ),
    ]
    timed_out: Annotated[bool, Field(description="The deadline came first: this is what was found until then.")]
    unavailable: Annotated[
        Sequence[str], Field(description="Roots that could not be entered: nothing below them was searched.")
    ]
    left_out: Annotated[
        Sequence[str], Field(description="Words of a relaxed query that were not looked for: more than 24 terms.")
    ]
    status: GrepStatus


class _UnmarkedPassages(TypedDict):
    passages: list[UnmarkedPassage]


class _FilePassages(TypedDict):
    passages: list[FilePassage]


class UnmarkedResults(_UnmarkedPassages, _GrepCounts):
    """A search in files as the MCP tool returns it."""


class MarkedResults(_FilePassages, _GrepCounts):
    """A search in files as the command line shows it."""


@with_config(ConfigDict(json_schema_extra={"examples": [GREP_RESULTS_EXAMPLE]}))
class GrepResults(Identified, _FilePassages, _GrepCounts):
    """Passages, the best first."""


@with_config(ConfigDict(json_schema_extra={"examples": [FILE_EXAMPLE]}))
class FileContent(TypedDict):
    """Lines of a file, joined by line feeds."""

    path: str
    text: str
    line_start: int
    line_end: int
    total_lines: int
    encoding: str


def grep_document(result: GrepResult) -> MarkedResults:
    passages = [
        filled(FilePassage, passage, marks=[mark._asdict() for mark in passage.marks], **_matches(passage, rank))
        for rank, passage in enumerate(result.passages, 1)
    ]
    return {"passages": passages, **_counts(result)}


def unmarked_results(result: GrepResult) -> UnmarkedResults:
    passages = [
        filled(UnmarkedPassage, passage, **_matches(passage, rank)) for rank, passage in enumerate(result.passages, 1)
    ]
    return {"passages": passages, **_counts(result)}


def _counts(result: GrepResult) -> _GrepCounts:
    return filled(_GrepCounts, result, skipped=filled(FilesSkipped, result.skipped), status=grep_status(result))


def _matches(passage: GrepPassage, rank: int) -> dict[str, object]:
    chunk = passage.chunk
    return {
        "matched_lines": sorted({mark.line for mark in passage.marks}),
        "rank": rank,
        "document_id": None if chunk is None else chunk.document_id,
        "chunk_id": None if chunk is None else chunk.chunk_id,
    }

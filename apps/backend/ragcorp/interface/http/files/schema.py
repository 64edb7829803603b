"""What /grep and /files/read take and give."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from ragcorp.domain.files.values import (
    DEFAULT_PASSAGES,
    MAX_ANSWER_CHARACTERS,
    MAX_GLOB,
    MAX_GLOBS,
    MAX_GREP_QUERY,
    MAX_PASSAGES,
    MAX_PATH,
    GrepCase,
    GrepMode,
    GrepRequest,
)
from ragcorp.interface.http.protocol.strict_model import StrictModel

MAX_LINE = 2**31 - 1

GREP_EXAMPLE: dict[str, Any] = {"query": "plazo de entrega", "mode": "literal", "globs": ["*.md"], "max": 20}
READ_EXAMPLE: dict[str, Any] = {"path": "docs/contratos/marco.md", "line_start": 10, "line_end": 40}

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

Line = Annotated[int, Field(ge=1, le=MAX_LINE)]


class GrepBody(StrictModel):
    """A search in the files below the allowed roots."""

    model_config = ConfigDict(json_schema_extra={"examples": [GREP_EXAMPLE]})

    query: str = Field(
        max_length=MAX_GREP_QUERY,
        description="One line of text, looked for as a whole, else by its words (24 terms at most, identifiers first); "
        "or a regular expression, in which letters outside ASCII match UTF-8 and UTF-16 files only. In text, a hyphen "
        "matches printed ones (U+2010 to U+2013, U+2212) too, and straight quotes curly ones.",
        json_schema_extra={"minLength": 1},
    )
    mode: GrepMode = Field(GrepMode.LITERAL, description="`regex` has the syntax of Rust's regex crate.")
    case: GrepCase = Field(GrepCase.SMART, description="`smart`: insensitive where a term has no capital letter.")
    globs: list[Annotated[str, Field(min_length=1, max_length=MAX_GLOB)]] = Field(
        default_factory=list,
        max_length=MAX_GLOBS,
        description="Patterns of gitignore over the path below a root; with `!` those that are left out.",
    )
    max: int = Field(DEFAULT_PASSAGES, ge=1, le=MAX_PASSAGES, description="Passages to return.")
    gitignore: bool = Field(True, description="Leave out what .gitignore names.")
    stream: bool = Field(False, description="Answer with server-sent events.")

    def as_request(self) -> GrepRequest:
        return GrepRequest(
            query=self.query,
            mode=self.mode,
            case=self.case,
            globs=tuple(self.globs),
            max_passages=self.max,
            gitignore=self.gitignore,
        )


class ReadBody(StrictModel):
    """A file to read, whole or in part."""

    model_config = ConfigDict(json_schema_extra={"examples": [READ_EXAMPLE]})

    path: str = Field(max_length=MAX_PATH, description="`root/relative`, or `relative` alone: as citations have it.")
    line_start: Line | None = Field(None, description="First line, from 1.")
    line_end: Line | None = Field(None, description="Last line, included.")


class PassageMark(BaseModel):
    """A match: characters (code points) `start` to `end`, without `end`, of a line."""

    line: int
    start: int
    end: int
    term: int = Field(description="Which of the result's `terms` stands there, from 0.")


class FilePassage(BaseModel):
    """Lines of a file around matches, ten before and ten behind each."""

    path: str
    line_start: int
    line_end: int
    text: str
    marks: list[PassageMark]
    matched_lines: list[int]
    terms: list[str] = Field(description="Those that the passage holds.")
    score: float = Field(description="Distinct terms, and half of the share of their rarity.")
    rank: int
    document_id: str | None = Field(description="The document that was made of the file, if any.")
    chunk_id: str | None = Field(description="Its passage that holds the same lines.")


class FilesSkipped(BaseModel):
    """Files that were not searched."""

    binary: int
    too_large: int
    refused: int


class GrepStatus(BaseModel):
    """How much was found, in numbers and in words."""

    tool: str
    characters: int
    passages: int
    files: int
    message: str


class GrepResults(BaseModel):
    """Passages, the best first."""

    model_config = ConfigDict(json_schema_extra={"examples": [GREP_RESULTS_EXAMPLE]})

    request_id: str
    passages: list[FilePassage]
    terms: list[str] = Field(description="What was looked for.")
    files: int = Field(description="Files that match, also those behind `max`.")
    matched_lines: int
    searched: int
    skipped: FilesSkipped
    relaxed: bool = Field(description="No file holds the query as a whole: its words were looked for.")
    cut: bool = Field(
        description="There were too many matches: not all lines of a file (1,000 a term), all files, or all passages "
        f"({MAX_ANSWER_CHARACTERS:,} characters) are told."
    )
    timed_out: bool = Field(description="The deadline came first: this is what was found until then.")
    unavailable: list[str] = Field(description="Roots that could not be entered: nothing below them was searched.")
    left_out: list[str] = Field(description="Words of a relaxed query that were not looked for: more than 24 terms.")
    status: GrepStatus


class FileContent(BaseModel):
    """Lines of a file, joined by line feeds."""

    model_config = ConfigDict(json_schema_extra={"examples": [FILE_EXAMPLE]})

    path: str
    text: str
    line_start: int
    line_end: int
    total_lines: int
    encoding: str

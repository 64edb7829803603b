"""The bodies of POST /grep and POST /files/read."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import ConfigDict, Field

from ragcorp.domain.files.values import (
    DEFAULT_PASSAGES,
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

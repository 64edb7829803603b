"""Values of files in place: roots, searches, passages."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from ragcorp.domain.exceptions import FileAccessDeniedError, InvalidInputError
from ragcorp.domain.principal import Principal, Sensitivity
from ragcorp.domain.retrieval import Hit
from ragcorp.domain.text.checks import is_blank, require_length, require_storable

FILES = "files"
"""The collection of file passages in results, for files that are not stored documents."""

FILE_KIND = "file"
"""The ``artifact_type`` of such passages."""

MAX_PATH = 1000
MAX_GREP_QUERY = 1000
MAX_GREP_TERMS = 24
MAX_GREP_CHARACTERS = 10_000
"""Limit for all terms of a search together: compiling them takes about 0.1 ms per character."""
MAX_GLOBS = 20
MAX_GLOB = 200
MAX_PASSAGES = 200
DEFAULT_PASSAGES = 50

MAX_ANSWER_CHARACTERS = 200_000
"""Limit for all passages of a response; passages after the first that exceeds it are dropped."""

MATCHED_LINES = "matched_lines"
"""Metadata key of a file hit: numbers of the matching lines, ascending."""

CONTEXT_LINES = 10
"""Lines of context before and after each match."""
MERGE_LINES = 20
"""Matches of one file at most this many lines apart share a passage."""


class GrepMode(StrEnum):
    """``literal``: every character is text. ``regex``: the syntax of Rust's regex crate, linear in time."""

    LITERAL = "literal"
    REGEX = "regex"


class GrepCase(StrEnum):
    """``smart``: insensitive where a term has no capital letter."""

    SMART = "smart"
    SENSITIVE = "sensitive"
    INSENSITIVE = "insensitive"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileAccess:
    """Who may read the roots: principals of one workspace with the clearance and ``may_read_files``."""

    workspace: str = "default"
    sensitivity: Sensitivity = Sensitivity.NORMAL

    def allows(self, principal: Principal) -> bool:
        return (
            principal.may_read_files
            and principal.workspace == self.workspace
            and principal.clearance >= self.sensitivity
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class GrepRequest:
    """A search in files.

    A literal ``query`` is searched as a whole and, if no file contains it, by any of its words. ``terms``, if given,
    replace it: any of them, ignoring accents (literal only). ``globs`` are gitignore patterns over the path below a
    root; ``!`` excludes. ``max_passages`` bounds the result and ``max_characters`` the text of all passages, None for
    passages without text. Raises InvalidInputError.
    """

    query: str
    mode: GrepMode = GrepMode.LITERAL
    case: GrepCase = GrepCase.SMART
    globs: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()
    max_passages: int = DEFAULT_PASSAGES
    max_characters: int | None = MAX_ANSWER_CHARACTERS
    gitignore: bool = True

    def __post_init__(self) -> None:
        if is_blank(self.query):
            raise InvalidInputError("query is empty.", field="query", remedy="Say what to look for.")
        for name, text, limit in (
            ("query", self.query, MAX_GREP_QUERY),
            *(("globs", glob, MAX_GLOB) for glob in self.globs),
            *(("terms", term, MAX_GREP_QUERY) for term in self.terms),
        ):
            require_storable(text, field=name)
            require_length(text, field=name, limit=limit, minimum=1)
            if "\n" in text or "\r" in text:
                raise InvalidInputError(
                    f"{name} holds a line break.", field=name, limit="one line", remedy="Look for one line at a time."
                )
        for name, count, limit in (("globs", len(self.globs), MAX_GLOBS), ("terms", len(self.terms), MAX_GREP_TERMS)):
            if count > limit:
                raise InvalidInputError(
                    f"{name} lists too many.", field=name, limit=f"{limit}", remedy="List fewer of them."
                )
        if sum(map(len, self.terms)) > MAX_GREP_CHARACTERS:
            raise InvalidInputError(
                "terms are too long together.",
                field="terms",
                limit=f"{MAX_GREP_CHARACTERS} characters",
                remedy="List fewer or shorter ones.",
            )
        if not 1 <= self.max_passages <= MAX_PASSAGES:
            raise InvalidInputError.out_of_range("max", f"1 to {MAX_PASSAGES}", remedy="Ask for fewer passages.")


@dataclass(frozen=True, slots=True, kw_only=True)
class LineSearch:
    """A search for lines with any of ``terms``. ``fold_accents`` ignores accents; ``max_lines`` bounds matches."""

    terms: tuple[str, ...]
    mode: GrepMode = GrepMode.LITERAL
    case: GrepCase = GrepCase.SMART
    fold_accents: bool = False
    globs: tuple[str, ...] = ()
    gitignore: bool = True
    max_lines: int = 20_000


class Mark(NamedTuple):
    """A match in a file: its line (from 1) and the characters [start, end) in it, for the term of that number."""

    line: int
    start: int
    end: int
    term: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchedFile:
    """A file with its marks in order; ``cut``: it has more. ``path`` is ``root/relative``.

    ``names`` are the paths for reading it, ``path`` first, then the bare relative path unless an earlier root has a
    file of that path.
    """

    path: str
    names: tuple[str, ...]
    marks: tuple[Mark, ...]
    cut: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedFiles:
    """Counts of unsearched files, which do not depend on the query: they reveal nothing about unreadable files."""

    binary: int = 0
    too_large: int = 0
    refused: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FileMatches:
    """Result of a file search; ``cut``: stopped at a limit. ``unavailable`` roots could not be entered."""

    files: tuple[MatchedFile, ...]
    searched: int
    skipped: SkippedFiles = SkippedFiles()
    cut: bool = False
    timed_out: bool = False
    unavailable: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FileText:
    """Lines ``line_start`` to ``line_end`` (from 1, inclusive) of a file as text, joined by LF, without a last LF.

    An empty file has ``total_lines`` 0 and an empty text. ``encoding`` is the detected one.

    >>> FileText(path='docs/a.md', text='# Uno', line_start=1, line_end=1, total_lines=1).encoding
    'utf-8'
    """

    path: str
    text: str
    line_start: int
    line_end: int
    total_lines: int
    encoding: str = "utf-8"


class ChunkPlace(NamedTuple):
    """The position of a chunk in a stored document."""

    chunk_id: str
    document_id: str
    chunk_index: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedPassage:
    """Lines of a file around matches, before its text is read. ``terms`` are the indices of its distinct terms."""

    path: str
    names: tuple[str, ...]
    line_start: int
    line_end: int
    marks: tuple[Mark, ...]
    terms: tuple[int, ...]
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class GrepPassage:
    """A passage of a file with the marks of its matches.

    ``terms`` are the matched search terms; ``score`` combines their number and rarity (application/files/grep_ranking).
    ``chunk`` is the stored chunk with the same lines, if the file was ingested.

    >>> GrepPassage(path='a.md', line_start=1, line_end=1, text='plazo', marks=(), terms=('plazo',), score=1.0).chunk
    """

    path: str
    line_start: int
    line_end: int
    text: str
    marks: tuple[Mark, ...]
    terms: tuple[str, ...]
    score: float
    chunk: ChunkPlace | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GrepResult:
    """Passages, best first, with counts.

    ``files`` and ``matched_lines`` count all matches, also beyond ``max_passages``. ``terms`` are the searched terms;
    ``relaxed``: the query's words, since no file contains the whole; ``left_out``: words over the limit.
    ``cut``: the result is incomplete. ``unavailable`` are the roots that could not be entered.

    >>> GrepResult(passages=(), terms=('plazo',), files=0, matched_lines=0, searched=3).characters
    0
    """

    passages: tuple[GrepPassage, ...]
    terms: tuple[str, ...]
    files: int
    matched_lines: int
    searched: int
    skipped: SkippedFiles = SkippedFiles()
    relaxed: bool = False
    cut: bool = False
    timed_out: bool = False
    unavailable: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    @property
    def characters(self) -> int:
        return sum(len(passage.text) for passage in self.passages)


_PASSAGE_ID = re.compile(r"(?P<path>.+)#L(?P<start>[1-9]\d{0,9})-L(?P<end>[1-9]\d{0,9})", re.DOTALL)


def passage_id(path: str, line_start: int, line_end: int) -> str:
    """Return the id of a file passage."""
    return f"{path}#L{line_start}-L{line_end}"


def parse_passage_id(item_id: str) -> tuple[str, int, int] | None:
    """Return path, first and last line of a passage id; None if it is not one."""
    match = _PASSAGE_ID.fullmatch(item_id)
    return None if match is None else (match["path"], int(match["start"]), int(match["end"]))


def hit_of(passage: GrepPassage) -> Hit:
    """Return the hit of a passage: of its chunk, if any, else its own."""
    metadata = {MATCHED_LINES: tuple(sorted({mark.line for mark in passage.marks}))}
    if passage.chunk is not None:
        return Hit(chunk_id=passage.chunk.chunk_id, score=passage.score, metadata=metadata)
    return Hit(
        item_id=passage_id(passage.path, passage.line_start, passage.line_end),
        collection=FILES,
        score=passage.score,
        metadata=metadata,
    )


OUTSIDE = "The path leads out of the allowed roots, or to what may not be read."
"""One message for everything that must look alike: paths outside, existing or not, and withheld files."""


def denied(roots: Sequence[str], reason: str = OUTSIDE) -> FileAccessDeniedError:
    """Return the error. Its text ends with the ``roots`` by their logical names."""
    if not roots:
        return FileAccessDeniedError("No roots are allowed: set ALLOWED_PATHS.")
    return FileAccessDeniedError(f"{reason} Allowed roots: {', '.join(roots)}.")

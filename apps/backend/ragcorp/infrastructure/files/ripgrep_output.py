"""Parses ripgrep's output: matches as lines of JSON, skipped files as messages of ``--debug``."""

from __future__ import annotations

import base64
import codecs
import json
import re
from collections.abc import Callable, Collection
from typing import Any, NamedTuple

from ragcorp.domain.exceptions import FileAccessError, FileIsBinaryError, InvalidInputError, SourceUnavailableError
from ragcorp.domain.files.values import GrepMode, LineSearch, Mark, MatchedFile
from ragcorp.infrastructure.files.findings import MAX_LINES_OF_TERM, Findings, MarkedLines, is_tellable
from ragcorp.infrastructure.files.patterns import MAX_MARKS, UTF_8, Selection, Terms, submatch_marks, without_line_end
from ragcorp.infrastructure.files.reading import FileReader
from ragcorp.infrastructure.files.root_folder import RootFolder
from ragcorp.infrastructure.files.safe_open import Roots

MAX_LINE_BYTES = 1024 * 1024
"""A longer line of ripgrep's is dropped with its match."""
_MAX_MESSAGE_BYTES = 16 * 1024
_MAX_MESSAGES = 4 * 1024

_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_FAILED = 2
_MATCH = b'{"type":"match"'
_BY_RULE = b"))"
"""Ends most messages: a file that rules leave out, by the tens of thousands."""
_TOO_LARGE = re.compile(rb"rg: DEBUG\|ignore::walk\|.*?: ignoring (\./.+): \d+ bytes")
_BINARY = re.compile(rb"rg: DEBUG\|grep_printer::json\|.*?: ignoring (\./.+): found binary data at offset \d+")
_UNREADABLE = re.compile(rb"rg: (\./.+): .+ \(os error \d+\)")
_CARET = re.compile(r"^ *\^", re.MULTILINE)
_BEFORE_PATTERN = len("    (?:")


class Query:
    """A prepared search, for all terms or those with the numbers ``only``.

    Raises InvalidInputError for its globs.
    """

    def __init__(self, search: LineSearch, *, only: Collection[int] | None = None) -> None:
        self.search = search
        self.numbers = frozenset(range(len(search.terms)) if only is None else only)
        self.selection = Selection(search.globs)
        self.terms = Terms(search) if search.mode is GrepMode.LITERAL else None

    @property
    def patterns(self) -> list[str]:
        patterns = self.search.terms if self.terms is None else self.terms.patterns
        return [pattern for number, pattern in enumerate(patterns) if number in self.numbers]

    @property
    def max_count(self) -> int:
        """The lines of one file at which ripgrep stops."""
        return min(self.search.max_lines, MAX_LINES_OF_TERM) + 1


class RipgrepOutput:
    """Takes the output of one process, piece by piece, for the files of one root.

    The lines of a file count only if the roots allow it to be read and it then contains the same lines: matches that
    ripgrep read through a path that led elsewhere are dropped.
    """

    def __init__(
        self, *, query: Query, roots: Roots, reader: FileReader, root: str, folder: RootFolder, findings: Findings
    ) -> None:
        self.query = query
        self._roots = roots
        self._reader = reader
        self._root = root
        self._folder = folder
        self._findings = findings
        self._excluded = tuple(f"{path}/" for path in roots.excluded_below(root))
        self._lines = _Lines(MAX_LINE_BYTES)
        self._messages = _Lines(_MAX_MESSAGE_BYTES)
        self._relative: str | None = None
        self._matched: list[_Line] = []
        self._wanted = 0
        self._more = False
        self._unknown = bytearray()
        self._skipped = 0
        self.complete = False
        self._searches = 0
        self._unreadable = 0
        self._zero = False
        self.listed: int | None = None
        self.leaves_out: Callable[[str], bool] | None = None

    def feed(self, data: bytes) -> None:
        """Take a piece of the standard output."""
        for line in self._lines.cut(data):
            if self._findings.full:
                return
            if not line.startswith(_MATCH):
                self._read(line)
            elif self._relative is not None:
                self._findings.see(1)
                if len(self._matched) < self._wanted:
                    self._read(line)
                else:
                    self._more = True

    def feed_messages(self, data: bytes) -> None:
        """Take a piece of the standard error."""
        for line in self._messages.cut(data):
            if line.endswith(_BY_RULE):
                continue
            if match := _TOO_LARGE.fullmatch(line):
                self._skip(match[1], self._findings.too_large)
            elif match := _BINARY.fullmatch(line):
                self._skip(match[1], self._findings.binary, met=True)
            elif match := _UNREADABLE.fullmatch(line):
                self._unreadable += 1
                self._skip(match[1], self._findings.refused)
            elif not line.startswith(b"rg: DEBUG|") and len(self._unknown) < _MAX_MESSAGES:
                self._unknown += line + b"\n"

    def end(self, code: int) -> None:
        """Take the exit code. Raises InvalidInputError and SourceUnavailableError for a search that did not run."""
        if not self.complete:
            raise self._failure() if code == _FAILED else _crashed()
        self._findings.searched += max(0, self._searches - self._skipped)
        if self.listed is not None:
            # without --debug ripgrep counts the files that are too large, but does not name them
            missing = max(0, self.listed - self._searches - self._unreadable)
            self._findings.too_large.update(f"{self._root}/{number}" for number in range(missing))

    def _failure(self) -> InvalidInputError | SourceUnavailableError:
        text = self._unknown.decode(errors="replace")
        if "size limit" in text:
            return InvalidInputError(
                "query is too large as a regular expression.",
                field="query",
                remedy="Repeat less, or look for fewer and shorter terms.",
            )
        if "regex" in text:
            caret = _CARET.search(text)
            character = len(caret[0]) - _BEFORE_PATTERN if caret else 0
            place = f" (at character {character})" if character > 0 else ""
            return InvalidInputError(
                f"query is an invalid pattern{place}.",
                field="query",
                remedy="Write a regular expression as Rust's regex crate reads it, or use mode literal.",
            )
        return _crashed()

    def _read(self, line: bytes) -> None:
        message: dict[str, Any] = json.loads(line)
        data = message["data"]
        match message["type"]:
            case "begin":
                self._relative, self._matched, self._more = self._begun(data["path"]), [], False
                single = len(self.query.numbers) == 1
                self._wanted = self._findings.lines_of_term if single else self.query.max_count
            case "match":
                self._matched.append(_line(data))
            case "end":
                self._end(binary=data["binary_offset"] is not None)
            case "summary":
                self.complete = True
                self._searches = data["stats"]["searches"]
            case _:
                pass

    def _begun(self, path: dict[str, str]) -> str | None:
        """Return the path of a file that the search is about."""
        relative = path.get("text", "").removeprefix("./")
        tellable = relative and is_tellable(f"{self._root}/{relative}")
        return relative if tellable and self._is_selected(relative) else None

    def _is_selected(self, relative: str) -> bool:
        if relative not in self.query.selection or relative.startswith(self._excluded):
            return False
        return self.leaves_out is None or not self.leaves_out(relative)

    def interrupt(self) -> None:
        """Add the matches of the file that was being read when the search ended."""
        self._more = True
        self._end(binary=False)

    def _end(self, *, binary: bool) -> None:
        relative, self._relative = self._relative, None
        lines, self._matched = self._matched, []
        if relative is None or binary:  # binary files have a message, matched or not
            return
        try:
            marked = self._admitted(relative, lines)
        except FileIsBinaryError:
            if self._zero and not self.query.search.globs:  # without a match there would have been a message
                self._skip(f"./{relative}".encode(), self._findings.binary, met=True)
            return
        except (FileAccessError, InvalidInputError):
            return  # counting it would reveal its content
        if marked.marks:
            names = self._roots.names_of(self._root, relative)
            stopped = len(lines) >= self.query.max_count
            cut = marked.cut or self._more or stopped
            self._findings.stopped = self._findings.stopped or stopped
            path = f"{self._root}/{relative}"
            self._findings.add(MatchedFile(path=path, names=names, marks=tuple(marked.marks), cut=cut))

    def _admitted(self, relative: str, lines: list[_Line]) -> MarkedLines:
        """Return the matched lines of a file, checked against its content. Raises a FileAccessError if it may not be
        read.

        If a line is not UTF-8, the encoding of the whole file applies to all lines, as it will when their passage is
        read.
        """
        with self._folder.open(relative) as opened, self._reader.held(opened):
            data = self._reader.data(opened)
            self._zero = b"\0" in data and not data.startswith(_UTF_16)
            return self._confirmed(data, lines)

    def _confirmed(self, data: bytes, lines: list[_Line]) -> MarkedLines:
        foreign = any(isinstance(line.content, bytes) for line in lines)
        wide = data.startswith(_UTF_16)
        if foreign or wide or b"\0" in data:
            text, encoding = self._reader.decoded(data)
            data = text.encode(errors="replace") if wide else data
        else:
            encoding = UTF_8
        terms = self.query.terms
        marked = MarkedLines(terms=1 if terms is None else len(terms), limit=self._findings.lines_of_term)
        marked.open &= self.query.numbers
        place = len(codecs.BOM_UTF8) if data.startswith(codecs.BOM_UTF8) else 0
        number = 1
        for line in lines:
            content = line.content if isinstance(line.content, bytes) else line.content.encode()
            start = place if data.startswith(content, place) else data.find(b"\n" + content, max(0, place - 1)) + 1
            number += data.count(b"\n", place, start)
            place = start + len(content)
            ends = content.endswith(b"\n") or place == len(data)
            if number != line.number or not ends or not data.startswith(content, start):
                return MarkedLines(terms=0, limit=0)
            number += content.endswith(b"\n")
            if marks := self._marks_of(line, UTF_8 if wide else encoding, marked):
                marked.add(marks)
        return marked

    def _marks_of(self, line: _Line, encoding: str, marked: MarkedLines) -> list[Mark]:
        text, content = line.content, b""
        if isinstance(text, bytes) or encoding != UTF_8 or self.query.terms is None:
            content = text if isinstance(text, bytes) else text.encode()
            text = content.decode(encoding, "replace")
        if self.query.terms is not None:
            text = without_line_end(text)
            if marked.closed and not self.query.terms.substitute(text, marked.open):
                marked.cut = True
                return []
            return self.query.terms.marks(text, line.number)
        return submatch_marks(content, line.submatches, line.number, encoding=encoding)

    def _skip(self, path: bytes, skipped: set[str], *, met: bool = False) -> None:
        """Note a file that is left out; ``met``: ripgrep counts it among those that it searched."""
        relative = path.decode(errors="replace").removeprefix("./")
        if not self._is_selected(relative):
            return
        name = f"{self._root}/{relative}"
        self._skipped += met and name not in skipped
        skipped.add(name)


class _Line(NamedTuple):
    number: int
    content: str | bytes
    submatches: list[tuple[int, int]]


def _line(data: dict[str, Any]) -> _Line:
    """Return a matched line: as text if it is UTF-8, else as bytes. Submatches are byte ranges."""
    lines = data["lines"]
    return _Line(
        data["line_number"],
        lines["text"] if "text" in lines else base64.b64decode(lines["bytes"]),
        [(submatch["start"], submatch["end"]) for submatch in data["submatches"][:MAX_MARKS]],
    )


def _crashed() -> SourceUnavailableError:
    return SourceUnavailableError("The search in files broke off.", reason="crashed", remedy="Try again.")


class _Lines:
    """Cuts pieces into lines, without those that are longer than ``limit``."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._rest = bytearray()
        self._too_long = False

    def cut(self, data: bytes) -> list[bytes]:
        *ended, rest = data.split(b"\n")
        lines = []
        for part in ended:
            if not self._too_long and len(self._rest) + len(part) <= self._limit:
                lines.append(bytes(self._rest) + part)
            self._rest.clear()
            self._too_long = False
        self._too_long = self._too_long or len(self._rest) + len(rest) > self._limit
        if self._too_long:
            self._rest.clear()
        else:
            self._rest += rest
        return lines

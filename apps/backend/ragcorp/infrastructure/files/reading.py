"""Reads text files below the roots: whole, by lines, and passages of them."""

import os
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from threading import Semaphore

from ragcorp.domain.exceptions import (
    FileIsBinaryError,
    FileTooLargeError,
    FileUndecodableError,
    InvalidInputError,
    UnreadableDocumentError,
)
from ragcorp.domain.files.passage_text import MAX_CHARACTERS
from ragcorp.domain.files.values import FileText, denied
from ragcorp.infrastructure.files.root_folder import OpenedFile
from ragcorp.infrastructure.files.safe_open import Roots

_BLOCK = 1 << 11
"""Characters between two places whose line is known."""

Decode = Callable[[bytes], tuple[str, str]]
"""Decodes bytes; returns text and encoding. UnicodeError: unknown encoding; UnreadableDocumentError: binary data."""

_LARGE_FILE = 1 << 20
_LARGE_FILES = 2
"""Large files in memory at once: one of 20 MB may take 100 MB as text."""
_LEAST_BYTES = 4096
MAX_LINE = 1 << 20
"""Characters. A match in a longer line is never reported."""


class FileReader:
    """Reads in the caller's thread.

    ``max_file_bytes`` bounds the file, ``max_read_bytes`` the text of one call, as UTF-8.
    """

    def __init__(self, *, roots: Roots, decode: Decode, max_file_bytes: int, max_read_bytes: int) -> None:
        self._roots = roots
        self._decode = decode
        self._max_file_bytes = max_file_bytes
        self._max_read_bytes = max_read_bytes
        self._large = Semaphore(_LARGE_FILES)

    def names(self, path: str) -> tuple[str, ...]:
        """Return the paths of the file at ``path``, ``root/relative`` first. Raises a FileAccessError."""
        with self._roots.open(path) as opened:
            return self._roots.names_of(opened.root, opened.relative)

    def read(self, path: str, *, line_start: int | None = None, line_end: int | None = None) -> FileText:
        """Return a file or lines of it; lines behind its end are empty.

        Raises a FileAccessError, and InvalidInputError for an invalid range.
        """
        _require_span(line_start, line_end)
        with self._roots.open(path) as opened, self.held(opened):
            content = _Content(opened.path, *self.load(opened))
            text = content.lines_from(line_start or 1, line_end, limit=self._max_read_bytes)
        if text is None:
            raise _too_much(
                self._max_read_bytes,
                f"Name line_start and line_end, closer together: the file has {content.total:,} lines.",
            )
        return text

    def read_passages(
        self, path: str, spans: Sequence[tuple[int, int]], *, kept: Sequence[int] | None = None
    ) -> list[FileText]:
        """Return several spans of one file, ``root/relative`` and no other. See the port. Raises a FileAccessError."""
        with self._roots.open_exact(path) as opened, self.held(opened):
            content = _Content(opened.path, *self.load(opened))
            if kept is not None:
                return [content.lines_around(*span, line) for span, line in zip(spans, kept, strict=True)]
            left = self._max_read_bytes
            texts = []
            for start, end in spans:
                text = content.lines_from(start, end, limit=left)
                if text is None:
                    raise _too_much(self._max_read_bytes, "Ask for fewer passages.")
                left -= len(text.text.encode())
                texts.append(text)
            return texts

    @contextmanager
    def held(self, opened: OpenedFile) -> Iterator[None]:
        """Wait until there is room in memory for the content of a file."""
        if opened.size < _LARGE_FILE:
            yield
            return
        with self._large:
            yield

    def load(self, opened: OpenedFile) -> tuple[str, str]:
        """Return the text of an open file, with the line ends that it has, and its encoding.

        Raises FileTooLargeError, FileIsBinaryError or FileUndecodableError.
        """
        return self.decoded(self.data(opened))

    def decoded(self, data: bytes) -> tuple[str, str]:
        """Return bytes as text, and their encoding. Raises FileIsBinaryError or FileUndecodableError."""
        try:
            return self._decode(data)
        except UnreadableDocumentError:
            raise FileIsBinaryError("The file holds binary data, not text.", remedy="Read a text file.") from None
        except (UnicodeError, LookupError):
            raise FileUndecodableError(
                "The file is text in no encoding that could be detected.", remedy="Save it as UTF-8."
            ) from None

    def data(self, opened: OpenedFile) -> bytes:
        """Read to the end, and at most one byte over the limit: the file may grow. Raises FileTooLargeError."""
        limit = self._max_file_bytes
        blocks: list[bytes] = []
        left = limit + 1
        try:
            while opened.size <= limit and left:
                block = os.read(opened.descriptor, min(max(opened.size, _LEAST_BYTES), left))
                if not block:
                    return b"".join(blocks)  # of one block: the block
                blocks.append(block)
                left -= len(block)
        except OSError:
            raise denied(self._roots.names, "The system could not read it.") from None
        raise FileTooLargeError(
            f"The file is over {limit:,} bytes (MAX_FILE_BYTES).", limit=f"{limit} bytes", remedy="Split it."
        )


class _Content:
    def __init__(self, path: str, text: str, encoding: str) -> None:
        self._path = path
        self._lines = NumberedText(text)
        self._encoding = encoding

    @property
    def total(self) -> int:
        return self._lines.total

    def lines_from(self, start: int, end: int | None, *, limit: int) -> FileText | None:
        """Return a span, None if it exceeds ``limit`` bytes as UTF-8. An empty one ends one line before its start."""
        last = self.total if end is None else min(end, self.total)
        if self._lines.characters(start, last) > 2 * limit + 1:  # half of them may be CR, which are left out
            return None
        text = self._lines.text(start, last)
        return self._file_text(start, last, text) if len(text.encode()) <= limit else None

    def lines_around(self, start: int, end: int, kept: int) -> FileText:
        """Return the part of a span that a passage around a line may contain; cut lines that are too long for one."""
        last = min(end, self.total)
        kept = max(start, min(kept, last))
        after = self._lines.reach(range(kept + 1, last + 1), MAX_CHARACTERS)
        before = self._lines.reach(range(kept - 1, start - 1, -1), MAX_CHARACTERS)
        first, last = kept - before, min(last, kept + after)
        lines = [
            self._lines.line(line, limit=MAX_LINE if line == kept else MAX_CHARACTERS + 1)
            for line in range(first, last + 1)
        ]
        return self._file_text(first, last, "\n".join(lines))

    def _file_text(self, start: int, last: int, text: str) -> FileText:
        return FileText(
            path=self._path,
            text=text,
            line_start=start,
            line_end=max(start - 1, last),
            total_lines=self.total,
            encoding=self._encoding,
        )


def _require_span(line_start: int | None, line_end: int | None) -> None:
    for field, line in (("line_start", line_start), ("line_end", line_end)):
        if line is not None and line < 1:
            raise InvalidInputError(
                f"{field} is out of range.", field=field, limit="1 or more", remedy="Lines count from 1."
            )
    if line_end is not None and line_end < (line_start or 1):
        raise InvalidInputError(
            "line_end lies before line_start.", field="line_end", limit="line_start or more", remedy="Swap them."
        )


def _too_much(limit: int, remedy: str) -> FileTooLargeError:
    return FileTooLargeError(
        f"What was asked is over {limit:,} bytes (FILES_MAX_READ_BYTES).", limit=f"{limit} bytes", remedy=remedy
    )


class NumberedText:
    r"""Counts lines, from 1, as ripgrep does: they end at ``\n`` only. A ``\r`` before it is dropped."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._ends = list(accumulate(text.count("\n", start, start + _BLOCK) for start in range(0, len(text), _BLOCK)))
        ended = self._ends[-1] if self._ends else 0
        self.total = ended + (not text.endswith("\n") and text != "")

    def text(self, first: int, last: int) -> str:
        """Return lines, joined by LF; an empty text for an empty range."""
        return self._text[self._start(first) : self._stop(last)].replace("\r\n", "\n").removesuffix("\r")

    def line(self, number: int, *, limit: int) -> str:
        """Return at most ``limit`` characters of a line, from its beginning."""
        start, stop = self._start(number), self._stop(number)
        return self._text[start : min(stop, start + limit)] if stop - start > limit else self.text(number, number)

    def characters(self, first: int, last: int) -> int:
        return max(0, self._stop(last) - self._start(first))

    def reach(self, lines: Iterable[int], limit: int) -> int:
        """Return how many of the lines begin before they are over ``limit`` characters together."""
        count = 0
        for line in lines:
            if limit < 0:
                break
            limit -= self.characters(line, line) + 1
            count += 1
        return count

    def _stop(self, line: int) -> int:
        """Return where a line ends, before its LF."""
        after = self._start(line + 1)
        return after - 1 if 0 < line <= (self._ends[-1] if self._ends else 0) else after

    def _start(self, line: int) -> int:
        """Return where a line begins; the end of the text for one behind it."""
        wanted = line - 1
        if wanted <= 0:
            return 0
        block = bisect_left(self._ends, wanted)
        if block == len(self._ends):
            return len(self._text)
        place = block * _BLOCK
        for _ in range(wanted - (self._ends[block - 1] if block else 0)):
            place = self._text.index("\n", place) + 1
        return place

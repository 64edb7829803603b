"""Reads text files below the roots: whole, by lines, and passages of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import anyio.to_thread
from anyio import CapacityLimiter

from ragcorp.application.allowed_roots import denied
from ragcorp.domain.exceptions import (
    FileIsBinaryError,
    FileTooLargeError,
    FileUndecodableError,
    InvalidInputError,
    UnreadableDocumentError,
)
from ragcorp.domain.files import FileText
from ragcorp.infrastructure.files.opening import Roots
from ragcorp.infrastructure.files.root_folder import OpenedFile

Decode = Callable[[bytes], tuple[str, str]]
"""From bytes to text and the name of its encoding. UnicodeError: it is in none; UnreadableDocumentError: binary."""

_THREADS = 4
_BLOCK = 1 << 20


class FileReader:
    """Reads in threads of its own, a few at a time. A call that is cancelled ends with its thread: no file stays open.

    ``max_file_bytes`` bounds the file, ``max_read_bytes`` the text of one call, as UTF-8.
    """

    def __init__(self, *, roots: Roots, decode: Decode, max_file_bytes: int, max_read_bytes: int) -> None:
        self._roots = roots
        self._decode = decode
        self._max_file_bytes = max_file_bytes
        self._max_read_bytes = max_read_bytes
        self._limiter = CapacityLimiter(_THREADS)

    async def names(self, path: str) -> tuple[str, ...]:
        """Return the paths of the file that ``path`` leads to, ``root/relative`` first. Raises a FileAccessError."""
        return await anyio.to_thread.run_sync(self.names_now, path, limiter=self._limiter)

    async def read(self, path: str, *, line_start: int | None = None, line_end: int | None = None) -> FileText:
        """Return a file or lines of it; lines behind its end are none.

        Raises a FileAccessError, and InvalidInputError for lines that are none.
        """
        call = partial(self.read_now, path, line_start=line_start, line_end=line_end)
        return await anyio.to_thread.run_sync(call, limiter=self._limiter)

    async def read_passages(self, path: str, spans: Sequence[tuple[int, int]]) -> list[FileText]:
        """Return several spans of one file, ``root/relative`` and no other. Raises a FileAccessError."""
        return await anyio.to_thread.run_sync(self.passages_now, path, spans, limiter=self._limiter)

    def names_now(self, path: str) -> tuple[str, ...]:
        with self._roots.open(path) as opened:
            return self._roots.names_of(opened.root, opened.relative)

    def read_now(self, path: str, *, line_start: int | None = None, line_end: int | None = None) -> FileText:
        _require_span(line_start, line_end)
        with self._roots.open(path) as opened:
            content = self._content(opened)
        text = content.lines_from(line_start or 1, line_end)
        self._require_short(text.text, whole=content)
        return text

    def passages_now(self, path: str, spans: Sequence[tuple[int, int]]) -> list[FileText]:
        with self._roots.open_exact(path) as opened:
            content = self._content(opened)
        texts = []
        left = self._max_read_bytes
        for start, end in spans:
            text = content.lines_from(start, end)
            left -= len(text.text.encode())
            if left < 0:
                raise _too_much(self._max_read_bytes, "Ask for fewer passages.")
            texts.append(text)
        return texts

    def load(self, opened: OpenedFile) -> tuple[str, str]:
        """Return the text of an open file, with the line ends that it has, and its encoding.

        Raises FileTooLargeError, FileIsBinaryError or FileUndecodableError.
        """
        data = self._bytes(opened)
        try:
            return self._decode(data)
        except UnreadableDocumentError:
            raise FileIsBinaryError("The file holds binary data, not text.", remedy="Read a text file.") from None
        except (UnicodeError, LookupError):
            raise FileUndecodableError(
                "The file is text in no encoding that could be detected.", remedy="Save it as UTF-8."
            ) from None

    def _content(self, opened: OpenedFile) -> _Content:
        text, encoding = self.load(opened)
        return _Content(path=opened.path, lines=lines_of(text), encoding=encoding)

    def _bytes(self, opened: OpenedFile) -> bytes:
        """Read to the end, and at most one byte over the limit: the file may grow."""
        limit = self._max_file_bytes
        data = bytearray()
        try:
            while opened.size <= limit and len(data) <= limit:
                block = os.read(opened.descriptor, min(_BLOCK, limit + 1 - len(data)))
                if not block:
                    return bytes(data)
                data += block
        except OSError:
            raise denied(self._roots.names, "The system could not read it.") from None
        raise FileTooLargeError(
            f"The file is over {limit:,} bytes (MAX_FILE_BYTES).", limit=f"{limit} bytes", remedy="Split it."
        )

    def _require_short(self, text: str, *, whole: _Content) -> None:
        if len(text.encode()) > self._max_read_bytes:
            lines = len(whole.lines)
            raise _too_much(
                self._max_read_bytes, f"Name line_start and line_end, closer together: the file has {lines:,} lines."
            )


class _Content(NamedTuple):
    path: str
    lines: list[str]
    encoding: str

    def lines_from(self, start: int, end: int | None) -> FileText:
        """An empty span ends one line before its start."""
        total = len(self.lines)
        last = total if end is None else min(end, total)
        return FileText(
            path=self.path,
            text="\n".join(self.lines[start - 1 : last]),
            line_start=start,
            line_end=max(start - 1, last),
            total_lines=total,
            encoding=self.encoding,
        )


def lines_of(text: str) -> list[str]:
    r"""Return the lines as ripgrep counts them: they end at ``\n`` only. A ``\r`` before it is left out."""
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


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
        f"What was asked is over {limit:,} bytes (FILES_MAX_READ_BYTES).",
        limit=f"{limit} bytes",
        remedy=remedy,
    )

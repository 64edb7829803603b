"""Where a command writes: results to stdout, everything else to stderr.

With ``--json`` stdout carries one JSON document and nothing besides, in success and in failure.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from io import TextIOWrapper

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ragcorp.domain.exceptions import (
    ConfigurationError,
    FileAccessError,
    InvalidInputError,
    MissingFileError,
    RagcorpError,
    SourceUnavailableError,
)
from ragcorp.interface.shapes.json_text import mapping_or_text

EXIT_OK = 0
EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_UNAVAILABLE = 3
EXIT_INTERRUPTED = 130

FILE_ERROR = "[ERROR: "

FILE_WIDTH = 200
"""Columns of a table that goes to a file or a pipe."""

_CONTROLS = dict.fromkeys([*range(0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)])
"""C0, C1 and text-direction controls: a document must not steer the terminal. Line feed and tab stay."""
del _CONTROLS[0x0A], _CONTROLS[0x09]


_UNESCAPED = re.compile("[\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Control characters that JSON does not escape and a terminal obeys."""


class Output:
    """The two streams of a command."""

    def __init__(self, *, json: bool, stdout: TextIOWrapper, stderr: TextIOWrapper) -> None:
        self.json = json
        self.json_lines = False
        """Whether each JSON document is one line: for commands that write several."""
        self._stdout = stdout
        self.console = _console(stdout)
        self.notes = _console(stderr)

    def result(self, document: Mapping[str, object], render: Callable[[Console], None]) -> None:
        """Write the result: ``document`` with --json, else what ``render`` prints."""
        if self.json:
            self.write_json(document)
        else:
            render(self.console)

    def fields(self, document: Mapping[str, object]) -> None:
        """Write one object: with --json as it is, else as a table of names and values."""
        table = Table(show_header=False, box=None)
        for name, value in document.items():
            text = "" if value is None else str(list(value) if isinstance(value, tuple) else value)
            table.add_row(plain(name, style="bold"), plain(text))
        self.result(document, lambda console: console.print(table))

    def page(self, document: Mapping[str, object], table: Table, next_cursor: str | None) -> None:
        """Write a page of a list, and how to get the next one."""

        def render(console: Console) -> None:
            console.print(table)
            if next_cursor:
                console.print(plain(f"more: --cursor {next_cursor}", style="dim"))

        self.result(document, render)

    def write_json(self, document: Mapping[str, object]) -> None:
        indent = None if self.json_lines else 2
        text = json.dumps(document, ensure_ascii=False, indent=indent, default=mapping_or_text)
        self._stdout.write(_UNESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n")
        self._stdout.flush()

    def write_bytes(self, content: bytes) -> None:
        """Write a file's content to stdout as it is."""
        self._stdout.flush()
        self._stdout.buffer.write(content)
        self._stdout.buffer.flush()

    def leave_stdout(self) -> None:
        """Discard all further output to stdout, also what is still buffered."""
        with suppress(OSError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stdout.fileno())
            os.close(nowhere)

    def note(self, text: str, *, style: str = "") -> None:
        """Write a line to stderr."""
        self.notes.print(plain(text, style=style))

    def error(self, document: Mapping[str, object]) -> None:
        """Write a failure: the JSON document, or one line with the remedy."""
        if self.json:
            self.write_json({"error": document})
            return
        text = plain(sentences(document))
        # a file that cannot be read has its own head: [ERROR: NOT_FOUND]
        line = Text("" if text.plain.startswith(FILE_ERROR) else "error: ", style="bold red")
        line.append_text(text)
        self.notes.print(line)


def _console(stream: TextIOWrapper) -> Console:
    width = None if stream.isatty() else FILE_WIDTH
    return Console(file=stream, width=width, markup=False, highlight=False, emoji=False, soft_wrap=True)


def plain(text: str, *, style: str = "") -> Text:
    """Return text for the terminal, without its control characters."""
    return Text(text.translate(_CONTROLS), style=style)


def sentences(error: Mapping[str, object]) -> str:
    """Return the message of an error document, its limit and its remedy."""
    parts = [str(error["message"])]
    if error["limit"] and str(error["limit"]) not in parts[0]:
        parts.append(f"Limit: {error['limit']}.")
    if error["remedy"]:
        parts.append(str(error["remedy"]))
    return " ".join(parts)


def error_document(error: RagcorpError) -> dict[str, object]:
    """Return the JSON object of an error."""
    return {
        "code": error.code,
        "message": error.message,
        "field": error.field,
        "limit": error.limit,
        "remedy": error.remedy,
    }


def exit_code(error: RagcorpError) -> int:
    """Return 2 where the caller's input or settings are at fault, 3 for an outage, else 1."""
    if isinstance(error, InvalidInputError | ConfigurationError | MissingFileError | FileAccessError):
        return EXIT_USAGE
    return EXIT_UNAVAILABLE if isinstance(error, SourceUnavailableError) else EXIT_FAILED

"""Output of a command: results to stdout, all else to stderr. With ``--json`` stdout is one JSON document."""

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import datetime
from io import TextIOWrapper
from pathlib import Path
from typing import Any, TypeVar

from rich.box import HEAVY_HEAD, Box
from rich.console import Console
from rich.table import Column, Table
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

SHORT_CHARACTERS = 80
"""Characters of a text in a table's cell."""

_CONTROLS = dict.fromkeys([*range(0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)])
"""C0, C1 and direction controls: a document must not steer the reader's terminal. Line feed and tab stay."""
del _CONTROLS[0x0A], _CONTROLS[0x09]


Thing = TypeVar("Thing")

Cells = Mapping[str, Callable[[Thing], object]]

_UNESCAPED = re.compile("[\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Controls that JSON does not escape and a terminal obeys."""


class Output:
    def __init__(self, *, json: bool, stdout: TextIOWrapper, stderr: TextIOWrapper) -> None:
        self.json = json
        self.json_lines = False
        """Whether each JSON document is one line, for commands that write several."""
        self._stdout = stdout
        self.console = _console(stdout)
        self.notes = _console(stderr)

    def result(self, document: Mapping[str, object], render: Callable[[Console], None]) -> None:
        """Write the command's result: ``document`` with --json, else the output of ``render``."""
        if self.json:
            self.write_json(document)
        else:
            render(self.console)

    def line(self, document: Mapping[str, object], text: str | Text) -> None:
        """Write a result that is one line for people."""
        self.result(document, lambda console: console.print(plain(text) if isinstance(text, str) else text))

    def table(
        self, document: Mapping[str, object], columns: Sequence[str | Column], rows: Iterable[Iterable[object]]
    ) -> None:
        self.result(document, lambda console: print_table(console, columns, rows))

    def values(self, document: Mapping[str, object]) -> None:
        """Write one thing: a table of names and values for people."""
        rows = (
            (plain(name, style="bold"), list(value) if isinstance(value, tuple) else value)
            for name, value in document.items()
        )
        self.result(document, lambda console: print_table(console, None, rows))

    def page(
        self,
        name: str,
        things: Sequence[Thing],
        next_cursor: str | None,
        *,
        document_of: Callable[[Thing], Mapping[str, object]],
        cells: Cells[Thing],
    ) -> None:
        """Write a page of a list: documents under ``name``, or a table."""

        def render(console: Console) -> None:
            print_table(console, tuple(cells), ([cell(thing) for cell in cells.values()] for thing in things))
            if next_cursor:
                print_line(console, f"more: --cursor {next_cursor}", style="dim")

        self.result({name: [document_of(thing) for thing in things], "next_cursor": next_cursor}, render)

    def write_json(self, document: Mapping[str, object]) -> None:
        indent = None if self.json_lines else 2
        text = json.dumps(document, ensure_ascii=False, indent=indent, default=mapping_or_text)
        self._stdout.write(_UNESCAPED.sub(lambda control: f"\\u{ord(control[0]):04x}", text) + "\n")
        self._stdout.flush()

    def write_bytes(self, content: bytes) -> None:
        self._stdout.flush()
        self._stdout.buffer.write(content)
        self._stdout.buffer.flush()

    def leave_stdout(self) -> None:
        """Send stdout to the null device, including what is buffered: nothing reads it any more."""
        with suppress(OSError), Path(os.devnull).open("wb") as null:
            os.dup2(null.fileno(), self._stdout.fileno())

    def note(self, text: str, *, style: str = "") -> None:
        print_line(self.notes, text, style=style)

    def failure(self, place: str, error: RagcorpError, *, field: str | None = None) -> None:
        reason = f": {f'{field}: ' if field else ''}{sentences(error_document(error))}"
        print_line(self.notes, place, reason, style="red")

    def error(self, document: Mapping[str, object]) -> None:
        """Write the failure of the command: the JSON document, or one line with the remedy."""
        if self.json:
            self.write_json({"error": document})
            return
        text = sentences(document)
        # a file that cannot be read has its own prefix: [ERROR: NOT_FOUND]
        print_line(self.notes, "" if text.startswith(FILE_ERROR) else "error: ", text, style="bold red")


def print_table(
    console: Console,
    columns: Sequence[str | Column] | None,
    rows: Iterable[Iterable[object]],
    *,
    box: Box | None = HEAVY_HEAD,
) -> None:
    """Print a table; None is an empty cell. Without ``columns`` there is neither a header nor a box."""
    table = Table(show_header=False, box=None) if columns is None else Table(*columns, box=box)
    for row in rows:
        table.add_row(*("" if cell is None else cell if isinstance(cell, Text) else plain(str(cell)) for cell in row))
    console.print(table)


def print_line(console: Console, *parts: str | tuple[str, str], style: str = "") -> None:
    """Print texts, or pairs of a text and its style, on one line and without control characters."""
    texts = (plain(part) if isinstance(part, str) else plain(*part) for part in parts)
    console.print(Text.assemble(*texts, style=style))


def minutes(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d %H:%M}" if moment else ""


def days(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d}" if moment else ""


def shortened(text: str) -> str:
    """Return the beginning of a text on one line."""
    line = " ".join(text[: 2 * SHORT_CHARACTERS].split())
    fits = len(line) <= SHORT_CHARACTERS and len(text) <= 2 * SHORT_CHARACTERS
    return line if fits else f"{line[:SHORT_CHARACTERS]}…"


def _console(stream: TextIOWrapper) -> Console:
    width = None if stream.isatty() else FILE_WIDTH
    return Console(file=stream, width=width, markup=False, highlight=False, emoji=False, soft_wrap=True)


def plain(text: str, style: str = "") -> Text:
    """Return text for the terminal without control characters."""
    return Text(text.translate(_CONTROLS), style=style)


def sentences(error: Mapping[str, object]) -> str:
    """Return the message, the limit and the remedy of an error document."""
    parts = [str(error["message"])]
    if error["limit"] and str(error["limit"]) not in parts[0]:
        parts.append(f"Limit: {error['limit']}.")
    if error["remedy"]:
        parts.append(str(error["remedy"]))
    return " ".join(parts)


def error_document(error: RagcorpError) -> dict[str, object]:
    return {name: getattr(error, name) for name in ("code", "message", "field", "limit", "remedy")}


def exit_code(error: RagcorpError) -> int:
    """Return 2 where the caller's input or settings are at fault, 3 for an outage, else 1."""
    if isinstance(error, InvalidInputError | ConfigurationError | MissingFileError | FileAccessError):
        return EXIT_USAGE
    return EXIT_UNAVAILABLE if isinstance(error, SourceUnavailableError) else EXIT_FAILED


def with_model(described: Any) -> dict[str, object]:
    """Return a dataclass as a document, with its embedding model as name and dimensions."""
    values = asdict(described)
    model = values.pop("model")
    return {"model": model["name"], "dimensions": model["dimensions"], **values}

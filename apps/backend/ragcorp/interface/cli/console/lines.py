"""Commands that load a file of JSON lines."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from ragcorp.domain.exceptions import RagcorpError
from ragcorp.interface.cli.console.output import Output, error_document, plain, sentences
from ragcorp.interface.line_files import lines_of, opened_lines

MAX_SHOWN_FAILURES = 50

LinesFile = Annotated[Path, typer.Argument(metavar="FILE", help="JSON lines; - reads stdin.", show_default=False)]
Failures = Sequence[tuple[int, RagcorpError]]
"""Line numbers and their errors."""


@asynccontextmanager
async def counted_lines(file: Path) -> AsyncIterator[tuple[Iterator[bytes], int | None]]:
    """Open a file, or stdin for ``-``, and yield its lines and their number, which is None for stdin."""
    if str(file) == "-":
        yield lines_of(sys.stdin.buffer), None
        return
    with opened_lines(file) as stream:
        total = await asyncio.to_thread(lambda: sum(1 for _ in lines_of(stream)))
        stream.seek(0)
        yield lines_of(stream), total


def note_failures(output: Output, failures: Failures, *, failed: int, elsewhere: str = "") -> None:
    """Write the first of ``failed`` bad lines to stderr; ``elsewhere`` names the place of the others."""
    for number, error in failures[:MAX_SHOWN_FAILURES]:
        field = f"{error.field}: " if error.field else ""
        line = plain(f"line {number}", style="red")
        line.append_text(plain(f": {field}{sentences(error_document(error))}"))
        output.notes.print(line)
    if failed > MAX_SHOWN_FAILURES:
        output.note(f"and {failed - MAX_SHOWN_FAILURES:,} more bad lines{elsewhere}")


def failure_documents(failures: Iterable[tuple[int, RagcorpError]]) -> list[dict[str, object]]:
    return [{"line": number, "error": error_document(error)} for number, error in failures]


def write_totals(output: Output, totals: Mapping[str, int], **more: object) -> None:
    """Write ``totals`` as a table of one row; with --json also ``more``."""
    table = Table(*totals)
    table.add_row(*map(str, totals.values()))
    output.result({**totals, **more}, lambda console: console.print(table))

"""`ragcorp grep` and `ragcorp read`: files in place, without a database."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from rich.console import Console
from rich.text import Text
from typer import Option

from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.files import values as files
from ragcorp.interface.cli.console.calls import Call
from ragcorp.interface.cli.console.options import argument, option
from ragcorp.interface.cli.console.output import plain, print_line
from ragcorp.interface.shapes.files import FileContent, grep_document
from ragcorp.interface.shapes.result_text import file_length, grep_status
from ragcorp.interface.shapes.values import filled

_LINES = re.compile(r"(?P<only>\d{1,9})|(?P<first>\d{1,9})?-(?P<last>\d{1,9})?", re.ASCII)

Roots = Annotated[
    list[str] | None,
    option("--path", metavar="[NAME=]DIR", help="A folder to look in, in place of ALLOWED_PATHS; may be given again."),
]


@dataclass(frozen=True, kw_only=True)
class GrepOptions:
    regex: Annotated[bool, Option("--regex", help="QUERY is a regular expression.")] = False
    globs: Annotated[
        list[str] | None,
        option(
            "--glob",
            metavar="PATTERN",
            help="Files to search, as in .gitignore; with ! those to leave out. May be given again.",
        ),
    ] = None
    case: Annotated[files.GrepCase, Option("--case", help="smart: insensitive where a term has no capital letter.")] = (
        files.GrepCase.SMART
    )
    max_passages: Annotated[int, Option("--max", metavar="N", help="Passages to show.")] = files.DEFAULT_PASSAGES
    no_gitignore: Annotated[bool, Option("--no-gitignore", help="Search what .gitignore leaves out.")] = False


async def grep(
    call: Call,
    query: Annotated[str, argument(help="Text, looked for as a whole, else by its words.")],
    options: GrepOptions,
    roots: Roots = None,
) -> None:
    """Search the files of ALLOWED_PATHS for words, and show the passages around them."""
    request = files.GrepRequest(
        query=query,
        mode=files.GrepMode.REGEX if options.regex else files.GrepMode.LITERAL,
        case=options.case,
        globs=tuple(options.globs or ()),
        max_passages=options.max_passages,
        gitignore=not options.no_gitignore,
    )
    tools = call.services.files(call.target, roots or ())
    result = await tools.grep.grep(request, principal=tools.principal)
    call.output.result(grep_document(result), lambda console: _print_passages(console, result))
    for note in _notes(result):
        call.output.note(note, style="dim")


async def read(
    call: Call,
    path: Annotated[str, argument(help="As citations have it: ROOT/RELATIVE or RELATIVE.")],
    lines: Annotated[str | None, option("--lines", metavar="FIRST-LAST", help="As 10-20, 10- or 10.")] = None,
    roots: Roots = None,
) -> None:
    """Print a file of ALLOWED_PATHS, or lines of it.

    Lines that search and ask name for HTML, CSV, Office and PDF documents are those of their text, not of the file:
    `ragcorp artifact_chunks list --artifact NAME` shows it.
    """
    first, last = parse_lines(lines)
    tools = call.services.files(call.target, roots or ())
    file = await tools.read_file.read(path, principal=tools.principal, line_start=first, line_end=last)
    if call.output.json or call.output.console.is_terminal:
        call.output.result(filled(FileContent, file), lambda console: _print_file(console, file))
    elif _has_lines(file):  # a pipe gets the text as it is
        call.output.write_bytes(f"{file.text}\n".encode())
    call.output.note(f"{file.path}: {_extent(file)}", style="dim")


def parse_lines(written: str | None) -> tuple[int | None, int | None]:
    """Return the first and the last line of ``10-20``, ``10-`` or ``10``. Raises InvalidInputError."""
    if written is None:
        return None, None
    match = _LINES.fullmatch(written.strip())
    numbers = {} if match is None else {name: int(digits) for name, digits in match.groupdict().items() if digits}
    if not numbers:
        raise InvalidInputError("--lines takes FIRST-LAST.", field="--lines", remedy="Write it as --lines 10-20.")
    only = numbers.get("only")
    return numbers.get("first", only), numbers.get("last", only)


def _print_passages(console: Console, result: files.GrepResult) -> None:
    if not result.passages:
        console.print("Nothing found.")
    for number, passage in enumerate(result.passages):
        if number:
            console.print("")
        _print_passage(console, passage)


def _print_passage(console: Console, passage: files.GrepPassage) -> None:
    print_line(console, f"{passage.path}:{passage.line_start}-{passage.line_end}", style="cyan")
    marks: dict[int, list[files.Mark]] = {}
    for mark in passage.marks:
        marks.setdefault(mark.line, []).append(mark)
    width = len(str(passage.line_end))
    for line, text in enumerate(passage.text.split("\n"), passage.line_start):
        row = Text("> " if line in marks else "  ")
        row.append_text(plain(f"{line:>{width}}  ", style="dim"))
        row.append_text(marked_line(text, marks.get(line, ())))
        console.print(row)


def marked_line(line: str, marks: Sequence[files.Mark]) -> Text:
    """Return a line with its marks in bold. Control characters are left out, so the line is built piece by piece."""
    text = Text()
    done = 0
    for mark in sorted(marks):
        if mark.end > done:
            start = max(mark.start, done)
            text.append_text(plain(line[done:start]))
            text.append_text(plain(line[start : mark.end], style="bold"))
            done = mark.end
    return text.append_text(plain(line[done:]))


def _notes(result: files.GrepResult) -> list[str]:
    notes = [grep_status(result)["message"]]
    if result.relaxed:
        notes.append("no file holds all of it in a row: its words were looked for")
    if result.left_out:
        notes.append(f"not looked for, as there are too many words: {', '.join(result.left_out)}")
    if result.unavailable:
        notes.append(f"roots that cannot be entered: {', '.join(result.unavailable)}")
    skipped = result.skipped
    counts = ((skipped.binary, "binary"), (skipped.too_large, "too large"), (skipped.refused, "refused"))
    if passed_over := [f"{count} {why}" for count, why in counts if count]:
        notes.append(f"passed over: {', '.join(passed_over)}")
    return notes


def _print_file(console: Console, file: files.FileText) -> None:
    if _has_lines(file):
        print_line(console, file.text)


def _has_lines(file: files.FileText) -> bool:
    return file.line_end >= file.line_start


def _extent(file: files.FileText) -> str:
    if not _has_lines(file):
        return file_length(file.total_lines)
    return f"lines {file.line_start}-{file.line_end} of {file.total_lines}, {file.encoding}"

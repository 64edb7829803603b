"""Matches in large files and beside long lines: generated code, JSON Lines, logs."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragcorp.application.files.grep import GrepFiles
from ragcorp.domain.files.values import FileAccess, GrepRequest, SkippedFiles
from ragcorp.domain.principal import Principal
from ragcorp.infrastructure.files.reading import MAX_LINE, FileReader
from ragcorp.infrastructure.files.repository import LocalFileRepository
from ragcorp.infrastructure.files.ripgrep import Ripgrep, find_ripgrep
from ragcorp.infrastructure.parsing.decoding import decode_with_name
from support.files.grep import LONG, StoredFiles
from support.files.roots import roots_of, write

pytestmark = pytest.mark.anyio

MAX_FILE = 8 * MAX_LINE


def grep_over(folder: Path) -> GrepFiles:
    binary = find_ripgrep()
    assert binary is not None
    roots = roots_of(folder)
    reader = FileReader(roots=roots, decode=decode_with_name, max_file_bytes=MAX_FILE, max_read_bytes=MAX_LINE)
    search = Ripgrep(roots=roots, binary=binary, reader=reader, max_file_bytes=MAX_FILE)
    return GrepFiles(
        files=LocalFileRepository(roots=roots, reader=reader, search=search),
        documents=StoredFiles(),
        access=FileAccess(),
        timeout_seconds=LONG,
    )


async def test_a_match_beside_a_line_that_is_too_long_to_show(tmp_path: Path) -> None:
    docs = write(
        tmp_path / "docs", {"app.min.js": f"{'x' * (4 * MAX_LINE)}\nlinea kraken corta\n{'y' * 30_000}\nfin\n"}
    )
    result = await grep_over(docs).grep(GrepRequest(query="kraken corta"), principal=Principal())
    assert (result.files, result.relaxed, result.skipped) == (1, False, SkippedFiles())
    [passage] = result.passages
    assert (passage.line_start, passage.line_end, passage.text) == (2, 2, "linea kraken corta")


async def test_matches_in_lines_that_are_too_much_together(tmp_path: Path) -> None:
    row = f'{{"a": "{"x" * 100_000}", "b": "kraken"}}\n'
    docs = write(tmp_path / "docs", {"rows.jsonl": row * 40})
    result = await grep_over(docs).grep(GrepRequest(query="kraken"), principal=Principal())
    assert (result.files, result.matched_lines, result.skipped) == (1, 40, SkippedFiles())
    first = result.passages[0]
    [mark] = first.marks
    assert first.text[mark.start : mark.end] == "kraken"


async def test_large_files_of_short_lines(tmp_path: Path) -> None:
    text = "€\n" * 400_000 + "aguja\n"
    docs = write(tmp_path / "docs", {f"{number}.txt": text for number in range(3)})
    result = await grep_over(docs).grep(GrepRequest(query="aguja"), principal=Principal())
    assert [(passage.line_start, passage.line_end) for passage in result.passages] == [(399_991, 400_001)] * 3
    assert not result.timed_out

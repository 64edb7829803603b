"""Document reading with explicit error reporting: text, lines, encodings and limits."""

from __future__ import annotations

import os
import tracemalloc
import unicodedata
from pathlib import Path

import pytest

from ragcorp.domain.exceptions import (
    FileAccessDeniedError,
    FileIsBinaryError,
    FileNotFoundInRootsError,
    FileTooLargeError,
    FileUndecodableError,
    InvalidInputError,
)
from ragcorp.domain.files.passage_text import MAX_CHARACTERS
from ragcorp.domain.files.values import MAX_PATH, FileText
from ragcorp.infrastructure.files.reading import MAX_LINE, FileReader, NumberedText
from support.files.roots import MAX_FILE, MAX_READ, open_descriptors, reader_of, roots_of, said, write

SPANISH = "Año 2026: la cigüeña de Logroño costó 30 — ¿«sí» o “no”?\nCamión, señal y pingüino.\n"


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    return write(tmp_path / "docs", {"a/contrato.md": SPANISH, "ten.txt": "".join(f"line {n}\n" for n in range(1, 11))})


@pytest.fixture
def reader(docs: Path) -> FileReader:
    return reader_of(roots_of(docs))


# the scenarios of the specification


def test_file_read_success(reader: FileReader) -> None:
    # WHEN read_file(path) is called with a valid path within allowed_paths
    # THEN the system returns the UTF-8 text content of the file
    assert reader.read("docs/a/contrato.md") == FileText(
        path="docs/a/contrato.md", text=SPANISH.removesuffix("\n"), line_start=1, line_end=2, total_lines=2
    )
    assert reader.read("a/contrato.md") == reader.read("docs/a/contrato.md")


def test_file_not_found(reader: FileReader) -> None:
    # WHEN read_file(path) is called with a path that does not exist but is within allowed_paths
    # THEN the system returns an error message starting with [ERROR: NOT_FOUND]
    for path in ("docs/missing.md", "missing.md", "docs/missing/a.md", "docs/ten.txt/a.md"):
        assert said(reader, path).startswith("[ERROR: NOT_FOUND] ")


def test_access_denied(docs: Path, tmp_path: Path) -> None:
    # WHEN read_file(path) is called with a path outside allowed_paths
    # THEN the system returns an error message starting with [ERROR: ACCESS_DENIED]
    # AND the message includes the list of currently allowed base directories (by their logical names)
    write(tmp_path / "code", {"x.py": ""})
    reader = reader_of(roots_of(docs, tmp_path / "code"))
    for path in ("/etc/passwd", "../secret.txt", "docs/../../secret.txt", str(docs / "ten.txt")):
        message = said(reader, path)
        assert message.startswith("[ERROR: ACCESS_DENIED] ")
        assert message.endswith("Allowed roots: docs, code.")
        assert str(tmp_path) not in message


def test_without_roots_nothing_is_allowed(docs: Path) -> None:
    assert said(reader_of(roots_of()), "docs/ten.txt") == (
        "[ERROR: ACCESS_DENIED] No roots are allowed: set ALLOWED_PATHS."
    )


# paths


@pytest.mark.parametrize("path", ["./docs/ten.txt", "docs//ten.txt", "docs/./ten.txt", "./ten.txt", ".//ten.txt"])
def test_dots_and_double_slashes_are_no_names(reader: FileReader, path: str) -> None:
    assert reader.read(path).path == "docs/ten.txt"


@pytest.mark.parametrize("path", ["", "x" * (MAX_PATH + 1), "docs/\ud800.txt"])
def test_what_is_no_path(reader: FileReader, path: str) -> None:
    with pytest.raises(InvalidInputError) as raised:
        reader.read(path)
    assert raised.value.field == "path"


def test_a_file_that_no_path_can_name_is_in_no_root(tmp_path: Path) -> None:
    folders = "f" * 246 + "/"
    relative = folders * 4 + "abcdefgh"
    write(tmp_path / "docs", {relative: "too deep", relative[:-1]: "deep"})
    roots = roots_of(tmp_path / "docs")
    with roots.entered("docs") as folder:
        with folder.open(relative[:-1]) as opened:
            assert (len(opened.path), opened.size) == (MAX_PATH, 4)
        with pytest.raises(FileNotFoundInRootsError), folder.open(relative):
            pass
    assert reader_of(roots).read(f"docs/{relative[:-1]}").text == "deep"


@pytest.mark.parametrize("stored", ["NFC", "NFD"])
@pytest.mark.parametrize("asked", ["NFC", "NFD"])
def test_a_name_is_found_in_either_form_and_shown_as_it_is_stored(tmp_path: Path, stored: str, asked: str) -> None:
    name = unicodedata.normalize(stored, "año/camión.md")
    write(tmp_path / "docs", {name: "hola"})
    text = reader_of(roots_of(tmp_path / "docs")).read(unicodedata.normalize(asked, "docs/año/camión.md"))
    assert (text.path, text.text) == (f"docs/{name}", "hola")


def test_the_name_as_given_wins_over_its_other_form(tmp_path: Path) -> None:
    write(tmp_path / "docs", {unicodedata.normalize(form, "ñ.md"): form for form in ("NFC", "NFD")})
    reader = reader_of(roots_of(tmp_path / "docs"))
    assert [reader.read(unicodedata.normalize(form, "ñ.md")).text for form in ("NFC", "NFD")] == ["NFC", "NFD"]


def test_no_character_is_taken_for_another(tmp_path: Path) -> None:
    write(tmp_path, {"docs/A.md": "upper", "secret.txt": "secret"})
    reader = reader_of(roots_of(tmp_path / "docs"))
    for path in ("a.md", "\uff21.md", "\uff0e\uff0e/secret.txt", "\u2025/secret.txt", "..\uff0fsecret.txt"):
        assert said(reader, path).startswith("[ERROR: NOT_FOUND]")


# lines


@pytest.mark.parametrize(
    ("start", "end", "text", "span"),
    [
        (None, None, "\n".join(f"line {n}" for n in range(1, 11)), (1, 10)),
        (3, 5, "line 3\nline 4\nline 5", (3, 5)),
        (10, 10, "line 10", (10, 10)),
        (None, 2, "line 1\nline 2", (1, 2)),
        (9, None, "line 9\nline 10", (9, 10)),
        (9, 500, "line 9\nline 10", (9, 10)),
        (11, None, "", (11, 10)),
        (50, 60, "", (50, 49)),
        (10**30, 10**30, "", (10**30, 10**30 - 1)),
    ],
)
def test_lines(reader: FileReader, start: int | None, end: int | None, text: str, span: tuple[int, int]) -> None:
    read = reader.read("ten.txt", line_start=start, line_end=end)
    assert (read.text, (read.line_start, read.line_end), read.total_lines) == (text, span, 10)


@pytest.mark.parametrize(
    ("start", "end", "field"),
    [(0, None, "line_start"), (-1, 3, "line_start"), (None, 0, "line_end"), (5, 4, "line_end")],
)
def test_lines_that_are_none(reader: FileReader, start: int | None, end: int | None, field: str) -> None:
    with pytest.raises(InvalidInputError) as raised:
        reader.read("ten.txt", line_start=start, line_end=end)
    assert raised.value.field == field


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", []),
        ("\n", [""]),
        ("a", ["a"]),
        ("a\n", ["a"]),
        ("a\n\n", ["a", ""]),
        ("a\r\nb\r\n", ["a", "b"]),
        ("a\rb\n", ["a\rb"]),
        ("a\r\r\nb", ["a\r", "b"]),
        ("a\x0bb\x0cc\x1cd\x85e\u2028f\u2029g\n", ["a\x0bb\x0cc\x1cd\x85e\u2028f\u2029g"]),
    ],
)
def test_lines_are_counted_as_ripgrep_counts_them(text: str, lines: list[str]) -> None:
    numbered = NumberedText(text)
    assert numbered.total == len(lines)
    assert [numbered.text(line, line) for line in range(1, len(lines) + 1)] == lines
    assert numbered.text(1, len(lines)) == "\n".join(lines)
    assert numbered.text(len(lines) + 1, len(lines) + 2) == ""


def test_lines_of_a_long_text_are_found_by_their_numbers() -> None:
    lines = [("ñ" * (number % 7)) + str(number) for number in range(1, 20_001)]
    numbered = NumberedText("\r\n".join(lines))
    assert numbered.total == 20_000
    for first, last in ((1, 1), (9_999, 10_003), (20_000, 20_000), (1, 20_000), (15_000, 14_999)):
        assert numbered.text(first, last) == "\n".join(lines[first - 1 : last])
    assert numbered.line(10_000, limit=3) == lines[9_999][:3]


def test_a_large_file_of_short_lines_costs_a_few_times_its_size(docs: Path) -> None:
    size = 3_000_000
    write(docs, {"short.txt": "€\n" * (size // 4)})
    reader = reader_of(roots_of(docs), max_file=size)
    tracemalloc.start()
    try:
        read = reader.read("short.txt", line_start=700_000, line_end=700_001)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (read.text, read.total_lines) == ("€\n€", size // 4)
    assert peak < 5 * size


def test_an_empty_file(docs: Path, reader: FileReader) -> None:
    write(docs, {"empty.txt": ""})
    assert reader.read("empty.txt") == FileText(path="docs/empty.txt", text="", line_start=1, line_end=0, total_lines=0)


def test_passages_of_one_file_are_clipped(reader: FileReader) -> None:
    first, second, third = reader.read_passages("docs/ten.txt", [(1, 2), (9, 30), (40, 50)])
    assert (first.text, second.text, third.text) == ("line 1\nline 2", "line 9\nline 10", "")
    assert [(text.line_start, text.line_end) for text in (first, second, third)] == [(1, 2), (9, 10), (40, 39)]


def test_passages_are_read_from_the_file_of_that_root_only(tmp_path: Path) -> None:
    write(tmp_path, {"a/b/x.md": "in a", "b/y.md": ""})
    reader = reader_of(roots_of(tmp_path / "a", tmp_path / "b"))
    assert reader.read("b/x.md").path == "a/b/x.md"
    for path in ("b/x.md", "x.md", "c/x.md", ".", "b", "y.md"):
        with pytest.raises((FileNotFoundInRootsError, FileAccessDeniedError)):
            reader.read_passages(path, [(1, 1)])


# encodings


@pytest.mark.parametrize(
    ("codec", "name"),
    [
        ("utf-8", "utf-8"),
        ("utf-8-sig", "utf-8"),
        ("cp1252", "cp1252"),
        ("utf-16", "utf-16-le"),
        ("utf-16-le", "utf-16-le"),
        ("utf-16-be", "utf-16-be"),
        ("utf-32", "utf-32-le"),
    ],
)
def test_spanish_in_any_encoding(docs: Path, reader: FileReader, codec: str, name: str) -> None:
    write(docs, {"es.txt": SPANISH.replace("\n", "\r\n").encode(codec)})
    text = reader.read("es.txt")
    assert (text.text, text.encoding, text.total_lines) == (SPANISH.removesuffix("\n"), name, 2)


@pytest.mark.parametrize(
    "content",
    [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", b"text and \0 a zero", b"\x7fELF\x02\x01\x01\0" * 8, bytes(range(1, 32)) * 30],
)
def test_binary(docs: Path, reader: FileReader, content: bytes) -> None:
    write(docs, {"x.bin": content})
    with pytest.raises(FileIsBinaryError, match=r"^\[ERROR: BINARY\] "):
        reader.read("x.bin")


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbfesto no es utf-8: \xf1\xf3",
        b"\xff\xfea\0b",
        b"\xff\xfe\x00\xd8a\0",
        b"\xff\xfe\0\0abc",
        "ñandú ".encode() * 3 + b"\x81\x8d\x8f\x90\x9d" * 9,
    ],
)
def test_what_no_encoding_gives(docs: Path, reader: FileReader, content: bytes) -> None:
    write(docs, {"x.txt": content})
    with pytest.raises(FileUndecodableError, match=r"^\[ERROR: DECODE\] "):
        reader.read("x.txt")


# limits


def test_a_file_over_the_limit_is_not_read_not_even_a_line_of_it(docs: Path, reader: FileReader) -> None:
    write(docs, {"fits.txt": b"x\n" * (MAX_FILE // 2), "over.txt": b"x\n" * (MAX_FILE // 2) + b"x"})
    assert reader.read("fits.txt", line_start=2, line_end=3).text == "x\nx"
    for lines in ({}, {"line_start": 1, "line_end": 1}):
        with pytest.raises(FileTooLargeError, match=r"^\[ERROR: TOO_LARGE\] .*65,536 bytes \(MAX_FILE_BYTES\)"):
            reader.read("over.txt", **lines)


def test_a_sparse_file_of_a_terabyte_is_refused_at_once(docs: Path, reader: FileReader) -> None:
    path = docs / "sparse.txt"
    path.touch()
    os.truncate(path, 1 << 40)
    assert said(reader, "sparse.txt").startswith("[ERROR: TOO_LARGE]")


def test_what_is_asked_is_bounded_as_utf_8_and_the_remedy_names_the_lines(docs: Path, reader: FileReader) -> None:
    row = "ñ" * 99 + "\n"
    rows = MAX_READ // 199
    write(docs, {"long.txt": row * (rows + 1)})
    assert reader.read("long.txt", line_end=rows).line_end == rows
    with pytest.raises(FileTooLargeError, match=r"16,384 bytes \(FILES_MAX_READ_BYTES\)") as raised:
        reader.read("long.txt")
    assert raised.value.remedy == f"Name line_start and line_end, closer together: the file has {rows + 1} lines."
    assert reader.read("long.txt", line_start=rows + 1).text == "ñ" * 99


def test_the_limit_counts_the_last_byte(docs: Path, reader: FileReader) -> None:
    write(docs, {"fits.txt": "x" * MAX_READ + "\n", "over.txt": "x" * (MAX_READ + 1)})
    assert len(reader.read("fits.txt").text) == MAX_READ
    assert said(reader, "over.txt").startswith("[ERROR: TOO_LARGE]")


def test_passages_are_bounded_together(docs: Path, reader: FileReader) -> None:
    write(docs, {"rows.txt": ("x" * 1023 + "\n") * 20})
    assert len(reader.read_passages("docs/rows.txt", [(1, 8), (9, 16)])) == 2
    with pytest.raises(FileTooLargeError):
        reader.read_passages("docs/rows.txt", [(1, 8), (9, 16), (1, 2)])


def test_a_passage_keeps_its_line_whatever_stands_beside_it(docs: Path) -> None:
    long, longer = "x" * (MAX_READ + 1), "y" * (2 * MAX_LINE)
    lines = ["first", long, "ocho", "match", "seis", longer, "last"]
    write(docs, {"mixed.txt": "\n".join(lines)})
    reader = reader_of(roots_of(docs), max_file=4 * MAX_LINE)
    with pytest.raises(FileTooLargeError):
        reader.read_passages("docs/mixed.txt", [(1, 7)])
    around, clipped, endless, gone = reader.read_passages(
        "docs/mixed.txt", [(1, 7), (2, 90), (5, 7), (8, 9)], kept=[4, 4, 6, 8]
    )
    assert (around.line_start, around.line_end) == (1, 6)
    assert around.text.split("\n") == [*lines[:5], longer[: MAX_CHARACTERS + 1]]
    assert (clipped.line_start, clipped.line_end) == (2, 6)
    assert (endless.line_start, endless.text) == (5, f"seis\n{longer[:MAX_LINE]}\nlast")
    assert (gone.line_start, gone.line_end, gone.text) == (8, 7, "")


def test_a_passage_holds_no_more_lines_than_it_can_show(docs: Path) -> None:
    row = "x" * 999
    write(docs, {"rows.txt": f"{row}\n" * 100})
    [text] = reader_of(roots_of(docs), max_file=1 << 20).read_passages("docs/rows.txt", [(1, 100)], kept=[50])
    assert (text.line_start, text.line_end) == (50 - 21, 50 + 21)


def test_a_file_that_grows_after_it_was_opened_stays_within_the_limit(docs: Path) -> None:
    write(docs, {"log.txt": "x" * 100})
    roots = roots_of(docs)
    with roots.open("log.txt") as opened:
        with (docs / "log.txt").open("a") as log:
            log.write("y" * (MAX_FILE - 100))
        assert len(reader_of(roots).load(opened)[0]) == MAX_FILE
    with roots.open("log.txt") as opened:
        with (docs / "log.txt").open("a") as log:
            log.write("z")
        os.lseek(opened.descriptor, 0, os.SEEK_SET)
        with pytest.raises(FileTooLargeError):
            reader_of(roots).load(opened)


def test_no_descriptor_is_left_open(docs: Path, reader: FileReader) -> None:
    write(docs, {"x.bin": b"\0", "over.txt": b"x" * (MAX_FILE + 1)})
    (docs / "link").symlink_to("ten.txt")
    before = open_descriptors()
    for path in ("ten.txt", "docs/a/contrato.md", "missing", "a/x/y", "../x", "x.bin", "over.txt", "link", "a") * 20:
        said(reader, path)
    assert open_descriptors() == before

"""Source code and configuration are documents whose lines are the file's own."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ragcorp.application
from ragcorp.domain.documents import ChunkDraft, SourceFile
from ragcorp.domain.exceptions import PayloadTooLargeError, UnreadableDocumentError
from ragcorp.infrastructure.files.folder import LocalFiles
from ragcorp.infrastructure.parsing.chunker import StructureChunker
from ragcorp.infrastructure.parsing.media_types import BY_SUFFIX, CODE
from ragcorp.infrastructure.parsing.parser import MultiFormatParser

PARSER = MultiFormatParser()
CHUNKER = StructureChunker(max_tokens=48, overlap_tokens=8)

PYTHON = '''# Copyright of nobody

"""Un módulo."""


class Pedido:
    # no heading
    def total(self) -> int:
        return sum(
            linea.precio
            for linea in self.lineas
        )


# another comment
def vacío():
    pass
'''
YAML = """# Servicio
---
name: api
ports:
    - 80

    - 443
# fin
"""
MARKUP = "<a>\n  <b>uno | dos</b>\n  <c>--- | ---</c>\n\n</a>\n"
TABLE = "a | b\n--- | ---\n" + "".join(f"{n} | {n}\n" for n in range(80))


def source(name: str, text: str) -> SourceFile:
    return SourceFile(content=text.encode(), media_type="", filename=name)


def lines_of(text: str) -> list[str]:
    """The lines of a file, as a search in it counts them."""
    return [line.removesuffix("\r") for line in text.split("\n")]


def assert_own_lines(chunk: ChunkDraft, lines: list[str]) -> None:
    """Every line of a chunk stands in the file at its number; the first and the last may be cut."""
    content = chunk.content.split("\n")
    if content[-1] == "":
        content.pop()
    own = lines[chunk.line_start - 1 : chunk.line_end]
    # a passage that starts inside a table has the table's header before its rows
    content = content[len(content) - len(own) :]
    assert len(content) == len(own)
    assert content[1:-1] == own[1:-1]
    assert own[0].endswith(content[0]) or own[0].startswith(content[0]) or content[0] in own[0]
    assert content[-1] in own[-1]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pedido.py", PYTHON * 6),
        ("servicio.yaml", YAML * 10),
        ("datos.xml", MARKUP * 12),
        ("tabla.sql", TABLE),
        ("windows.cs", PYTHON.replace("\n", "\r\n") * 4),
        ("guion.sh", "echo 'uno'\rdos\n\n\n  # tres\n\ttab\f\nfin\n" * 20),
    ],
    ids=["python", "yaml", "xml", "table", "windows", "returns"],
)
def test_every_chunk_spans_the_files_own_lines(name: str, text: str) -> None:
    parsed = PARSER.parse(source(name, text))
    chunks = CHUNKER.chunk(parsed)
    assert len(chunks) > 2
    cleaned = text.replace("\r\n", "\n").replace("\r", " ").replace("\f", " ")
    for chunk in chunks:
        assert_own_lines(chunk, lines_of(cleaned))
    covered = {line for chunk in chunks for line in range(chunk.line_start, chunk.line_end + 1)}
    assert {number for number, line in enumerate(lines_of(cleaned), 1) if line.strip()} <= covered


@given(text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x0b\x0c"), min_size=1))
def test_no_text_moves_a_line(text: str) -> None:
    try:
        parsed = PARSER.parse(source("a.py", text))
    except UnreadableDocumentError:
        return
    assert parsed.text.count("\n") == text.count("\n")


@pytest.mark.parametrize(
    ("name", "text"),
    [("pedido.py", PYTHON * 6), ("servicio.yaml", YAML * 10), ("guion.sh", "# uno\n" * 60), ("tabla.sql", TABLE)],
    ids=["python", "yaml", "shell", "table"],
)
def test_a_comment_is_no_heading_and_a_column_no_table(name: str, text: str) -> None:
    parsed = PARSER.parse(source(name, text))
    chunks = CHUNKER.chunk(parsed)
    assert parsed.plain
    assert {chunk.heading_path for chunk in chunks} == {()}
    for chunk in chunks:
        # no header of a table before the rows
        assert chunk.content in parsed.text
    as_markdown = PARSER.parse(source("a.md", text))
    assert not as_markdown.plain
    assert any(chunk.heading_path or chunk.content not in as_markdown.text for chunk in CHUNKER.chunk(as_markdown))


def test_code_is_cut_between_its_blocks() -> None:
    block = "def f():\n    return [\n" + "        1,\n" * 12 + "    ]\n"
    text = "\n\n".join([block] * 6)
    chunks = StructureChunker(max_tokens=64, overlap_tokens=0).chunk(PARSER.parse(source("a.py", text)))
    assert len(chunks) > 2
    assert all(chunk.content.startswith("def f():") for chunk in chunks)


def test_passages_of_code_begin_and_end_with_whole_lines() -> None:
    """So that ``path:12-30`` is what is read there, and no statement starts in its middle."""
    overlapping = 0
    for path in sorted(Path(ragcorp.application.__file__).parent.rglob("s*.py")):
        parsed = PARSER.parse(source(path.name, path.read_text(encoding="utf-8")))
        lines = parsed.text.split("\n")
        before = 0
        for chunk in StructureChunker().chunk(parsed):
            own = "\n".join(lines[chunk.line_start - 1 : chunk.line_end])
            assert chunk.content.strip() == own.strip()
            overlapping += chunk.line_start <= before
            before = chunk.line_end
    assert overlapping > 10


def test_names_and_kinds() -> None:
    for name in ("a.py", "A.RS", "x/y.tf", "Dockerfile", "Makefile", "api.dockerfile", "C:\\src\\main.go"):
        assert PARSER.media_type(name) == "text/plain"
        assert PARSER.artifact_type(name) == "code"
    for name in ("a.md", "a.txt", "a.log", "a.rst", "a.tex", "a.html", "a.pdf"):
        assert PARSER.media_type(name)
        assert PARSER.artifact_type(name) == "document"


def test_code_is_never_served_as_what_a_browser_runs() -> None:
    assert {BY_SUFFIX[suffix] for suffix in CODE} == {"text/plain"}
    assert {".js", ".svg", ".xml", ".xsl", ".css", ".php"} <= CODE
    # what the sender calls it does not count
    assert PARSER.media_type("a.svg", "image/svg+xml") == "text/plain"


def test_the_title_is_the_files_name() -> None:
    assert PARSER.parse(source("src/pedido.py", PYTHON)).title == "pedido.py"
    assert PARSER.parse(source("Dockerfile", "FROM scratch\n")).title == "Dockerfile"


def test_huge_and_binary_files_are_refused() -> None:
    with pytest.raises(PayloadTooLargeError):
        MultiFormatParser(max_characters=1000).parse(source("a.json", "[" + "1,\n" * 2000 + "1]"))
    with pytest.raises(UnreadableDocumentError):
        PARSER.parse(SourceFile(content=bytes(range(256)) * 10, media_type="", filename="a.ts"))


def test_a_folder_of_code_is_found(tmp_path: Path) -> None:
    root = tmp_path
    for name in ("a.py", "Dockerfile", "Makefile", "LICENSE", "a.exe", "b.min.js", ".env", "x.yaml"):
        (root / name).write_text("x", encoding="utf-8")
    files = LocalFiles(suffixes=PARSER.suffixes, max_bytes=100)
    assert [entry.relative for entry in files.find(root)] == ["Dockerfile", "Makefile", "a.py", "b.min.js", "x.yaml"]

"""`ragcorp grep` and `ragcorp read`: files without a database; and the places that `ragcorp search` prints."""

from __future__ import annotations

import io
import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.files.values import Mark
from ragcorp.interface.cli.search.files import marked_line, parse_lines
from support.processes.command_line import Done, environment, run_apart, run_here

Command = Callable[..., Done]

SECRET = "contenido-del-secreto"


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A root with a secret beside it, and a database that nobody reaches: these commands need none."""
    root = tmp_path / "docs"
    (root / "sub").mkdir(parents=True)
    lines = [f"Línea {number} de relleno." for number in range(1, 41)]
    lines[19] = "El plazo de entrega: 30 días, plazo firme."
    (root / "marco.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (root / "sub" / "iva.py").write_text("def calcular_total(base):\n    return base * 1.21\n", encoding="utf-8")
    (root / "foto.bin").write_bytes(b"\x00\x01" * 100)
    (root / "malo.txt").write_text("\x1b[31mrojo\x07 plazo2\n", encoding="utf-8")
    (tmp_path / "secreto.txt").write_text(SECRET, encoding="utf-8")
    monkeypatch.setenv("DATABASE_URL", "postgresql://nobody@127.0.0.1:1/none")
    monkeypatch.setenv("ALLOWED_PATHS", str(root))
    return tmp_path


@pytest.mark.usefixtures("tree")
def test_grep_prints_passages_with_their_matched_lines_marked() -> None:
    done = run_here("grep", "plazo de entrega")
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0] == "docs/marco.md:10-30"
    assert lines[1] == "  10  Línea 10 de relleno."
    assert lines[11] == "> 20  El plazo de entrega: 30 días, plazo firme."
    assert [line for line in lines if line.startswith(">")] == [lines[11]]
    assert len(lines) == 22
    assert done.err.splitlines()[0].startswith("grep_search: 1 passage in 1 file, ")


@pytest.mark.usefixtures("tree")
def test_grep_as_json_is_the_json_of_the_service() -> None:
    done = run_here("grep", "plazo de entrega", "--json")
    assert done.code == 0
    (passage,) = done.json["passages"]
    assert (passage["path"], passage["rank"], passage["matched_lines"]) == ("docs/marco.md", 1, [20])
    assert passage["marks"] == [{"line": 20, "start": 3, "end": 19, "term": 0}]
    assert (passage["document_id"], passage["chunk_id"]) == (None, None)
    assert done.json["status"]["files"] == 1


@pytest.mark.usefixtures("tree")
def test_grep_takes_expressions_globs_case_and_a_maximum() -> None:
    assert [p["path"] for p in run_here("grep", r"calcular_\w+", "--regex", "--json").json["passages"]] == [
        "docs/sub/iva.py"
    ]
    assert run_here("grep", "relleno", "--glob", "*.py", "--json").json["passages"] == []
    assert run_here("grep", "relleno", "--glob", "!*.md", "--json").json["files"] == 0
    assert run_here("grep", "LÍNEA", "--json").json["files"] == 0
    assert run_here("grep", "LÍNEA", "--case", "insensitive", "--json").json["files"] == 1
    some = run_here("grep", "plazo", "--max", "1", "--json").json
    assert (len(some["passages"]), some["files"]) == (1, 2)


@pytest.mark.usefixtures("tree")
def test_grep_respects_gitignore_until_it_is_told_not_to(tree: Path) -> None:
    (tree / "docs" / ".gitignore").write_text("sub/\n", encoding="utf-8")
    assert run_here("grep", "calcular_total", "--json").json["files"] == 0
    assert run_here("grep", "calcular_total", "--no-gitignore", "--json").json["files"] == 1


def test_path_wins_over_allowed_paths(tree: Path) -> None:
    sub = f"codigo={tree / 'docs' / 'sub'}"
    results = run_here("grep", "calcular_total", "--path", sub, "--json").json
    assert [passage["path"] for passage in results["passages"]] == ["codigo/iva.py"]
    assert run_here("read", "iva.py", "--path", sub, "--json").json["path"] == "codigo/iva.py"
    assert run_here("grep", "plazo", "--path", sub, "--json").json["files"] == 0


@pytest.mark.usefixtures("tree")
def test_nothing_found_is_said_and_no_failure() -> None:
    done = run_here("grep", "inexistente")
    assert (done.code, done.out) == (0, "Nothing found.\n")
    assert done.err.splitlines() == ["grep_search: 0 passages in 0 files, 0 characters", "passed over: 1 binary"]


@pytest.mark.usefixtures("tree")
def test_a_files_controls_do_not_reach_the_terminal() -> None:
    done = run_here("grep", "plazo2")
    assert "\x1b" not in done.out
    assert "\x07" not in done.out
    assert done.out.splitlines()[1] == "> 1  [31mrojo plazo2"


@pytest.mark.usefixtures("tree")
@pytest.mark.parametrize(
    ("lines", "text"),
    [
        ((), "def calcular_total(base):\n    return base * 1.21\n"),
        (("--lines", "2"), "    return base * 1.21\n"),
        (("--lines", "1-1"), "def calcular_total(base):\n"),
        (("--lines", "2-"), "    return base * 1.21\n"),
        (("--lines=-1",), "def calcular_total(base):\n"),
        (("--lines", "7-9"), ""),
    ],
)
def test_read_prints_the_text_alone(lines: tuple[str, ...], text: str) -> None:
    done = run_here("read", "docs/sub/iva.py", *lines)
    assert (done.code, done.out) == (0, text)
    assert done.err.startswith("docs/sub/iva.py: " + ("lines " if text else "The file has 2 lines.\n"))


@pytest.mark.usefixtures("tree")
def test_read_as_json_is_the_json_of_the_service() -> None:
    assert run_here("read", "sub/iva.py", "--lines", "1", "--json").json == {
        "path": "docs/sub/iva.py",
        "text": "def calcular_total(base):",
        "line_start": 1,
        "line_end": 1,
        "total_lines": 2,
        "encoding": "utf-8",
    }


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("docs/no.md", "NOT_FOUND"),
        ("../secreto.txt", "ACCESS_DENIED"),
        ("../no.txt", "ACCESS_DENIED"),
        ("/etc/passwd", "ACCESS_DENIED"),
        ("docs/foto.bin", "BINARY"),
    ],
)
def test_read_says_why_it_cannot(tree: Path, path: str, kind: str) -> None:
    done = run_here("read", path)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"[ERROR: {kind}] ")
    if kind == "ACCESS_DENIED":
        assert "Allowed roots: docs." in done.err
    assert SECRET not in done.err
    assert str(tree) not in done.err
    shown = run_here("read", path, "--json")
    assert shown.code == 2
    assert shown.json["error"]["message"].startswith(f"[ERROR: {kind}] ")
    assert shown.err == ""


def test_without_roots_nothing_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALLOWED_PATHS", "")
    for arguments in (("grep", "plazo"), ("read", "a.md")):
        done = run_here(*arguments)
        assert done.code == 2
        assert done.err.startswith("[ERROR: ACCESS_DENIED] ")
        assert "set ALLOWED_PATHS" in done.err


@pytest.mark.usefixtures("tree")
@pytest.mark.parametrize(
    "arguments",
    [
        ("grep", ""),
        ("grep", "a", "--max", "0"),
        ("grep", "(", "--regex"),
        ("grep", "a", "--case", "upper"),
        ("grep", "a", "--path", "/no/such/folder"),
        ("read", ""),
        ("read", "docs/marco.md", "--lines", "9-3"),
        ("read", "docs/marco.md", "--lines", "x"),
        ("read", "docs/marco.md", "--lines", "0"),
    ],
)
def test_wrong_input_is_exit_code_two(arguments: tuple[str, ...]) -> None:
    done = run_here(*arguments)
    assert done.code == 2, done.err
    assert done.out == ""
    assert "/no/such" not in done.err


def test_lines_are_written_as_a_span() -> None:
    assert parse_lines(None) == (None, None)
    assert parse_lines("10-20") == (10, 20)
    assert parse_lines(" 10 ") == (10, 10)
    assert parse_lines("10-") == (10, None)
    assert parse_lines("-20") == (None, 20)
    for wrong in ("", "-", "a-b", "1-2-3", "1,2", "9999999999"):
        with pytest.raises(InvalidInputError):
            parse_lines(wrong)


def test_marks_are_bold_where_they_stand_whatever_is_not_shown() -> None:
    line = marked_line("a\x1b\x07\u202ebc plazo", (Mark(1, 4, 6, 0), Mark(1, 5, 6, 1), Mark(1, 7, 12, 0)))
    assert line.plain == "abc plazo"
    assert [line.plain[span.start : span.end] for span in line.spans if "bold" in str(span.style)] == ["bc", "plazo"]


def test_no_database_is_started(tree: Path, tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    env = {"RAGCORP_DATA_DIR": str(data_dir), "DATABASE_URL": "", "ALLOWED_PATHS": str(tree / "docs")}
    assert run_apart("grep", "plazo", env=env).code == 0
    assert run_apart("read", "marco.md", env=env).code == 0
    assert not data_dir.exists()


def test_a_terminal_sees_marks_in_bold(tree: Path) -> None:
    parent, child = pty.openpty()
    try:
        command = [sys.executable, "-m", "ragcorp", "grep", "plazo de entrega"]
        env = environment({"ALLOWED_PATHS": str(tree / "docs"), "TERM": "xterm-256color"})
        subprocess.run(command, env=env, stdout=child, stderr=subprocess.DEVNULL, timeout=60, check=True)
    finally:
        os.close(child)
    shown = _read_all(parent)
    assert "\x1b[1mplazo de entrega\x1b[0m" in shown
    assert "> " in shown


def _read_all(descriptor: int) -> str:
    read = io.BytesIO()
    try:
        while piece := os.read(descriptor, 65_536):
            read.write(piece)
    except OSError:  # EIO: the other side is closed
        pass
    finally:
        os.close(descriptor)
    return read.getvalue().decode()


def test_search_prints_path_and_lines(ragcorp: Command, folder: Path) -> None:
    named = folder / "mapa"
    named.mkdir()
    (named / "x1.md").write_text("# Mapa\n\nEl faro de Acme alumbra la costa.\n", encoding="utf-8")
    metadata = json.dumps("costa/faro.md")
    assert ragcorp("ingest", str(named), "--metadata", f"file_path={metadata}").code == 0
    done = ragcorp("search", "faro costa")
    assert done.code == 0
    assert "costa/faro.md:1-3" in done.out.splitlines()[0]
    assert "x1.md:" not in done.out
    answer = ragcorp("ask", "¿Qué alumbra el faro de Acme?")
    assert "costa/faro.md:3" in answer.out


def test_search_takes_keywords_and_a_threshold(ragcorp: Command, folder: Path) -> None:
    assert ragcorp("ingest", str(folder)).code == 0
    result = ragcorp("search", "plazo", "--keywords", "REQ-2026-014", "--profile", "files", "--json")
    assert result.code == 0, result.err
    assert result.json["results"][0]["external_id"].endswith("marco.md")
    assert ragcorp("search", "plazo", "--keywords", "x" * 1001).code == 2
    assert ragcorp("search", "plazo", "--vector-score-threshold", "0").code == 2
    assert ragcorp("search", "plazo", "--vector-score-threshold", "0.4").code == 0

"""Nothing of a folder is left out in silence, and litter is no failure."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.parsing.partly_read import archive_with_a_program, pdf_with_scanned_pages
from support.processes.command_line import Done

Command = Callable[..., Done]


@pytest.fixture
def office(tmp_path: Path) -> Path:
    """A folder as people have it."""
    root = tmp_path / "oficina"
    files: dict[str, bytes] = {
        "informe.md": b"El informe se entrega en marzo.",
        "~$informe.docx": b"\x06" + b"\0" * 161,
        ".~lock.informe.odt#": b",ana,",
        "Thumbs.db": b"\xd0\xcf",
        ".DS_Store": b"\0\0\0\1Bud1",
        "desktop.ini": b"[.ShellClassInfo]",
        "paquete/__init__.py": b"",
        "vacio.md": b"",
        "blanco.txt": b"\xef\xbb\xbf \n",
        "video.mp4": b"\0",
        ".env": b"CLAVE=1",
        ".git/config": b"[core]",
        ".gitignore": b"*.log\n*.bin\nsalida/\n",
        "traza.log": b"nada",
        "datos.bin": b"nada",
        "salida/a.md": b"nada",
    }
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    (root / "enlace.md").symlink_to(root / "informe.md")
    return root


def reasons(document: dict[str, Any]) -> dict[str, str]:
    return {file["path"]: file["reason"] for file in document["left_out"]}


LEFT_OUT = {
    "~$informe.docx": "lock_file",
    ".~lock.informe.odt#": "lock_file",
    "Thumbs.db": "system_file",
    ".DS_Store": "system_file",
    "desktop.ini": "system_file",
    "paquete/__init__.py": "empty",
    "vacio.md": "empty",
    "blanco.txt": "empty",
    "video.mp4": "kind",
    ".env": "hidden",
    ".git/": "hidden",
    ".gitignore": "hidden",
    "enlace.md": "link",
}


def test_a_run_lists_every_file_that_it_leaves_out(ragcorp: Command, office: Path) -> None:
    done = ragcorp("ingest", str(office), "--json")
    assert (done.code, done.json["files"], done.json["failed"]) == (0, 1, 0)
    assert reasons(done.json) == LEFT_OUT
    assert done.json["left_out_counts"] == {
        "lock_file": 2, "system_file": 3, "empty": 3, "kind": 1, "hidden": 3, "link": 1, "ignored": 3
    }  # fmt: skip
    # the second run says so again
    assert reasons(ragcorp("ingest", str(office), "--json").json) == LEFT_OUT


def test_people_read_the_reasons(ragcorp: Command, office: Path) -> None:
    done = ragcorp("ingest", str(office))
    assert done.code == 0
    assert "Left out: 1 file of a kind that is not supported: video.mp4" in done.out
    assert "Left out: 3 empty files: blanco.txt, paquete/__init__.py, vacio.md" in done.out
    assert "Left out: 3 excluded by .gitignore" in done.out


@pytest.mark.parametrize("name", ["~$informe.docx", "Thumbs.db", "vacio.md"])
def test_litter_that_is_named_itself_is_no_failure(ragcorp: Command, office: Path, name: str) -> None:
    done = ragcorp("ingest", str(office / name), "--json")
    assert (done.code, done.json["files"], reasons(done.json)) == (0, 0, {name: LEFT_OUT[name]})


def test_empty_files_of_one_name_in_two_folders_are_no_clash(ragcorp: Command, tmp_path: Path) -> None:
    for folder in ("uno", "dos"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "__init__.py").touch()
        (tmp_path / folder / f"{folder}.py").write_text("x = 1\n")
    done = ragcorp("ingest", str(tmp_path / "uno"), str(tmp_path / "dos"), "--json")
    assert (done.code, done.json["created"], done.json["left_out_counts"]) == (0, 2, {"empty": 2})


def test_what_was_not_read_of_a_file_is_named(ragcorp: Command, tmp_path: Path) -> None:
    (tmp_path / "plazos.pdf").write_bytes(pdf_with_scanned_pages())
    named = [{"external_id": "plazos.pdf", "unread": [{"kind": "page", "count": 2, "places": ["2", "4"]}]}]
    for _ in range(2):
        assert ragcorp("ingest", str(tmp_path), "--json").json["partly_read"] == named
    assert "plazos.pdf: 2 pages have no text: 2, 4" in ragcorp("ingest", str(tmp_path)).out
    assert "2 pages have no text: 2, 4" in ragcorp("documents", "show", "plazos.pdf").out
    assert ragcorp("documents", "show", "plazos.pdf", "--json").json["unread"] == named[0]["unread"]


def test_a_name_with_a_line_end_is_refused_clearly(ragcorp: Command, tmp_path: Path) -> None:
    root = tmp_path / "raro"
    root.mkdir()
    for name in (b"acta\n2.md", b"a\xf1o.md"):
        Path(os.fsdecode(os.fsencode(root) + b"/" + name)).write_text("texto")
    (root / "bueno.md").write_text("texto")
    done = ragcorp("ingest", str(root), "--json")
    assert (done.code, done.json["created"]) == (1, 1)
    failures = {failure["external_id"]: failure["error"] for failure in done.json["failures"]}
    assert set(failures) == {"acta\\x0a2.md", "a\\xf1o.md"}
    for error in failures.values():
        assert (error["code"], error["field"]) == ("invalid_input", "path")
        assert "line end" in error["message"]
        assert error["remedy"] == "Rename the file."
    (line,) = [line for line in ragcorp("ingest", str(root)).err.splitlines() if "acta" in line]
    assert line.startswith("acta\\x0a2.md: The file's name has a line end")


def test_files_inside_a_file_are_counted_and_shown(ragcorp: Command, tmp_path: Path) -> None:
    (tmp_path / "todo.zip").write_bytes(archive_with_a_program())
    assert (
        "Documents of files inside them (attachments, members of archives): 1" in ragcorp("ingest", str(tmp_path)).out
    )
    assert ragcorp("ingest", str(tmp_path), "--json").json["parts"] == 1
    assert ragcorp("documents", "show", "todo.zip", "--json").json["parts"] == ["todo.zip/contrato.md"]
    assert ragcorp("documents", "show", "todo.zip/contrato.md", "--json").json["part_of"] == "todo.zip"
    assert "todo.zip/contrato.md" in ragcorp("documents", "show", "todo.zip").out

"""What ALLOWED_PATHS may say, and what the roots are called."""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path

import pytest

from ragcorp.domain.exceptions import ConfigurationError
from ragcorp.infrastructure.files.roots import Root, parse_roots
from ragcorp.infrastructure.files.safe_open import Roots
from support.files.roots import reader_of, roots_of, write


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("docs", "code", "con espacios", "código"):
        (tmp_path / name).mkdir()
    (tmp_path / "file.txt").touch()
    return Path(os.path.realpath(tmp_path))


@pytest.mark.parametrize("text", ["", " ", "\n"])
def test_nothing_means_no_roots(text: str) -> None:
    assert parse_roots(text) == ()


def test_names_and_their_defaults(folder: Path) -> None:
    assert parse_roots(f"{folder}/docs:src={folder}/code:{folder}/con espacios/") == (
        Root(name="docs", path=folder / "docs"),
        Root(name="src", path=folder / "code"),
        Root(name="con espacios", path=folder / "con espacios"),
    )


def test_an_equals_sign_in_the_path_needs_a_name(folder: Path) -> None:
    (folder / "a=b").mkdir()
    assert parse_roots(f"x={folder}/a=b") == (Root(name="x", path=folder / "a=b"),)
    with pytest.raises(ConfigurationError):
        parse_roots(f"{folder}/a=b")


def test_a_relative_folder_and_the_home_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(folder))
    assert parse_roots("docs:~/code:./con espacios") == (
        Root(name="docs", path=folder / "docs"),
        Root(name="code", path=folder / "code"),
        Root(name="con espacios", path=folder / "con espacios"),
    )


def test_a_root_that_is_a_link_is_resolved_once_and_keeps_no_trace_of_it(folder: Path) -> None:
    (folder / "link").symlink_to("docs")
    assert parse_roots(f"{folder}/link") == (Root(name="docs", path=folder / "docs"),)
    assert parse_roots(f"link={folder}/link") == (Root(name="link", path=folder / "docs"),)


def test_the_whole_disk_needs_a_name() -> None:
    assert parse_roots("disk=/") == (Root(name="disk", path=Path("/")),)
    with pytest.raises(ConfigurationError, match="empty name"):
        parse_roots("/")


def test_a_name_is_composed(tmp_path: Path) -> None:
    decomposed = unicodedata.normalize("NFD", "año")
    write(tmp_path, {f"{decomposed}/a.txt": "hola"})
    [root] = parse_roots(str(tmp_path / decomposed))
    assert root.name == "año"
    reader = reader_of(Roots([root]))
    assert reader.read("año/a.txt").text == "hola"
    assert reader.read(f"{decomposed}/a.txt").text == "hola"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}/docs:{}/missing", "Entry 2 of ALLOWED_PATHS names a folder that does not exist"),
        ("{}/docs/../missing/x", "Entry 1 of ALLOWED_PATHS names a folder that does not exist"),
        ("{}/a\0b", "Entry 1 of ALLOWED_PATHS names a folder that does not exist"),
        ("~nobody-of-that-name/x", "Entry 1 of ALLOWED_PATHS names a folder that does not exist"),
        ("{}/file.txt", "Entry 1 of ALLOWED_PATHS names a file"),
        ("{}/docs:", "Entry 2 of ALLOWED_PATHS names no folder"),
        (":{}/docs", "Entry 1 of ALLOWED_PATHS names no folder"),
        ("docs=", "Entry 1 of ALLOWED_PATHS names no folder"),
        ("={}/docs", "Entry 1 of ALLOWED_PATHS has an empty name"),
        ("a/b={}/docs", "Entry 1 of ALLOWED_PATHS has a name"),
        ("..={}/docs", "Entry 1 of ALLOWED_PATHS has a name"),
        (".={}/docs", "Entry 1 of ALLOWED_PATHS has a name"),
        ("a\0b={}/docs", "Entry 1 of ALLOWED_PATHS has a name"),
        ("a\nb={}/docs", "Entry 1 of ALLOWED_PATHS has a name"),
        ("a\u202eb={}/docs", "Entry 1 of ALLOWED_PATHS has a name"),
        ("n" * 101 + "={}/docs", "Entry 1 of ALLOWED_PATHS has a name"),
        ("x={}/docs:x={}/code", "Entry 2 of ALLOWED_PATHS has the name of entry 1"),
        ("{}/docs:again={}/docs", "Entry 2 of ALLOWED_PATHS and entry 1 are one folder"),
        ("all={}:{}/docs", "Entry 2 of ALLOWED_PATHS and entry 1 are one folder"),
        ("{}/docs:all={}", "Entry 2 of ALLOWED_PATHS and entry 1 are one folder"),
    ],
)
def test_what_is_refused_is_said_by_number_with_a_remedy_and_without_the_value(
    folder: Path, text: str, message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message) as raised:
        parse_roots(text.replace("{}", str(folder)))
    assert raised.value.field == "ALLOWED_PATHS"
    assert raised.value.remedy
    assert str(folder) not in str(raised.value)


def test_a_folder_that_may_not_be_entered(folder: Path) -> None:
    if os.geteuid() != 0:
        (folder / "docs").chmod(0)
        with pytest.raises(ConfigurationError, match="may not read"):
            parse_roots(f"{folder}/docs")


def test_two_folders_of_one_name_need_another(folder: Path) -> None:
    (folder / "code/docs").mkdir()
    with pytest.raises(ConfigurationError, match="has the name of entry 1"):
        parse_roots(f"{folder}/docs:{folder}/code/docs")
    assert [root.name for root in parse_roots(f"{folder}/docs:other={folder}/code/docs")] == ["docs", "other"]


# which root a path leads to


def test_the_name_of_a_root_comes_first_and_a_bare_path_is_tried_in_each_in_order(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "code/same.md": "of code",
            "code/docs/only.md": "of code, in docs",
            "code/docs/same.md": "hidden by the root docs",
            "docs/same.md": "of docs",
            "docs/docs.md": "of docs",
        },
    )
    reader = reader_of(roots_of(tmp_path / "code", tmp_path / "docs"))
    assert reader.read("same.md").path == "code/same.md"
    assert reader.read("docs.md").path == "docs/docs.md"
    assert reader.read("docs/same.md").path == "docs/same.md"
    assert reader.read("docs/only.md").path == "code/docs/only.md"
    assert reader.read("code/docs/same.md").path == "code/docs/same.md"


def test_the_names_of_a_file_are_those_that_lead_to_it(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "code/same.md": "",
            "code/docs/same.md": "",
            "code/docs/only.md": "",
            "code/blocked.md/x": "",
            "docs/same.md": "",
            "docs/own.md": "",
            "docs/blocked.md": "",
        },
    )
    roots = roots_of(tmp_path / "code", tmp_path / "docs")
    assert roots.names_of("code", "same.md") == ("code/same.md", "same.md")
    assert roots.names_of("docs", "same.md") == ("docs/same.md",)
    assert roots.names_of("docs", "own.md") == ("docs/own.md", "own.md")
    assert roots.names_of("docs", "blocked.md") == ("docs/blocked.md",)
    assert roots.names_of("code", "docs/same.md") == ("code/docs/same.md",)
    assert roots.names_of("code", "docs/only.md") == ("code/docs/only.md", "docs/only.md")


def test_every_name_of_a_file_reads_that_file(tmp_path: Path) -> None:
    files = [f"{top}{name}" for top in ("a/", "b/", "a/a/", "a/b/", "b/a/", "b/b/") for name in ("x", "y")]
    write(tmp_path, {name: name for name in files if name not in {"a/y", "b/a/x", "a/b/y"}})
    roots = roots_of(tmp_path / "a", tmp_path / "b")
    reader = reader_of(roots)
    for path in sorted(tmp_path.rglob("*")):
        if path.is_file():
            root, _, relative = path.relative_to(tmp_path).as_posix().partition("/")
            for name in roots.names_of(root, relative):
                assert reader.read(name).path == f"{root}/{relative}"
            if relative not in roots.names_of(root, relative):
                assert reader.read(relative).path != f"{root}/{relative}"


def test_excluded_folders_relative_to_a_root(tmp_path: Path) -> None:
    write(tmp_path, {"docs/a.md": "", "docs/.ragcorp/credentials.json": "", "code/b.py": ""})
    roots = roots_of(tmp_path / "docs", tmp_path / "code", excluded=[tmp_path / "docs/.ragcorp", tmp_path / "missing"])
    assert roots.excluded_below("docs") == (".ragcorp",)
    assert roots.excluded_below("code") == ()
    assert roots_of(tmp_path / "docs", excluded=[tmp_path]).excluded_below("docs") == (".",)
    assert roots_of(tmp_path / "docs", excluded=[tmp_path / "docs"]).excluded_below("docs") == (".",)
    assert roots_of(Path("/")).excluded_below("") == ("proc", "sys")

"""What a .gitignore excludes, as git does."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from ragcorp.infrastructure.files.folder import LocalFiles
from ragcorp.infrastructure.files.globs import MAX_RULES, MAX_SLOW_RULES, IgnoreList

TREE = (
    "a.md", "b.log", "keep.log", "build/x.md", "build/keep.md", "docs/build/y.md", "docs/a.log", "docs/sub/a.log",
    "docs/sub/b.md", "src/tmp/z.md", "src/a.md", "año/ñ.md", "vendor/lib/v.md", "vendor/own/w.md", "x y.md", "#.md",
)  # fmt: skip
RULES = {
    ".gitignore": "*.log\n!keep.log\n/build/\n\n# comment\n\\#.md\nx\\ y.md\nvendor/*\n!vendor/own/\n",
    "docs/.gitignore": "!a.log\n",
    "docs/sub/.gitignore": "a.log\nb.md\n",
    "src/.gitignore": "tmp\n",
}


def grown(root: Path) -> LocalFiles:
    for name in TREE:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x", encoding="utf-8")
    for name, rules in RULES.items():
        (root / name).write_text(rules, encoding="utf-8")
    return LocalFiles(suffixes=frozenset({".md", ".log"}), max_bytes=100)


def test_the_rules_of_nested_files(tmp_path: Path) -> None:
    files = grown(tmp_path)
    assert [entry.relative for entry in files.find(tmp_path)] == [
        *("a.md", "año/ñ.md", "docs/a.log", "docs/build/y.md", "keep.log", "src/a.md", "vendor/own/w.md")
    ]
    assert len(files.find(tmp_path, gitignore=False)) == len(TREE)


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_git_says_the_same(tmp_path: Path) -> None:
    files = grown(tmp_path)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=tmp_path, check=True, capture_output=True,
    ).stdout.decode()  # fmt: skip
    visible = sorted(name for name in listed.split("\0") if name and not name.endswith(".gitignore"))
    assert [entry.relative for entry in files.find(tmp_path)] == visible


def test_part_of_a_tree_has_the_rules_of_the_whole(tmp_path: Path) -> None:
    files = grown(tmp_path)
    tree = files.locate(tmp_path)

    def found(*below: str) -> list[str]:
        return [file.entry.relative for file in files.scan(tree, below=below).files]

    assert found("docs") == ["docs/a.log", "docs/build/y.md"]
    assert found("build", "build/x.md", "src/tmp/z.md", "docs/sub/b.md") == []
    assert found("docs", "docs/build", "docs/build/y.md", "a.md", "nowhere/x.md") == [
        *("a.md", "docs/a.log", "docs/build/y.md")
    ]


def test_bad_rules_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("x", encoding="utf-8")
    (tmp_path / "b.md").write_text("x", encoding="utf-8")
    (tmp_path / ".gitignore").write_bytes(b"!\n\xff\xfe\n" + b"*a" * 40 + b"*z.md\n[\n/b.md\n")
    files = LocalFiles(suffixes=frozenset({".md"}), max_bytes=100)
    assert [entry.relative for entry in files.find(tmp_path)] == ["a.md"]


def test_a_named_file_is_taken_whatever_ignores_it(tmp_path: Path) -> None:
    files = grown(tmp_path)
    assert [file.entry.relative for file in files.scan(files.locate(tmp_path / "b.log")).files] == ["b.log"]


def test_a_bomb_in_a_rule_costs_nothing(tmp_path: Path) -> None:
    """In a backtracking engine it takes minutes for this one name."""
    (tmp_path / ("a" * 60 + ".md")).write_text("x", encoding="utf-8")
    (tmp_path / ".gitignore").write_text("*?" * 11 + "X\n" + "*?" * 490 + "\n", encoding="utf-8")
    assert len(LocalFiles(suffixes=frozenset({".md"}), max_bytes=100).find(tmp_path)) == 1


@pytest.mark.parametrize("kind", ["pipe", "link", "endless", "folder"])
def test_what_is_no_plain_file_says_nothing(tmp_path: Path, kind: str) -> None:
    tree, rules = tmp_path / "tree", tmp_path / "tree" / ".gitignore"
    tree.mkdir()
    (tree / "a.md").write_text("x", encoding="utf-8")
    (tmp_path / "rules").write_text("*.md\n", encoding="utf-8")
    if kind == "pipe":
        os.mkfifo(rules)
    elif kind == "folder":
        rules.mkdir()
    else:
        rules.symlink_to(tmp_path / "rules" if kind == "link" else "/dev/zero")
    assert len(LocalFiles(suffixes=frozenset({".md"}), max_bytes=100).find(tree)) == 1


@pytest.mark.parametrize(
    ("rules", "path", "said"),
    [
        (["*.md", "!a.md"], "a.md", False),
        (["!a.md", "*.md"], "a.md", True),
        (["a.md", "!a*", "b.md"], "a.md", False),
        (["!a*", "a.md"], "x/a.md", True),
        (["/x/*.md", "!**/x/a.md", "*d"], "x/a.md", True),
        (["*d", "/x/*.md", "!**/x/a.md"], "x/a.md", False),
        (["*.md/"], "a.md", None),
        (["x/a.md"], "y/x/a.md", None),
        (["\\*.md", "[b]*"], "a.md", None),
        (["*"], "a.md", True),
    ],
)
def test_the_last_rule_that_matches_decides_however_it_is_looked_up(
    rules: list[str], path: str, said: bool | None
) -> None:
    assert IgnoreList(rules).says(path, folder=False) is said


def test_no_more_rules_count_than_can_be_asked() -> None:
    assert IgnoreList([*["x"] * (MAX_RULES - 1), "a.md", "!a.md"]).says("a.md", folder=False) is True
    slow = [f"a*{number}" for number in range(MAX_SLOW_RULES)]
    assert IgnoreList([*slow, "b*md"]).says("b.md", folder=False) is None
    assert IgnoreList([*slow, "b*md"]).says("a7", folder=False) is True


def test_lock_files_and_litter_of_programs_are_passed_over(tmp_path: Path) -> None:
    for name in ("informe.docx", "~$informe.docx", "desktop.ini", "Thumbs.db", "conf.ini"):
        (tmp_path / name).write_text("x")
    files = LocalFiles(suffixes=frozenset({".docx", ".ini", ".db"}), max_bytes=100)
    assert [entry.relative for entry in files.find(tmp_path)] == ["conf.ini", "informe.docx"]

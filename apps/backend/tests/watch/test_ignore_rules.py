"""What a .gitignore excludes, as git does."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from ragcorp.infrastructure.files.folder import LocalFiles

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
        *("a.md", "año/ñ.md", "docs/a.log", "docs/build/y.md", "keep.log", "src/a.md", "vendor/own/w.md"),
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
        *("a.md", "docs/a.log", "docs/build/y.md"),
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

"""Patterns of gitignore against pathspec, which backtracks; where the two differ, git decides."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pathspec import GitIgnoreSpec

from ragcorp.infrastructure.files.globs import Glob, IgnoreList

PARTS = st.sampled_from(["a", "b", "ab", "*", "?", "**", "/", "[ab]", "[a-b]", ".", "!", "**/", "/**", "{", "\\*", " "])
PATTERNS = st.lists(PARTS, min_size=1, max_size=6).map("".join)
PATHS = st.lists(st.sampled_from(["a", "b", "ab", "ba", "a.b", "abb", "{", "*", "!"]), min_size=1, max_size=4)


@given(PATTERNS, PATHS)
def test_covers_what_pathspec_matches(pattern: str, names: list[str]) -> None:
    assume(not pattern.startswith("!"))
    # names that are empty, and folders below any folder: pathspec takes the folder above too, git does not
    assume("//" not in pattern and not pattern.rstrip(" ").endswith("**/"))
    try:
        spec = GitIgnoreSpec.from_lines([pattern])
    except ValueError:
        spec = GitIgnoreSpec.from_lines([])
    try:
        glob = Glob(pattern)
    except ValueError:
        assert not any(item.include for item in spec.patterns)
        return
    assert glob.covers(names) == spec.match_file("/".join(names))


@pytest.mark.parametrize(
    ("pattern", "path", "covered"),
    [
        ("[!a]b", "cb", True),
        ("a[!a]b", "a/b", False),
        ("a/**/", "a/b", False),
        ("a/**/", "a/b/c", True),
        ("a/**", "a", False),
        ("**/a", "a", True),
        ("a**b", "a/b", False),
        ("[]a]b", "]b", True),
        ("[a-]b", "-b", True),
        ("[\\]]b", "]b", True),
        ("a\\ ", "a ", True),
        ("a ", "a", True),
        ("\\#a", "#a", True),
        ("\\!a", "!a", True),
        ("A", "a", False),
        ("*.{md,py}", "x.md", False),
        ("*.{md,py}", "x.{md,py}", True),
    ],
)
def test_as_git_reads_them(pattern: str, path: str, covered: bool) -> None:
    assert Glob(pattern).covers(path.split("/")) == covered


@pytest.mark.parametrize("line", ["", "  ", "#a", "!", "/", "//", "a//b", "a[", "a\\", "[b-a]", "x" * 1001])
def test_what_is_no_pattern(line: str) -> None:
    with pytest.raises(ValueError, match=r"^$|range"):
        Glob(line)
    assert IgnoreList([line]).says("a", folder=False) is None


def test_the_last_rule_that_matches_decides() -> None:
    rules = IgnoreList(["*.log", "!keep.log", "build/", "# nothing"])
    assert rules.says("a/b.log", folder=False) is True
    assert rules.says("a/keep.log", folder=False) is False
    assert rules.says("a/build", folder=False) is None
    assert rules.says("a/build", folder=True) is True


@pytest.mark.parametrize("pattern", ["*?*?*?*?/*?*?*?*?X", "*?" * 400 + "X", "**/" * 300 + "X", "a/**/" * 150 + "X"])
def test_stars_do_not_multiply(pattern: str) -> None:
    """It ends; what backtracks would not, before the test's time is over."""
    names = ["a" * 60] * 200
    assert not Glob(pattern).covers(names)

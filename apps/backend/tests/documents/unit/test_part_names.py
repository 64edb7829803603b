"""Names of the files inside a file: safe, short enough and distinct."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcorp.domain.files.part_names import distinct_names, part_name


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("carpeta/a.pdf", "carpeta/a.pdf"),
        ("../../etc/passwd", "etc/passwd"),
        ("/abs//./x.txt", "abs/x.txt"),
        ("C:\\tmp\\b.txt", "tmp/b.txt"),
        ("dos\r\nlíneas\u202e.txt", "dos líneas.txt"),
        ("an\u0303o.txt", "año.txt"),
        ("..", ""),
    ],
)
def test_names_are_relative_paths_on_one_line(name: str, shown: str) -> None:
    assert part_name(name) == shown


def test_equal_names_are_numbered_and_no_number_is_taken() -> None:
    assert distinct_names(["a.txt", "a.txt", "a (2).txt", "a.txt"], room=50) == [
        "a.txt",
        "a (3).txt",
        "a (2).txt",
        "a (4).txt",
    ]


@given(st.lists(st.text(alphabet="ab./", min_size=1, max_size=30), max_size=12), st.integers(20, 40))
def test_any_names_become_distinct_within_the_room(names: list[str], room: int) -> None:
    given_names = distinct_names(names, room=room)
    assert len(set(given_names)) == len(names)
    assert all(len(name) <= room for name in given_names)
    assert distinct_names(names, room=room) == given_names

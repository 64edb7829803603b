"""Where files lie on this machine: the folders above them are those that an ingestion records, by the same keys."""

from __future__ import annotations

import os
from pathlib import Path

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcorp.infrastructure.files.folder import LocalFiles
from ragcorp.infrastructure.files.roots import Root, folder_key, place_of
from ragcorp.infrastructure.postgres.files.names import plain_path
from support.files.roots import write

RELATIVE = "legal/año 1/acta.md"


def test_every_folder_above_is_keyed_as_when_it_is_ingested(tmp_path: Path) -> None:
    root = Root(name="docs", path=Path(os.path.realpath(write(tmp_path / "docs", {RELATIVE: "x"}))))
    place = place_of([root], f"docs/{RELATIVE}")
    assert place is not None
    assert place.path == str(root.path / RELATIVE)
    below = [place.path[skipped:] for _, skipped in place.folders]
    assert below[:4] == ["acta.md", "año 1/acta.md", RELATIVE, f"docs/{RELATIVE}"]
    assert below[-1] == place.path[1:]
    files = LocalFiles(suffixes=frozenset({".md"}), max_bytes=99)
    folders = [(root.path / RELATIVE).parent, *(root.path / RELATIVE).parent.parents]
    assert [key for key, _ in place.folders] == [files.locate(folder).key for folder in folders]
    assert str(tmp_path) not in repr(place)


def test_a_root_may_be_the_whole_machine_and_of_any_bytes() -> None:
    place = place_of([Root(name="todo", path=Path("/"))], "todo/srv/a.md")
    assert place is not None
    assert place.path == "/srv/a.md"
    assert place.folders == ((folder_key(Path("/srv")), 5), (folder_key(Path("/")), 1))
    bytes_of_its_own = Path(os.fsdecode(b"/srv/\xff\xe2\x82"))
    place = place_of([Root(name="b", path=bytes_of_its_own)], "b/x/a.md")
    assert place is not None
    assert [(key, place.path[skipped:]) for key, skipped in place.folders[:2]] == [
        (folder_key(bytes_of_its_own / "x"), "a.md"),
        (folder_key(bytes_of_its_own), "x/a.md"),
    ]
    place.path.encode()


def test_what_is_below_no_root_has_no_place() -> None:
    roots = [Root(name="docs", path=Path("/srv/docs"))]
    assert [place_of(roots, path) for path in ("code/a.md", "docs", "docs/", "a.md")] == [None] * 4


@pytest.mark.parametrize(
    ("path", "plain"),
    [
        ("docs/a.md", "docs/a.md"),
        ("./docs//./a.md", "docs/a.md"),
        ("//srv/docs/a.md", "srv/docs/a.md"),
        ("FILE://localhost/srv/a.md", "srv/a.md"),
        ("file:///srv/a%20b.md", "srv/a%20b.md"),
        ("file://docs/a.md", "docs/a.md"),
        ("file://localhost.md", "localhost.md"),
        ("docs\\t\\a.md", "docs/t/a.md"),
        (".../a/..b/.c", ".../a/..b/.c"),
        ("../a/../b", "../a/../b"),
        ("https://intranet/a", "https:/intranet/a"),
        ("gestio\u0301n.md", "gestión.md"),
        ("./", ""),
    ],
)
def test_a_plain_path(path: str, plain: str) -> None:
    assert plain_path(path) == plain


def test_sql_and_python_have_one_plain_path(dsn: str) -> None:
    pieces = st.sampled_from((".", "/", "\\", "file:", "FILE:", "//localhost", "a", "ñ", "n\u0303", "..", "%20", "\n"))

    @given(paths=st.lists(st.lists(pieces, max_size=9).map("".join), max_size=40))
    def check(paths: list[str]) -> None:
        query = "SELECT plain_path(path) FROM unnest(%s::text[]) WITH ORDINALITY AS n (path, nth) ORDER BY nth"
        assert [row[0] for row in connection.execute(query, [paths]).fetchall()] == [plain_path(p) for p in paths]

    with psycopg.connect(dsn) as connection:
        check()

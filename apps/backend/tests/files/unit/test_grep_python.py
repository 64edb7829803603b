"""How a search in Python ends before its end."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from ragcorp.domain.files.values import LineSearch
from ragcorp.infrastructure.files.python_search import PythonSearch
from ragcorp.infrastructure.files.reading import FileReader
from ragcorp.infrastructure.files.root_folder import OpenedFile
from ragcorp.infrastructure.files.safe_open import Roots
from ragcorp.infrastructure.parsing.decoding import decode_with_name
from support.files.grep import LONG, found
from support.files.roots import MAX_FILE, MAX_READ, open_descriptors, roots_of, write

pytestmark = pytest.mark.anyio


class HeldReader(FileReader):
    """Stops at the second file until it is let go."""

    def __init__(self, roots: Roots) -> None:
        super().__init__(roots=roots, decode=decode_with_name, max_file_bytes=MAX_FILE, max_read_bytes=MAX_READ)
        self.loaded: list[str] = []
        self.at_second = threading.Event()
        self.go_on = threading.Event()
        self.thread: threading.Thread | None = None

    def load(self, opened: OpenedFile) -> tuple[str, str]:
        self.loaded.append(opened.relative)
        if len(self.loaded) == 2:
            self.thread = threading.current_thread()
            self.at_second.set()
            assert self.go_on.wait(LONG)
        return super().load(opened)


@pytest.fixture
def roots(tmp_path: Path) -> Roots:
    return roots_of(write(tmp_path / "docs", {f"{number}.txt": "clave" for number in range(5)}))


async def test_what_is_late_gives_what_it_has(roots: Roots) -> None:
    reader = HeldReader(roots)
    search = asyncio.create_task(
        PythonSearch(roots=roots, reader=reader).search(LineSearch(terms=("clave",)), seconds=0.3)
    )
    assert await asyncio.to_thread(reader.at_second.wait, LONG)
    await asyncio.sleep(0.3)  # the deadline itself
    reader.go_on.set()
    matches = await search
    assert matches.timed_out
    assert sorted(found(matches)) == ["docs/0.txt"]
    assert matches.searched == 1


async def test_no_time_finds_nothing(roots: Roots) -> None:
    matches = await PythonSearch(roots=roots, reader=HeldReader(roots)).search(LineSearch(terms=("clave",)), seconds=0)
    assert matches.timed_out
    assert found(matches) == {}


async def test_a_caller_who_goes_is_let_go_at_once_and_the_thread_stops(roots: Roots) -> None:
    descriptors = open_descriptors()
    reader = HeldReader(roots)
    engine = PythonSearch(roots=roots, reader=reader, searches=1)
    search = asyncio.create_task(engine.search(LineSearch(terms=("clave",)), seconds=LONG))
    assert await asyncio.to_thread(reader.at_second.wait, LONG)
    search.cancel()
    with pytest.raises(asyncio.CancelledError):
        await search
    assert reader.loaded == ["0.txt", "1.txt"]
    again = await engine.search(LineSearch(terms=("clave",)), seconds=LONG)  # its turn is free again
    assert len(again.files) == 5
    reader.go_on.set()
    async with asyncio.timeout(LONG):
        while open_descriptors() > descriptors:  # noqa: ASYNC110 - the thread tells nobody
            await asyncio.sleep(0.01)
    assert reader.loaded == ["0.txt", "1.txt", *(f"{number}.txt" for number in range(5))]


async def test_the_file_that_is_being_read_at_the_deadline_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docs = write(tmp_path / "docs", {"a.txt": "clave\nnada\nclave\n"})

    def blocks_until_the_deadline(text: str) -> Iterator[str]:
        yield text
        threading.Event().wait(0.4)
        yield text

    monkeypatch.setattr("ragcorp.infrastructure.files.python_search._blocks", blocks_until_the_deadline)
    roots = roots_of(docs)
    matches = await PythonSearch(roots=roots, reader=HeldReader(roots)).search(
        LineSearch(terms=("clave",)), seconds=0.3
    )
    assert matches.timed_out
    assert found(matches) == {"docs/a.txt": [(1, 0, 5), (3, 0, 5)]}
    assert matches.files[0].cut

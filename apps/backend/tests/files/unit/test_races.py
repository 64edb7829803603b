"""What changes while it is read: folders that become links, roots that go, files that are replaced."""

from __future__ import annotations

import os
import resource
import shutil
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ragcorp.infrastructure.files.reading import FileReader
from support.files.roots import CANARY, open_descriptors, reader_of, roots_of, said, write

READS = pytest.mark.parametrize(
    "reads", [2000, pytest.param(20_000, marks=[pytest.mark.soak, pytest.mark.timeout(1800)])]
)


@contextmanager
def meanwhile(change: Callable[[], None]) -> Iterator[None]:
    """Repeat ``change`` in a thread of its own, from before the block to its end."""
    begun, enough = threading.Event(), threading.Event()

    def repeat() -> None:
        while not enough.is_set():
            change()
            begun.set()

    thread = threading.Thread(target=repeat)
    thread.start()
    try:
        assert begun.wait(30)
        yield
    finally:
        enough.set()
        thread.join()


def swap(place: Path, *others: Path) -> Callable[[], None]:
    """Put each of ``others`` in ``place`` for a moment, and back what was there, by renames alone."""
    aside = place.with_name(place.name + ".aside")

    def change() -> None:
        for other in others:
            place.rename(aside)
            other.rename(place)
            place.rename(other)
            aside.rename(place)

    return change


def kinds(reader: FileReader, path: str, *, reads: int) -> Counter[str]:
    """Read again and again; count texts and kinds of errors."""
    counted: Counter[str] = Counter()
    for _ in range(reads):
        answer = said(reader, path)
        assert CANARY not in answer
        counted[answer.split("]")[0]] += 1
    return counted


@READS
def test_a_folder_that_becomes_a_link_to_the_outside(tmp_path: Path, reads: int) -> None:
    write(tmp_path, {"docs/sub/x.txt": "inside", "outside/x.txt": CANARY, "outside/sub/x.txt": CANARY})
    (tmp_path / "docs/evil").symlink_to(tmp_path / "outside")
    reader = reader_of(roots_of(tmp_path / "docs"))
    before = open_descriptors()
    with meanwhile(swap(tmp_path / "docs/sub", tmp_path / "docs/evil")):
        counted = kinds(reader, "sub/x.txt", reads=reads)
    assert set(counted) <= {"inside", "[ERROR: NOT_FOUND", "[ERROR: ACCESS_DENIED"}
    assert len(counted) > 1, "the swap was never met"
    assert open_descriptors() == before


@READS
def test_a_file_that_becomes_a_link_a_hard_link_or_a_fifo(tmp_path: Path, reads: int) -> None:
    write(tmp_path, {"docs/x.txt": "inside", "secret.txt": CANARY})
    docs = tmp_path / "docs"
    (docs / "link").symlink_to(tmp_path / "secret.txt")
    (docs / "hard").hardlink_to(tmp_path / "secret.txt")
    os.mkfifo(docs / "fifo")
    reader = reader_of(roots_of(docs))
    before = open_descriptors()
    with meanwhile(swap(docs / "x.txt", docs / "link", docs / "hard", docs / "fifo")):
        counted = kinds(reader, "x.txt", reads=reads)
    assert set(counted) <= {"inside", "[ERROR: NOT_FOUND", "[ERROR: ACCESS_DENIED"}
    assert len(counted) > 1, "the swap was never met"
    assert open_descriptors() == before


@READS
def test_a_root_that_becomes_a_link_to_the_outside(tmp_path: Path, reads: int) -> None:
    write(tmp_path, {"above/docs/x.txt": "inside", "outside/x.txt": CANARY, "outside/docs/x.txt": CANARY})
    (tmp_path / "evil").symlink_to(tmp_path / "outside")
    reader = reader_of(roots_of(tmp_path / "above/docs"))
    with meanwhile(swap(tmp_path / "above", tmp_path / "evil")):
        counted = kinds(reader, "docs/x.txt", reads=reads)
    assert set(counted) <= {"inside", "[ERROR: NOT_FOUND"}


def test_a_file_that_an_editor_replaces_is_read_in_one_of_its_states(tmp_path: Path) -> None:
    docs = write(tmp_path / "docs", {"x.txt": "a" * 3000})
    reader = reader_of(roots_of(docs))
    letters = iter(range(10**9))

    def save() -> None:
        (docs / "x.tmp").write_text("ab"[next(letters) % 2] * 3000)
        (docs / "x.tmp").replace(docs / "x.txt")

    with meanwhile(save):
        for _ in range(500):
            answer = said(reader, "x.txt")
            assert answer in {"a" * 3000, "b" * 3000} or answer.startswith("[ERROR: ACCESS_DENIED] The file is being")


def test_a_file_that_shrinks_and_grows_never_exceeds_the_limit(tmp_path: Path) -> None:
    docs = write(tmp_path / "docs", {"log.txt": ""})
    reader = reader_of(roots_of(docs), max_file=1 << 20, max_read=1 << 20)
    sizes = iter(range(10**9))

    def change() -> None:
        (docs / "log.txt").write_bytes(b"x" * (next(sizes) % 3 * (700 * 1024)))

    with meanwhile(change):
        answers = [said(reader, "log.txt") for _ in range(200)]
    assert all(len(answer) <= 1 << 20 for answer in answers)
    assert {answer[:17] for answer in answers if not answer.startswith("x")} <= {"", "[ERROR: TOO_LARGE"}


# between the look at a file and its opening


def link_outside(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.parent.parent / "secret.txt")


def fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def second_name(path: Path) -> None:
    path.with_name("second").hardlink_to(path)


def new_version(path: Path) -> None:
    path.with_name("new").write_text("new")
    path.with_name("new").replace(path)


@pytest.mark.parametrize(
    ("change", "times", "answer"),
    [
        (link_outside, 1, "[ERROR: ACCESS_DENIED] Symbolic links are not followed. Allowed roots: docs."),
        (fifo, 1, "[ERROR: ACCESS_DENIED] It is a folder or a special file, not a plain file. Allowed roots: docs."),
        (folder, 1, "[ERROR: ACCESS_DENIED] It is a folder or a special file, not a plain file. Allowed roots: docs."),
        (second_name, 1, "[ERROR: ACCESS_DENIED] The file has further hard links, which FILES_HARD_LINKS does not"),
        (Path.unlink, 1, "[ERROR: NOT_FOUND]"),
        (new_version, 1, "new"),
        (new_version, 99, "[ERROR: ACCESS_DENIED] The file is being replaced. Allowed roots: docs."),
    ],
)
def test_a_file_that_changes_at_the_worst_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path], None], times: int, answer: str
) -> None:
    write(tmp_path, {"docs/x.txt": "inside", "secret.txt": CANARY})
    reader = reader_of(roots_of(tmp_path / "docs"))
    before = open_descriptors()
    left = times
    system_open = os.open

    def late(path: bytes | str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        nonlocal left
        if path == b"x.txt" and left:
            left -= 1
            change(tmp_path / "docs/x.txt")
        return system_open(path, flags, mode, dir_fd=dir_fd)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", late)
        assert said(reader, "x.txt").startswith(answer)
    assert left < times
    assert open_descriptors() == before


# roots


def test_a_root_that_is_deleted_and_comes_back(tmp_path: Path) -> None:
    write(tmp_path, {"docs/x.txt": "first", "code/y.txt": "y"})
    reader = reader_of(roots_of(tmp_path / "docs", tmp_path / "code"))
    shutil.rmtree(tmp_path / "docs")
    assert said(reader, "docs/x.txt").startswith("[ERROR: NOT_FOUND]")
    assert said(reader, "x.txt").startswith("[ERROR: NOT_FOUND]")
    assert said(reader, "y.txt") == "y"
    write(tmp_path, {"docs/x.txt": "second"})
    assert said(reader, "docs/x.txt") == "second"


@pytest.mark.parametrize("replaced", ["docs", "."])
def test_a_root_that_was_replaced_is_not_followed(tmp_path: Path, replaced: str) -> None:
    above = write(tmp_path / "above", {"docs/x.txt": "inside"})
    outside = write(tmp_path / "outside", {"x.txt": CANARY, "docs/x.txt": CANARY})
    reader = reader_of(roots_of(above / "docs"))
    shutil.rmtree(above / replaced)
    (above / replaced).symlink_to(outside)
    assert said(reader, "docs/x.txt").startswith("[ERROR: NOT_FOUND]")


def test_a_root_that_became_a_file(tmp_path: Path) -> None:
    docs = write(tmp_path / "docs", {"x.txt": ""})
    reader = reader_of(roots_of(docs))
    shutil.rmtree(docs)
    docs.write_text(CANARY)
    assert said(reader, "docs/x.txt").startswith("[ERROR: NOT_FOUND]")
    assert said(reader, "docs").startswith("[ERROR: ACCESS_DENIED]")


def test_a_process_without_descriptors_says_so_and_goes_on(tmp_path: Path) -> None:
    reader = reader_of(roots_of(write(tmp_path / "docs", {"a/x.txt": "x"})))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for spare in range(4):
        lowest = os.dup(0)
        os.close(lowest)
        resource.setrlimit(resource.RLIMIT_NOFILE, (lowest + spare, hard))
        try:
            answer = said(reader, "a/x.txt")
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        assert answer == "x" or answer.startswith("[ERROR: ACCESS_DENIED] The system does not let"), spare
    assert said(reader, "a/x.txt") == "x"

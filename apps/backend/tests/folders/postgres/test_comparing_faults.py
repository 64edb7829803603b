"""A comparison of a tree in which something is refused, missing or changing, or that is cut short."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ragcorp.domain.exceptions import StorageUnavailableError
from ragcorp.domain.ports.folders import FolderScan, SyncCounts, WatchKind, WatchMemory
from support.files.watched_trees import Events, Folder, put
from support.retrieval.corpus import found

pytestmark = pytest.mark.anyio

DELETED, FAILED = WatchKind.DELETED, WatchKind.FAILED


async def test_a_file_that_is_being_written_waits_until_it_is_quiet(folder: Folder) -> None:
    put(folder.root / "a.md", "media fra", old=False)
    memory = WatchMemory()
    outcome = await folder.compared(memory)
    assert (set(outcome.again), await folder.names()) == ({"a.md"}, [])
    # written all the time: it is taken as it is in the end
    memory.moving["a.md"] -= 31_000_000_000
    put(folder.root / "a.md", "media frase", old=False)
    assert (await folder.compared(memory)).counts.created == 1


async def test_a_failure_is_told_once_and_tried_again_when_the_file_changes(folder: Folder) -> None:
    put(folder.root / "a.md", "\0")
    put(folder.root / "big.md", "x" * 300_000)
    memory, events = WatchMemory(), Events()
    for _ in range(2):
        assert (await folder.compared(memory, events)).counts.failed == 2
    assert sorted(map(str, events.of(FAILED))) == ["a.md", "big.md"]
    put(folder.root / "a.md", "ya no")
    assert (await folder.compared(memory, events)).counts == SyncCounts(files=2, created=1, failed=1)
    assert list(memory.failed) == ["big.md"]
    (folder.root / "big.md").unlink()
    await folder.compared(memory, events)
    assert memory.failed == {}


async def test_a_folder_that_cannot_be_listed_keeps_its_documents(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.md", "sub/b.md", "sub/deep/c.md"):
        put(folder.root / name, name)
    await folder.once()
    scandir = os.scandir

    def refusing(path: Any) -> Any:
        if Path(path) == folder.root / "sub":
            raise PermissionError(13, "denied")
        return scandir(path)

    (folder.root / "a.md").unlink()
    put(folder.root / "d.md", "d")
    monkeypatch.setattr(os, "scandir", refusing)
    memory, events = WatchMemory(), Events()
    for _ in range(2):
        await folder.compared(memory, events)
    assert (events.of(FAILED), events.of(DELETED)) == (["sub"], ["a.md"])
    assert await folder.names() == ["d.md", "sub/b.md", "sub/deep/c.md"]
    monkeypatch.undo()
    (folder.root / "sub" / "b.md").unlink()
    await folder.compared(memory, events)
    assert await folder.names() == ["d.md", "sub/deep/c.md"]


async def test_a_file_that_is_refused_now_keeps_its_document_and_is_tried_again(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(folder.root / "a.md", "aguja")
    await folder.once()
    put(folder.root / "a.md", "dos")
    opened = Path.open

    def refusing(path: Path, *arguments: Any, **options: Any) -> Any:
        if path.name == "a.md":
            raise PermissionError(13, "denied")
        return opened(path, *arguments, **options)

    memory, events = WatchMemory(), Events()
    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", refusing)
        for _ in range(2):
            assert (await folder.compared(memory, events)).counts.failed == 1
    assert events.of(FAILED) == ["a.md"]
    assert await found(folder.rag, "aguja") == ["a.md"]
    assert (await folder.compared(memory, events)).counts.updated == 1


async def test_a_root_that_is_replaced_during_the_scan_deletes_nothing(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("a.md", "b.md"):
        put(folder.root / name, name)
    await folder.once()
    scan: Callable[..., FolderScan] = folder.files.scan

    def replacing(tree: Any, **options: Any) -> FolderScan:
        folder.root.rename(tmp_path / "away")
        folder.root.mkdir()
        put(folder.root / "a.md", "otra cosa")
        put(folder.root / "something.md", "otra cosa")
        return scan(tree, **options)

    monkeypatch.setattr(folder.files, "scan", replacing)
    outcome = await folder.compared()
    assert outcome.waiting is not None
    assert await folder.names() == ["a.md", "b.md", "something.md"]


async def test_a_file_that_is_back_before_its_document_is_deleted_keeps_it(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.md", "b.md"):
        put(folder.root / name, name)
    await folder.once()
    (folder.root / "a.md").unlink()
    scan: Callable[..., FolderScan] = folder.files.scan
    calls: list[int] = []

    def late(tree: Any, **options: Any) -> FolderScan:
        result = scan(tree, **options)
        if not calls:
            put(folder.root / "a.md", "a.md")
        calls.append(1)
        return result

    monkeypatch.setattr(folder.files, "scan", late)
    assert (await folder.once()).deleted == 0
    assert await folder.names() == ["a.md", "b.md"]


async def test_a_renamed_file_that_cannot_be_stored_keeps_its_document(folder: Folder) -> None:
    put(folder.root / "stays.md", "queda")
    put(folder.root / "a.md", "la aguja")
    await folder.once()
    # no document can be called so
    (folder.root / "a.md").rename(folder.root / "lí\nnea.md")
    assert await folder.once() == SyncCounts(files=2, unchanged=1, failed=1)
    assert await found(folder.rag, "aguja") == ["a.md"]
    (folder.root / "lí\nnea.md").rename(folder.root / "b.md")
    assert await folder.once() == SyncCounts(files=2, created=1, unchanged=1, deleted=1)
    assert await folder.names() == ["b.md", "stays.md"]


async def test_a_process_that_dies_after_storing_still_owns_what_it_stored(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The claim comes before the document, so the death of the process between the two loses nothing."""
    put(folder.root / "stays.md", "queda")
    put(folder.root / "a.md", "uno")

    async def dying(*_: object, **__: object) -> None:
        raise StorageUnavailableError("dead")

    monkeypatch.setattr(folder.records, "confirm", dying)
    with pytest.raises(StorageUnavailableError):
        await folder.once()
    monkeypatch.undo()
    assert await folder.names() == ["a.md", "stays.md"]
    (folder.root / "a.md").unlink()
    assert (await folder.once()).deleted == 1
    assert await folder.names() == ["stays.md"]

"""Documents of others under a folder's names, and another folder in the place of the one that was stored."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragcorp.domain.ports.folders import SyncCounts, WatchKind, WatchMemory
from support.files.watched_trees import Events, Folder, FolderOf, put
from support.retrieval.corpus import found

pytestmark = pytest.mark.anyio

KEPT, UPDATED = WatchKind.KEPT, WatchKind.UPDATED


async def test_what_takes_the_place_of_anothers_document_is_told(folder: Folder) -> None:
    await folder.rag.ingest_text("up.md", "subido antes")
    put(folder.root / "up.md", "del fichero")
    put(folder.root / "a.md", "uno")
    memory, events = WatchMemory(), Events()
    await folder.compared(memory, events)
    taken = await events.until(UPDATED, "up.md")
    assert taken.error is not None
    assert "took the place" in taken.error.message
    assert "--prefix" in str(taken.error.remedy)
    put(folder.root / "up.md", "del fichero, otra vez")
    await folder.compared(memory, events)
    assert (await events.until(UPDATED, "up.md", times=2)).error is None


async def test_an_upload_over_a_stored_file_stays_and_is_told_once(folder: Folder) -> None:
    put(folder.root / "a.md", "del fichero")
    put(folder.root / "b.md", "otro")
    memory, events = WatchMemory(), Events()
    await folder.compared(memory, events)
    await folder.rag.ingest_text("a.md", "subido encima")
    for _ in range(2):
        # looked at right after its change, it would be read once more: not so that it undoes the upload
        assert (await folder.compared(memory, events)).counts == SyncCounts(files=2, unchanged=2)
    assert events.of(KEPT) == ["a.md"]
    assert await found(folder.rag, "subido") == ["a.md"]
    put(folder.root / "a.md", "del fichero, cambiado")
    await folder.compared(memory, events)
    assert "took the place" in str((await events.until(UPDATED, "a.md")).error)


async def test_two_folders_with_one_name_in_both_are_told(folder: Folder, folder_of: FolderOf, tmp_path: Path) -> None:
    other = folder_of(folder.container, tmp_path / "other")
    put(folder.root / "README.md", "la aguja")
    put(other.root / "README.md", "el pajar")
    await folder.once()
    events = Events()
    await other.once(events=events)
    assert "took the place" in str((await events.until(UPDATED, "README.md")).error)
    events = Events()
    assert (await folder.once(events=events)).unchanged == 1
    assert events.of(KEPT) == ["README.md"]
    assert await found(folder.rag, "pajar") == ["README.md"]


async def test_a_small_folder_with_nothing_of_its_own_left_is_another(folder: Folder, tmp_path: Path) -> None:
    for name in ("a.md", "b.md", "c.md"):
        put(folder.root / name, f"texto de {name}")
    memory = WatchMemory()
    await folder.compared(memory)
    folder.root.rename(tmp_path / "disk")
    put(folder.root / "lost+found.txt", "x")
    # while it is watched, and while it was not
    for seen in (memory, memory, WatchMemory()):
        outcome = await folder.compared(seen)
        assert getattr(outcome.waiting, "reason", None) == "another_folder"
        assert "--allow-deletions" in str(outcome.waiting)
    assert await folder.names() == ["a.md", "b.md", "c.md"]
    (folder.root / "lost+found.txt").unlink()
    folder.root.rmdir()
    (tmp_path / "disk").rename(folder.root)
    assert (await folder.compared(memory)).counts == SyncCounts(files=3, unchanged=3)
    # in the same root, files may go as they like
    for name in ("a.md", "b.md", "c.md"):
        (folder.root / name).unlink()
    put(folder.root / "d.md", "nuevo")
    assert (await folder.compared(memory)).counts == SyncCounts(files=1, created=1, deleted=3)
    (folder.root / "d.md").unlink()
    put(folder.root / "e.md", "otro")
    assert (await folder.compared()).waiting is not None
    assert await folder.once(allow_deletions=True) == SyncCounts(files=1, created=1, deleted=1)


async def test_a_tree_whose_files_were_all_moved_while_it_was_off_is_the_same(folder: Folder) -> None:
    for name in ("a.md", "b.md"):
        put(folder.root / name, f"texto de {name}")
    await folder.once()
    (folder.root / "sub").mkdir()
    for name in ("a.md", "b.md"):
        (folder.root / name).rename(folder.root / "sub" / name)
    assert await folder.once() == SyncCounts(files=2, created=2, deleted=2)

"""Large trees and large bursts; the full counts are for `make soak`."""

from __future__ import annotations

import asyncio
import shutil
import tracemalloc
from typing import Any

import psycopg
import pytest

from ragcorp.domain.ports.folders import FileEntry, FileStamp, SyncCounts, WatchKind
from support.files.watched_trees import Events, Folder, options_of, put

pytestmark = pytest.mark.anyio

FULL = pytest.mark.soak

DOCUMENTS = """
    INSERT INTO documents (id, workspace, external_id, text, content_hash, chunker, chunk_count, media_type, filename,
                           size_bytes)
    SELECT gen_random_uuid(), 'default', name, '', '\\x00', '', 0, 'text/markdown', name, 1
    FROM unnest(%(names)s::text[]) AS name
"""
RECORDS = """
    INSERT INTO folder_files (workspace, folder, external_id, relative, content_hashes, size, mtime_ns, ctime_ns,
                              settled, described)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
"""


def record_as_stored(dsn: str, folder: Folder, names: list[str]) -> None:
    """Write what a comparison would have recorded of the files, without storing their texts."""
    tree = folder.files.locate(folder.root)
    described = folder.documents.described(options_of())
    with psycopg.connect(dsn) as connection:
        connection.execute(DOCUMENTS, {"names": names})
        rows = []
        for name in names:
            status = (folder.root / name).stat()
            stamp = FileStamp(status.st_size, status.st_mtime_ns, status.st_ctime_ns)
            digest = described(FileEntry(path=folder.root / name, relative=name))
            rows.append(("default", tree.key, name, name, [b"\0"], *stamp, True, digest))
        connection.cursor().executemany(RECORDS, rows)


@pytest.mark.parametrize("size", [2_000, pytest.param(50_000, marks=FULL)])
async def test_a_tree_in_step_is_compared_without_its_contents(folder: Folder, owner_dsn: str, size: int) -> None:
    names = [f"{number // 100:03}/{number:05}.md" for number in range(size)]
    for name in names:
        put(folder.root / name, name * 100)
    record_as_stored(owner_dsn, folder, names)
    tracemalloc.start()
    try:
        counts = await folder.once()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert counts == SyncCounts(files=size, unchanged=size)
    assert folder.read == []
    # the texts are 1,200 bytes each
    assert peak < size * 3_000 + 5_000_000
    # a change among so many is found without looking at all of them
    put(folder.root / names[7], "otro texto")
    scans: list[Any] = []
    scan = folder.files.scan
    folder.files.scan = lambda *given, **options: scans.append(options["below"]) or scan(*given, **options)  # type: ignore[method-assign, func-returns-value]
    assert await folder.once(below={names[7]}) == SyncCounts(files=1, updated=1)
    assert scans == [{names[7]}]


@pytest.mark.parametrize("size", [250, 620])
async def test_many_files_that_are_gone_at_once_are_deleted_in_batches(
    folder: Folder, owner_dsn: str, size: int
) -> None:
    gone = [f"gone/{number:04}.md" for number in range(size)]
    stays = [f"stays/{number:04}.md" for number in range(size)]
    for name in gone + stays:
        put(folder.root / name, name)
    record_as_stored(owner_dsn, folder, gone + stays)
    shutil.rmtree(folder.root / "gone")
    events = Events()
    assert await folder.once(events=events) == SyncCounts(files=size, unchanged=size, deleted=size)
    assert sorted(map(str, events.of(WatchKind.DELETED))) == gone
    with psycopg.connect(owner_dsn) as connection:
        left = connection.execute("SELECT external_id FROM documents WHERE deleted_at IS NULL ORDER BY 1").fetchall()
        recorded = connection.execute("SELECT external_id FROM folder_files ORDER BY 1").fetchall()
    assert [name for (name,) in left] == [name for (name,) in recorded] == stays


async def test_a_folder_of_many_files_that_is_renamed(folder: Folder) -> None:
    for number in range(150):
        put(folder.root / "antes" / f"{number}.md", f"documento número {number}")
    events = await folder.watch()
    await events.until(WatchKind.IN_STEP)
    (folder.root / "antes").rename(folder.root / "después")
    for number in range(150):
        await events.until(WatchKind.DELETED, f"antes/{number}.md")
    assert sorted(map(str, events.of(WatchKind.CREATED)))[150:] == sorted(f"después/{n}.md" for n in range(150))


@pytest.mark.parametrize("size", [300, pytest.param(10_000, marks=FULL)])
async def test_a_burst_is_stored_once(folder: Folder, size: int) -> None:
    put(folder.root / "first.md", "primero")
    events = await folder.watch()
    await events.until(WatchKind.IN_STEP)
    folder.read.clear()
    for number in range(size):
        put(folder.root / f"{number % 50:02}" / f"{number:05}.md", f"número {number}")
        if number % 100 == 0:
            await asyncio.sleep(0)
    for number in (0, size - 1):
        await events.until(WatchKind.CREATED, f"{number % 50:02}/{number:05}.md", within=900)
    async with asyncio.timeout(900):
        while len(events.of(WatchKind.CREATED)) < size + 1:
            events.more.clear()
            await events.more.wait()
    assert sorted(folder.read) == sorted({f"{number % 50:02}/{number:05}.md" for number in range(size)})

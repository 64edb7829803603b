"""A running watch: every kind of change reaches the documents, and nothing is lost where folder or database is out."""

from __future__ import annotations

import asyncio
import io
import os
import shutil
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import pytest
from psycopg.conninfo import conninfo_to_dict

from ragcorp.application.folders.watch import WatchTimes
from ragcorp.domain.exceptions import SourceUnavailableError
from ragcorp.domain.ports.folders import TreeChanges, WatchedTree, WatchEvent, WatchKind
from ragcorp.interface.cli.console.output import Output
from ragcorp.interface.cli.documents.watch_progress import WatchProgress
from support.files.watched_trees import Folder, put
from support.retrieval.corpus import found

pytestmark = pytest.mark.anyio

CREATED, UPDATED, DELETED = WatchKind.CREATED, WatchKind.UPDATED, WatchKind.DELETED


async def test_a_file_that_is_added_edited_renamed_and_deleted(folder: Folder) -> None:
    put(folder.root / "a.md", "la aguja uno")
    events = await folder.watch()
    await events.until(WatchKind.IN_STEP)
    assert events.of(CREATED) == ["a.md"]

    put(folder.root / "sub" / "b.md", "el pajar", old=False)
    await events.until(CREATED, "sub/b.md")
    assert await found(folder.rag, "pajar") == ["sub/b.md"]

    put(folder.root / "a.md", "el martillo dos", old=False)
    await events.until(UPDATED, "a.md")
    assert await found(folder.rag, "aguja") == []
    assert await found(folder.rag, "martillo") == ["a.md"]

    (folder.root / "sub" / "b.md").rename(folder.root / "sub" / "c.md")
    await events.until(CREATED, "sub/c.md")
    await events.until(DELETED, "sub/b.md")
    assert await found(folder.rag, "pajar") == ["sub/c.md"]

    (folder.root / "a.md").unlink()
    await events.until(DELETED, "a.md")
    assert await folder.names() == ["sub/c.md"]
    kinds = [(event.kind, event.external_id) for event in events.told if event.external_id]
    assert kinds.index((CREATED, "sub/c.md")) < kinds.index((DELETED, "sub/b.md"))


async def test_an_editor_that_writes_beside_the_file_and_renames(folder: Folder) -> None:
    put(folder.root / "a.md", "uno")
    events = await folder.watch()
    await events.until(WatchKind.IN_STEP)
    put(folder.root / "a.md.tmp~", "otro texto", old=False).replace(folder.root / "a.md")
    await events.until(UPDATED, "a.md")
    assert await found(folder.rag, "otro texto") == ["a.md"]
    assert events.of(DELETED) == []


async def test_a_folder_that_is_renamed_takes_its_documents_along(folder: Folder) -> None:
    for number in range(30):
        put(folder.root / "antes" / f"{number}.md", f"documento número {number}")
    events = await folder.watch()
    await events.until(WatchKind.IN_STEP)
    (folder.root / "antes").rename(folder.root / "después")
    for number in range(30):
        await events.until(DELETED, f"antes/{number}.md")
    assert await folder.names() == sorted(f"después/{number}.md" for number in range(30))
    # more than half of the tree is gone under its old names, and nothing is held back: it is all there
    assert events.of(WatchKind.HELD_BACK) == []


async def test_a_burst_is_one_pass(folder: Folder) -> None:
    put(folder.root / "a.md", "uno")
    events = await folder.watch()
    await events.until(WatchKind.IN_STEP)
    for number in range(200):
        put(folder.root / f"{number:03}" / "x.md", f"número {number}")
    burst = await events.until(WatchKind.IN_STEP, times=2)
    assert burst.counts is not None
    total = burst.counts.created
    while total < 200:
        told = await events.until(WatchKind.IN_STEP, times=len(events.of(WatchKind.IN_STEP)) + 1)
        assert told.counts is not None
        total += told.counts.created
    assert len(events.of(CREATED)) == 201
    assert len(folder.read) == 201


async def test_one_file_is_watched_alone(folder: Folder) -> None:
    put(folder.root / "a.md", "uno")
    put(folder.root / "b.md", "otro")
    events = await folder.watch(folder.root / "a.md", prefix="notas/")
    await events.until(CREATED, "notas/a.md")
    put(folder.root / "c.md", "tercero", old=False)
    put(folder.root / "a.md", "dos", old=False)
    await events.until(UPDATED, "notas/a.md")
    (folder.root / "a.md").unlink()
    await events.until(DELETED, "notas/a.md")
    assert await folder.names() == []
    assert events.of(CREATED) == ["notas/a.md"]


async def test_what_gitignore_excludes_comes_and_goes_with_its_rules(folder: Folder) -> None:
    put(folder.root / "a.md", "uno")
    put(folder.root / "build" / "b.md", "dos")
    put(folder.root / ".gitignore", "build/\n*.log\n")
    events = await folder.watch()
    await events.until(WatchKind.IN_STEP)
    assert await folder.names() == ["a.md"]
    put(folder.root / ".gitignore", "*.log\n", old=False)
    await events.until(CREATED, "build/b.md")
    put(folder.root / ".gitignore", "/a.md\n", old=False)
    await events.until(DELETED, "a.md")
    assert await folder.names() == ["build/b.md"]


async def test_a_folder_that_goes_away_and_comes_back_loses_nothing(folder: Folder, tmp_path: Path) -> None:
    for name in ("a.md", "b.md"):
        put(folder.root / name, name)
    events = await folder.watch()
    await events.until(WatchKind.IN_STEP)
    folder.root.rename(tmp_path / "elsewhere")
    waiting = await events.until(WatchKind.WAITING)
    assert waiting.error is not None
    assert str(tmp_path) not in str(waiting.error)
    assert await folder.names() == ["a.md", "b.md"]
    put(tmp_path / "elsewhere" / "c.md", "nuevo")
    (tmp_path / "elsewhere").rename(folder.root)
    await events.until(CREATED, "c.md")
    put(folder.root / "d.md", "se vigila otra vez", old=False)
    await events.until(CREATED, "d.md")
    assert events.of(DELETED) == []


async def test_a_folder_that_is_suddenly_empty_waits(folder: Folder, tmp_path: Path) -> None:
    put(folder.root / "a.md", "uno")
    events = await folder.watch()
    await events.until(WatchKind.IN_STEP)
    # as a disk that is unmounted: another folder stands there, with nothing in it
    folder.root.rename(tmp_path / "disk")
    folder.root.mkdir()
    await events.until(WatchKind.WAITING)
    assert await folder.names() == ["a.md"]
    folder.root.rmdir()
    (tmp_path / "disk").rename(folder.root)
    await events.until(WatchKind.IN_STEP, times=2)
    assert await folder.names() == ["a.md"]
    assert events.of(DELETED) == []


async def test_most_of_a_tree_is_not_deleted_unless_it_is_allowed(folder: Folder) -> None:
    for number in range(40):
        put(folder.root / f"{number:02}.md", f"número {number}")
    put(folder.root / "sub" / "stays.md", "queda")
    events = await folder.watch()
    await events.until(WatchKind.IN_STEP)
    for number in range(40):
        (folder.root / f"{number:02}.md").unlink()
    held = await events.until(WatchKind.HELD_BACK)
    assert held.error is not None
    assert "--allow-deletions" in str(held.error.remedy)
    assert len(await folder.names()) == 41
    await folder.stop()
    events = await folder.watch(allow_deletions=True)
    await events.until(WatchKind.IN_STEP)
    assert await folder.names() == ["sub/stays.md"]


async def test_a_file_that_cannot_be_read_keeps_what_is_stored(folder: Folder) -> None:
    put(folder.root / "a.md", "la versión buena")
    events = await folder.watch()
    await events.until(WatchKind.IN_STEP)
    (folder.root / "a.md").write_bytes(b"\0\1\2\3" * 100)
    failed = await events.until(WatchKind.FAILED, "a.md")
    assert failed.error is not None
    assert await found(folder.rag, "versión buena") == ["a.md"]
    put(folder.root / "a.md", "la versión nueva", old=False)
    await events.until(UPDATED, "a.md")
    assert len(events.of(WatchKind.FAILED)) == 1


async def test_two_watches_of_one_tree_come_to_the_same_end(folder: Folder) -> None:
    put(folder.root / "a.md", "uno")
    watches = [await folder.watch() for _ in range(2)]
    for events in watches:
        await events.until(WatchKind.IN_STEP)
    for number in range(20):
        put(folder.root / f"{number}.md", f"número {number}", old=False)
    (folder.root / "a.md").unlink()
    shutil.move(folder.root / "0.md", folder.root / "sub.md")
    wanted = sorted(["sub.md", *(f"{number}.md" for number in range(1, 20))])
    # each is told by one of the two, or stored by the other before this one looked
    await until(folder, lambda stored: sorted(stored) == wanted)
    for name in wanted:
        put(folder.root / name, f"otra vez {name}", old=False)
    sizes = {name: len(f"otra vez {name}") for name in wanted}
    await until(folder, lambda stored: stored == sizes)


async def until(folder: Folder, wanted: Callable[[dict[str, int]], bool]) -> None:
    """Wait until the sizes of the documents' originals are as they should be. No watch tells of the other's work."""
    async with asyncio.timeout(20):
        while True:
            documents, _ = await folder.rag.documents(limit=100)
            if wanted({document.external_id: document.size_bytes for document in documents}):
                return
            await asyncio.sleep(0.05)


async def test_a_database_that_is_out_is_waited_for(folder: Folder, postgres_server: Any, dsn: str) -> None:
    put(folder.root / "a.md", "uno")
    events = await folder.watch(times=WatchTimes(retry=0.2, first_backoff=0.1, last_backoff=0.2))
    await events.until(WatchKind.IN_STEP)
    name = str(conninfo_to_dict(dsn)["dbname"])
    with postgres_server.superuser() as connection:
        connection.execute(f'ALTER DATABASE "{name}" SET default_transaction_read_only = on')
        terminate(connection, name)
    put(folder.root / "b.md", "dos", old=False)
    (folder.root / "a.md").unlink()
    waiting = await events.until(WatchKind.WAITING)
    assert waiting.error is not None
    with postgres_server.superuser() as connection:
        connection.execute(f'ALTER DATABASE "{name}" RESET default_transaction_read_only')
        terminate(connection, name)
    await events.until(CREATED, "b.md")
    await events.until(DELETED, "a.md")
    assert await folder.names() == ["b.md"]


def terminate(connection: Any, name: str) -> None:
    connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,))


async def test_links_and_hidden_files_are_passed_over(folder: Folder, tmp_path: Path) -> None:
    put(folder.root / "a.md", "uno")
    put(tmp_path / "outside" / "secret.md", "secreto")
    (folder.root / "link").symlink_to(tmp_path / "outside")
    (folder.root / "link.md").symlink_to(tmp_path / "outside" / "secret.md")
    events = await folder.watch()
    await events.until(WatchKind.IN_STEP)
    put(tmp_path / "outside" / "more.md", "más secreto", old=False)
    put(folder.root / ".git" / "x.md", "oculto", old=False)
    put(folder.root / "b.md", "dos", old=False)
    await events.until(CREATED, "b.md")
    assert await folder.names() == ["a.md", "b.md"]


async def test_a_name_that_is_not_utf8_stops_no_watch_and_is_told_escaped(folder: Folder) -> None:
    put(folder.root / "a.md", "uno")
    events = await folder.watch()
    await events.until(WatchKind.IN_STEP)
    bad = folder.root / os.fsdecode(b"bad\xff.md")
    put(bad, "sin nombre", old=False)
    failed = await events.until(WatchKind.FAILED, "bad\\xff.md")
    assert failed.error is not None
    assert (failed.error.field, failed.error.remedy) == ("path", "Rename the file.")
    for number in range(3):
        # of such a name the library says nothing but that it has lost its thread
        put(folder.root / os.fsdecode(b"\xfe") / f"{number}.dat", "ni documento", old=False)
        put(folder.root / f"{number}.md", f"número {number}", old=False)
        await events.until(CREATED, f"{number}.md")
    bad.rename(folder.root / "good.md")
    await events.until(CREATED, "good.md")
    assert len(events.of(WatchKind.FAILED)) == 1


class Silent:
    """A system that tells of nothing, or does not watch at all."""

    def __init__(self, *, refuses: bool) -> None:
        self._refuses = refuses

    async def changes(self, _: WatchedTree) -> AsyncGenerator[TreeChanges]:
        if self._refuses:
            raise SourceUnavailableError("Too much to watch.", reason="watch_limit")
        while True:
            yield TreeChanges()
            await asyncio.sleep(0.05)


@pytest.mark.parametrize("refuses", [False, True])
async def test_what_the_system_does_not_tell_is_found_by_comparing(folder: Folder, refuses: bool) -> None:
    put(folder.root / "a.md", "uno")
    times = WatchTimes(comparison=0.2, unwatched=0.2, retry=0.1)
    events = await folder.watch(times=times, watching=Silent(refuses=refuses))
    await events.until(WatchKind.IN_STEP)
    put(folder.root / "b.md", "dos", old=False)
    (folder.root / "a.md").unlink()
    await events.until(CREATED, "b.md")
    await events.until(DELETED, "a.md")
    assert len(events.of(WatchKind.WAITING)) == refuses


async def test_a_write_that_goes_on_is_taken_when_it_is_over(folder: Folder) -> None:
    events = await folder.watch()
    with (folder.root / "a.md").open("w", encoding="utf-8") as file:
        for number in range(8):
            file.write(f"línea {number}\n")
            file.flush()
            await asyncio.sleep(0.1)
    await events.until(CREATED, "a.md")
    assert (await folder.rag.document("a.md")).size_bytes == (folder.root / "a.md").stat().st_size
    assert events.of(UPDATED) == []


async def test_a_bar_that_was_left_open_hides_no_line_after_an_outage() -> None:
    out = io.TextIOWrapper(io.BytesIO(), "utf-8")
    output = Output(json=False, stdout=out, stderr=io.TextIOWrapper(io.BytesIO(), "utf-8"))
    with WatchProgress(output, name="tree") as shown:
        shown.progress(0, 100)
        shown.event(WatchEvent(kind=CREATED, external_id="hidden.md"))
        shown.event(WatchEvent(kind=WatchKind.WAITING, error=SourceUnavailableError("Out.")))
        shown.event(WatchEvent(kind=CREATED, external_id="shown\x1b[2J.md"))
    out.flush()
    assert out.buffer.getvalue().decode() == "waiting: Out.\ncreated  shown[2J.md\n"  # type: ignore[attr-defined]

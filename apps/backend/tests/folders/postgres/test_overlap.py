"""A folder's batches: each is read and prepared while the one before it is stored; outages and cancellation."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import Any

import psycopg
import pytest

from ragcorp.application.folders import documents as folder_documents
from ragcorp.application.folders.ingest import FolderReport
from ragcorp.domain.exceptions import StorageUnavailableError
from ragcorp.domain.principal import Principal
from support.files.watched_trees import Folder, put
from support.parsing.kinds import zipped

pytestmark = pytest.mark.anyio

WITHIN = 20.0


@dataclass
class Watched:
    """The store of a folder's documents; ``log`` has what was prepared and stored, by first name, in order."""

    store: Any
    log: list[str] = field(default_factory=list)
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)
    holds: str = ""
    fails: str = ""
    released: asyncio.Event = field(default_factory=asyncio.Event)

    async def note(self, event: str) -> None:
        async with self.changed:
            self.log.append(event)
            self.changed.notify_all()

    async def until(self, event: str) -> None:
        async with asyncio.timeout(WITHIN), self.changed:
            await self.changed.wait_for(lambda: event in self.log)

    async def save_many(self, writes: Any, *, principal: Principal) -> Any:
        name = writes[0].external_id
        await self.note(f"storing {name}")
        if name == self.fails:
            raise StorageUnavailableError("gone", reason="refused")
        outcomes = await self.store.save_many(writes, principal=principal)
        if name == self.holds:
            await self.released.wait()
        return outcomes

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)


@dataclass
class WatchedIngest:
    ingest: Any
    watched: Watched

    async def prepare_many(self, requests: Any, *, principal: Principal) -> Any:
        batch = await self.ingest.prepare_many(requests, principal=principal)
        await self.watched.note(f"prepared {requests[0].external_id}")
        return batch


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder_documents, "BATCH_DOCUMENTS", 2)


def watch_over(folder: Folder) -> tuple[Watched, Folder]:
    ingest = folder.container.use_cases.ingest
    watched = Watched(ingest.store)
    double = WatchedIngest(replace(ingest, store=watched), watched)
    return watched, replace(folder, documents=replace(folder.documents, ingest=double))


async def ingested(folder: Folder) -> FolderReport:
    return await folder.ingest.ingest(folder.root, principal=Principal())


def fill(folder: Folder) -> None:
    for name in "abcdef":
        put(folder.root / f"{name}.md", f"# Nota {name}\n\ncontenido {name}")


@pytest.mark.usefixtures("small_batches")
async def test_the_next_batch_is_prepared_while_one_is_stored_and_no_more(folder: Folder) -> None:
    fill(folder)
    put(folder.root / "c.md", "\0")
    watched, watched_folder = watch_over(folder)
    watched.holds = "a.md"
    task = asyncio.create_task(ingested(watched_folder))
    await watched.until("prepared c.md")
    await watched.until("storing a.md")
    assert sorted(watched.log) == ["prepared a.md", "prepared c.md", "storing a.md"]
    watched.released.set()
    report = await task
    assert [failure.external_id for failure in report.failures] == ["c.md"]
    assert report.created == 5
    assert [event for event in watched.log if event.startswith("storing")] == [
        "storing a.md",
        "storing d.md",
        "storing e.md",
    ]


@pytest.mark.usefixtures("small_batches")
async def test_no_batch_is_prepared_beside_a_document_with_parts(folder: Folder) -> None:
    fill(folder)
    (folder.root / "b.md").unlink()
    (folder.root / "b.zip").write_bytes(zipped({"uno.md": "# Uno\n\nprimera parte"}))
    watched, watched_folder = watch_over(folder)
    report = await ingested(watched_folder)
    assert (report.created, report.parts) == (6, 1)
    # the document with parts is stored by itself, then the others of its batch
    assert watched.log[:4] == ["prepared a.md", "storing b.zip", "storing a.md", "prepared c.md"]


@pytest.mark.usefixtures("small_batches")
async def test_an_outage_ends_the_run_after_the_batches_before_it(folder: Folder) -> None:
    fill(folder)
    watched, watched_folder = watch_over(folder)
    watched.fails = "c.md"
    with pytest.raises(StorageUnavailableError):
        await ingested(watched_folder)
    assert await folder.names() == ["a.md", "b.md"]
    report = await ingested(folder)
    assert (report.created, report.unchanged) == (4, 2)


@pytest.mark.usefixtures("small_batches")
async def test_cancelled_in_the_middle_it_leaves_whole_batches(folder: Folder, dsn: str) -> None:
    fill(folder)
    watched, watched_folder = watch_over(folder)
    watched.holds = "c.md"
    task = asyncio.create_task(ingested(watched_folder))
    await watched.until("prepared e.md")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert "storing e.md" not in watched.log
    with psycopg.connect(dsn) as connection:
        rows = connection.execute(
            "SELECT external_id, chunk_count, (SELECT count(*) FROM chunks c WHERE c.document_id = d.id),"
            " (SELECT count(*) FROM document_sources s WHERE s.document_id = d.id) FROM documents d ORDER BY 1"
        ).fetchall()
    assert rows in ([(f"{name}.md", 1, 1, 1) for name in "ab"], [(f"{name}.md", 1, 1, 1) for name in "abcd"])
    assert (await ingested(folder)).total == 6

"""Watches over trees of real files, with what they tell, and the means to change the files."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ragcorp.application.folders.documents import FolderDocuments
from ragcorp.application.folders.ingest import IngestFolder
from ragcorp.application.folders.sync import SyncFolder
from ragcorp.application.folders.watch import WatchFolder, WatchTimes
from ragcorp.domain.documents import DocumentAttributes
from ragcorp.domain.ports.folders import (
    FolderOptions,
    FolderTask,
    SyncCounts,
    SyncOutcome,
    WatchEvent,
    WatchKind,
    WatchMemory,
)
from ragcorp.domain.principal import Principal
from ragcorp.infrastructure.files.folder import LocalFiles
from ragcorp.infrastructure.files.watching import LocalWatching
from ragcorp.infrastructure.postgres.files.folder_rows import PostgresFolderRecords
from ragcorp.interface.library.rag import Rag
from ragcorp.main.opening.library import make_rag
from ragcorp.main.wiring.container import Container

OLD = time.time_ns() - 60_000_000_000
WITHIN = 20.0


@dataclass(slots=True, kw_only=True)
class Events:
    """What a watch told, and a way to wait for more of it."""

    told: list[WatchEvent] = field(default_factory=list)
    more: asyncio.Event = field(default_factory=asyncio.Event)

    def __call__(self, event: WatchEvent) -> None:
        self.told.append(event)
        self.more.set()

    def of(self, kind: WatchKind) -> list[str | None]:
        return [event.external_id for event in self.told if event.kind is kind]

    async def until(
        self, kind: WatchKind, external_id: str | None = None, *, times: int = 1, within: float = WITHIN
    ) -> WatchEvent:
        """Return the event of that kind and document, the ``times``-th of them."""
        async with asyncio.timeout(within):
            while True:
                self.more.clear()
                results = [event for event in self.told if (event.kind, event.external_id) == (kind, external_id)]
                if len(results) >= times:
                    return results[times - 1]
                await self.more.wait()


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """The use cases over one container, and the tree that they are about."""

    root: Path
    container: Container
    documents: FolderDocuments
    files: LocalFiles
    records: PostgresFolderRecords
    watches: AsyncExitStack
    read: list[str]

    @property
    def rag(self) -> Rag:
        return make_rag(self.container)

    @property
    def sync(self) -> SyncFolder:
        return SyncFolder(documents=self.documents, files=self.files, records=self.records)

    @property
    def ingest(self) -> IngestFolder:
        return IngestFolder(documents=self.documents, files=self.files, default_language="es")

    async def names(self) -> list[str]:
        return [document.external_id for document in (await self.rag.documents())[0]]

    async def compared(
        self,
        memory: WatchMemory | None = None,
        events: Events | None = None,
        *,
        below: set[str] | None = None,
        **options: Any,
    ) -> SyncOutcome:
        """Bring the documents in step once."""
        task = FolderTask(
            tree=self.files.locate(self.root),
            principal=Principal(),
            options=options_of(**options),
            memory=memory or WatchMemory(),
            on_event=events or Events(),
        )
        return await self.sync.sync(task, below=below)

    async def once(self, *, events: Events | None = None, below: set[str] | None = None, **options: Any) -> SyncCounts:
        """Do so with the memory of a process that has just started, and return what became of the files."""
        return (await self.compared(events=events, below=below, **options)).counts

    async def watch(
        self, path: Path | None = None, *, times: WatchTimes | None = None, watching: Any = None, **options: Any
    ) -> Events:
        """Start a watch that ends with the test, and return what it tells."""
        events = Events()
        watch = WatchFolder(
            sync=self.sync,
            files=self.files,
            watching=watching or LocalWatching(quiet_ms=100),
            times=times or WatchTimes(retry=0.2, first_backoff=0.2, last_backoff=0.4),
        )
        task = asyncio.create_task(
            watch.watch(path or self.root, principal=Principal(), options=options_of(**options), on_event=events)
        )

        async def stop() -> None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

        self.watches.push_async_callback(stop)
        return events

    async def stop(self) -> None:
        """End all watches now."""
        await self.watches.aclose()


def options_of(**options: Any) -> FolderOptions:
    return FolderOptions(attributes=DocumentAttributes(language="es"), **options)


def put(path: Path, text: str, *, old: bool = True) -> Path:
    """Write a file; an ``old`` one is of a minute ago, so that no rule for fresh ones holds for it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    if old:
        os.utime(path, ns=(OLD, OLD))
    return path


class CountingFiles(LocalFiles):
    """Real files; says which were read."""

    def __init__(self, *, read: list[str], **options: Any) -> None:
        super().__init__(**options)
        self._read = read

    def read_stamped(self, entry: Any) -> Any:
        self._read.append(entry.relative)
        return super().read_stamped(entry)


FolderOf = Callable[..., Folder]

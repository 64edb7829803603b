"""Documents of before get their entities, a batch at a time; the worker goes on."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from uuid import UUID

import pytest

from ragcorp.application.structure.refresh import BATCH, RefreshedStructure, StructureWorker
from ragcorp.domain.documents import ParsedText
from ragcorp.domain.exceptions import ConfigurationError, ConflictError, RagcorpError, StorageUnavailableError
from ragcorp.domain.ports.structure import UnstructuredDocument
from ragcorp.domain.structure.entities import DocumentStructure
from support.parsing.reading import refresh_of
from support.structure.entities import entity

pytestmark = pytest.mark.anyio


@dataclass
class LineExtractor:
    """An entity a line; remembers what it was given, and on which threads."""

    fingerprint: str = "lines-1"
    seen: list[tuple[str, bool]] = field(default_factory=list)
    threads: set[int] = field(default_factory=set)

    def extract(self, parsed: ParsedText, *, path: str) -> DocumentStructure:
        self.seen.append((path, parsed.plain))
        self.threads.add(threading.get_ident())
        entities = tuple(entity(f"{path}::{line}") for line in parsed.text.splitlines())
        return DocumentStructure(fingerprint=self.fingerprint, path=path, entities=entities)


@dataclass
class MemoryBacklog:
    """The port StructureBacklog in memory: documents by id, and the fingerprint of each."""

    documents: dict[UUID, UnstructuredDocument]
    fingerprints: dict[UUID, str] = field(default_factory=dict)
    changed: set[UUID] = field(default_factory=set)
    failures: list[RagcorpError] = field(default_factory=list)
    looked_after: list[UUID | None] = field(default_factory=list)

    async def outdated(self, fingerprint: str, *, after: UUID | None = None, limit: int) -> list[UnstructuredDocument]:
        self.looked_after.append(after)
        return [self.documents[key] for key in sorted(self.due(fingerprint)) if after is None or key > after][:limit]

    async def save(self, structures: Mapping[UUID, tuple[bytes, DocumentStructure]]) -> frozenset[UUID]:
        kept = {key: structure for key, (_, structure) in structures.items() if key not in self.changed}
        self.fingerprints |= {key: structure.fingerprint for key, structure in kept.items()}
        return frozenset(kept)

    async def count(self, fingerprint: str) -> int:
        if self.failures:
            raise self.failures.pop()
        return len(self.due(fingerprint))

    def due(self, fingerprint: str) -> list[UUID]:
        return [key for key in self.documents if self.fingerprints.get(key) != fingerprint]


def backlog_of(count: int) -> MemoryBacklog:
    documents = [
        UnstructuredDocument(
            document_id=UUID(int=number),
            content_hash=b"h",
            path=f"p{number}.py",
            filename=f"f{number}.{'py' if number % 2 else 'md'}",
            parsed=ParsedText(text="one\ntwo"),
        )
        for number in range(count)
    ]
    return MemoryBacklog({document.document_id: document for document in documents})


async def test_every_document_is_extracted_once_and_progress_is_told() -> None:
    backlog, extractor = backlog_of(BATCH * 2 + 3), LineExtractor()
    refresh = refresh_of(backlog, extractor)
    told: list[tuple[int, int]] = []
    done = await refresh.refresh(on_progress=lambda *counts: told.append(counts))
    assert done == RefreshedStructure(documents=43, entities=86, waiting=0)
    assert told == [(0, 43), (20, 43), (40, 43), (43, 43)]
    assert len(extractor.seen) == 43
    assert extractor.seen[:2] == [("p0.py", False), ("p1.py", True)]
    assert threading.get_ident() not in extractor.threads
    again = await refresh.refresh()
    assert again == RefreshedStructure(documents=0, entities=0, waiting=0)
    assert len(extractor.seen) == 43


async def test_each_look_goes_on_after_the_last_document_of_the_one_before() -> None:
    backlog = backlog_of(BATCH * 2 + 3)
    backlog.changed = {UUID(int=0), UUID(int=BATCH)}
    done = await refresh_of(backlog, LineExtractor()).refresh()
    assert backlog.looked_after == [None, UUID(int=19), UUID(int=39), UUID(int=42)]
    assert done == RefreshedStructure(documents=41, entities=82, waiting=2)


async def test_documents_that_change_all_the_time_are_left_for_later() -> None:
    backlog = backlog_of(3)
    backlog.changed = set(backlog.documents)
    done = await refresh_of(backlog, LineExtractor()).refresh()
    assert done == RefreshedStructure(documents=0, entities=0, waiting=3)


async def test_a_batch_in_whose_way_another_write_got_waits_and_the_rest_does_not() -> None:
    class Deadlocked(MemoryBacklog):
        async def save(self, structures: Mapping[UUID, tuple[bytes, DocumentStructure]]) -> frozenset[UUID]:
            if UUID(int=0) in structures:
                raise ConflictError("another write got in the way")
            return await super().save(structures)

    backlog = Deadlocked(backlog_of(BATCH + 3).documents)
    done = await refresh_of(backlog, LineExtractor()).refresh()
    assert done == RefreshedStructure(documents=3, entities=6, waiting=BATCH)


async def test_what_another_undoes_at_once_is_told_and_not_chased() -> None:
    class Contested(MemoryBacklog):
        async def save(self, structures: Mapping[UUID, tuple[bytes, DocumentStructure]]) -> frozenset[UUID]:
            saved = await super().save(structures)
            self.fingerprints |= dict.fromkeys(structures, "the other's")
            return saved

    backlog = Contested(backlog_of(5).documents)
    done = await refresh_of(backlog, LineExtractor()).refresh()
    assert (done.documents, done.waiting) == (5, 5)


@asynccontextmanager
async def working(
    backlog: MemoryBacklog, *, look_seconds: float = 3600
) -> AsyncIterator[Callable[[], Awaitable[None]]]:
    """Run a worker; yield a wait until no document is due, which fails where the worker ends."""
    refresh = refresh_of(backlog, LineExtractor())
    task = asyncio.create_task(
        StructureWorker(refresh=refresh, retry_seconds=0, look_seconds=look_seconds).run(), name="structure worker"
    )

    async def until_done() -> None:
        async with asyncio.timeout(30):
            while backlog.due("lines-1"):
                assert not task.done(), "the worker ended"
                await asyncio.sleep(0)

    try:
        yield until_done
        assert not task.done(), "the worker ended"
    finally:
        task.cancel()
        await asyncio.wait([task])


@pytest.mark.parametrize(
    "failure",
    [
        StorageUnavailableError("out", reason="connection_lost"),
        ConflictError("another write got in the way"),
        ConfigurationError("of another version"),
    ],
)
async def test_the_worker_survives_whatever_fails_and_tries_again(failure: RagcorpError) -> None:
    backlog = backlog_of(2)
    backlog.failures = [failure] * 3
    async with working(backlog) as until_done:
        await until_done()
    assert not backlog.failures


async def test_the_worker_tries_again_what_changed_while_it_was_read() -> None:
    class Changing(MemoryBacklog):
        async def save(self, structures: Mapping[UUID, tuple[bytes, DocumentStructure]]) -> frozenset[UUID]:
            saved = await super().save(structures)
            self.changed.clear()
            return saved

    backlog = Changing(backlog_of(3).documents, changed={UUID(int=1)})
    async with working(backlog) as until_done:
        await until_done()
    assert backlog.looked_after == [None, UUID(int=2), None, UUID(int=1)]


async def test_the_worker_looks_again_for_what_others_store() -> None:
    backlog = backlog_of(3)
    async with working(backlog, look_seconds=0) as until_done:
        await until_done()
        backlog.fingerprints[UUID(int=1)] = "lines-0"
        await until_done()
    assert backlog.fingerprints == dict.fromkeys(backlog.documents, "lines-1")

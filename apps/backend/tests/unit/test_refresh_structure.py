"""Documents of before get their entities, a batch at a time, and it ends."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID

import pytest

from ragcorp.application.refresh_structure import BATCH, RefreshedStructure, RefreshStructure
from ragcorp.application.structure_worker import StructureWorker
from ragcorp.domain.documents import ParsedText
from ragcorp.domain.exceptions import StorageUnavailableError
from ragcorp.domain.ports.structure import UnstructuredDocument
from ragcorp.domain.structure import DocumentStructure
from support.structure import entity

pytestmark = pytest.mark.anyio


def is_plain(filename: str) -> bool:
    return filename.endswith(".py")


@dataclass
class LineExtractor:
    """An entity a line; remembers what it was given, and on which threads."""

    fingerprint: str = "lines-1"
    seen: list[tuple[str, str, bool]] = field(default_factory=list)
    threads: set[int] = field(default_factory=set)

    def extract(self, parsed: ParsedText, *, path: str, title: str) -> DocumentStructure:
        self.seen.append((path, title, parsed.plain))
        self.threads.add(threading.get_ident())
        entities = tuple(entity(f"{path}::{line}") for line in parsed.text.splitlines())
        return DocumentStructure(fingerprint=self.fingerprint, path=path, entities=entities)


@dataclass
class MemoryBacklog:
    """The port StructureBacklog in memory: documents by id, and the fingerprint of each."""

    documents: dict[UUID, UnstructuredDocument]
    fingerprints: dict[UUID, str] = field(default_factory=dict)
    changed: set[UUID] = field(default_factory=set)
    outages: int = 0

    async def outdated(self, fingerprint: str, *, limit: int) -> list[UnstructuredDocument]:
        due = [each for key, each in self.documents.items() if self.fingerprints.get(key) != fingerprint]
        return due[:limit]

    async def save(self, structures: Mapping[UUID, tuple[bytes, DocumentStructure]]) -> int:
        kept = {key: structure for key, (_, structure) in structures.items() if key not in self.changed}
        self.fingerprints |= {key: structure.fingerprint for key, structure in kept.items()}
        return len(kept)

    async def count(self, fingerprint: str) -> int:
        if self.outages:
            self.outages -= 1
            raise StorageUnavailableError("out", reason="connection_lost")
        return len(await self.outdated(fingerprint, limit=10_000))


def backlog_of(count: int) -> MemoryBacklog:
    documents = [
        UnstructuredDocument(
            document_id=UUID(int=number),
            content_hash=b"h",
            path=f"p{number}.py",
            title=f"Title {number}",
            filename=f"f{number}.{'py' if number % 2 else 'md'}",
            parsed=ParsedText(text="one\ntwo"),
        )
        for number in range(count)
    ]
    return MemoryBacklog({document.document_id: document for document in documents})


async def test_every_document_is_extracted_once_and_progress_is_told() -> None:
    backlog, extractor = backlog_of(BATCH * 2 + 3), LineExtractor()
    refresh = RefreshStructure(backlog=backlog, extractor=extractor, is_plain=is_plain)
    told: list[tuple[int, int]] = []
    done = await refresh.execute(on_progress=lambda *counts: told.append(counts))
    assert done == RefreshedStructure(documents=43, entities=86, waiting=0)
    assert told == [(0, 43), (20, 43), (40, 43), (43, 43)]
    assert len(extractor.seen) == 43
    assert extractor.seen[:2] == [("p0.py", "Title 0", False), ("p1.py", "Title 1", True)]
    assert threading.get_ident() not in extractor.threads
    again = await refresh.execute()
    assert again == RefreshedStructure(documents=0, entities=0, waiting=0)
    assert len(extractor.seen) == 43


async def test_documents_that_change_all_the_time_are_left_for_later() -> None:
    backlog = backlog_of(3)
    backlog.changed = set(backlog.documents)
    done = await RefreshStructure(backlog=backlog, extractor=LineExtractor(), is_plain=is_plain).execute()
    assert done == RefreshedStructure(documents=0, entities=0, waiting=3)


async def test_two_extractors_on_one_database_do_not_chase_one_another() -> None:
    class Contested(MemoryBacklog):
        async def save(self, structures: Mapping[UUID, tuple[bytes, DocumentStructure]]) -> int:
            saved = await super().save(structures)
            self.fingerprints |= dict.fromkeys(structures, "the other's")
            return saved

    backlog = Contested(backlog_of(5).documents)
    done = await RefreshStructure(backlog=backlog, extractor=LineExtractor(), is_plain=is_plain).execute()
    assert (done.documents, done.waiting) == (5, 5)


async def test_the_worker_waits_an_outage_out_and_ends() -> None:
    backlog = backlog_of(2)
    backlog.outages = 2
    worker = StructureWorker(
        refresh=RefreshStructure(backlog=backlog, extractor=LineExtractor(), is_plain=is_plain), retry_seconds=0
    )
    await asyncio.wait_for(worker.run(), 30)
    assert set(backlog.fingerprints.values()) == {"lines-1"}

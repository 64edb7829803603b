"""Reading documents in threads of the test's own process."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

import anyio.to_thread

from ragcorp.application.documents.preparation import DocumentLimits, DocumentPreparation
from ragcorp.application.documents.reading import DocumentReader
from ragcorp.application.structure.refresh import RefreshStructure
from ragcorp.domain.documents import ParsedText, SourceFile
from ragcorp.domain.ports.structure import StructureBacklog, StructureExtractor
from ragcorp.domain.ports.text import Digest
from ragcorp.infrastructure.parsing.chunker import StructureChunker
from ragcorp.infrastructure.parsing.parser import MultiFormatParser
from ragcorp.infrastructure.sandbox.pool import ChildPool, Limits
from ragcorp.main.wiring import reading
from ragcorp.main.wiring.reading import make_reader

Result = TypeVar("Result")


class ThreadPool:
    """The port ReadingPool."""

    def __init__(self, reader: DocumentReader) -> None:
        self._reader = reader

    async def run(self, work: Callable[..., Result], *arguments: object, size: int, apart: bool) -> Result:
        return await anyio.to_thread.run_sync(work, self._reader, *arguments)


@asynccontextmanager
async def child_pool(limits: Limits | None = None) -> AsyncIterator[ChildPool]:
    """Yield the pool of the service."""
    chunking = {"max_tokens": 256, "overlap_tokens": 32}
    reader = make_reader(MultiFormatParser(), **chunking)
    pool = ChildPool(
        subject=reader, module=reading.__name__, options=chunking | {"recognizes": False}, limits=limits or Limits()
    )
    try:
        yield pool
    finally:
        await pool.aclose()


async def digest(pool: ChildPool, filename: str, content: bytes) -> Digest:
    file = SourceFile(content=content, media_type="", filename=filename)
    return await pool.run(DocumentReader.digest, file, filename, size=len(content), apart=True)


async def read_apart(filename: str, content: bytes) -> ParsedText:
    async with child_pool() as pool:
        return (await digest(pool, filename, content)).parsed


def preparation_of(
    *,
    parser: MultiFormatParser | None = None,
    chunker: StructureChunker | None = None,
    structure: StructureExtractor | None = None,
    limits: DocumentLimits | None = None,
) -> DocumentPreparation:
    reader = DocumentReader(
        parser=parser or MultiFormatParser(), chunker=chunker or StructureChunker(), structure=structure
    )
    return DocumentPreparation(reader=reader, pool=ThreadPool(reader), limits=limits or DocumentLimits())


def refresh_of(backlog: StructureBacklog, extractor: StructureExtractor) -> RefreshStructure:
    extract = preparation_of(structure=extractor).extract
    return RefreshStructure(backlog=backlog, fingerprint=extractor.fingerprint, extract=extract)

"""Use case: extract the missing or outdated entities of stored documents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

import anyio.to_thread

from ragcorp.application.structure.extraction import extracted
from ragcorp.application.upkeep.task_progress import Report
from ragcorp.domain.exceptions import ConflictError
from ragcorp.domain.ports.structure import StructureBacklog, StructureExtractor, UnstructuredDocument
from ragcorp.domain.structure.entities import DocumentStructure

BATCH = 20
"""Documents in memory at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshedStructure:
    """Result of a refresh. ``waiting`` documents changed while they were read, or are new."""

    documents: int
    entities: int
    waiting: int


class RefreshStructure:
    """Processes the documents of all workspaces in batches, and resumes where it stopped.

    Extraction runs in a worker thread without holding a connection.
    """

    def __init__(
        self, *, backlog: StructureBacklog, extractor: StructureExtractor, is_plain: Callable[[str], bool]
    ) -> None:
        self._backlog = backlog
        self._extractor = extractor
        self._is_plain = is_plain

    async def refresh(self, *, on_progress: Report = lambda done, total: None) -> RefreshedStructure:  # noqa: ARG005
        """Process each outdated document once, by id. Raises StorageUnavailableError."""
        total = await self.count()
        documents = entities = 0
        on_progress(documents, total)
        if not total:
            return RefreshedStructure(documents=0, entities=0, waiting=0)
        after: UUID | None = None
        while batch := await self._backlog.outdated(self._extractor.fingerprint, after=after, limit=BATCH):
            after = batch[-1].document_id
            structures = await anyio.to_thread.run_sync(self._extracted, batch)
            try:
                saved = await self._backlog.save(structures)
            except ConflictError:  # a deadlock: these wait, the rest does not
                continue
            documents += len(saved)
            entities += sum(len(structures[document_id][1].entities) for document_id in saved)
            on_progress(documents, max(documents, total))
        return RefreshedStructure(documents=documents, entities=entities, waiting=await self.count())

    async def count(self) -> int:
        """Return the number of outdated documents."""
        return await self._backlog.count(self._extractor.fingerprint)

    def _extracted(self, batch: Sequence[UnstructuredDocument]) -> dict[UUID, tuple[bytes, DocumentStructure]]:
        return {
            document.document_id: (
                document.content_hash,
                extracted(
                    self._extractor,
                    # a text that was stored no longer says of itself that it is plain
                    replace(document.parsed, plain=self._is_plain(document.filename)),
                    path=document.path,
                    title=document.title,
                ),
            )
            for document in batch
        }

"""Use case: extract the missing or outdated entities of stored documents, once or in the background."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from uuid import UUID

from ragcorp.application.resilience.source_reports import reason_of
from ragcorp.application.upkeep.task_progress import Report
from ragcorp.domain.documents import ParsedText
from ragcorp.domain.exceptions import ConflictError, RagcorpError
from ragcorp.domain.ports.structure import StructureBacklog
from ragcorp.domain.structure.entities import DocumentStructure

logger = logging.getLogger(__name__)

RETRY_SECONDS = 10.0
LOOK_SECONDS = 600.0

BATCH = 20
"""Documents in memory at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshedStructure:
    """Result of a refresh. ``waiting`` documents changed while they were read, or are new."""

    documents: int
    entities: int
    waiting: int


Extract = Callable[[ParsedText, str, str], Awaitable[DocumentStructure]]
"""Of the text, file name and path of a document."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshStructure:
    """Processes all workspaces in batches, without a connection while it extracts; resumes where it stopped."""

    backlog: StructureBacklog
    fingerprint: str
    extract: Extract

    async def refresh(self, *, on_progress: Report = lambda done, total: None) -> RefreshedStructure:  # noqa: ARG005
        """Process each outdated document once, by id. Raises StorageUnavailableError."""
        total = await self.count()
        documents = entities = 0
        on_progress(documents, total)
        if not total:
            return RefreshedStructure(documents=0, entities=0, waiting=0)
        after: UUID | None = None
        while batch := await self.backlog.outdated(self.fingerprint, after=after, limit=BATCH):
            after = batch[-1].document_id
            structures = {
                each.document_id: (each.content_hash, await self.extract(each.parsed, each.filename, each.path))
                for each in batch
            }
            try:
                saved = await self.backlog.save(structures)
            except ConflictError:  # a deadlock: these wait, the rest does not
                continue
            documents += len(saved)
            entities += sum(len(structures[document_id][1].entities) for document_id in saved)
            on_progress(documents, max(documents, total))
        return RefreshedStructure(documents=documents, entities=entities, waiting=await self.count())

    async def count(self) -> int:
        """Return the number of outdated documents."""
        return await self.backlog.count(self.fingerprint)


@dataclass(frozen=True, slots=True, kw_only=True)
class StructureWorker:
    """Refreshes every ``look_seconds``, as other services may run other versions; after failures sooner."""

    refresh: RefreshStructure
    retry_seconds: float = RETRY_SECONDS
    look_seconds: float = LOOK_SECONDS

    async def run(self) -> None:
        """Run until cancelled; database outages and conflicting writes are retried."""
        while True:
            is_done = False
            try:
                done = await self.refresh.refresh()
            except RagcorpError as error:
                logger.warning("the entities wait: %s", reason_of(error))
            else:
                is_done = not done.waiting
                if done.documents:
                    logger.info("extracted %d entities of %d documents", done.entities, done.documents)
            await asyncio.sleep(self.look_seconds if is_done else self.retry_seconds)

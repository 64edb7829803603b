"""Use case: extract the missing or outdated entities of stored documents, once or in the background."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from uuid import UUID

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


class RefreshStructure:
    """Processes the documents of all workspaces in batches, and resumes where it stopped.

    ``extract`` gets text, file name and path of a document, and holds no connection.
    """

    def __init__(self, *, backlog: StructureBacklog, fingerprint: str, extract: Extract) -> None:
        self._backlog = backlog
        self._fingerprint = fingerprint
        self._extract = extract

    async def refresh(self, *, on_progress: Report = lambda done, total: None) -> RefreshedStructure:  # noqa: ARG005
        """Process each outdated document once, by id. Raises StorageUnavailableError."""
        total = await self.count()
        documents = entities = 0
        on_progress(documents, total)
        if not total:
            return RefreshedStructure(documents=0, entities=0, waiting=0)
        after: UUID | None = None
        while batch := await self._backlog.outdated(self._fingerprint, after=after, limit=BATCH):
            after = batch[-1].document_id
            structures = {
                each.document_id: (each.content_hash, await self._extract(each.parsed, each.filename, each.path))
                for each in batch
            }
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
        return await self._backlog.count(self._fingerprint)


class StructureWorker:
    """Refreshes at the start and every ``look_seconds``: other services may run other versions or extras.

    Documents that failed or changed while they were read are retried after ``retry_seconds``.
    """

    def __init__(
        self, *, refresh: RefreshStructure, retry_seconds: float = RETRY_SECONDS, look_seconds: float = LOOK_SECONDS
    ) -> None:
        self._refresh = refresh
        self._retry_seconds = retry_seconds
        self._look_seconds = look_seconds

    async def run(self) -> None:
        """Run until cancelled; database outages and conflicting writes are retried."""
        while True:
            is_done = False
            try:
                done = await self._refresh.refresh()
            except RagcorpError as error:
                logger.warning("the entities wait: %s", getattr(error, "reason", error.code))
            else:
                is_done = not done.waiting
                if done.documents:
                    logger.info("extracted %d entities of %d documents", done.entities, done.documents)
            await asyncio.sleep(self._look_seconds if is_done else self._retry_seconds)

"""Use case: ingest a folder. What is stored already is passed over, so an interrupted run resumes by running again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import anyio.to_thread

from ragcorp.domain.documents import DocumentAttributes, IngestStatus
from ragcorp.domain.exceptions import RagcorpError
from ragcorp.domain.ingestion import IngestFailure, IngestOutcome, IngestRequest
from ragcorp.domain.ports.files import DocumentFiles
from ragcorp.domain.ports.use_cases import BatchIngestion
from ragcorp.domain.principal import Principal

BATCH_DOCUMENTS = 16
BATCH_BYTES = 8 * 1024 * 1024

ProgressCallback = Callable[[int, int], None]
"""Told how many of how many files are done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderReport:
    """What became of the files, by status, and the failures in order."""

    created: int
    updated: int
    unchanged: int
    failures: tuple[IngestFailure, ...]

    @property
    def total(self) -> int:
        return self.created + self.updated + self.unchanged + len(self.failures)


class IngestFolder:
    """Stores the files of a folder under their relative paths. One bad file stops no other."""

    def __init__(self, *, ingest: BatchIngestion, files: DocumentFiles, default_language: str) -> None:
        self._ingest = ingest
        self._files = files
        self._default_language = default_language

    async def execute(
        self,
        root: Path,
        *,
        principal: Principal,
        prefix: str = "",
        attributes: DocumentAttributes | None = None,
        on_progress: ProgressCallback | None = None,
    ) -> FolderReport:
        """Ingest what is below ``root``; ``prefix`` goes before each external_id. Raises NotFoundError."""
        entries = await anyio.to_thread.run_sync(self._files.find, root)
        attributes = attributes or DocumentAttributes(language=self._default_language)
        outcomes: list[IngestOutcome] = []
        batch: list[IngestRequest] = []
        size = 0
        for entry in entries:
            external_id = prefix + entry.relative
            try:
                file = await anyio.to_thread.run_sync(self._files.read, entry)
            except RagcorpError as error:
                outcomes.append(IngestFailure(external_id=external_id, error=error))
                continue
            batch.append(IngestRequest(external_id=external_id, file=file, attributes=attributes))
            size += len(file.content)
            if len(batch) >= BATCH_DOCUMENTS or size >= BATCH_BYTES:
                outcomes += await self._ingest.execute_many(batch, principal=principal)
                batch, size = [], 0
                if on_progress:
                    on_progress(len(outcomes), len(entries))
        if batch:
            outcomes += await self._ingest.execute_many(batch, principal=principal)
        if on_progress:
            on_progress(len(outcomes), len(entries))
        return _report(outcomes)


def _report(outcomes: list[IngestOutcome]) -> FolderReport:
    statuses = [outcome.status for outcome in outcomes if not isinstance(outcome, IngestFailure)]
    return FolderReport(
        created=statuses.count(IngestStatus.CREATED),
        updated=statuses.count(IngestStatus.UPDATED),
        unchanged=statuses.count(IngestStatus.UNCHANGED),
        failures=tuple(outcome for outcome in outcomes if isinstance(outcome, IngestFailure)),
    )

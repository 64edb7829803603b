"""Values of ingestion: what is sent in, and what became of it."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from ragcorp.domain.documents import DocumentAttributes, IngestStatus, SourceFile
from ragcorp.domain.exceptions import RagcorpError


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestRequest:
    """A document to store under ``external_id``: a file, or text given as one. A blank title is the file's own."""

    external_id: str
    file: SourceFile
    attributes: DocumentAttributes


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestResult:
    """What became of a document. ``pending`` counts chunks that are found by text but have no vector yet."""

    external_id: str
    document_id: UUID
    status: IngestStatus
    chunks: int
    pending: int


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestFailure:
    """A document of a batch that was not stored, and why."""

    external_id: str
    error: RagcorpError


IngestOutcome = IngestResult | IngestFailure


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedProgress:
    """What one round over the backlog did: ``failed`` chunks are to be tried again later."""

    embedded: int
    failed: int

    @property
    def idle(self) -> bool:
        return self.embedded + self.failed == 0

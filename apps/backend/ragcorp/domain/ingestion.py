"""Values of ingestion: requests and results."""

from dataclasses import dataclass
from uuid import UUID

from ragcorp.domain.documents import DocumentAttributes, IngestStatus, SourceFile, UnreadPart
from ragcorp.domain.exceptions import RagcorpError


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestRequest:
    """A document to store under ``external_id``. A blank title means the title found in the file."""

    external_id: str
    file: SourceFile
    attributes: DocumentAttributes


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestResult:
    """The result of ingesting a document.

    ``pending`` counts chunks without a vector, those of its parts included; full text finds them already. ``unread``:
    parts of the file that were not read. ``parts`` counts the documents made of the files inside it.
    """

    external_id: str
    document_id: UUID
    status: IngestStatus
    chunks: int
    pending: int
    unread: tuple[UnreadPart, ...] = ()
    parts: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestFailure:
    """A document of a batch that was not stored, with its error."""

    external_id: str
    error: RagcorpError


IngestOutcome = IngestResult | IngestFailure


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedProgress:
    """The result of one round over the backlog; ``failed`` chunks are retried later."""

    embedded: int
    failed: int

    @property
    def idle(self) -> bool:
        return self.embedded + self.failed == 0

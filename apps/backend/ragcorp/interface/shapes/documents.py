"""Documents without their text."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import ConfigDict, with_config
from typing_extensions import TypedDict

from ragcorp.domain.documents import Document, VisibilityScope
from ragcorp.domain.ingestion import IngestResult
from ragcorp.interface.shapes.recognition import Recognition
from ragcorp.interface.shapes.unread import Unread, unread_parts
from ragcorp.interface.shapes.values import SensitivityLabel, StatusName, filled

STORED_EXAMPLE: dict[str, Any] = {
    "document_id": "0199a1c2-7d3e-7a55-9c1b-2f6f0d1e8a10",
    "external_id": "contratos/marco-2025.md",
    "status": "created",
    "chunks": 3,
    "pending": 0,
    "unread": [{"kind": "page", "count": 2, "places": ["2", "4"]}],
    "parts": 0,
}


@with_config(ConfigDict(json_schema_extra={"examples": [STORED_EXAMPLE]}))
class Stored(TypedDict):
    """What became of a document. `pending` chunks are found by text, and by meaning once their vectors are made.

    `unread`: what the file has besides the stored text. `parts`: how many documents the files inside it became.
    """

    document_id: UUID
    external_id: str
    status: StatusName
    chunks: int
    pending: int
    unread: list[Unread]
    parts: int


class StoredDocument(TypedDict):
    """A document without its text. `part_of`: the document whose file holds this one's."""

    document_id: UUID
    external_id: str
    title: str
    language: str
    artifact_type: str
    sensitivity: SensitivityLabel
    visibility_scope: VisibilityScope
    owner: str
    occurred_at: datetime | None
    path: str | None
    metadata: Mapping[str, Any]
    media_type: str
    filename: str
    size_bytes: int
    content_hash: str
    chunks: int
    pending: int
    created_at: datetime
    updated_at: datetime
    deleted_at: datetime | None
    unread: list[Unread]
    recognition: Recognition | None
    part_of: str | None


class DescribedDocument(StoredDocument):
    """A document without its text, with the external_ids of its `parts`: the documents of the files inside it."""

    parts: Sequence[str]


class DocumentList(TypedDict):
    """A page of documents in the order of external_id."""

    documents: list[StoredDocument]
    next_cursor: str | None


class Deleted(TypedDict):
    """How many documents were deleted."""

    deleted: int


def stored(result: IngestResult) -> Stored:
    return filled(Stored, result, unread=unread_parts(result.unread))


def stored_document(document: Document) -> StoredDocument:
    attributes = document.attributes
    return filled(
        StoredDocument,
        document,
        attributes,
        document_id=document.id,
        sensitivity=attributes.sensitivity.label,
        unread=unread_parts(document.unread),
        recognition=filled(Recognition, document.recognition) if document.recognition else None,
    )


def described_document(document: Document) -> DescribedDocument:
    return {**stored_document(document), "parts": document.parts}

"""Documents without their text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import ConfigDict, with_config
from typing_extensions import TypedDict

from ragcorp.domain.documents import Document, VisibilityScope
from ragcorp.domain.ingestion import IngestResult
from ragcorp.interface.shapes.values import SensitivityLabel, StatusName

STORED_EXAMPLE: dict[str, Any] = {
    "document_id": "0199a1c2-7d3e-7a55-9c1b-2f6f0d1e8a10",
    "external_id": "contratos/marco-2025.md",
    "status": "created",
    "chunks": 3,
    "pending": 0,
}


@with_config(ConfigDict(json_schema_extra={"examples": [STORED_EXAMPLE]}))
class Stored(TypedDict):
    """What became of a document. `pending` chunks are found by text, and by meaning once their vectors are made."""

    document_id: UUID
    external_id: str
    status: StatusName
    chunks: int
    pending: int


class StoredDocument(TypedDict):
    """A document without its text."""

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


class DocumentList(TypedDict):
    """A page of documents in the order of external_id."""

    documents: list[StoredDocument]
    next_cursor: str | None


class Deleted(TypedDict):
    """How many documents were deleted."""

    deleted: int


def stored(result: IngestResult) -> Stored:
    return {
        "document_id": result.document_id,
        "external_id": result.external_id,
        "status": result.status,
        "chunks": result.chunks,
        "pending": result.pending,
    }


def stored_document(document: Document) -> StoredDocument:
    attributes = document.attributes
    return {
        "document_id": document.id,
        "external_id": document.external_id,
        "title": attributes.title,
        "language": attributes.language,
        "artifact_type": attributes.artifact_type,
        "sensitivity": attributes.sensitivity.label,
        "visibility_scope": attributes.visibility_scope,
        "owner": attributes.owner,
        "occurred_at": attributes.occurred_at,
        "path": attributes.path,
        "metadata": attributes.metadata,
        "media_type": document.media_type,
        "filename": document.filename,
        "size_bytes": document.size_bytes,
        "content_hash": document.content_hash,
        "chunks": document.chunks,
        "pending": document.pending,
        "created_at": document.created_at,
        "updated_at": document.updated_at,
        "deleted_at": document.deleted_at,
    }


def document_list(documents: Sequence[Document], next_cursor: str | None) -> DocumentList:
    return {"documents": [stored_document(document) for document in documents], "next_cursor": next_cursor}

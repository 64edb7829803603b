"""What the document routes take and give."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue

from ragcorp.application.validation.attribute_checks import MAX_EXTERNAL_ID, MAX_LABEL, MAX_TITLE
from ragcorp.application.validation.list_cursor import MAX_PAGE
from ragcorp.domain.documents import Document, DocumentAttributes, VisibilityScope
from ragcorp.domain.ingestion import IngestResult
from ragcorp.domain.principal import Sensitivity
from ragcorp.interface.http.protocol.filters import parse_time
from ragcorp.interface.http.protocol.strict_model import StrictModel

SensitivityName = Literal["public", "normal", "confidential", "restricted"]
TextMediaType = Literal["text/markdown", "text/plain", "text/html"]
StatusName = Literal["created", "updated", "unchanged"]

DOCUMENT_EXAMPLE: dict[str, Any] = {
    "title": "Contrato marco 2025",
    "text": "# Contrato marco\n\n## Plazos\n\nEl plazo de entrega es de 30 días hábiles.\n",
    "language": "es",
    "artifact_type": "contract",
    "occurred_at": "2025-01-15T00:00:00Z",
    "metadata": {"department": "compras"},
}
STORED_EXAMPLE: dict[str, Any] = {
    "document_id": "0199a1c2-7d3e-7a55-9c1b-2f6f0d1e8a10",
    "external_id": "contratos/marco-2025.md",
    "status": "created",
    "chunks": 3,
    "pending": 0,
}


class DocumentFields(StrictModel):
    """What describes a document besides its text."""

    title: str = Field("", max_length=MAX_TITLE, description="Left out: the title found in the document.")
    metadata: dict[str, JsonValue] = Field(default_factory=dict, description="Free; at most 16 KB as JSON.")
    language: str | None = Field(None, pattern=r"^[a-z]{2,3}$", description="ISO 639 code.")
    artifact_type: str = Field("document", max_length=MAX_LABEL)
    sensitivity: SensitivityName = "normal"
    visibility_scope: VisibilityScope = VisibilityScope.WORKSPACE
    owner: str = Field("", max_length=MAX_LABEL)
    occurred_at: Annotated[datetime | None, BeforeValidator(lambda v: None if v is None else parse_time(v))] = Field(
        None, description="UTC where no zone is given."
    )
    path: str | None = Field(None, max_length=1000, description="Shown in citations; left out: the external_id.")

    def as_attributes(self, *, default_language: str) -> DocumentAttributes:
        return DocumentAttributes(
            title=self.title,
            language=self.language or default_language,
            artifact_type=self.artifact_type,
            sensitivity=Sensitivity.parse(self.sensitivity),
            visibility_scope=self.visibility_scope,
            owner=self.owner,
            occurred_at=self.occurred_at,
            path=self.path,
            metadata=self.metadata,
        )


class DocumentBody(DocumentFields):
    """A document as text."""

    model_config = ConfigDict(json_schema_extra={"examples": [DOCUMENT_EXAMPLE]})

    text: str = Field(json_schema_extra={"minLength": 1})
    media_type: TextMediaType | None = Field(
        None, description="Left out: by the suffix of external_id (.txt, .html), else text/markdown."
    )


class DocumentForm(DocumentFields):
    """A document as a file, with the fields that describe it: a form of several parts."""

    file: str = Field(json_schema_extra={"format": "binary"})


class BulkDocument(DocumentBody):
    """A line of a bulk request."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"external_id": "a.md", **DOCUMENT_EXAMPLE}]})

    external_id: str = Field(json_schema_extra={"minLength": 1, "maxLength": MAX_EXTERNAL_ID})


class Stored(BaseModel):
    """What became of a document. `pending` chunks are found by text, and by meaning once their vectors are made."""

    model_config = ConfigDict(json_schema_extra={"examples": [STORED_EXAMPLE]})

    document_id: UUID
    external_id: str
    status: StatusName
    chunks: int
    pending: int


class StoredDocument(BaseModel):
    """A document without its text."""

    document_id: UUID
    external_id: str
    title: str
    language: str
    artifact_type: str
    sensitivity: SensitivityName
    visibility_scope: VisibilityScope
    owner: str
    occurred_at: datetime | None
    path: str | None
    metadata: dict[str, Any]
    media_type: str
    filename: str
    size_bytes: int
    content_hash: str
    chunks: int
    pending: int
    created_at: datetime
    updated_at: datetime
    deleted_at: datetime | None


class DocumentList(BaseModel):
    """A page of documents in the order of external_id."""

    documents: list[StoredDocument]
    next_cursor: str | None


class Deleted(BaseModel):
    """How many documents were deleted."""

    deleted: int


class Selection(BaseModel):
    """Which documents, as query parameters."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    prefix: str = Field("", max_length=MAX_EXTERNAL_ID, description="Start of external_id.")
    filters: str | None = Field(
        None, max_length=16_384, description="The filters of /search, as JSON.", examples=['{"language": "es"}']
    )


class ListParameters(Selection):
    """A page of a list, as query parameters."""

    limit: int = Field(50, ge=1, le=MAX_PAGE)
    cursor: str | None = Field(None, max_length=4000, description="`next_cursor` of the page before.")
    deleted: bool = Field(False, description="List the deleted documents instead.")


def stored_json(result: IngestResult) -> dict[str, Any]:
    """Return the JSON of Stored."""
    return {
        "document_id": result.document_id,
        "external_id": result.external_id,
        "status": result.status,
        "chunks": result.chunks,
        "pending": result.pending,
    }


def document_json(document: Document) -> dict[str, Any]:
    """Return the JSON of StoredDocument."""
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

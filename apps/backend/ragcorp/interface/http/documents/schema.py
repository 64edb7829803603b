"""Bodies and parameters of the document routes."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field, JsonValue

from ragcorp.application.validation.attribute_checks import MAX_EXTERNAL_ID, MAX_LABEL, MAX_TITLE
from ragcorp.domain.documents import DocumentAttributes, VisibilityScope
from ragcorp.domain.principal import Sensitivity
from ragcorp.interface.http.protocol.filters import parse_time
from ragcorp.interface.http.protocol.models import Page, StrictModel

SensitivityName = Literal["public", "normal", "confidential", "restricted"]
TextMediaType = Literal["text/markdown", "text/plain", "text/html"]
Moment = Annotated[datetime | None, BeforeValidator(lambda v: None if v is None else parse_time(v))]

DOCUMENT_EXAMPLE: dict[str, Any] = {
    "title": "Contrato marco 2025",
    "text": "# Contrato marco\n\n## Plazos\n\nEl plazo de entrega es de 30 días hábiles.\n",
    "language": "es",
    "artifact_type": "contract",
    "occurred_at": "2025-01-15T00:00:00Z",
    "metadata": {"department": "compras"},
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
    occurred_at: Moment = Field(None, description="UTC where no zone is given.")
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


class DocumentPage(Page):
    deleted: bool = Field(False, description="List the deleted documents instead.")

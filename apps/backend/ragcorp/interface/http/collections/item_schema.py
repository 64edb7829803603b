"""What the routes of the collections' items take and give."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, WithJsonSchema

from ragcorp.application.memory.chat_turns import moment
from ragcorp.application.validation.attribute_checks import MAX_EXTERNAL_ID, MAX_LABEL, MAX_OWNER
from ragcorp.application.validation.item_drafts import item_draft
from ragcorp.application.validation.list_cursor import MAX_PAGE
from ragcorp.domain.collections import (
    MAX_ITEM_CHARACTERS,
    MAX_ITEM_ENTITIES,
    MAX_ITEM_NAME,
    TURN,
    Collection,
    ItemDraft,
    MemoryKind,
)
from ragcorp.domain.documents import DocumentAttributes, VisibilityScope
from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.principal import Sensitivity
from ragcorp.interface.http.documents.schema import (
    DOCUMENT_EXAMPLE,
    DocumentBody,
    SensitivityName,
    StatusName,
    StoredDocument,
)
from ragcorp.interface.http.protocol.strict_model import StrictModel

MEMORY_EXAMPLE: dict[str, Any] = {
    "text": "Priya prefers the window seat.",
    "artifact_type": "preference",
    "language": "en",
    "entities": ["Priya"],
    "metadata": {"told_by": "Rajesh"},
}
TURN_EXAMPLE: dict[str, Any] = {
    "session": "2026-03-goa",
    "speaker": "Rajesh",
    "timestamp": "2026-03-02T18:40:00Z",
    "text": "Let us fly to Goa on the 14th.",
    "language": "en",
    "entities": ["Rajesh", "Goa"],
}

Text = Annotated[str, Field(json_schema_extra={"minLength": 1, "maxLength": MAX_ITEM_CHARACTERS})]
OptionalName = Annotated[str | None, Field(json_schema_extra={"maxLength": MAX_ITEM_NAME})]
Entities = Annotated[list[str], Field(json_schema_extra={"maxItems": MAX_ITEM_ENTITIES})]
ExternalName = Annotated[
    str | None,
    Field(
        description="Left out: one is made of the content, so that the same request may be sent again.",
        json_schema_extra={"minLength": 1, "maxLength": MAX_ITEM_NAME},
    ),
]
ArtifactName = Annotated[
    str | None,
    Field(
        description="Left out: one is made of the content, so that the same request may be sent again.",
        json_schema_extra={"minLength": 1, "maxLength": MAX_EXTERNAL_ID},
    ),
]
BulkCollection = Literal["artifacts", "memory", "history"]
"""The collections that take many items in one request."""


def _moment(value: object) -> datetime | None:
    if value is None:
        return None
    try:
        return moment(value)
    except (ValueError, OverflowError, OSError):
        raise ValueError("This is neither a time in ISO 8601 nor seconds since 1970") from None


Moment = Annotated[
    datetime | None,
    BeforeValidator(_moment),
    WithJsonSchema({"anyOf": [{"type": "string", "format": "date-time"}, {"type": "number"}, {"type": "null"}]}),
]


class ItemFields(StrictModel):
    """What items of memory and history have in common."""

    text: Text
    language: str | None = Field(None, pattern=r"^[a-z]{2,3}$", description="ISO 639 code; left out: DEFAULT_LANGUAGE.")
    sensitivity: SensitivityName = "normal"
    visibility_scope: VisibilityScope = VisibilityScope.WORKSPACE
    owner: str = Field("", max_length=MAX_OWNER)
    occurred_at: Moment = Field(None, description="ISO 8601 (UTC where no zone is given), or seconds since 1970.")
    session: OptionalName = None
    speaker: OptionalName = None
    entities: Entities = Field(default_factory=list)
    metadata: dict[str, JsonValue] = Field(default_factory=dict, description="Free; at most 16 KB as JSON.")

    def draft(
        self,
        collection: Collection,
        *,
        artifact_type: str,
        occurred_at: datetime | None,
        external_id: str | None,
        default_language: str,
    ) -> ItemDraft:
        """Raises InvalidInputError."""
        return item_draft(
            collection=collection,
            external_id=external_id,
            text=self.text,
            session=self.session,
            speaker=self.speaker,
            entities=self.entities,
            attributes=DocumentAttributes(
                language=self.language or default_language,
                artifact_type=artifact_type,
                sensitivity=Sensitivity.parse(self.sensitivity),
                visibility_scope=self.visibility_scope,
                owner=self.owner,
                occurred_at=occurred_at,
                metadata=self.metadata,
            ),
        )


class MemoryBody(ItemFields):
    """A fact, a preference, a person, a place or a relationship to remember."""

    model_config = ConfigDict(json_schema_extra={"examples": [MEMORY_EXAMPLE]})

    artifact_type: MemoryKind = MemoryKind.FACT
    kind: MemoryKind | None = Field(None, description="Another name of `artifact_type`.")

    def as_draft(self, *, external_id: str | None, default_language: str) -> ItemDraft:
        if self.kind is not None and "artifact_type" in self.model_fields_set and self.kind is not self.artifact_type:
            raise _two_values("kind", "artifact_type")
        return self.draft(
            Collection.MEMORY,
            artifact_type=self.kind or self.artifact_type,
            occurred_at=self.occurred_at,
            external_id=external_id,
            default_language=default_language,
        )


class TurnBody(ItemFields):
    """A turn of a conversation: who said what, when, in which session."""

    model_config = ConfigDict(json_schema_extra={"examples": [TURN_EXAMPLE]})

    artifact_type: str = Field(TURN, min_length=1, max_length=MAX_LABEL)
    timestamp: Moment = Field(
        None, description="Another name of `occurred_at`. With neither, a new turn is of the time of the request."
    )

    def as_draft(self, *, external_id: str | None, default_language: str) -> ItemDraft:
        return self.draft(
            Collection.HISTORY,
            artifact_type=self.artifact_type,
            occurred_at=one_time(self.timestamp, self.occurred_at),
            external_id=external_id,
            default_language=default_language,
        )


class MemoryItem(MemoryBody):
    """A memory with its name."""

    external_id: ExternalName = None


class HistoryTurn(TurnBody):
    """A turn with its name."""

    external_id: ExternalName = None


class ArtifactItem(DocumentBody):
    """A document as text, with its name."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"external_id": "a.md", **DOCUMENT_EXAMPLE}]})

    external_id: ArtifactName = None


class ItemStored(BaseModel):
    """What became of an item."""

    collection: Collection
    external_id: str
    status: StatusName


class ArtifactStored(ItemStored):
    """What became of an artifact."""

    document_id: UUID
    chunks: int
    pending: int


class StoredItem(BaseModel):
    """An item of memory or history. `pending`: it is found by text, and by meaning once its vector is made."""

    collection: Collection
    id: str
    external_id: str
    text: str
    artifact_type: str
    language: str
    sensitivity: SensitivityName
    visibility_scope: VisibilityScope
    owner: str
    occurred_at: datetime | None
    session: str | None
    speaker: str | None
    entities: list[str]
    metadata: dict[str, Any]
    pending: bool
    created_at: datetime
    updated_at: datetime


class StoredArtifact(StoredDocument):
    """An artifact without its text."""

    collection: Collection


class StoredChunk(BaseModel):
    """A passage. Its `external_id` is its artifact's; its `id` changes when the artifact is written."""

    collection: Collection
    id: str
    document_id: UUID
    external_id: str
    chunk_index: int
    text: str
    title: str
    heading_path: list[str]
    language: str
    path: str | None
    metadata: dict[str, Any]
    line_start: int
    line_end: int
    page_start: int | None
    page_end: int | None


class ChunkEdited(BaseModel):
    """What became of the artifact, and the passages in which the new text stands now."""

    collection: Collection
    artifact: ArtifactStored
    passages: list[StoredChunk]


class ItemList(BaseModel):
    """A page of items: in the order of external_id, of passages in that of their artifacts and the text."""

    items: list[StoredItem | StoredArtifact | StoredChunk]
    next_cursor: str | None


class CollectionField(BaseModel):
    """A field that an item can be written with."""

    name: str
    required: bool
    description: str | None = None


class CollectionDescription(BaseModel):
    """A collection: what its items are written with, and what lists and searches of it can be filtered by."""

    collection: Collection
    description: str
    fields: list[CollectionField]
    filters: list[str]


class CollectionList(BaseModel):
    """The collections."""

    collections: list[CollectionDescription]


class FacetCountsBody(BaseModel):
    """How many items the caller may read, by facet and value, the most frequent value first."""

    facets: dict[str, dict[str, int]]


class ItemSelectionParameters(BaseModel):
    """Which items, as query parameters."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    prefix: str = Field("", max_length=MAX_EXTERNAL_ID, description="Start of external_id.")
    filters: str | None = Field(
        None, max_length=16_384, description="The filters of /search, as JSON.", examples=['{"language": "es"}']
    )


class ItemListParameters(ItemSelectionParameters):
    """A page of a list, as query parameters."""

    artifact: str | None = Field(
        None, max_length=MAX_EXTERNAL_ID, description="Of artifact_chunks: those of this artifact only."
    )
    limit: int = Field(50, ge=1, le=MAX_PAGE)
    cursor: str | None = Field(None, max_length=4000, description="`next_cursor` of the page before.")


class FacetParameters(BaseModel):
    """What is counted, as query parameters."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    filters: str | None = Field(
        None, max_length=16_384, description="The filters of /search, as JSON.", examples=['{"language": "es"}']
    )


def require_no_artifact(query: ItemListParameters) -> None:
    """Raise InvalidInputError for a parameter that only passages have."""
    if query.artifact is not None:
        raise InvalidInputError(
            "Only artifact_chunks are parts of an artifact.", field="artifact", remedy="Leave artifact out."
        )


def one_time(timestamp: datetime | None, occurred_at: datetime | None) -> datetime | None:
    """Return the time under either of its names. Raises InvalidInputError for two different ones."""
    if timestamp is not None and occurred_at is not None and timestamp != occurred_at:
        raise _two_values("timestamp", "occurred_at")
    return timestamp if timestamp is not None else occurred_at


def _two_values(name: str, other: str) -> InvalidInputError:
    return InvalidInputError(
        f"{name} and {other} are one field and have two values.", field=name, remedy="Send one of them."
    )

"""Bodies and parameters of the routes of items."""

from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, ConfigDict, Field, JsonValue, WithJsonSchema

from ragcorp.application.memory.chat_turns import moment
from ragcorp.application.validation.attribute_checks import MAX_EXTERNAL_ID, MAX_LABEL, MAX_OWNER
from ragcorp.application.validation.item_drafts import item_draft
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
from ragcorp.interface.http.documents.schema import DOCUMENT_EXAMPLE, DocumentBody, SensitivityName
from ragcorp.interface.http.protocol.models import (
    FiltersText,
    PageCursor,
    PageLimit,
    Parameters,
    Selection,
    StrictModel,
)

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
DEFAULT_NAME_NOTE = "Left out: one is made of the content, so that the same request may be sent again."
ExternalName = Annotated[
    str | None, Field(description=DEFAULT_NAME_NOTE, json_schema_extra={"minLength": 1, "maxLength": MAX_ITEM_NAME})
]
ArtifactName = Annotated[
    str | None, Field(description=DEFAULT_NAME_NOTE, json_schema_extra={"minLength": 1, "maxLength": MAX_EXTERNAL_ID})
]
BulkCollection = Literal["artifacts", "memory", "history"]


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
    """The fields that memory and history share."""

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

    collection: ClassVar[Collection]

    @property
    def item_type(self) -> str:
        raise NotImplementedError

    @property
    def item_time(self) -> datetime | None:
        return self.occurred_at

    def as_draft(self, *, external_id: str | None, default_language: str) -> ItemDraft:
        return item_draft(
            collection=self.collection,
            external_id=external_id,
            text=self.text,
            session=self.session,
            speaker=self.speaker,
            entities=self.entities,
            attributes=DocumentAttributes(
                language=self.language or default_language,
                artifact_type=self.item_type,
                sensitivity=Sensitivity.parse(self.sensitivity),
                visibility_scope=self.visibility_scope,
                owner=self.owner,
                occurred_at=self.item_time,
                metadata=self.metadata,
            ),
        )


class MemoryBody(ItemFields):
    """A fact, a preference, a person, a place or a relationship to remember."""

    model_config = ConfigDict(json_schema_extra={"examples": [MEMORY_EXAMPLE]})

    artifact_type: MemoryKind = MemoryKind.FACT
    kind: MemoryKind | None = Field(None, description="Another name of `artifact_type`.")

    collection = Collection.MEMORY

    @property
    def item_type(self) -> str:
        """Raises InvalidInputError for two different values."""
        if self.kind is not None and "artifact_type" in self.model_fields_set and self.kind is not self.artifact_type:
            raise _two_values("kind", "artifact_type")
        return self.kind or self.artifact_type


class TurnBody(ItemFields):
    """A turn of a conversation: who said what, when, in which session."""

    model_config = ConfigDict(json_schema_extra={"examples": [TURN_EXAMPLE]})

    artifact_type: str = Field(TURN, min_length=1, max_length=MAX_LABEL)
    timestamp: Moment = Field(
        None, description="Another name of `occurred_at`. With neither, a new turn is of the time of the request."
    )

    collection = Collection.HISTORY

    @property
    def item_type(self) -> str:
        return self.artifact_type

    @property
    def item_time(self) -> datetime | None:
        return one_time(self.timestamp, self.occurred_at)


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


class ItemPage(Selection):
    """A page of items."""

    artifact: str | None = Field(
        None, max_length=MAX_EXTERNAL_ID, description="Of artifact_chunks: those of this artifact only."
    )
    limit: PageLimit = 50
    cursor: PageCursor = None


class FacetParameters(Parameters):
    filters: FiltersText = None


def require_no_artifact(query: ItemPage) -> None:
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

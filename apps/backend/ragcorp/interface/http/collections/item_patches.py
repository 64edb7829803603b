"""The bodies of PATCH: only named fields change; ``metadata`` and lists are replaced as a whole."""

from datetime import datetime
from typing import Any

from pydantic import ConfigDict, Field, JsonValue

from ragcorp.application.validation.attribute_checks import MAX_LABEL, MAX_OWNER, MAX_TITLE
from ragcorp.application.validation.item_changes import KEEP, AttributeChange, ItemChange, Keep
from ragcorp.domain.collections import MemoryKind
from ragcorp.domain.documents import VisibilityScope
from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.principal import Sensitivity
from ragcorp.interface.http.collections.item_schema import Entities, Moment, OptionalName, Text, one_time
from ragcorp.interface.http.documents.schema import SensitivityName
from ragcorp.interface.http.protocol.models import StrictModel

COMMON_ATTRIBUTES = ("language", "sensitivity", "visibility_scope", "owner", "occurred_at", "metadata")


class AttributePatch(StrictModel):
    """Attributes that every collection has."""

    text: Text = ""
    language: str = Field("", pattern=r"^[a-z]{2,3}$", description="ISO 639 code.")
    sensitivity: SensitivityName = "normal"
    visibility_scope: VisibilityScope = VisibilityScope.WORKSPACE
    owner: str = Field("", max_length=MAX_OWNER)
    occurred_at: Moment = Field(None, description="ISO 8601 (UTC where no zone is given), or seconds since 1970.")
    metadata: dict[str, JsonValue] = Field(default_factory=dict, description="Free; at most 16 KB as JSON.")

    def sent(self, *names: str) -> dict[str, Any]:
        """Return the values of the fields ``names``; KEEP for one that the request leaves out."""
        return {name: getattr(self, name) if name in self.model_fields_set else KEEP for name in names}

    def attributes(self, *more: str, **others: Any) -> AttributeChange:
        """Return the change of the common attributes and the fields ``more``. Raises InvalidInputError."""
        if not self.model_fields_set:
            raise InvalidInputError("Nothing is to be changed.", field="body", remedy="Name at least one field.")
        values = self.sent(*COMMON_ATTRIBUTES, *more)
        if "sensitivity" in self.model_fields_set:
            values["sensitivity"] = Sensitivity.parse(self.sensitivity)
        return AttributeChange(**{**values, **others})


class ItemPatch(AttributePatch):
    """What items of memory and history have in common."""

    session: OptionalName = None
    speaker: OptionalName = None
    entities: Entities = Field(default_factory=list)

    def as_change(self) -> ItemChange:
        return ItemChange(attributes=self.changed_attributes(), **self.sent("text", "session", "speaker", "entities"))

    def changed_attributes(self) -> AttributeChange:
        return self.attributes("artifact_type")


class MemoryPatch(ItemPatch):
    """A change of a memory."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"text": "Priya prefers the aisle seat."}]})

    artifact_type: MemoryKind = MemoryKind.FACT


class TurnPatch(ItemPatch):
    """A change of a turn."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"speaker": "Rajesh", "metadata": {"checked": True}}]})

    artifact_type: str = Field("", min_length=1, max_length=MAX_LABEL)
    timestamp: Moment = Field(None, description="Another name of `occurred_at`.")

    def changed_attributes(self) -> AttributeChange:
        times: datetime | Keep | None = KEEP
        if self.model_fields_set & {"timestamp", "occurred_at"}:
            times = one_time(self.timestamp, self.occurred_at)
        return self.attributes("artifact_type", occurred_at=times)


class ArtifactPatch(AttributePatch):
    """A change of an artifact. A new text needs one of text or Markdown."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"title": "Contrato marco 2026"}]})

    title: str = Field("", max_length=MAX_TITLE, description="Empty: the title found in the document.")
    artifact_type: str = Field("", max_length=MAX_LABEL)
    path: str | None = Field(None, max_length=1000)

    def as_change(self) -> AttributeChange:
        return self.attributes("title", "artifact_type", "path")

    @property
    def new_text(self) -> str | None:
        return self.text if "text" in self.model_fields_set else None


class ChunkBody(StrictModel):
    """A passage's new text."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"text": "## Plazos\n\nEl plazo de entrega es de 45 días hábiles."}]}
    )

    text: str = Field(json_schema_extra={"minLength": 1})


class NewChunk(ChunkBody):
    """A passage to add to an artifact."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"external_id": "a.md", "text": "## Anexo\n\nSin cambios.", "after": 0}]}
    )

    external_id: str = Field(description="The artifact's.", json_schema_extra={"minLength": 1})
    after: int | None = Field(None, ge=0, le=2**31 - 1, description="A chunk_index; left out: at the end.")

"""Bodies and parameters of the graph routes."""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Discriminator, Field, JsonValue, Tag

from ragcorp.application.validation.attribute_checks import MAX_EXTERNAL_ID, MAX_LABEL, MAX_OWNER
from ragcorp.application.validation.graph_drafts import entity_draft, fact_draft, reference
from ragcorp.domain import graph
from ragcorp.domain.documents import DocumentAttributes, VisibilityScope
from ragcorp.domain.principal import Sensitivity
from ragcorp.interface.http.documents.schema import Moment, SensitivityName
from ragcorp.interface.http.protocol.models import Page, StrictModel

ENTITY_EXAMPLE: dict[str, Any] = {
    "name": "María Pérez",
    "kind": "person",
    "aliases": ["Maru"],
    "description": "Responsable de compras.",
}
FACT_EXAMPLE: dict[str, Any] = {
    "subject": "Rajesh",
    "object": {"name": "Priya", "kind": "person"},
    "predicate": "planning vacation to Goa in March",
    "valid_from": "2026-03-01T00:00:00Z",
    "language": "en",
}
MAX_EXTRACTED_AT_ONCE = 50

ExternalName = Annotated[
    str | None,
    Field(
        description="Left out: one follows from the content, so that the same request may be sent again.",
        json_schema_extra={"minLength": 1, "maxLength": MAX_EXTERNAL_ID},
    ),
]


class GraphFields(StrictModel):
    """What entities and facts have in common."""

    language: str | None = Field(None, pattern=r"^[a-z]{2,3}$", description="ISO 639 code; left out: DEFAULT_LANGUAGE.")
    sensitivity: SensitivityName = "normal"
    visibility_scope: VisibilityScope = VisibilityScope.WORKSPACE
    owner: str = Field("", max_length=MAX_OWNER)
    metadata: dict[str, JsonValue] = Field(default_factory=dict, description="Free; at most 16 KB as JSON.")

    def attributes(self, kind: str, *, default_language: str) -> DocumentAttributes:
        return DocumentAttributes(
            language=self.language or default_language,
            artifact_type=kind,
            sensitivity=Sensitivity.parse(self.sensitivity),
            visibility_scope=self.visibility_scope,
            owner=self.owner,
            metadata=self.metadata,
        )


class EntityBody(GraphFields):
    """An entity: something that has a name."""

    model_config = ConfigDict(json_schema_extra={"examples": [ENTITY_EXAMPLE]})

    name: str = Field(json_schema_extra={"minLength": 1, "maxLength": graph.MAX_ENTITY_NAME})
    kind: str = Field(graph.ENTITY, min_length=1, max_length=MAX_LABEL)
    aliases: list[str] = Field(default_factory=list, max_length=graph.MAX_ALIASES)
    description: str = Field("", max_length=graph.MAX_DESCRIPTION)

    def as_draft(self, *, external_id: str | None, default_language: str) -> graph.EntityDraft:
        return entity_draft(
            name=self.name,
            attributes=self.attributes(self.kind, default_language=default_language),
            external_id=external_id,
            aliases=self.aliases,
            description=self.description,
        )


class NewEntity(EntityBody):
    """An entity with its own name for it."""

    external_id: ExternalName = None


class NamedEntity(StrictModel):
    """An entity of a fact: by external_id, or by name; then it is made if it is not known."""

    external_id: str | None = None
    name: str | None = None
    kind: str | None = Field(None, max_length=MAX_LABEL)


End = Annotated[
    Annotated[str, Tag("a name")] | Annotated[NamedEntity, Tag("an object")],
    Discriminator(lambda end: "a name" if isinstance(end, str) else "an object"),
]
"""Tagged, so that an error speaks of the form that was sent, not of both."""


class ProvenanceBody(StrictModel):
    """Where a fact is from: a document by external_id and perhaps a chunk of it, or a chunk by id."""

    document: str | None = None
    chunk_index: int | None = None
    chunk_id: str | None = None


class FactBody(GraphFields):
    """`subject -> object: predicate`, true from `valid_from` until `valid_to`."""

    model_config = ConfigDict(json_schema_extra={"examples": [FACT_EXAMPLE]})

    subject: End = Field(description="A name, or an object that names the entity.")
    object: End = Field(description="A name, or an object that names the entity.")
    predicate: str = Field(json_schema_extra={"minLength": 1, "maxLength": graph.MAX_PREDICATE})
    kind: str = Field(graph.FACT, min_length=1, max_length=MAX_LABEL, description="Its type, such as `relationship`.")
    weight: float = Field(1.0, ge=0, le=1)
    valid_from: Moment = Field(None, description="UTC where no zone is given.")
    valid_to: Moment = Field(None, description="Left out: still true.")
    provenance: ProvenanceBody | None = None
    quote: str = Field("", max_length=graph.MAX_QUOTE, description="The words that say so.")

    def as_draft(self, *, external_id: str | None, default_language: str) -> graph.FactDraft:
        return fact_draft(
            subject=_reference(self.subject, "subject"),
            object=_reference(self.object, "object"),
            predicate=self.predicate,
            attributes=self.attributes(self.kind, default_language=default_language),
            external_id=external_id,
            weight=self.weight,
            valid_from=self.valid_from,
            valid_to=self.valid_to,
            provenance=None if self.provenance is None else graph.Provenance(**self.provenance.model_dump()),
            quote=self.quote,
        )


def _reference(end: str | NamedEntity, field: str) -> graph.EntityReference:
    if isinstance(end, str):
        return reference(field=field, name=end)
    return reference(field=field, name=end.name, external_id=end.external_id, kind=end.kind)


class NewFact(FactBody):
    """A fact with its own name for it."""

    external_id: ExternalName = None


class EntityLine(NewEntity):
    """A line of a bulk request that holds an entity."""

    type: Literal["entity"]


class FactLine(NewFact):
    """A line of a bulk request that holds a fact."""

    type: Literal["fact"]


class ExtractBody(StrictModel):
    """What to extract facts from."""

    document: str | None = Field(None, description="external_id of a document; left out: the whole workspace.")
    limit: int = Field(10, ge=1, le=MAX_EXTRACTED_AT_ONCE, description="Most chunks of this request.")


class EntityParameters(Page):
    """A page of entities."""

    name: str | None = Field(
        None,
        min_length=1,
        max_length=graph.MAX_ENTITY_NAME,
        description="A name or alias; accents and case do not count.",
    )


class FactParameters(Page):
    """A page of facts."""

    entity: str | None = Field(
        None, min_length=1, max_length=MAX_EXTERNAL_ID, description="external_id of an entity that the facts are on."
    )

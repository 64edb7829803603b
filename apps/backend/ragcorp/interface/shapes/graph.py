"""Entities and facts of the knowledge graph."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any

from pydantic import Field
from typing_extensions import TypedDict

from ragcorp.domain.documents import VisibilityScope
from ragcorp.domain.graph import Entity, Fact
from ragcorp.interface.shapes.values import SensitivityLabel, Shape, StatusName, filled


class GraphStored(TypedDict):
    """What became of an entity or a fact."""

    external_id: str
    status: StatusName


class StoredNode(TypedDict):
    """What entities and facts have in common."""

    id: str
    external_id: str
    language: str
    sensitivity: SensitivityLabel
    visibility_scope: VisibilityScope
    owner: str
    metadata: Mapping[str, Any]
    created_at: datetime
    updated_at: datetime


class StoredEntity(StoredNode):
    """An entity. `declared` is false for one that only facts name."""

    name: str
    kind: str
    aliases: Sequence[str]
    description: str
    declared: bool
    pending: Annotated[bool, Field(description="Its vector is not made yet: it is found by name alone.")]


class StoredEnd(TypedDict):
    """An entity as a fact shows it."""

    external_id: str
    name: str
    kind: str


class StoredProvenance(TypedDict):
    """Where a fact is from; the chunk while it stands."""

    document: str
    chunk_index: int | None
    chunk_id: str | None


class StoredFact(StoredNode):
    """A fact; `text` is how a search shows it. `extracted`: a language model found it in `quote`."""

    text: str
    subject: StoredEnd
    object: StoredEnd
    predicate: str
    kind: Annotated[str, Field(description="Its type: fact, relationship, ...")]
    weight: float
    valid_from: datetime | None
    valid_to: datetime | None
    provenance: StoredProvenance | None
    extracted: bool
    quote: str


class EntityList(TypedDict):
    """A page of entities in the order of external_id."""

    entities: list[StoredEntity]
    next_cursor: str | None


class FactList(TypedDict):
    """A page of facts in the order of external_id."""

    facts: list[StoredFact]
    next_cursor: str | None


class ExtractionResult(TypedDict):
    """What an extraction did. `remaining` chunks wait for the next request."""

    chunks: int
    reused: Annotated[int, Field(description="Chunks whose text had been read before.")]
    failed: int
    facts: int
    dropped: Annotated[int, Field(description="Facts that the model gave and the text does not bear out.")]
    removed: Annotated[int, Field(description="Facts of chunks that are gone.")]
    remaining: int


def stored_entity(entity: Entity) -> StoredEntity:
    return _node(StoredEntity, entity)


def stored_fact(fact: Fact) -> StoredFact:
    return _node(
        StoredFact,
        fact,
        subject=filled(StoredEnd, fact.subject),
        object=filled(StoredEnd, fact.object),
        provenance=None if fact.document is None else filled(StoredProvenance, fact),
    )


def _node(shape: type[Shape], node: Entity | Fact, **values: object) -> Shape:
    attributes = node.attributes
    return filled(
        shape, node, attributes, sensitivity=attributes.sensitivity.label, kind=attributes.artifact_type, **values
    )

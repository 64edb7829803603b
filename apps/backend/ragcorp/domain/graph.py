"""Values of the knowledge graph: entities, facts between them, and their provenance."""

from __future__ import annotations

import hashlib
import json
import math
import re
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from ragcorp.domain.documents import DocumentAttributes, VisibilityScope
from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.filters import Filters
from ragcorp.domain.principal import Sensitivity
from ragcorp.domain.retrieval import MAX_CHUNK_INDEX
from ragcorp.domain.text.checks import is_blank, require_length, require_storable

MAX_ENTITY_NAME = 200
MAX_ALIASES = 50
MAX_DESCRIPTION = 4000
MAX_PREDICATE = 1000
MAX_QUOTE = 2000
MAX_KIND = 100
MAX_GRAPH_NAME = 500
"""Characters of an external_id."""

CHUNK_ID = re.compile("[0-9]{1,18}")

MADE_ENTITY_NAME = re.compile(r".*~[0-9a-f]{16}", re.DOTALL)
MADE_FACT_NAME = re.compile("fact:[0-9a-f]{32}")
"""Forms of generated external_ids. Callers' own ids have other forms, so the two never collide."""

ENTITY = "entity"
"""The default kind of an entity."""

FACT = "fact"


def require_name(text: str, *, field: str, limit: int = MAX_ENTITY_NAME) -> None:
    """Raise InvalidInputError unless ``text`` is visible, on one line, storable and short enough."""
    require_storable(text, field=field)
    require_length(text, field=field, limit=limit, minimum=1)
    if is_blank(text) or any(ord(character) < 32 or ord(character) == 127 for character in text):
        raise InvalidInputError(
            f"{field} is blank or contains a control character.", field=field, remedy=f"Write {field} on one line."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityDraft:
    """An entity before it is stored; ``attributes.artifact_type`` is its kind, title and path are not used.

    If ``external_id`` is None, it is derived from kind, folded name and readers: for the same readers, the same name
    of the same kind is one entity. Raises InvalidInputError.
    """

    name: str
    attributes: DocumentAttributes = field(default_factory=lambda: DocumentAttributes(artifact_type=ENTITY))
    external_id: str | None = None
    aliases: tuple[str, ...] = ()
    description: str = ""

    def __post_init__(self) -> None:
        require_name(self.name, field="name")
        if self.external_id is not None:
            require_name(self.external_id, field="external_id", limit=MAX_GRAPH_NAME)
        if len(self.aliases) > MAX_ALIASES:
            raise InvalidInputError(
                "aliases lists too many names.",
                field="aliases",
                limit=f"{MAX_ALIASES} names",
                remedy="Name fewer aliases.",
            )
        for alias in self.aliases:
            require_name(alias, field="aliases")
        require_storable(self.description, field="description")
        require_length(self.description, field="description", limit=MAX_DESCRIPTION)


@dataclass(frozen=True, slots=True, kw_only=True)
class Readers:
    """Who may read a row, by its own columns: the owner counts only if the scope needs one."""

    sensitivity: Sensitivity
    scope: VisibilityScope
    owner: str

    @classmethod
    def of(cls, attributes: DocumentAttributes) -> Readers:
        return cls.named(attributes.sensitivity, attributes.visibility_scope, attributes.owner)

    @classmethod
    def named(cls, sensitivity: int, scope: str, owner: str) -> Readers:
        visibility = VisibilityScope(scope)
        owner = "" if visibility is VisibilityScope.WORKSPACE else owner
        return cls(sensitivity=Sensitivity(sensitivity), scope=visibility, owner=owner)

    def include(self, others: Readers) -> bool:
        """Return whether these readers include all the others."""
        return self.sensitivity <= others.sensitivity and (
            self.scope is VisibilityScope.WORKSPACE or (self.scope, self.owner) == (others.scope, others.owner)
        )

    def narrowed(self, others: Readers) -> Readers:
        """Return the readers in both sets; for two groups, which columns cannot express, the others' group."""
        scope = self if others.scope is VisibilityScope.WORKSPACE or self.scope is VisibilityScope.PRIVATE else others
        return Readers(sensitivity=max(self.sensitivity, others.sensitivity), scope=scope.scope, owner=scope.owner)


def entity_name(*, kind: str, folded_name: str, readers: Readers, number: int = 0) -> str:
    """Return a generated external_id for an entity: ``kind:folded name~`` and 16 hex digits of a SHA-256.

    The readers are part of the id, so that an entity which the writer cannot see never occupies it. ``number`` counts
    earlier entities of that id that were renamed.
    """
    parts = [kind, folded_name, int(readers.sensitivity), readers.scope, readers.owner, number]
    digest = hashlib.sha256(json.dumps(parts, ensure_ascii=False).encode()).hexdigest()[:16]
    return f"{kind}:{folded_name[:300]}~{digest}"


def entity_text(*, name: str, description: str) -> str:
    """Return the text to embed for an entity: ``name. description``."""
    return f"{name}. {description}" if description else name


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """A stored entity. ``declared`` is false if only facts name it; ``pending``: it has no vector yet."""

    id: str
    external_id: str
    name: str
    aliases: tuple[str, ...]
    description: str
    attributes: DocumentAttributes
    declared: bool
    pending: bool
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityReference:
    """A reference by ``external_id``, or by name or alias (any kind if ``kind`` is None). Raises InvalidInputError."""

    external_id: str | None = None
    name: str | None = None
    kind: str | None = None
    field: str = "subject"

    def __post_init__(self) -> None:
        if (self.external_id is None) == (self.name is None):
            raise InvalidInputError(
                f"{self.field} is named by external_id or by name.", field=self.field, remedy="Give one of the two."
            )
        if self.external_id is not None:
            require_name(self.external_id, field=f"{self.field}.external_id", limit=MAX_GRAPH_NAME)
        if self.name is not None:
            require_name(self.name, field=self.field)
        if self.kind is not None:
            require_name(self.kind, field=f"{self.field}.kind", limit=MAX_KIND)


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Source of a fact: a document, optionally one of its chunks, or a chunk by id. Raises InvalidInputError."""

    document: str | None = None
    chunk_index: int | None = None
    chunk_id: str | None = None

    def __post_init__(self) -> None:
        if (self.document is None) == (self.chunk_id is None):
            raise InvalidInputError(
                "provenance names a document or a chunk id.", field="provenance", remedy="Give one of the two."
            )
        if self.document is not None:
            require_name(self.document, field="provenance.document", limit=MAX_GRAPH_NAME)
        if self.chunk_index is not None and (self.document is None or not 0 <= self.chunk_index <= MAX_CHUNK_INDEX):
            raise InvalidInputError(
                "provenance.chunk_index is a chunk of the named document.",
                field="provenance.chunk_index",
                limit=f"0 to {MAX_CHUNK_INDEX}",
                remedy="Give the document with it.",
            )
        if self.chunk_id is not None and not CHUNK_ID.fullmatch(self.chunk_id):
            raise InvalidInputError(
                "provenance.chunk_id is not the id of a chunk.",
                field="provenance.chunk_id",
                remedy="Take it from a result.",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class FactDraft:
    """``subject -> object: predicate`` before it is stored, valid from ``valid_from`` to ``valid_to`` (None: open).

    If ``external_id`` is None, it is derived from content, ``valid_from``, provenance and readers: equal facts are one.
    ``weight`` lies in [0, 1]. Raises InvalidInputError.
    """

    subject: EntityReference
    object: EntityReference
    predicate: str
    attributes: DocumentAttributes = field(default_factory=lambda: DocumentAttributes(artifact_type=FACT))
    external_id: str | None = None
    weight: float = 1.0
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    provenance: Provenance | None = None
    quote: str = ""

    def __post_init__(self) -> None:
        require_name(self.predicate, field="predicate", limit=MAX_PREDICATE)
        if self.external_id is not None:
            require_name(self.external_id, field="external_id", limit=MAX_GRAPH_NAME)
        if not (math.isfinite(self.weight) and 0 <= self.weight <= 1):
            raise InvalidInputError.out_of_range("weight", "0 to 1", remedy="Leave it out: 1.")
        for name, moment in (("valid_from", self.valid_from), ("valid_to", self.valid_to)):
            if moment is not None and moment.tzinfo is None:
                raise InvalidInputError(f"{name} names no time zone.", field=name, remedy="End it with Z for UTC.")
        if self.valid_from and self.valid_to and self.valid_to < self.valid_from:
            raise InvalidInputError(
                "valid_to is before valid_from.", field="valid_to", remedy="Give a later valid_to, or leave it out."
            )
        require_storable(self.quote, field="quote")
        require_length(self.quote, field="quote", limit=MAX_QUOTE)


def fact_name(
    *,
    subject: str,
    predicate: str,
    object: str,  # noqa: A002 - the standard term
    valid_from: datetime | None,
    document_id: UUID | None,
    chunk_index: int | None,
    readers: Readers,
) -> str:
    """Return a generated external_id: ``fact:`` and 32 hex digits of a SHA-256. ``readers`` as in ``entity_name``."""
    parts = [
        subject,
        " ".join(predicate.split()).casefold(),
        object,
        valid_from.isoformat() if valid_from else None,
        str(document_id) if document_id else None,
        chunk_index,
        int(readers.sensitivity),
        readers.scope,
        readers.owner,
    ]
    return f"fact:{hashlib.sha256(json.dumps(parts, ensure_ascii=False).encode()).hexdigest()[:32]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FactEnd:
    """An entity as shown in a fact."""

    external_id: str
    name: str
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A stored fact with its source document. ``extracted``: by a language model, supported by ``quote``."""

    id: str
    external_id: str
    subject: FactEnd
    object: FactEnd
    predicate: str
    weight: float
    valid_from: datetime | None
    valid_to: datetime | None
    document: str | None
    chunk_id: str | None
    chunk_index: int | None
    extracted: bool
    quote: str
    attributes: DocumentAttributes
    created_at: datetime
    updated_at: datetime

    @property
    def text(self) -> str:
        """``Rajesh -> Priya: planning vacation to Goa in March``."""
        return f"{self.subject.name} -> {self.object.name}: {self.predicate}"


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphSelection:
    """Selects by prefix and filters, entities by ``name`` or alias (folded), facts by external_id of ``entity``."""

    prefix: str = ""
    filters: Filters = ()
    name: str | None = None
    entity: str | None = None

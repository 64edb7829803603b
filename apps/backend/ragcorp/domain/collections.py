"""Collections: documents, chunks, memory and history as searchable items."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from ragcorp.domain.documents import DocumentAttributes
from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.filters import Filters
from ragcorp.domain.text.checks import is_blank, require_length, require_storable

MAX_ITEM_CHARACTERS = 20_000
MAX_ITEM_NAME = 400
MAX_ITEM_ENTITIES = 50


class Collection(StrEnum):
    """Whole documents, their passages, facts to remember, and turns of conversations."""

    ARTIFACTS = "artifacts"
    ARTIFACT_CHUNKS = "artifact_chunks"
    MEMORY = "memory"
    HISTORY = "history"


GRAPH = "graph"
"""The collection of graph facts in results; the graph has its own interface."""


class MemoryKind(StrEnum):
    """What a memory is: its ``artifact_type``. Persons, places and relationships are evergreen."""

    FACT = "fact"
    PREFERENCE = "preference"
    PERSON = "person"
    PLACE = "place"
    RELATIONSHIP = "relationship"


EVERGREEN_KINDS = frozenset({MemoryKind.PERSON, MemoryKind.PLACE, MemoryKind.RELATIONSHIP})

TURN = "turn"
"""The ``artifact_type`` of an item of history."""

QUESTION, ANSWER, ABSTENTION = "question", "answer", "abstention"
"""The ``artifact_type`` of questions and generated answers; a user's statement is a turn."""

EXCHANGE_KINDS = (QUESTION, ANSWER, ABSTENTION)
"""They record topics, not facts: recall excludes them unless a caller includes them."""

GENERATED = "generated"
"""Metadata key, true for a turn that is a generated answer and therefore not evidence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemDraft:
    """An item of memory or history before it is stored.

    If ``external_id`` is None, one is derived from ``named_after`` if given, so that a second write finds the item.
    ``attributes.artifact_type`` is its kind; ``attributes.path`` is not used.
    Raises InvalidInputError.
    """

    text: str
    attributes: DocumentAttributes
    external_id: str | None = None
    named_after: str | None = None
    session: str | None = None
    speaker: str | None = None
    entities: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if is_blank(self.text):
            raise InvalidInputError("text is empty.", field="text", remedy="Give the item a text.")
        require_length(self.text, field="text", limit=MAX_ITEM_CHARACTERS)
        require_storable(self.text, field="text")
        if len(self.entities) > MAX_ITEM_ENTITIES:
            raise InvalidInputError(
                "entities lists too many names.",
                field="entities",
                limit=f"{MAX_ITEM_ENTITIES} names",
                remedy="Name fewer entities.",
            )
        names = {"external_id": self.external_id, "session": self.session, "speaker": self.speaker}
        for name, value in (*names.items(), *(("entities", entity) for entity in self.entities)):
            if value is not None:
                require_length(value, field=name, limit=MAX_ITEM_NAME, minimum=1)
                require_storable(value, field=name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A stored item of memory or history. ``pending``: it has no vector yet."""

    id: str
    collection: Collection
    external_id: str
    text: str
    attributes: DocumentAttributes
    session: str | None
    speaker: str | None
    entities: tuple[str, ...]
    pending: bool
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemSelection:
    """Selects items of one collection by the prefix of ``external_id`` and by filters."""

    prefix: str = ""
    filters: Filters = ()


FACETS = ("collection", "artifact_type", "language", "month")


@dataclass(frozen=True, slots=True, kw_only=True)
class Facets:
    """Counts of readable items by facet and value; ``month`` is that of ``occurred_at`` in UTC, YYYY-MM."""

    counts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

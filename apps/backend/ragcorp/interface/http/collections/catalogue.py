"""What GET /collections says."""

from __future__ import annotations

from pydantic import BaseModel

from ragcorp.domain.collections import Collection
from ragcorp.domain.filters import DOCUMENT_FIELDS, ITEM_FIELDS, METADATA
from ragcorp.interface.http.collections.item_patches import NewChunk
from ragcorp.interface.http.collections.item_schema import (
    ArtifactItem,
    CollectionDescription,
    CollectionField,
    HistoryTurn,
    MemoryItem,
)

_CATALOGUE: tuple[tuple[Collection, str, type[BaseModel], frozenset[str]], ...] = (
    (Collection.ARTIFACTS, "Whole documents.", ArtifactItem, DOCUMENT_FIELDS),
    (Collection.ARTIFACT_CHUNKS, "The passages of documents.", NewChunk, DOCUMENT_FIELDS),
    (Collection.MEMORY, "Facts, preferences, people, places and relationships.", MemoryItem, ITEM_FIELDS),
    (Collection.HISTORY, "Turns of conversations.", HistoryTurn, ITEM_FIELDS),
)


def described_collections() -> list[dict[str, object]]:
    """Return the JSON of each CollectionDescription. ``metadata`` among the filters: any other name is a key of it."""
    return [
        CollectionDescription(
            collection=collection,
            description=description,
            fields=[
                CollectionField(name=name, required=field.is_required(), description=field.description)
                for name, field in model.model_fields.items()
            ],
            filters=[*sorted(filters - {METADATA}), METADATA],
        ).model_dump(exclude_none=True)
        for collection, description, model, filters in _CATALOGUE
    ]

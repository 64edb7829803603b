"""The answer of GET /collections."""

from __future__ import annotations

from typing import NotRequired

from pydantic import BaseModel
from typing_extensions import TypedDict

from ragcorp.domain.collections import Collection
from ragcorp.domain.filters import DOCUMENT_FIELDS, ITEM_FIELDS, METADATA
from ragcorp.interface.http.collections.item_patches import NewChunk
from ragcorp.interface.http.collections.item_schema import ArtifactItem, HistoryTurn, MemoryItem


class CollectionField(TypedDict):
    """A field that an item can be written with."""

    name: str
    required: bool
    description: NotRequired[str | None]


class CollectionDescription(TypedDict):
    """A collection: what its items are written with, and what lists and searches of it can be filtered by."""

    collection: Collection
    description: str
    fields: list[CollectionField]
    filters: list[str]


class CollectionList(TypedDict):
    """The collections."""

    collections: list[CollectionDescription]


def described_collections() -> CollectionList:
    """Return the description of each collection. ``metadata`` among the filters: any other name is one of its keys."""
    return {
        "collections": [
            _described(Collection.ARTIFACTS, "Whole documents.", ArtifactItem, DOCUMENT_FIELDS),
            _described(Collection.ARTIFACT_CHUNKS, "The passages of documents.", NewChunk, DOCUMENT_FIELDS),
            _described(
                Collection.MEMORY, "Facts, preferences, people, places and relationships.", MemoryItem, ITEM_FIELDS
            ),
            _described(Collection.HISTORY, "Turns of conversations.", HistoryTurn, ITEM_FIELDS),
        ]
    }


def _described(
    collection: Collection, description: str, model: type[BaseModel], filters: frozenset[str]
) -> CollectionDescription:
    fields: list[CollectionField] = []
    for name, info in model.model_fields.items():
        field: CollectionField = {"name": name, "required": info.is_required()}
        if info.description is not None:
            field["description"] = info.description
        fields.append(field)
    return {
        "collection": collection,
        "description": description,
        "fields": fields,
        "filters": [*sorted(filters - {METADATA}), METADATA],
    }

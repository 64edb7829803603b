"""Items of the collections: memories, turns, artifacts and passages."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from typing_extensions import TypedDict

from ragcorp.application.documents.edit_chunk import ChunkEdit
from ragcorp.domain.collections import FACETS, Collection, Facets, Item
from ragcorp.domain.documents import Chunk, Document, VisibilityScope, WriteOutcome
from ragcorp.domain.ingestion import IngestResult
from ragcorp.interface.shapes.documents import StoredDocument, stored, stored_document
from ragcorp.interface.shapes.unread import Unread
from ragcorp.interface.shapes.values import SensitivityLabel, StatusName, filled


class ItemStored(TypedDict):
    """What became of an item."""

    collection: Collection
    external_id: str
    status: StatusName


class ArtifactStored(ItemStored):
    """What became of an artifact."""

    document_id: UUID
    chunks: int
    pending: int
    unread: list[Unread]
    parts: int


class StoredItem(TypedDict):
    """An item of memory or history. `pending`: it is found by text, and by meaning once its vector is made."""

    collection: Collection
    id: str
    external_id: str
    text: str
    artifact_type: str
    language: str
    sensitivity: SensitivityLabel
    visibility_scope: VisibilityScope
    owner: str
    occurred_at: datetime | None
    session: str | None
    speaker: str | None
    entities: Sequence[str]
    metadata: Mapping[str, Any]
    pending: bool
    created_at: datetime
    updated_at: datetime


class StoredArtifact(StoredDocument):
    """An artifact without its text."""

    collection: Collection


class StoredChunk(TypedDict):
    """A passage. Its `external_id` is its artifact's; its `id` changes when the artifact is written."""

    collection: Collection
    id: str
    document_id: UUID
    external_id: str
    chunk_index: int
    text: str
    title: str
    heading_path: Sequence[str]
    language: str
    path: str | None
    metadata: Mapping[str, Any]
    line_start: int
    line_end: int
    page_start: int | None
    page_end: int | None
    recognition_confidence: float | None


class ChunkEdited(TypedDict):
    """What became of the artifact, and the passages in which the new text stands now."""

    collection: Collection
    artifact: ArtifactStored
    passages: list[StoredChunk]


class ItemList(TypedDict):
    """A page of items: in the order of external_id, of passages in that of their artifacts and the text."""

    items: list[StoredItem | StoredArtifact | StoredChunk]
    next_cursor: str | None


class FacetCountsBody(TypedDict):
    """How many items the caller may read, by facet and value, the most frequent value first."""

    facets: dict[str, dict[str, int]]


def stored_item(item: Item) -> StoredItem:
    return filled(StoredItem, item, item.attributes, sensitivity=item.attributes.sensitivity.label)


def stored_chunk(chunk: Chunk) -> StoredChunk:
    return filled(
        StoredChunk,
        chunk,
        collection=Collection.ARTIFACT_CHUNKS,
        text=chunk.content,
        title=chunk.shown_title,
        path=chunk.source_path,
    )


def stored_artifact(document: Document) -> StoredArtifact:
    return {"collection": Collection.ARTIFACTS, **stored_document(document)}


def item_outcome(collection: Collection, outcome: WriteOutcome) -> ItemStored:
    return {"collection": collection, "external_id": outcome.external_id, "status": outcome.status}


def artifact_outcome(result: IngestResult) -> ArtifactStored:
    return {"collection": Collection.ARTIFACTS, **stored(result)}


def chunk_edited(edit: ChunkEdit) -> ChunkEdited:
    return {
        "collection": Collection.ARTIFACT_CHUNKS,
        "artifact": artifact_outcome(edit.artifact),
        "passages": [stored_chunk(chunk) for chunk in edit.passages],
    }


def facet_counts(facets: Facets) -> FacetCountsBody:
    """Return the counts by facet, the most frequent value first."""
    return {
        "facets": {
            facet: dict(sorted(facets.counts.get(facet, {}).items(), key=lambda counted: (-counted[1], counted[0])))
            for facet in FACETS
        }
    }

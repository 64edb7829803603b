"""How items and passages are shown, by every interface alike."""

from __future__ import annotations

from collections.abc import Mapping

from ragcorp.application.documents.edit_chunk import ChunkEdit
from ragcorp.domain.collections import FACETS, Collection, Facets, Item, ItemOutcome
from ragcorp.domain.documents import Chunk
from ragcorp.domain.ingestion import IngestResult


def item_document(item: Item) -> dict[str, object]:
    attributes = item.attributes
    return {
        "collection": item.collection,
        "id": item.id,
        "external_id": item.external_id,
        "text": item.text,
        "artifact_type": attributes.artifact_type,
        "language": attributes.language,
        "sensitivity": attributes.sensitivity.label,
        "visibility_scope": attributes.visibility_scope,
        "owner": attributes.owner,
        "occurred_at": attributes.occurred_at,
        "session": item.session,
        "speaker": item.speaker,
        "entities": list(item.entities),
        "metadata": attributes.metadata,
        "pending": item.pending,
        "created_at": item.created_at,
        "updated_at": item.updated_at,
    }


def chunk_document(chunk: Chunk) -> dict[str, object]:
    return {
        "collection": Collection.ARTIFACT_CHUNKS,
        "id": chunk.id,
        "document_id": chunk.document_id,
        "external_id": chunk.external_id,
        "chunk_index": chunk.chunk_index,
        "text": chunk.content,
        "title": chunk.shown_title,
        "heading_path": list(chunk.heading_path),
        "language": chunk.language,
        "path": chunk.source_path,
        "metadata": chunk.metadata,
        "line_start": chunk.line_start,
        "line_end": chunk.line_end,
        "page_start": chunk.page_start,
        "page_end": chunk.page_end,
    }


def outcome_document(collection: Collection, outcome: ItemOutcome) -> dict[str, object]:
    return {"collection": collection, "external_id": outcome.external_id, "status": outcome.status}


def artifact_document(result: IngestResult) -> dict[str, object]:
    return {
        "collection": Collection.ARTIFACTS,
        "document_id": result.document_id,
        "external_id": result.external_id,
        "status": result.status,
        "chunks": result.chunks,
        "pending": result.pending,
    }


def edit_document(edit: ChunkEdit) -> dict[str, object]:
    """Return what became of the artifact, and the passages in which the new text stands."""
    return {
        "collection": Collection.ARTIFACT_CHUNKS,
        "artifact": artifact_document(edit.artifact),
        "passages": [chunk_document(chunk) for chunk in edit.passages],
    }


def facets_document(facets: Facets) -> dict[str, Mapping[str, int]]:
    """Return the counts by facet, the most frequent value first."""
    return {
        facet: dict(sorted(facets.counts.get(facet, {}).items(), key=lambda counted: (-counted[1], counted[0])))
        for facet in FACETS
    }

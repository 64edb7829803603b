"""JSON documents of the commands, with the field names of the REST interface."""

from __future__ import annotations

from uuid import uuid4

from ragcorp.domain.answers import Answer
from ragcorp.domain.documents import Document
from ragcorp.domain.ingestion import IngestFailure, IngestResult
from ragcorp.domain.search.requests import SearchResponse
from ragcorp.interface.cli.console.output import error_document
from ragcorp.interface.shapes.answers import answer_document, degraded_documents
from ragcorp.interface.shapes.hydration import hydration_document
from ragcorp.interface.shapes.results import result_document


def search_document(response: SearchResponse) -> dict[str, object]:
    return {
        "request_id": uuid4().hex,
        "mode_used": response.mode_used.value,
        "degraded": degraded_documents(response.degraded),
        "results": [result_document(hit, explained=response.explanation is not None) for hit in response.hits],
        "next_cursor": response.next_cursor,
        "explanation": response.explanation,
        "facets": response.facets,
        "hydration": hydration_document(response.hydration),
    }


def answered_document(answer: Answer) -> dict[str, object]:
    return {"request_id": uuid4().hex, **answer_document(answer)}


def document_document(document: Document) -> dict[str, object]:
    about = document.attributes
    return {
        "document_id": str(document.id),
        "external_id": document.external_id,
        "title": about.title,
        "language": about.language,
        "artifact_type": about.artifact_type,
        "sensitivity": about.sensitivity.label,
        "visibility_scope": about.visibility_scope.value,
        "owner": about.owner,
        "occurred_at": about.occurred_at.isoformat() if about.occurred_at else None,
        "path": about.path,
        "metadata": about.metadata,
        "content_hash": document.content_hash,
        "media_type": document.media_type,
        "filename": document.filename,
        "size_bytes": document.size_bytes,
        "chunks": document.chunks,
        "pending": document.pending,
        "created_at": document.created_at.isoformat(),
        "updated_at": document.updated_at.isoformat(),
        "deleted_at": document.deleted_at.isoformat() if document.deleted_at else None,
    }


def ingest_document(result: IngestResult) -> dict[str, object]:
    return {
        "document_id": str(result.document_id),
        "external_id": result.external_id,
        "status": result.status.value,
        "chunks": result.chunks,
        "pending": result.pending,
    }


def failure_document(failure: IngestFailure) -> dict[str, object]:
    return {"external_id": failure.external_id, "error": error_document(failure.error)}

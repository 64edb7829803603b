"""How entities and facts are shown, by every interface alike."""

from __future__ import annotations

from ragcorp.domain.documents import DocumentAttributes
from ragcorp.domain.extraction import ExtractionReport
from ragcorp.domain.graph import Entity, Fact, FactEnd, GraphOutcome


def entity_document(entity: Entity) -> dict[str, object]:
    return {
        "id": entity.id,
        "external_id": entity.external_id,
        "name": entity.name,
        "kind": entity.attributes.artifact_type,
        "aliases": list(entity.aliases),
        "description": entity.description,
        "declared": entity.declared,
        "pending": entity.pending,
        **_attributes(entity.attributes),
        "created_at": entity.created_at,
        "updated_at": entity.updated_at,
    }


def fact_document(fact: Fact) -> dict[str, object]:
    return {
        "id": fact.id,
        "external_id": fact.external_id,
        "text": fact.text,
        "subject": _end(fact.subject),
        "object": _end(fact.object),
        "predicate": fact.predicate,
        "kind": fact.attributes.artifact_type,
        "weight": fact.weight,
        "valid_from": fact.valid_from,
        "valid_to": fact.valid_to,
        "provenance": {"document": fact.document, "chunk_index": fact.chunk_index, "chunk_id": fact.chunk_id}
        if fact.document is not None
        else None,
        "extracted": fact.extracted,
        "quote": fact.quote,
        **_attributes(fact.attributes),
        "created_at": fact.created_at,
        "updated_at": fact.updated_at,
    }


def graph_outcome_document(outcome: GraphOutcome) -> dict[str, object]:
    return {"external_id": outcome.external_id, "status": outcome.status}


def extraction_document(report: ExtractionReport) -> dict[str, object]:
    return {
        "chunks": report.chunks,
        "reused": report.reused,
        "failed": report.failed,
        "facts": report.facts,
        "dropped": report.dropped,
        "removed": report.removed,
        "remaining": report.remaining,
    }


def _end(end: FactEnd) -> dict[str, object]:
    return {"external_id": end.external_id, "name": end.name, "kind": end.kind}


def _attributes(attributes: DocumentAttributes) -> dict[str, object]:
    return {
        "language": attributes.language,
        "sensitivity": attributes.sensitivity.label,
        "visibility_scope": attributes.visibility_scope,
        "owner": attributes.owner,
        "metadata": attributes.metadata,
    }

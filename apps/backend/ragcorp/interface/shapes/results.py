"""The one shape of a search result, for HTTP and the command line alike."""

from __future__ import annotations

from datetime import UTC

from ragcorp.domain.retrieval import CHUNK_COLLECTION
from ragcorp.domain.search.lexical import LexicalEvidence
from ragcorp.domain.search.requests import SearchHit


def result_document(hit: SearchHit, *, explained: bool = False) -> dict[str, object]:
    """Return the JSON object of a result, with the field names of the REST contract."""
    chunk = hit.chunk
    return {
        "id": chunk.id,
        "document_id": str(chunk.document_id) if chunk.of_document else None,
        "external_id": chunk.external_id,
        "chunk_index": chunk.chunk_index if chunk.collection == CHUNK_COLLECTION else None,
        "collection": chunk.collection,
        "collections": list(hit.collections),
        "artifact_type": chunk.artifact_type,
        "sensitivity": chunk.sensitivity.label,
        "occurred_at": None if chunk.occurred_at is None else chunk.occurred_at.astimezone(UTC).isoformat(),
        "session": chunk.session,
        "speaker": chunk.speaker,
        "entities": list(chunk.entities),
        "text": chunk.content,
        "title": chunk.shown_title,
        "matched_lines": list(hit.matched_lines),
        "highlights": _highlights(hit),
        "metadata": chunk.metadata,
        "rank": hit.rank,
        "score": hit.score,
        "score_type": hit.score_type,
        "sources": [
            {
                "source": source.source,
                "rank": source.rank,
                "score": source.score,
                "score_type": source.score_type,
                "weight": source.weight,
                "contribution": source.value,
                "evidence": _evidence(hit.evidence.get(source.source)),
            }
            for source in hit.sources
        ],
        "steps": {step: dict(note) for step, note in hit.steps.items()} if explained else None,
        "citation": {
            "path": chunk.source_path,
            "title": chunk.shown_title,
            "line_start": chunk.line_start,
            "line_end": chunk.line_end,
            "page": chunk.page_start,
        },
    }


def _highlights(hit: SearchHit) -> list[dict[str, int]] | None:
    return None if hit.highlights is None else [{"start": mark.start, "end": mark.end} for mark in hit.highlights]


def _evidence(evidence: LexicalEvidence | None) -> dict[str, object] | None:
    if evidence is None:
        return None
    return {
        "length": evidence.length,
        "lexemes": [
            {"lexeme": match.lexeme, "tf": match.tf, "idf": match.idf, "contribution": match.contribution}
            for match in evidence.matches
        ],
    }

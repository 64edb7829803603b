"""The one shape of an answer and of what is degraded, for every interface alike."""

from __future__ import annotations

from collections.abc import Sequence

from ragcorp.domain.answers import Answer, Citation
from ragcorp.domain.retrieval import SourceReport
from ragcorp.interface.shapes.hydration import hydration_document


def citation_document(citation: Citation) -> dict[str, object]:
    """Return the JSON object of a citation, with the field names of the REST contract."""
    return {
        "n": citation.n,
        "chunk_id": citation.chunk_id,
        "document_id": str(citation.document_id),
        "external_id": citation.external_id,
        "title": citation.title,
        "quote": citation.quote,
        "path": citation.path,
        "line_start": citation.line_start,
        "line_end": citation.line_end,
        "page": citation.page,
        "collection": citation.collection,
    }


def answer_document(answer: Answer) -> dict[str, object]:
    """Return the JSON object of an answer; ``usage`` counts the tokens of a language model."""
    return {
        "answer": answer.text,
        "abstained": answer.abstained,
        "citations": [citation_document(citation) for citation in answer.citations],
        "degraded": degraded_documents(answer.degraded),
        "usage": dict(answer.usage),
        "rewritten_query": answer.rewritten_query,
        "hydration": hydration_document(answer.hydration),
    }


def degraded_documents(reports: Sequence[SourceReport]) -> list[dict[str, object]]:
    return [{"source": report.source, "reason": report.reason, "elapsed_ms": report.elapsed_ms} for report in reports]

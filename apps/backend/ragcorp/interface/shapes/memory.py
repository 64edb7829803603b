"""The one shape of a memory context, for HTTP and the command line alike."""

from __future__ import annotations

from ragcorp.domain.memory import MemoryContext


def context_document(context: MemoryContext, *, request_id: str) -> dict[str, object]:
    """Return the JSON object of a context, with the field names of the REST contract."""
    return {
        "request_id": request_id,
        "context": context.context,
        "items": [
            {
                "id": item.id,
                "collection": item.collection,
                "text": item.text,
                "source_session": item.session,
                "timestamp": item.occurred_at.isoformat() if item.occurred_at else None,
                "relevance_score": item.score,
                "entities": list(item.entities),
                "speaker": item.speaker,
            }
            for item in context.items
        ],
        "degraded": [
            {"source": report.source, "reason": report.reason, "elapsed_ms": report.elapsed_ms}
            for report in context.degraded
        ],
    }

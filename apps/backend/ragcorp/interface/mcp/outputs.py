"""JSON schemas of what the tools return beside the text, and the JSON itself where no other interface has its shape."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ragcorp.domain.answers import Answer
from ragcorp.domain.search.requests import SearchResponse
from ragcorp.interface.shapes.answers import citation_document, degraded_documents
from ragcorp.interface.shapes.result_text import searched
from ragcorp.interface.shapes.results import result_document

_TEXT: dict[str, Any] = {"type": "string"}
_MAYBE_TEXT: dict[str, Any] = {"type": ["string", "null"]}
_WHOLE: dict[str, Any] = {"type": "integer"}
_MAYBE_WHOLE: dict[str, Any] = {"type": ["integer", "null"]}
_NUMBER: dict[str, Any] = {"type": "number"}
_FLAG: dict[str, Any] = {"type": "boolean"}
_TEXTS: dict[str, Any] = {"type": "array", "items": _TEXT}
_WHOLES: dict[str, Any] = {"type": "array", "items": _WHOLE}


def _object(**properties: Any) -> dict[str, Any]:
    """Return the schema of an object that has these members, and may have more."""
    return {"type": "object", "properties": properties, "required": list(properties)}


def _list(item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": item}


_DEGRADED = _list(_object(source=_TEXT, reason=_TEXT, elapsed_ms=_NUMBER))
_STATUS = _object(tool=_TEXT, characters=_WHOLE, passages=_WHOLE, files=_WHOLE, message=_TEXT)

SEARCH_SCHEMA = _object(
    searched=_TEXTS,
    degraded=_DEGRADED,
    results=_list(
        _object(
            id=_TEXT,
            collection=_TEXT,
            collections=_TEXTS,
            artifact_type=_TEXT,
            sensitivity=_TEXT,
            title=_TEXT,
            text=_TEXT,
            metadata={"type": "object"},
            rank=_WHOLE,
            score=_NUMBER,
            score_type=_TEXT,
            sources=_list(_object(source=_TEXT, rank=_WHOLE, score=_NUMBER, score_type=_TEXT)),
            citation=_object(path=_MAYBE_TEXT, title=_TEXT, line_start=_WHOLE, line_end=_WHOLE, page=_MAYBE_WHOLE),
        )
    ),
)
GREP_SCHEMA = _object(
    passages=_list(
        _object(path=_TEXT, line_start=_WHOLE, line_end=_WHOLE, text=_TEXT, matched_lines=_WHOLES, terms=_TEXTS)
    ),
    files=_WHOLE,
    matched_lines=_WHOLE,
    searched=_WHOLE,
    relaxed=_FLAG,
    cut=_FLAG,
    timed_out=_FLAG,
    unavailable=_TEXTS,
    left_out=_TEXTS,
    status=_STATUS,
)
FILE_SCHEMA = _object(path=_TEXT, text=_TEXT, line_start=_WHOLE, line_end=_WHOLE, total_lines=_WHOLE, encoding=_TEXT)
ANSWER_SCHEMA = _object(
    answer=_TEXT,
    abstained=_FLAG,
    citations=_list(
        _object(
            n=_WHOLE,
            chunk_id=_TEXT,
            title=_TEXT,
            quote=_TEXT,
            path=_MAYBE_TEXT,
            line_start=_WHOLE,
            line_end=_WHOLE,
            page=_MAYBE_WHOLE,
            collection=_TEXT,
        )
    ),
    degraded=_DEGRADED,
)
CONTEXT_SCHEMA = _object(
    context=_TEXT, items=_list(_object(id=_TEXT, collection=_TEXT, text=_TEXT)), degraded=_DEGRADED
)


def search_results(response: SearchResponse) -> dict[str, object]:
    return {
        "mode_used": response.mode_used.value,
        "searched": list(searched(response)),
        "degraded": degraded_documents(response.degraded),
        "results": [plain(result_document(hit)) for hit in response.hits],
    }


def answer_document(answer: Answer) -> dict[str, object]:
    return {
        "answer": answer.text,
        "abstained": answer.abstained,
        "citations": [citation_document(citation) for citation in answer.citations],
        "degraded": degraded_documents(answer.degraded),
    }


def plain(value: Any) -> Any:
    """Return read-only mappings and tuples as JSON's own."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value

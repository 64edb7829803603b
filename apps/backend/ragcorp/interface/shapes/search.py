"""Results of a search."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import ConfigDict, Field, WithJsonSchema, with_config
from typing_extensions import TypedDict

from ragcorp.domain.retrieval import CHUNK_COLLECTION, SourceReport
from ragcorp.domain.search.lexical import LexicalEvidence
from ragcorp.domain.search.requests import SearchHit, SearchResponse
from ragcorp.interface.shapes.hydration import HydrationBody, hydration_document
from ragcorp.interface.shapes.result_text import searched

RESULT_EXAMPLE: dict[str, Any] = {
    "id": "4711",
    "document_id": "0199a1c2-7d3e-7a55-9c1b-2f6f0d1e8a10",
    "external_id": "contratos/marco-2025.md",
    "chunk_index": 3,
    "collection": "artifact_chunks",
    "collections": ["artifact_chunks"],
    "artifact_type": "contract",
    "sensitivity": "normal",
    "occurred_at": None,
    "session": None,
    "speaker": None,
    "entities": [],
    "text": "El plazo de entrega es de 30 días hábiles.",
    "title": "Contrato marco 2025",
    "matched_lines": [],
    "highlights": [{"start": 3, "end": 8}, {"start": 12, "end": 19}],
    "metadata": {"department": "compras"},
    "rank": 1,
    "score": 0.03252247488101534,
    "score_type": "rrf",
    "sources": [
        {
            "source": "dense",
            "rank": 1,
            "score": 0.871,
            "score_type": "cosine_similarity",
            "weight": 1.0,
            "contribution": 0.01639,
            "evidence": None,
        },
        {
            "source": "full_text",
            "rank": 2,
            "score": 9.1,
            "score_type": "bm25",
            "weight": 1.0,
            "contribution": 0.01613,
            "evidence": {"length": 31, "lexemes": [{"lexeme": "plaz", "tf": 1, "idf": 4.2, "contribution": 4.7}]},
        },
    ],
    "steps": None,
    "citation": {
        "path": "contratos/marco-2025.md",
        "title": "Contrato marco 2025",
        "line_start": 40,
        "line_end": 52,
        "page": None,
        "recognition_confidence": None,
    },
}
SEARCH_RESULTS_EXAMPLE: dict[str, Any] = {
    "request_id": "6f1c",
    "mode_used": "hybrid",
    "degraded": [{"source": "dense", "reason": "timeout", "elapsed_ms": 2500.0}],
    "results": [RESULT_EXAMPLE],
    "next_cursor": None,
    "explanation": None,
    "facets": None,
    "hydration": None,
}

ModeUsed = Annotated[str, WithJsonSchema({"type": "string", "enum": ["dense", "sparse", "hybrid"]})]


class Degraded(TypedDict):
    """A source that did not do its part, and why."""

    source: str
    reason: str
    elapsed_ms: float


class Lexeme(TypedDict):
    """A lexeme of the query in a passage."""

    lexeme: str
    tf: Annotated[int, Field(description="How often the passage holds it.")]
    idf: Annotated[
        float | None,
        Field(description="How rare it is in the workspace; null where the caller may not read everything in it."),
    ]
    contribution: Annotated[float, Field(description="The summand of the list's score.")]


class Evidence(TypedDict):
    """The lexemes behind a list's score."""

    length: Annotated[int, Field(description="Lexeme occurrences in the passage.")]
    lexemes: list[Lexeme]


class ResultSource(TypedDict):
    """What one list gave to a result."""

    source: str
    rank: int
    score: float
    score_type: str
    weight: float
    contribution: Annotated[float, Field(description="The summand of the result's score.")]
    evidence: Annotated[
        Evidence | None, Field(description="Null unless `explain` was set and the list counts lexemes.")
    ]


class ResultHighlight(TypedDict):
    """Characters of the result's text, counted in Unicode code points."""

    start: Annotated[int, Field(ge=0, description="Of the first character.")]
    end: Annotated[int, Field(ge=1, description="Behind the last one.")]


class ResultCitation(TypedDict):
    """Where the passage stands."""

    path: Annotated[str | None, Field(description="Of its file; null where no document or file is behind the passage.")]
    title: str
    line_start: int
    line_end: int
    page: int | None
    recognition_confidence: Annotated[
        float | None, Field(ge=0, le=1, description="Of a page whose text was recognised (OCR); null for other text.")
    ]


@with_config(ConfigDict(json_schema_extra={"examples": [RESULT_EXAMPLE]}))
class Result(TypedDict):
    """A passage."""

    id: str
    document_id: Annotated[UUID | None, Field(description="Null where no document is behind the passage.")]
    external_id: str
    chunk_index: int | None
    collection: str
    collections: Annotated[Sequence[str], Field(description="Where it was found, its own collection first.")]
    artifact_type: str
    sensitivity: str
    occurred_at: datetime | None
    session: str | None
    speaker: str | None
    entities: Sequence[str]
    text: str
    title: str
    matched_lines: Annotated[
        Sequence[int], Field(description="Lines of the file that hold what was looked for literally.")
    ]
    highlights: Annotated[
        list[ResultHighlight] | None,
        Field(
            description="The words of `text` that hold what the query's words stand for (accents, endings, ways to "
            "write a code, corrected misspellings), or what was looked for literally; in order, none overlaps another. "
            "Null unless `highlight` was set, or where `degraded` names `highlight`."
        ),
    ]
    metadata: Mapping[str, Any]
    rank: int
    score: float
    score_type: str
    sources: list[ResultSource]
    steps: Annotated[
        Mapping[str, Any] | None,
        Field(
            description="What the steps after fusion did, in their order, each with the result's `rank_before` and "
            "`rank_after` among all results, from 1; null unless `explain` was set."
        ),
    ]
    citation: ResultCitation


@with_config(ConfigDict(json_schema_extra={"examples": [SEARCH_RESULTS_EXAMPLE]}))
class SearchResults(TypedDict):
    """A page of results; the same in every mode."""

    request_id: str
    mode_used: ModeUsed
    degraded: list[Degraded]
    results: list[Result]
    next_cursor: Annotated[str | None, Field(description="Null at the end of the window.")]
    explanation: Annotated[Mapping[str, Any] | None, Field(description="Null unless `explain` was set.")]
    facets: Annotated[Mapping[str, Mapping[str, int]] | None, Field(description="Null unless `facets` was set.")]
    hydration: Annotated[
        HydrationBody | None, Field(description="What the turn of an episode shows; null without `episode_id`.")
    ]


class ToolResults(TypedDict):
    """Results as the MCP tools return them; ``searched`` names the collections that answered."""

    mode_used: ModeUsed
    searched: Sequence[str]
    degraded: list[Degraded]
    results: list[Result]


def search_results(response: SearchResponse, *, request_id: str) -> SearchResults:
    return {
        "request_id": request_id,
        "mode_used": response.mode_used,
        "degraded": degraded_sources(response.degraded),
        "results": [result_document(hit, explained=response.explanation is not None) for hit in response.hits],
        "next_cursor": response.next_cursor,
        "explanation": response.explanation,
        "facets": response.facets,
        "hydration": hydration_document(response.hydration),
    }


def tool_results(response: SearchResponse) -> ToolResults:
    return {
        "mode_used": response.mode_used,
        "searched": searched(response),
        "degraded": degraded_sources(response.degraded),
        "results": [result_document(hit) for hit in response.hits],
    }


def degraded_sources(reports: Sequence[SourceReport]) -> list[Degraded]:
    """Return the reports that give a reason."""
    return [
        {"source": report.source, "reason": report.reason, "elapsed_ms": report.elapsed_ms}
        for report in reports
        if report.reason is not None
    ]


def result_document(hit: SearchHit, *, explained: bool = False) -> Result:
    chunk = hit.chunk
    title = chunk.shown_title
    return {
        "id": chunk.id,
        "document_id": chunk.document_id if chunk.of_document else None,
        "external_id": chunk.external_id,
        "chunk_index": chunk.chunk_index if chunk.collection == CHUNK_COLLECTION else None,
        "collection": chunk.collection,
        "collections": hit.collections,
        "artifact_type": chunk.artifact_type,
        "sensitivity": chunk.sensitivity.label,
        "occurred_at": None if chunk.occurred_at is None else chunk.occurred_at.astimezone(UTC),
        "session": chunk.session,
        "speaker": chunk.speaker,
        "entities": chunk.entities,
        "text": chunk.content,
        "title": title,
        "matched_lines": hit.matched_lines,
        "highlights": None
        if hit.highlights is None
        else [{"start": mark.start, "end": mark.end} for mark in hit.highlights],
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
        "steps": hit.steps if explained else None,
        "citation": {
            "path": chunk.source_path,
            "title": title,
            "line_start": chunk.line_start,
            "line_end": chunk.line_end,
            "page": chunk.page_start,
            "recognition_confidence": chunk.recognition_confidence,
        },
    }


def _evidence(evidence: LexicalEvidence | None) -> Evidence | None:
    if evidence is None:
        return None
    return {
        "length": evidence.length,
        "lexemes": [
            {"lexeme": match.lexeme, "tf": match.tf, "idf": match.idf, "contribution": match.contribution}
            for match in evidence.matches
        ],
    }

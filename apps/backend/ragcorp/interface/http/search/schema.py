"""What /search takes and gives."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from ragcorp.application.retrieval.profiles.profile import (
    MAX_NEIGHBOUR_DISTANCE,
    MAX_RANK_CONSTANT,
    MAX_RANK_WINDOW_SIZE,
    MAX_WEIGHT,
)
from ragcorp.domain.files.values import MAX_GREP_QUERY
from ragcorp.domain.search.requests import FusionMethod, QuerySyntax, SearchMode, SearchRequest
from ragcorp.domain.structure.hydration import MAX_EPISODE_ID
from ragcorp.interface.http.hydration.schema import HydrationBody
from ragcorp.interface.http.protocol.filters import FiltersJson
from ragcorp.interface.http.protocol.strict_model import StrictModel
from ragcorp.interface.request_values import parse_filters

VISIBLE = r"[^\s\u200b-\u200f\u2028-\u202e\u2060-\u2064\ufeff\u00ad\u0000]"
QUERY_PATTERN = rf"^[^\u0000]*{VISIBLE}[^\u0000]*$"
"""Described only: the use case checks it, and says it in words."""

SEARCH_EXAMPLE: dict[str, Any] = {
    "query": "¿Cuál es el plazo de entrega?",
    "limit": 5,
    "mode": "hybrid",
    "filters": {"artifact_type": ["contract", "policy"], "occurred_at": {"gte": "2025-01-01T00:00:00Z"}},
    "fusion": {"method": "rrf", "rank_constant": 60, "weights": {"dense": 1.0, "full_text": 1.0}},
}

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
            "evidence": {
                "length": 31,
                "lexemes": [{"lexeme": "plaz", "tf": 1, "idf": 4.2, "contribution": 4.7}],
            },
        },
    ],
    "steps": None,
    "citation": {
        "path": "contratos/marco-2025.md",
        "title": "Contrato marco 2025",
        "line_start": 40,
        "line_end": 52,
        "page": None,
    },
}


class Fusion(StrictModel):
    """How the sources' lists become one."""

    method: Literal["rrf", "linear"] | None = Field(
        None,
        description="Reciprocal Rank Fusion, or a weighted sum of absolute scores; null is the service's own choice.",
    )
    rank_constant: int | None = Field(None, ge=1, le=MAX_RANK_CONSTANT, description="k of RRF.")
    weights: dict[str, Annotated[float, Field(ge=0, le=MAX_WEIGHT, allow_inf_nan=False)]] = Field(
        default_factory=dict, description="By the name of a list: dense, full_text, identifiers, all_words."
    )
    rank_window_size: int | None = Field(
        None, ge=1, le=MAX_RANK_WINDOW_SIZE, description="Hits of each list, and results over all pages."
    )


class RetrievalFields(StrictModel):
    """What /search and /ask both take. What is left out is the service's default."""

    query: str = Field(description="Words, a question, a code or a quotation.", json_schema_extra={"minLength": 1})
    limit: int = Field(10, ge=1, description="Results of one page.")
    mode: SearchMode = Field(SearchMode.AUTO, description="`auto` is the service's own choice.")
    syntax: QuerySyntax = Field(
        QuerySyntax.PLAIN, description="`plain` takes every character as text; `websearch` knows quotes, or and -."
    )
    filters: FiltersJson | None = None
    fusion: Fusion | None = None
    profile: str | None = Field(
        None,
        max_length=100,
        description="A profile by name, in place of `mode` and `fusion.method`: dense, sparse, hybrid, linear, "
        "collections (artifacts and their chunks, one result an artifact), memory (memory, history and graph), "
        "everything, files (meaning and exact keywords, in documents and in the files of ALLOWED_PATHS), grep "
        "(exact keywords in files), code (hybrid, with the symbols, files, headings, clauses and codes that the query "
        "names). files and grep need the scope `tools` too (403); of another profile that asks files they are left out "
        "without it, and named in `degraded`.",
    )
    exact_keywords: str | None = Field(
        None,
        max_length=MAX_GREP_QUERY,
        description="What the profiles `files` and `grep` look for literally: the whole as a phrase, its quoted parts "
        "and its words, any of them, in any case and accents, printed hyphens and quotes like typed ones. Of more than "
        "24 terms the phrase, identifiers and quoted parts come first, then the rarest words; `explain` names those "
        "that were left out. Null takes the telling words of `query`. "
        "Without `profile` and `mode` they mean profile `files`; one that asks no files refuses them (422). They "
        "need the scope `tools` too, where files are asked (403).",
    )
    vector_score_threshold: float | None = Field(
        None,
        gt=0,
        le=2,
        allow_inf_nan=False,
        description="Cosine distance from which a vector hit is dropped; null is the profile's own choice.",
    )
    include_memory: bool = Field(False, description="Ask the collection of memories too.")
    expand_neighbors: Annotated[int, Field(ge=0, le=MAX_NEIGHBOUR_DISTANCE)] | bool = Field(
        False,
        description="Show so many chunks before and behind each passage with it (true: 1), with `[CHUNK BOUNDARY]`.",
    )
    rerank: bool | None = Field(None, description="`false` leaves a configured reranker out.")
    require_all: bool = Field(False, description="Take no answer (503) where a source did not do its part.")
    explain: bool = Field(False, description="Say how the ranking came about.")
    episode_id: str | None = Field(
        None,
        min_length=1,
        max_length=MAX_EPISODE_ID,
        description="An episode of the caller's, by any name: the response carries `hydration`, the entities that the "
        "query names, those that earlier turns showed, and those that are similar, within a budget. It has no pages: "
        "with `cursor` it is refused (422).",
    )

    def as_request(self) -> SearchRequest:
        fusion = self.fusion or Fusion()
        return SearchRequest(
            query=self.query,
            limit=self.limit,
            mode=self.mode,
            filters=parse_filters(self.filters) if self.filters else (),
            syntax=self.syntax,
            method=FusionMethod(fusion.method) if fusion.method else None,
            rank_constant=fusion.rank_constant,
            weights=fusion.weights,
            rank_window_size=fusion.rank_window_size,
            explain=self.explain,
            profile=self.profile,
            include_memory=self.include_memory,
            expand_neighbors=int(self.expand_neighbors),
            rerank=self.rerank,
            require_all=self.require_all,
            exact_keywords=self.exact_keywords,
            vector_score_threshold=self.vector_score_threshold,
            episode_id=self.episode_id,
        )


class SearchBody(RetrievalFields):
    """A search. What is left out is the service's default."""

    model_config = ConfigDict(json_schema_extra={"examples": [SEARCH_EXAMPLE]})

    cursor: str | None = Field(None, max_length=200, description="`next_cursor` of the page before.")
    facets: bool = Field(False, description="Count what was found by collection, artifact_type, language and month.")
    highlight: bool = Field(False, description="Mark the words of each result's text that match the query.")
    stream: bool = Field(False, description="Answer with server-sent events.")

    def as_request(self) -> SearchRequest:
        return replace(super().as_request(), cursor=self.cursor, facets=self.facets, highlight=self.highlight)


class Degraded(BaseModel):
    """A source that did not do its part, and why."""

    source: str
    reason: str
    elapsed_ms: float


class Lexeme(BaseModel):
    """A lexeme of the query in a passage."""

    lexeme: str
    tf: int = Field(description="How often the passage holds it.")
    idf: float | None = Field(
        description="How rare it is in the workspace; null where the caller may not read everything in it."
    )
    contribution: float = Field(description="The summand of the list's score.")


class Evidence(BaseModel):
    """The lexemes behind a list's score."""

    length: int = Field(description="Lexeme occurrences in the passage.")
    lexemes: list[Lexeme]


class ResultSource(BaseModel):
    """What one list gave to a result."""

    source: str
    rank: int
    score: float
    score_type: str
    weight: float
    contribution: float = Field(description="The summand of the result's score.")
    evidence: Evidence | None = Field(description="Null unless `explain` was set and the list counts lexemes.")


class ResultHighlight(BaseModel):
    """Characters of the result's text, counted in Unicode code points."""

    start: int = Field(ge=0, description="Of the first character.")
    end: int = Field(ge=1, description="Behind the last one.")


class ResultCitation(BaseModel):
    """Where the passage stands."""

    path: str | None = Field(description="Of its file; null where no document or file is behind the passage.")
    title: str
    line_start: int
    line_end: int
    page: int | None


class Result(BaseModel):
    """A passage."""

    model_config = ConfigDict(json_schema_extra={"examples": [RESULT_EXAMPLE]})

    id: str
    document_id: UUID | None = Field(description="Null where no document is behind the passage.")
    external_id: str
    chunk_index: int | None
    collection: str
    collections: list[str] = Field(description="Where it was found, its own collection first.")
    artifact_type: str
    sensitivity: str
    occurred_at: datetime | None
    session: str | None
    speaker: str | None
    entities: list[str]
    text: str
    title: str
    matched_lines: list[int] = Field(description="Lines of the file that hold what was looked for literally.")
    highlights: list[ResultHighlight] | None = Field(
        description="The words of `text` that hold what the query's words stand for (accents, endings, ways to write "
        "a code, corrected misspellings), or what was looked for literally; in order, none overlaps another. Null "
        "unless `highlight` was set, or where `degraded` names `highlight`."
    )
    metadata: dict[str, Any]
    rank: int
    score: float
    score_type: str
    sources: list[ResultSource]
    steps: dict[str, Any] | None = Field(
        description="What the steps after fusion did, in their order, each with the result's `rank_before` and "
        "`rank_after` among all results, from 1; null unless `explain` was set."
    )
    citation: ResultCitation


class SearchResults(BaseModel):
    """A page of results; the same in every mode."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "request_id": "6f1c",
                    "mode_used": "hybrid",
                    "degraded": [{"source": "dense", "reason": "timeout", "elapsed_ms": 2500.0}],
                    "results": [RESULT_EXAMPLE],
                    "next_cursor": None,
                    "explanation": None,
                    "facets": None,
                    "hydration": None,
                }
            ]
        }
    )

    request_id: str
    mode_used: Literal["dense", "sparse", "hybrid"]
    degraded: list[Degraded]
    results: list[Result]
    next_cursor: str | None = Field(description="Null at the end of the window.")
    explanation: dict[str, Any] | None = Field(description="Null unless `explain` was set.")
    facets: dict[str, dict[str, int]] | None = Field(description="Null unless `facets` was set.")
    hydration: HydrationBody | None = Field(description="What the turn of an episode shows; null without `episode_id`.")

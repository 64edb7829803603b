"""POST /search, as JSON or as a stream of events."""

from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field
from starlette.responses import Response

from ragcorp.application.retrieval.profiles.profile import (
    MAX_NEIGHBOUR_DISTANCE,
    MAX_RANK_CONSTANT,
    MAX_RANK_WINDOW_SIZE,
    MAX_WEIGHT,
)
from ragcorp.domain.files.values import MAX_GREP_QUERY
from ragcorp.domain.search.requests import FusionMethod, QuerySyntax, SearchMode, SearchRequest, SearchResponse
from ragcorp.domain.structure.hydration import MAX_EPISODE_ID
from ragcorp.interface.http.call import CurrentCall, json_response, operations
from ragcorp.interface.http.protocol.descriptions import problems
from ragcorp.interface.http.protocol.filters import FiltersJson
from ragcorp.interface.http.protocol.models import StrictModel
from ragcorp.interface.http.streams.event_stream import EVENT_STREAM, SEARCH_EVENTS, stream_result
from ragcorp.interface.request_values import parse_filters
from ragcorp.interface.shapes.result_text import search_status
from ragcorp.interface.shapes.search import SearchResults, search_results

VISIBLE = r"[^\s\u200b-\u200f\u2028-\u202e\u2060-\u2064\ufeff\u00ad\u0000]"
QUERY_PATTERN = rf"^[^\u0000]*{VISIBLE}[^\u0000]*$"
"""For the description only: the use case checks the query and explains errors in words."""

SEARCH_EXAMPLE: dict[str, Any] = {
    "query": "¿Cuál es el plazo de entrega?",
    "limit": 5,
    "mode": "hybrid",
    "filters": {"artifact_type": ["contract", "policy"], "occurred_at": {"gte": "2025-01-01T00:00:00Z"}},
    "fusion": {"method": "rrf", "rank_constant": 60, "weights": {"dense": 1.0, "full_text": 1.0}},
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
    """The fields that /search and /ask share. The service's default replaces a field that is left out."""

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
            filters=parse_filters(self.filters),
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


router = operations("search")


@router.post(
    "/search",
    summary="Search the passages",
    description=SEARCH_EVENTS,
    response_model=SearchResults,
    responses={200: EVENT_STREAM, **problems(413, 415, 422, 503)},
)
async def search(body: SearchBody, call: CurrentCall) -> Response:
    if body.stream:
        await call.slot.open_stream()
    searching = call.use_cases.search.search(body.as_request(), principal=call.principal)

    def rendered(response: SearchResponse) -> SearchResults:
        call.metrics.count_search(response)
        return search_results(response, request_id=call.request_id)

    if not body.stream:
        return json_response(rendered(await call.unless_disconnected(searching)))
    return await stream_result(
        call,
        searching,
        lambda response: (search_event(response), rendered(response)),
        seconds=call.limits.request_timeout_seconds,
    )


def search_event(response: SearchResponse) -> dict[str, Any]:
    status = search_status("search", response)
    return {**status, "chunks": status["passages"]}

"""What `rag.grep` and `rag.hybrid_search` ask for, of what their callers write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.files.values import DEFAULT_PASSAGES, GrepCase, GrepMode, GrepRequest
from ragcorp.domain.search.requests import SearchRequest
from ragcorp.interface.request_values import parse_filters, parse_grep_case, parse_grep_mode

HYBRID_PROFILE = "files"
"""The profile of `hybrid_search`: meaning and exact keywords, fused by rank."""


def grep_request(
    query: str,
    *,
    mode: str = GrepMode.LITERAL,
    globs: Sequence[str] = (),
    case: str = GrepCase.SMART,
    max_passages: int = DEFAULT_PASSAGES,
    gitignore: bool = True,
) -> GrepRequest:
    """Raises InvalidInputError."""
    for field, value, kind in (("query", query, str), ("max", max_passages, int)):
        if not isinstance(value, kind):
            raise InvalidInputError(
                f"{field} is not of its type.", field=field, limit=kind.__name__, remedy=f"Give a {kind.__name__}."
            )
    if isinstance(globs, str) or not all(isinstance(glob, str) for glob in globs):
        raise InvalidInputError("globs is no list of texts.", field="globs", remedy='Write it as ["*.md"].')
    return GrepRequest(
        query=query,
        mode=parse_grep_mode(mode),
        case=parse_grep_case(case),
        globs=tuple(globs),
        max_passages=max_passages,
        gitignore=gitignore,
    )


def hybrid_request(
    semantic_query: str,
    *,
    exact_keywords: str | None = None,
    limit: int = 10,
    filters: Mapping[str, object] | None = None,
    include_memory: bool = False,
    expand_neighbors: bool | int = False,
    vector_score_threshold: float | None = None,
) -> SearchRequest:
    """Raises InvalidInputError."""
    return SearchRequest(
        query=semantic_query,
        exact_keywords=exact_keywords,
        profile=HYBRID_PROFILE,
        limit=limit,
        filters=parse_filters(filters or {}),
        include_memory=include_memory,
        expand_neighbors=int(expand_neighbors),
        vector_score_threshold=vector_score_threshold,
    )

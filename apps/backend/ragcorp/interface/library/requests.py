"""Turns the arguments of library calls into requests."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.files.values import DEFAULT_PASSAGES, GrepCase, GrepMode, GrepRequest
from ragcorp.domain.search.requests import FusionMethod, QuerySyntax, SearchMode, SearchRequest
from ragcorp.interface.request_values import choice, parse_filters

PARSERS: Mapping[str, Callable[[Any], object]] = {
    "mode": lambda mode: choice(SearchMode, mode, field="mode"),
    "filters": parse_filters,
    "syntax": lambda syntax: choice(QuerySyntax, syntax, field="syntax"),
    "method": lambda method: None if method is None else choice(FusionMethod, method, field="fusion.method"),
    "weights": lambda weights: weights or {},
    "expand_neighbors": int,
}


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
        mode=choice(GrepMode, mode, field="mode"),
        case=choice(GrepCase, case, field="case"),
        globs=tuple(globs),
        max_passages=max_passages,
        gitignore=gitignore,
    )


def search_request(query: str, options: Mapping[str, object]) -> SearchRequest:
    """Return the request of ``SearchOptions`` or ``AskOptions``. Raises InvalidInputError."""
    values: dict[str, Any] = dict(options)
    for name, parse in PARSERS.items():
        if name in values:
            values[name] = parse(values[name])
    return SearchRequest(query=query, **values)

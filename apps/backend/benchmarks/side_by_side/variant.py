"""What a variant is, and which variants exist. Standard library only: other libraries' interpreters import it."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

WINDOW = 100
"""Candidates of each of the two lists, in every variant."""
LIMIT = 10
RANK_CONSTANT = 60
EF_SEARCH = 100
CLIENTS = 8
PATIENT = {"source_timeout_seconds": 60, "search_timeout_seconds": 60}
"""ragcorp's settings: a busy machine must not turn a slow search into one that leaves a source out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A query with its vector: no variant runs a model."""

    text: str
    vector: list[float]
    filters: Mapping[str, object] = field(default_factory=dict)


Search = Callable[[Question], Awaitable[list[int]]]
"""Returns the ids of the ten best chunks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """``search`` is timed alone, ``concurrent`` with ``CLIENTS`` calls under way; ``cpu``: the client's seconds."""

    search: Search
    concurrent: Search
    cpu: Callable[[], float] = time.process_time


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A variant's module in this package, its arguments, and the variant whose time its own is divided by."""

    module: str
    base: str
    options: Mapping[str, object] = field(default_factory=dict)
    foreign: bool = False


RAW_AND = "one statement, ts_rank_cd and AND"
RAW_BM25 = "one statement, BM25"
LANGCHAIN = "LangChain, PGVectorStore"
LIBRARY_AND = "ragcorp, ts_rank_cd and AND"
LIBRARY = "ragcorp"
HTTP = "ragcorp, HTTP"

KINDS: Mapping[str, Kind] = {
    RAW_AND: Kind(module="bare", base=RAW_AND, options={"statement": "every_word"}),
    LANGCHAIN: Kind(module="with_langchain", base=RAW_AND, foreign=True),
    "LlamaIndex, QueryFusionRetriever": Kind(module="with_llamaindex", base=RAW_AND, foreign=True),
    "Haystack, DocumentJoiner": Kind(module="with_haystack", base=RAW_AND, foreign=True),
    LIBRARY_AND: Kind(
        module="own", base=RAW_AND, options={"settings": {"sparse_ranking": "ts_rank_cd", "sparse_operator": "and"}}
    ),
    RAW_BM25: Kind(module="bare", base=RAW_BM25, options={"statement": "bm25"}),
    LIBRARY: Kind(module="own", base=RAW_BM25),
    HTTP: Kind(module="over_http", base=RAW_BM25),
}

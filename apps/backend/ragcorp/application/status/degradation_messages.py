"""What is said to people of a part that does not do all its work."""

from __future__ import annotations

from ragcorp.application.retrieval.steps.reranking import STEP as RERANK
from ragcorp.domain.search.sources import (
    ARTIFACTS_DENSE,
    ARTIFACTS_FULL_TEXT,
    DENSE,
    FULL_TEXT,
    GRAPH_FACTS,
    GREP,
    HISTORY_DENSE,
    HISTORY_FULL_TEXT,
    MEMORY_DENSE,
    MEMORY_FULL_TEXT,
    STRUCTURE,
)
from ragcorp.domain.status import Waiting

ANSWERER = "answerer"
DATABASE = "database"

NAMES = {
    DATABASE: "The database",
    DENSE: "Search of passages by meaning",
    FULL_TEXT: "Search of passages by words",
    ARTIFACTS_DENSE: "Search of whole documents by meaning",
    ARTIFACTS_FULL_TEXT: "Search of whole documents by words",
    MEMORY_DENSE: "Search of memories by meaning",
    MEMORY_FULL_TEXT: "Search of memories by words",
    HISTORY_DENSE: "Search of conversations by meaning",
    HISTORY_FULL_TEXT: "Search of conversations by words",
    GRAPH_FACTS: "Search of facts",
    GREP: "Search in files",
    STRUCTURE: "Search of symbols, headings and clauses by name",
    RERANK: "Reranking",
    ANSWERER: "The answerer",
}

FAILURES = {
    "timeout": "did not answer in time",
    "unreachable": "could not be reached",
    "rate_limited": "was asked too often by its server's rules",
    "unauthorized": "was refused by its server: the key is not right",
    "model_not_found": "is not known to its server",
    "server_error": "met an error of its server",
    "bad_response": "gave an answer that makes no sense",
    "cut": "broke off",
}
"""What became of a model's last call, by reason."""


def name_of(source: str) -> str:
    """Return what a part is called at the beginning of a sentence."""
    return NAMES.get(source, f"The source {source}")


def failed(source: str, reason: str) -> str:
    """Return what is said of a model whose last call failed."""
    return f"{name_of(source)} {FAILURES.get(reason, 'failed')} when it was asked last."


def waits(source: str, waiting: Waiting) -> str:
    """Return what is said of a source that lacks vectors."""
    said = f"{name_of(source)} does not find everything yet: {_texts(waiting.pending)} for a vector"
    return f"{said}, {waiting.failed:,} of which the model refused." if waiting.failed else f"{said}."


def _texts(number: int) -> str:
    return "1 text waits" if number == 1 else f"{number:,} texts wait"

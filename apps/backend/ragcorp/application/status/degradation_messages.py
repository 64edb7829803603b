"""User-facing messages for degraded components."""

from __future__ import annotations

from ragcorp.application.retrieval.steps.reranking import STEP as RERANK
from ragcorp.domain.search.sources import BUILT_IN
from ragcorp.domain.status import Waiting

ANSWERER = "answerer"
DATABASE = "database"

LABELS = {
    DATABASE: "The database",
    **{name: source.label for name, source in BUILT_IN.items()},
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
"""Outcome of a model's latest call, by reason."""


def name_of(source: str) -> str:
    """Return the label of a component, to start a sentence with."""
    return LABELS.get(source, f"The source {source}")


def failed(source: str, reason: str) -> str:
    """Return the message for a model whose latest call failed."""
    return f"{name_of(source)} {FAILURES.get(reason, 'failed')} when it was asked last."


def waits(source: str, waiting: Waiting) -> str:
    """Return the message for a source that lacks vectors."""
    message = f"{name_of(source)} does not find everything yet: {_texts(waiting.pending)} for a vector"
    return f"{message}, {waiting.failed:,} of which the model refused." if waiting.failed else f"{message}."


def _texts(number: int) -> str:
    return "1 text waits" if number == 1 else f"{number:,} texts wait"

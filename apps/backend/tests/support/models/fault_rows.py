"""What a model may do wrong, row by row; docs/operations.md ("When a model fails") shows the same rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest

SHORT, LONG = 0.6, 30.0
"""Deadlines of one call of a model in seconds: of faults that only a deadline ends, and of all others."""


class Row(NamedTuple):
    """A fault: what a reader of the documentation knows it by, how the server is told, what `reason` says."""

    shown: str
    fault: str
    reason: str


EMBEDDING = (
    Row("429", "429", "rate_limited"),
    Row("429, Retry-After: 60", "429:60", "rate_limited"),
    Row("401", "401", "unauthorized"),
    Row("404", "404", "model_not_found"),
    Row("500", "500", "server_error"),
    Row("503", "503", "server_error"),
    Row("no connection", "refused", "unreachable"),
    Row("no answer", "hang", "timeout"),
    Row("a byte at a time", "drip", "timeout"),
    Row("reset inside the body", "reset", "unreachable"),
    Row("body cut", "cut", "unreachable"),
    Row("redirect", "redirect", "bad_response"),
    Row("page of HTML", "html", "bad_response"),
    Row("endless body", "endless", "bad_response"),
    Row("compressed body", "gzip_bomb", "bad_response"),
    Row("broken JSON", "no_json", "bad_response"),
    Row("nested JSON without end", "deep", "bad_response"),
    Row("broken UTF-8", "no_utf8", "bad_response"),
    Row("no list", "no_list", "bad_response"),
    Row("too few vectors", "wrong_count", "wrong_count"),
    Row("an index out of range", "index_from_one", "wrong_order"),
    Row("narrow vectors", "wrong_width", "wrong_width"),
    Row("NaN", "nan", "invalid_vector"),
    Row("Infinity", "infinity", "invalid_vector"),
    Row("numbers too large", "overflow", "invalid_vector"),
    Row("a zero vector", "zero", "invalid_vector"),
    Row("text for numbers", "base64", "invalid_vector"),
)

LANGUAGE = (
    Row("429", "429", "rate_limited"),
    Row("401", "401", "unauthorized"),
    Row("500", "500", "server_error"),
    Row("no connection", "refused", "unreachable"),
    Row("no answer", "hang", "timeout"),
    Row("silence inside the answer", "hang_inside", "timeout"),
    Row("cut inside the answer", "cut", "unreachable"),
    Row("no finish reason", "no_finish", "cut"),
    Row("broken JSON", "broken_json", "bad_response"),
    Row("an error inside the stream", "error_event", "bad_response"),
    Row("page of HTML", "html", "cut"),
    Row("redirect", "redirect", "bad_response"),
    Row("compressed body", "gzip_bomb", "bad_response"),
    Row("endless body", "endless", "bad_response"),
    Row("a huge piece", "huge_delta", "bad_response"),
    Row("pieces without end", "endless_deltas", "too_long"),
    Row("finish reason content_filter", "finish:content_filter", "filtered"),
    Row("finish reason tool_calls", "finish:tool_calls", "bad_response"),
)

RERANKER = (
    Row("429", "429", "rate_limited"),
    Row("401", "401", "unauthorized"),
    Row("500", "500", "server_error"),
    Row("no answer", "hang", "timeout"),
    Row("a byte at a time", "drip", "timeout"),
    Row("body cut", "cut", "bad_response"),
    Row("redirect", "redirect", "bad_response"),
    Row("huge body", "huge", "bad_response"),
)


def by_deadline(rows: Sequence[Row]) -> Any:
    """Let a test run once for what only a deadline ends, and once for the rest: a busy machine needs its time."""
    slow = [row for row in rows if row.reason == "timeout"]
    return pytest.mark.parametrize(
        ("rows", "deadline"),
        [(slow, SHORT), ([row for row in rows if row not in slow], LONG)],
        ids=["that a deadline ends", "that end by themselves"],
    )

"""Cursors: an offset into the fused window, bound to the search that it belongs to and to the moment of its first page.

The moment goes along, as ages are counted from it: a page that is asked for an hour later must not repeat what another
one had. So does whether a reranker took part.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.search.requests import SearchRequest

MAX_AGE = timedelta(days=2)
HOUR = 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """Where a page begins: ``offset`` in the ranking of ``moment`` (a begun hour), ``reranked`` or not.

    A first page has no moment of its own yet, and leaves reranking to the profile (None).
    """

    offset: int = 0
    moment: datetime | None = None
    reranked: bool | None = None


def fingerprint(request: SearchRequest) -> str:
    """Return a short hash of all that decides the ranking; ``limit``, ``cursor`` and ``explain`` do not."""
    parts = (
        request.query,
        request.mode,
        request.profile,
        [repr(condition) for condition in request.filters],
        request.syntax,
        request.method,
        request.rank_constant,
        sorted(request.weights.items()),
        request.rank_window_size,
        request.include_memory,
        request.rerank,
        request.exact_keywords,
        request.vector_score_threshold,
    )
    return hashlib.sha256(json.dumps(parts, default=str).encode()).hexdigest()[:16]


def encode(position: Position, request: SearchRequest) -> str:
    """Return the cursor of a position that has a moment."""
    hour = 0 if position.moment is None else int(position.moment.timestamp()) // HOUR
    text = f"{position.offset}:{fingerprint(request)}:{hour}:{int(bool(position.reranked))}"
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def belongs_to(request: SearchRequest) -> bool:
    """Say whether the request's cursor was made for this very search; its offset is ``decode``'s to check."""
    try:
        return request.cursor is not None and _parts(request.cursor)[1] == fingerprint(request)
    except (ValueError, binascii.Error, UnicodeError):
        return False


def decode(request: SearchRequest, *, window: int, now: datetime) -> Position:
    """Return the position of the request's cursor (the beginning without one).

    Raises InvalidInputError for a foreign cursor and for one of more than two days ago.

    One of two days ahead counts too: the clock may have been set back since.
    """
    if request.cursor is None:
        return Position()
    try:
        offset, print_, hour, reranked = _parts(request.cursor)
        moment = datetime.fromtimestamp(int(hour) * HOUR, UTC)
        if print_ == fingerprint(request) and 0 < int(offset) < window and abs(now - moment) <= MAX_AGE:
            return Position(offset=int(offset), moment=moment, reranked=bool(int(reranked)))
    except (ValueError, OverflowError, OSError, binascii.Error, UnicodeError):
        pass
    raise InvalidInputError(
        "The cursor does not belong to this search.",
        field="cursor",
        limit="two days",
        remedy="Send the cursor of the last response with the same query, mode, filters and fusion, or none.",
    )


def _parts(cursor: str) -> tuple[str, str, str, str]:
    padded = cursor + "=" * (-len(cursor) % 4)
    text = base64.b64decode(padded.encode("ascii"), altchars=b"-_", validate=True).decode()
    offset, print_, hour, reranked = text.split(":")
    return offset, print_, hour, reranked

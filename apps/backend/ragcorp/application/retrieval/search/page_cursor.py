"""Cursors: an offset into the fused window, bound to its search, the moment of the first page, and reranking.

The moment is included because ages are counted from it: a later page must not repeat results of an earlier one.
"""

import base64
import binascii
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta

from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.search.requests import SearchRequest

PAGE_FIELDS = frozenset(
    {
        "limit",
        "cursor",
        "explain",
        "highlight",
        "expand_neighbors",
        "require_all",
        "facets",
        "conversation_id",
        "episode_id",
    }
)
"""Fields of a request that do not affect its ranking."""

MAX_AGE = timedelta(days=2)
HOUR = 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """Start of a page in the ranking of ``moment``. A first page has no moment; its profile decides on reranking."""

    offset: int = 0
    moment: datetime | None = None
    reranked: bool | None = None


def fingerprint(request: SearchRequest) -> str:
    """Return a short hash of the fields that affect the ranking: all but ``PAGE_FIELDS``."""
    parts = [_part(getattr(request, field.name)) for field in fields(request) if field.name not in PAGE_FIELDS]
    return hashlib.sha256(json.dumps(parts, default=str).encode()).hexdigest()[:16]


def encode(position: Position, request: SearchRequest) -> str:
    """Return the cursor of a position."""
    hour = 0 if position.moment is None else int(position.moment.timestamp()) // HOUR
    text = f"{position.offset}:{fingerprint(request)}:{hour}:{int(bool(position.reranked))}"
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def belongs_to(request: SearchRequest) -> bool:
    """Return whether the request's cursor was made for this search; ``decode`` checks its offset."""
    try:
        return request.cursor is not None and _parts(request.cursor)[1] == fingerprint(request)
    except (ValueError, binascii.Error, UnicodeError):
        return False


def decode(request: SearchRequest, *, window: int, now: datetime) -> Position:
    """Return the cursor's position, else the beginning. Raises InvalidInputError if it is foreign or two days off."""
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


def _part(value: object) -> object:
    if isinstance(value, Mapping):
        return sorted(value.items())
    return [repr(condition) for condition in value] if isinstance(value, tuple) else value


def _parts(cursor: str) -> tuple[str, str, str, str]:
    padded = cursor + "=" * (-len(cursor) % 4)
    text = base64.b64decode(padded.encode("ascii"), altchars=b"-_", validate=True).decode()
    offset, print_, hour, reranked = text.split(":")
    return offset, print_, hour, reranked

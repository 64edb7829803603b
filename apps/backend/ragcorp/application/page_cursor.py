"""Cursors: an offset into the fused window, bound to the search that it belongs to."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json

from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.search import SearchRequest


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
    )
    return hashlib.sha256(json.dumps(parts, default=str).encode()).hexdigest()[:16]


def encode(offset: int, request: SearchRequest) -> str:
    return base64.urlsafe_b64encode(f"{offset}:{fingerprint(request)}".encode()).decode().rstrip("=")


def belongs_to(request: SearchRequest) -> bool:
    """Say whether the request's cursor was made for this very search; its offset is ``decode``'s to check."""
    try:
        return request.cursor is not None and _parts(request.cursor)[1] == fingerprint(request)
    except (ValueError, binascii.Error, UnicodeError):
        return False


def decode(request: SearchRequest, *, window: int) -> int:
    """Return the offset of the request's cursor (0 without one). Raises InvalidInputError for a foreign cursor."""
    if request.cursor is None:
        return 0
    try:
        offset, print_ = _parts(request.cursor)
        if print_ == fingerprint(request) and 0 < int(offset) < window:
            return int(offset)
    except (ValueError, binascii.Error, UnicodeError):
        pass
    raise InvalidInputError(
        "The cursor does not belong to this search.",
        field="cursor",
        remedy="Send the cursor of the last response with the same query, mode, filters and fusion, or none.",
    )


def _parts(cursor: str) -> tuple[str, str]:
    padded = cursor + "=" * (-len(cursor) % 4)
    offset, _, print_ = base64.b64decode(padded.encode("ascii"), altchars=b"-_", validate=True).decode().partition(":")
    return offset, print_

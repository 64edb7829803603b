"""Reasons by HTTP status, for every client of a model."""

from __future__ import annotations


def reason_of_status(status: int, *, not_found: str = "not_found") -> str:
    """Return a short word for a status that is an error; the body of the response is never relayed."""
    match status:
        case 401 | 403:
            return "unauthorized"
        case 400 | 413 | 422:
            return "rejected"
        case 404:
            return not_found
        case 429:
            return "rate_limited"
        case _ if status >= 500:
            return "server_error"
        case _:
            return "bad_response"

"""Limits of the HTTP interface."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpLimits:
    """Bounds of a request. Times in seconds.

    ``upload_timeout_seconds`` runs until the body is complete, ``request_timeout_seconds`` from then on, with
    ``reading_seconds`` more for a file that is slow to read; ``bulk_batch_timeout_seconds`` is for one batch of a bulk
    request, ``write_timeout_seconds`` for one event to a slow client. The stream of an answer begins after
    ``stream_begins_seconds`` at most. Use cases enforce ``max_query_characters`` and ``max_limit``. A rate of 0 is
    none. ``allowed_hosts`` are lower case; None accepts any.
    """

    max_body_bytes: int = 1024 * 1024
    max_file_bytes: int = 20 * 1024 * 1024
    max_json_depth: int = 32
    max_filter_conditions: int = 20
    max_query_characters: int = 2000
    max_limit: int = 50
    request_timeout_seconds: float = 5.0
    reading_seconds: float = 60.0
    ask_timeout_seconds: float = 5.0
    grep_timeout_seconds: float = 5.0
    upload_timeout_seconds: float = 60.0
    bulk_batch_timeout_seconds: float = 60.0
    ping_seconds: float = 15.0
    write_timeout_seconds: float = 20.0
    stream_begins_seconds: float = 2.0
    max_concurrent_requests: int = 8
    admission_wait_seconds: float = 1.5
    max_streams: int = 100
    rate_limit_per_minute: int = 1200
    rate_limit_burst: int = 200
    key_concurrency: int = 32
    cors_origins: tuple[str, ...] = ()
    cors_credentials: bool = False
    allowed_hosts: frozenset[str] | None = None

"""The limits of HTTP that settings make."""

from ragcorp.interface.http.layers.cors import parse_origins
from ragcorp.interface.http.protocol.limits import HttpLimits
from ragcorp.main.service.deadlines import ask_seconds, grep_seconds, reading_seconds
from ragcorp.main.settings.addresses import allowed_hosts
from ragcorp.main.settings.schema import Settings

WRITE_MARGIN_SECONDS = 5.0
"""A stream waits this much longer for its client than the server, which cuts the connection."""


def http_limits(settings: Settings) -> HttpLimits:
    """Return the limits of the service, all its workers together."""
    return HttpLimits(
        max_body_bytes=settings.max_body_bytes,
        max_file_bytes=settings.max_file_bytes,
        max_query_characters=settings.max_query_characters,
        max_limit=settings.max_limit,
        request_timeout_seconds=settings.request_timeout_seconds,
        reading_seconds=reading_seconds(settings),
        grep_timeout_seconds=grep_seconds(settings),
        ask_timeout_seconds=ask_seconds(settings),
        write_timeout_seconds=settings.write_timeout_seconds + WRITE_MARGIN_SECONDS,
        max_json_depth=settings.max_json_depth,
        max_filter_conditions=settings.max_filter_conditions,
        max_concurrent_requests=settings.max_concurrent_requests
        or settings.workers * max(1, settings.database_pool_size - 2),
        admission_wait_seconds=settings.admission_wait_seconds,
        max_streams=settings.max_streams,
        rate_limit_per_minute=settings.rate_limit_per_minute,
        rate_limit_burst=settings.rate_limit_burst,
        key_concurrency=settings.key_concurrency,
        cors_origins=parse_origins(settings.cors_origins, credentials=settings.cors_credentials),
        cors_credentials=settings.cors_credentials,
        allowed_hosts=allowed_hosts(settings),
    )

"""The client of an OpenAI-compatible endpoint."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING

from ragcorp.domain.exceptions import ConfigurationError, MissingExtraError
from ragcorp.infrastructure.network.egress import check_base_url

if TYPE_CHECKING:
    from openai import AsyncOpenAI

DEFAULT_RESPONSE_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """An endpoint of models. ``api_key`` may be blank for servers that need none."""

    base_url: str | None
    api_key: str
    timeout_seconds: float
    max_retries: int = 2
    max_response_bytes: int = DEFAULT_RESPONSE_BYTES
    """Bytes of one response, streamed or not; a longer one is a bad response."""


def make_client(endpoint: Endpoint) -> AsyncOpenAI:
    """Return a client without redirects, with bounded bodies. Raises MissingExtraError or ConfigurationError."""
    if find_spec("openai") is None:
        raise MissingExtraError(feature="An OpenAI-compatible provider", extra="openai")
    import openai

    from ragcorp.infrastructure.network.transport import GuardedTransport
    from ragcorp.infrastructure.openai_compatible.bounded_body import bound_body

    if endpoint.base_url is not None:
        check_base_url(endpoint.base_url, field="OPENAI_BASE_URL")
    if not endpoint.api_key and endpoint.base_url is None:
        raise ConfigurationError(
            "The provider 'openai' needs a key.",
            field="OPENAI_API_KEY",
            remedy="Set OPENAI_API_KEY, or OPENAI_BASE_URL for a server that needs none.",
        )
    return openai.AsyncOpenAI(
        api_key=endpoint.api_key or "none",
        base_url=endpoint.base_url,
        timeout=endpoint.timeout_seconds,
        max_retries=endpoint.max_retries,
        default_headers={"Accept-Encoding": "identity"},
        http_client=openai.DefaultAsyncHttpxClient(
            follow_redirects=False,
            trust_env=False,
            transport=GuardedTransport(),
            timeout=endpoint.timeout_seconds,
            event_hooks={"response": [partial(bound_body, limit=endpoint.max_response_bytes)]},
        ),
    )

"""The client of an OpenAI-compatible endpoint, and the translation of its errors."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

from ragcorp.domain.exceptions import ConfigurationError, MissingExtraError
from ragcorp.infrastructure.network.egress import REFUSED, check_base_url, was_refused

if TYPE_CHECKING:
    from openai import APIError, AsyncOpenAI

DEFAULT_RESPONSE_BYTES = 4 * 1024 * 1024

BAD_RESPONSES = (ValueError, TypeError, AttributeError, IndexError, OverflowError, RecursionError)
"""What reading a body raises that is no response of such an endpoint: the client checks no types."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where the models are. ``api_key`` may be blank for servers that ask for none."""

    base_url: str | None
    api_key: str
    timeout_seconds: float
    max_retries: int = 2
    max_response_bytes: int = DEFAULT_RESPONSE_BYTES
    """Bytes of one response, streamed or not; a longer one is a bad response."""


def make_client(endpoint: Endpoint) -> AsyncOpenAI:
    """Return a client that follows no redirect and reads no endless body.

    Bodies come as they are: what a compressed one unpacks to would have no bound. Raises MissingExtraError or
    ConfigurationError.
    """
    if find_spec("openai") is None:
        raise MissingExtraError(feature="An OpenAI-compatible provider", extra="openai")
    import openai

    from ragcorp.infrastructure.network.transport import GuardedTransport
    from ragcorp.infrastructure.openai_compatible.bounded_body import BoundedBodies

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
            event_hooks={"response": [BoundedBodies(limit=endpoint.max_response_bytes)]},
        ),
    )


def did_work(error: APIError) -> bool:
    """Say whether a server that failed so may have used tokens: not where it refused or could not be reached."""
    import openai

    if isinstance(error, openai.APITimeoutError):
        return True
    return not isinstance(error, openai.APIStatusError | openai.APIConnectionError)


def reason_of(error: APIError) -> str:
    """Return a short word for what went wrong; the body of the response is never relayed."""
    import openai

    match error:
        case openai.APITimeoutError():
            return "timeout"
        case openai.APIConnectionError() if was_refused(error):
            return REFUSED
        case openai.APIConnectionError():
            return "unreachable"
        case openai.RateLimitError():
            return "rate_limited"
        case openai.AuthenticationError() | openai.PermissionDeniedError():
            return "unauthorized"
        case openai.BadRequestError() | openai.UnprocessableEntityError():
            return "rejected"
        case openai.NotFoundError():
            return "model_not_found"
        case openai.APIStatusError() if error.status_code == 413:
            return "rejected"
        case openai.APIStatusError() if error.status_code >= 500:
            return "server_error"
        case _:
            return "bad_response"

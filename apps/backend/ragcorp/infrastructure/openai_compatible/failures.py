"""Translates the errors of the OpenAI client, whose messages would quote the response."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ragcorp.domain.exceptions import SourceUnavailableError
from ragcorp.infrastructure.network.egress import REFUSED, was_refused
from ragcorp.infrastructure.network.statuses import reason_of_status
from ragcorp.infrastructure.openai_compatible.call_tokens import CallTokens

if TYPE_CHECKING:
    from openai import APIError

BAD_RESPONSES = (ValueError, TypeError, AttributeError, IndexError, OverflowError, RecursionError)
"""Errors of reading a body that is no response of such an endpoint: the client checks no types."""


@contextmanager
def translated(unavailable: Callable[[str], SourceUnavailableError], call: CallTokens | None = None) -> Iterator[None]:
    """Raise ``unavailable(reason)`` for errors of the client; ``call`` learns whether the server did no work."""
    import openai

    try:
        yield
    except TimeoutError:
        raise unavailable("timeout") from None
    except openai.APIError as error:
        if call is not None and not _did_work(error):
            call.refused()
        raise unavailable(_reason_of(error)) from None
    except BAD_RESPONSES:
        raise unavailable("bad_response") from None


def _did_work(error: APIError) -> bool:
    """Return whether a server that failed may have used tokens: not if it refused or was unreachable."""
    import openai

    if isinstance(error, openai.APITimeoutError):
        return True
    return not isinstance(error, openai.APIStatusError | openai.APIConnectionError)


def _reason_of(error: APIError) -> str:
    import openai

    match error:
        case openai.APITimeoutError():
            return "timeout"
        case openai.APIConnectionError():
            return REFUSED if was_refused(error) else "unreachable"
        case openai.APIStatusError():
            return reason_of_status(error.status_code, not_found="model_not_found")
        case _:
            return "bad_response"

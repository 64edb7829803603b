"""What a call of a language model that is not streamed fails with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ragcorp.domain.exceptions import AnswererUnavailableError
from ragcorp.infrastructure.openai_compatible.call_tokens import CallTokens
from ragcorp.infrastructure.openai_compatible.client import BAD_RESPONSES, did_work, reason_of


@contextmanager
def failures_of(call: CallTokens, *, unavailable: Callable[[str], AnswererUnavailableError]) -> Iterator[None]:
    """Raise ``unavailable`` of the reason for whatever the client raises, whose words would quote the response.

    ``call`` is told where the server did no work.
    """
    import openai

    try:
        yield
    except TimeoutError:
        raise unavailable("timeout") from None
    except openai.APIError as error:
        if not did_work(error):
            call.refused()
        raise unavailable(reason_of(error)) from None
    except BAD_RESPONSES:
        raise unavailable("bad_response") from None

"""The current request id for log lines of inner layers. Work that outlives its request logs without it."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(slots=True)
class _Mark:
    """Shared by all tasks of a request: their copied contexts refer to this one object."""

    request_id: str | None


_MARK: ContextVar[_Mark | None] = ContextVar("ragcorp_request", default=None)


@contextmanager
def request_at_hand(request_id: str) -> Iterator[None]:
    mark = _Mark(request_id)
    token = _MARK.set(mark)
    try:
        yield
    finally:
        mark.request_id = None
        _MARK.reset(token)


def current_request_id() -> str | None:
    mark = _MARK.get()
    return None if mark is None else mark.request_id

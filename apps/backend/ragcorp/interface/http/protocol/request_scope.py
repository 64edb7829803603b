"""What the layers store per request: its id and its caller, and the id for log lines of inner layers."""

import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from starlette.types import Scope

from ragcorp.domain.keys import LOCAL_CALLER, Caller

CALLER_KEY = "ragcorp.caller"
HEADER = b"x-request-id"
_ID_KEY = "ragcorp.request_id"
_WELL_FORMED = re.compile(rb"[A-Za-z0-9._-]{1,64}")


@dataclass(slots=True)
class _Current:
    """Shared by all tasks of a request: their copied contexts refer to this one object."""

    request_id: str | None


_CURRENT: ContextVar[_Current | None] = ContextVar("ragcorp_request", default=None)


def caller_of(scope: Scope) -> Caller:
    """Return the caller of an authenticated request; without authentication, the local user."""
    caller: Caller = scope.get(CALLER_KEY, LOCAL_CALLER)
    return caller


def assign_request_id(scope: Scope, *, prefix: str = "") -> str:
    """Use the client's id if it is well-formed, else make one that begins with ``prefix``."""
    request_id = ""
    for name, value in scope["headers"]:
        if name == HEADER and _WELL_FORMED.fullmatch(value):
            request_id = value.decode("ascii")
    scope[_ID_KEY] = request_id = request_id or prefix + secrets.token_hex(16)
    return request_id


def request_id_of(scope: Scope) -> str:
    return scope.get(_ID_KEY) or assign_request_id(scope)


@contextmanager
def current_request(request_id: str) -> Iterator[None]:
    """Make ``request_id`` the current one in the block. Work that outlives its request logs without it."""
    current = _Current(request_id)
    token = _CURRENT.set(current)
    try:
        yield
    finally:
        current.request_id = None
        _CURRENT.reset(token)


def current_request_id() -> str | None:
    current = _CURRENT.get()
    return None if current is None else current.request_id

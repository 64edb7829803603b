"""The caller, which authentication leaves in the request's scope."""

from starlette.types import Scope as AsgiScope

from ragcorp.domain.keys import LOCAL_CALLER, Caller

CALLER_KEY = "ragcorp.caller"


def caller_of(scope: AsgiScope) -> Caller:
    """Return the caller of an authenticated request; without authentication, the local user."""
    caller: Caller = scope.get(CALLER_KEY, LOCAL_CALLER)
    return caller

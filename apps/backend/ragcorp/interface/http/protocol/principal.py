"""The caller of a request, which authentication puts into its scope."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends
from starlette.requests import Request
from starlette.types import Scope as AsgiScope

from ragcorp.domain.keys import LOCAL_CALLER, Caller
from ragcorp.domain.principal import Principal

CALLER_KEY = "ragcorp.caller"


def caller_of(scope: AsgiScope) -> Caller:
    """Return the caller of an authenticated request; without authentication, the local user."""
    caller: Caller = scope.get(CALLER_KEY, LOCAL_CALLER)
    return caller


async def current_principal(request: Request) -> Principal:
    return caller_of(request.scope).principal


CurrentPrincipal = Annotated[Principal, Depends(current_principal)]

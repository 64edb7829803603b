"""Who asks. The one place where a credential becomes a principal."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends

from ragcorp.domain.principal import Principal

_LOCAL = Principal()


async def current_principal() -> Principal:
    """Return the default principal: keys are not there yet."""
    return _LOCAL


CurrentPrincipal = Annotated[Principal, Depends(current_principal)]

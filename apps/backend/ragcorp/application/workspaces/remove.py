"""A workspace that lasts as long as a block."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from ragcorp.application.resilience.time_bound import wait_to_end
from ragcorp.domain.ports.workspaces import Workspaces
from ragcorp.domain.principal import Principal


@asynccontextmanager
async def throw_away_workspace(workspaces: Workspaces, *, name: str) -> AsyncIterator[Principal]:
    """Yield the principal of workspace ``name``, which is removed at the end, also after an error or a cancellation."""
    try:
        yield Principal(workspace=name)
    finally:
        removal = asyncio.ensure_future(workspaces.remove(name))
        await wait_to_end(removal)
        removal.result()

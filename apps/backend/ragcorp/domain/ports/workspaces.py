"""Port for a workspace as a whole."""

from __future__ import annotations

from typing import Protocol

from ragcorp.domain.embeddings import Vector


class Workspaces(Protocol):
    """Every row of a workspace. Outages are a StorageUnavailableError."""

    async def remove(self, workspace: str) -> None:
        """Remove all of it for good: documents, chunks, vectors, backlog, caches and statistics."""
        ...

    async def abandoned(self, pattern: str, *, older_than_days: float) -> list[str]:
        """Return the workspaces whose whole name matches a regular expression and whose last document is older."""
        ...

    async def refresh_statistics(self, workspace: str) -> None:
        """Bring up to date, now, all that ranking keeps as a snapshot."""
        ...

    async def vectors(self, workspace: str, *, limit: int) -> list[Vector]:
        """Return the active model's vectors of up to ``limit`` chunks, in the order of chunk ids."""
        ...

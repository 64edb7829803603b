"""Port of whole workspaces."""

from typing import Protocol

from ragcorp.domain.embeddings import Vector


class Workspaces(Protocol):
    """Removes, lists and refreshes workspaces. Outages are a StorageUnavailableError."""

    async def remove(self, workspace: str) -> None:
        """Delete everything in it: documents, chunks, vectors, backlog, caches and statistics."""

    async def abandoned(self, pattern: str, *, older_than_days: float) -> list[str]:
        """Return the workspaces whose full name matches a regular expression and whose newest content is older."""

    async def refresh_statistics(self, workspace: str) -> None:
        """Refresh the snapshots that ranking uses, now."""

    async def vectors(self, workspace: str, *, limit: int) -> list[Vector]:
        """Return the active model's vectors of up to ``limit`` chunks, in the order of chunk ids."""

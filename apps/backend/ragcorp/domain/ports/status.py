"""Ports of the service's status."""

from collections.abc import Coroutine, Sequence
from typing import Any, Protocol

from ragcorp.domain.principal import Principal
from ragcorp.domain.status import ContentCounts, PartStatus


class ContentCounter(Protocol):
    """Counts what a principal may read."""

    async def count(self, *, principal: Principal) -> ContentCounts:
        """Raises StorageUnavailableError, with reason ``timeout`` where it takes too long."""


class DatabaseLook(Protocol):
    """Checks the database for searches."""

    def __call__(self) -> Coroutine[Any, Any, Sequence[PartStatus]]:
        """Return the degraded parts. Raises RagcorpError."""

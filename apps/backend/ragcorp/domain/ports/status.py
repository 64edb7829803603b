"""Ports of what the service says of itself."""

from collections.abc import Coroutine, Sequence
from typing import Any, Protocol

from ragcorp.domain.principal import Principal
from ragcorp.domain.status import ContentCounts, PartStatus


class ContentCounter(Protocol):
    """Counts what a principal may read."""

    async def count(self, *, principal: Principal) -> ContentCounts:
        """Raises StorageUnavailableError, with reason ``timeout`` where it takes too long."""


class DatabaseLook(Protocol):
    """Looks at what a search takes for granted."""

    def __call__(self) -> Coroutine[Any, Any, Sequence[PartStatus]]:
        """Return the parts that do not do all their work; none where all is well. Raises RagcorpError."""

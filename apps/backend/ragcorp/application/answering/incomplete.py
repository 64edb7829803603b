"""Finds the documents behind an answer of which something was not read."""

import asyncio
import logging
from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from ragcorp.application.resilience.time_bound import run_until
from ragcorp.domain.answers import IncompleteDocument
from ragcorp.domain.citations.quoting import harmless
from ragcorp.domain.documents import Chunk
from ragcorp.domain.exceptions import StorageUnavailableError
from ragcorp.domain.ports.chunks import UnreadParts
from ragcorp.domain.principal import Principal
from ragcorp.domain.unread import may_hold_text

logger = logging.getLogger(__name__)

MAX_DOCUMENTS = 3
"""Documents that are looked at for an abstention: the first of the results."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IncompleteDocuments:
    """Reads once for an answer, and not at all if it rests on no document."""

    unread: UnreadParts
    timeout_seconds: float = 1.0

    async def find(
        self, chunks: Iterable[Chunk], *, principal: Principal, limit: int | None = None
    ) -> tuple[IncompleteDocument, ...]:
        """Return those of the first ``limit`` documents of the chunks whose unread parts may hold text."""
        first_of: dict[UUID, Chunk] = {}
        for chunk in chunks:
            if chunk.of_document:
                first_of.setdefault(chunk.document_id, chunk)
        documents = dict(list(first_of.items())[:limit])
        if not documents:
            return ()
        deadline = asyncio.get_running_loop().time() + self.timeout_seconds
        try:
            found = await run_until(deadline, self.unread.read(list(documents), principal=principal))
        except (TimeoutError, StorageUnavailableError) as error:
            logger.warning("an answer does not say what was not read: %s", type(error).__name__)
            return ()
        return tuple(
            IncompleteDocument(external_id=chunk.external_id, title=harmless(chunk.shown_title), unread=parts)
            for document_id, chunk in documents.items()
            if (parts := may_hold_text(found.get(document_id, ())))
        )

"""What the suites of the ports of documents share: its fixtures, and how its cases look at what was found."""

from __future__ import annotations

from typing import Protocol

import pytest

from ragcorp.domain.filters import Filters
from ragcorp.domain.ports.storage import ChunkScoring, DocumentRepository, DocumentStore, EmbeddingBacklog
from ragcorp.domain.principal import Principal
from ragcorp.domain.retrieval import RankedList
from support.storage.stored import ANYONE, EAST, full_text, ids

OTHER = Principal(workspace="other")


class DocumentPorts(DocumentRepository, ChunkScoring, DocumentStore, Protocol):
    """The ports of documents together, over one storage."""


class StoredDocuments:
    @pytest.fixture
    async def repository(self) -> DocumentPorts:
        raise NotImplementedError

    @pytest.fixture
    async def backlog(self) -> EmbeddingBacklog:
        """The backlog over the same storage, for vectors of ``support.embedders.TEST_MODEL``."""
        raise NotImplementedError

    async def contents(self, repository: DocumentPorts, found: RankedList, principal: Principal = ANYONE) -> list[str]:
        chunks = await repository.get_chunks([str(i) for i in ids(found.hits)], principal=principal)
        return [chunks[str(hit.chunk_id)].content for hit in found]

    async def external_ids(self, repository: DocumentPorts, found: RankedList) -> list[str]:
        chunks = await repository.get_chunks([str(i) for i in ids(found.hits)], principal=ANYONE)
        return [chunks[str(hit.chunk_id)].external_id for hit in found]

    async def both(self, repository: DocumentPorts, filters: Filters = ()) -> tuple[list[str], list[str]]:
        similar = await repository.find_similar_chunks(EAST, principal=ANYONE, filters=filters, limit=99)
        matching = await full_text(repository, "aguja", principal=ANYONE, filters=filters, limit=99)
        return await self.contents(repository, similar.ranked_list), await self.contents(repository, matching)

"""The sources over the collections as RetrievalSources."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence

import pytest

from ragcorp.application.retrieval.sources.collections import CollectionDenseSource, CollectionFullTextSource
from ragcorp.domain.collections import Collection
from ragcorp.domain.filters import ITEM_FIELDS
from ragcorp.domain.ports.sources import RetrievalSource
from ragcorp.infrastructure.postgres.connections.database import Database
from ragcorp.testing.sources import RetrievalSourceConformance, SourceLoader
from support.memory.collections import channels_over, fill
from support.models.embedders import HashingEmbedder
from support.storage.postgres import open_database

pytestmark = pytest.mark.anyio


class CollectionLoader(SourceLoader):
    def __init__(self, database: Database, collection: Collection, *, dense: bool) -> None:
        self._database = database
        self._collection = collection
        self._dense = dense

    async def load(self, texts: Mapping[str, Sequence[str]]) -> RetrievalSource:
        embedder = HashingEmbedder()
        vectors = {content: embedder.vector(content) for contents in texts.values() for content in contents}
        await fill(self._database, self._collection, texts, vectors)
        channels = await channels_over(self._database, self._collection)
        if self._dense:
            return CollectionDenseSource(
                name=f"{self._collection}.dense",
                collection=self._collection,
                embedder=embedder,
                channels=channels,
                filter_fields=ITEM_FIELDS,
            )
        return CollectionFullTextSource(
            name=f"{self._collection}.full_text",
            collection=self._collection,
            channels=channels,
            filter_fields=ITEM_FIELDS,
        )

    async def break_down(self) -> None:
        await self._database.close()


class CollectionSource(RetrievalSourceConformance):
    collection: Collection
    dense: bool

    @pytest.fixture
    async def loader(self, dsn: str) -> AsyncIterator[SourceLoader]:
        async with open_database(dsn) as database:
            yield CollectionLoader(database, self.collection, dense=self.dense)


class TestArtifactsDense(CollectionSource):
    collection, dense = Collection.ARTIFACTS, True


class TestArtifactsFullText(CollectionSource):
    collection, dense = Collection.ARTIFACTS, False


class TestMemoryDense(CollectionSource):
    collection, dense = Collection.MEMORY, True


class TestMemoryFullText(CollectionSource):
    collection, dense = Collection.MEMORY, False


class TestHistoryDense(CollectionSource):
    collection, dense = Collection.HISTORY, True


class TestHistoryFullText(CollectionSource):
    collection, dense = Collection.HISTORY, False

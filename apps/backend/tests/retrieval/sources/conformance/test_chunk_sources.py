"""The sources of our own, and a user's, as RetrievalSources."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence

import pytest

from ragcorp.application.retrieval.sources.chunks import DenseChunkSource, FullTextChunkSource
from ragcorp.domain.ports.sources import RetrievalSource
from ragcorp.domain.principal import Principal
from ragcorp.infrastructure.postgres.connections.database import Database
from ragcorp.infrastructure.postgres.embeddings.backlog import PostgresEmbeddingBacklog
from ragcorp.testing.sources import RetrievalSourceConformance, SourceLoader
from support.models.embedders import HashingEmbedder
from support.retrieval.sources import WordCountSource
from support.storage.postgres import open_database, repository_over
from support.storage.stored import embed_all, written

pytestmark = pytest.mark.anyio


class PostgresLoader(SourceLoader):
    def __init__(self, database: Database, *, dense: bool) -> None:
        self._database = database
        self._dense = dense

    async def load(self, texts: Mapping[str, Sequence[str]]) -> RetrievalSource:
        repository = await repository_over(self._database)
        embedder = HashingEmbedder()
        for workspace, contents in texts.items():
            writes = [written(f"{n}.txt", content) for n, content in enumerate(contents)]
            await repository.save_many(writes, principal=Principal(workspace=workspace))
        vectors = {content: embedder.vector(content) for contents in texts.values() for content in contents}
        await embed_all(PostgresEmbeddingBacklog(database=self._database), vectors)
        if self._dense:
            return DenseChunkSource(embedder=embedder, repository=repository, scoring=repository)
        return FullTextChunkSource(repository=repository, scoring=repository)

    async def break_down(self) -> None:
        await self._database.close()


class TestDense(RetrievalSourceConformance):
    @pytest.fixture
    async def loader(self, dsn: str) -> AsyncIterator[SourceLoader]:
        async with open_database(dsn) as database:
            yield PostgresLoader(database, dense=True)


class TestFullText(RetrievalSourceConformance):
    @pytest.fixture
    async def loader(self, dsn: str) -> AsyncIterator[SourceLoader]:
        async with open_database(dsn) as database:
            yield PostgresLoader(database, dense=False)


class InMemoryLoader(SourceLoader):
    def __init__(self) -> None:
        self._source: WordCountSource | None = None

    async def load(self, texts: Mapping[str, Sequence[str]]) -> RetrievalSource:
        self._source = WordCountSource(texts)
        return self._source

    async def break_down(self) -> None:
        assert self._source is not None
        self._source.is_out = True


class TestASourceOfTheUsersOwn(RetrievalSourceConformance):
    @pytest.fixture
    async def loader(self) -> SourceLoader:
        return InMemoryLoader()

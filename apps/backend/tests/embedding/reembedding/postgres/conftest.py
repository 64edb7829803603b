"""A test database with texts of every kind that has vectors, and what changes its embedding model."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from ragcorp.domain.embeddings import EmbeddingModel
from ragcorp.infrastructure.postgres.connections.database import Database
from ragcorp.infrastructure.postgres.embeddings.reembedding import PostgresReembedding
from ragcorp.interface.library.rag import Rag
from ragcorp.main.opening.library import make_rag
from ragcorp.main.wiring.base import Parts
from support.models.embedders import TEST_MODEL, HashingEmbedder
from support.models.reembedding import Open, fill, open_store


@pytest.fixture
async def store(owner_dsn: str) -> AsyncIterator[PostgresReembedding]:
    async with open_store(owner_dsn) as (opened, _):
        yield opened


@pytest.fixture
async def database(owner_dsn: str) -> AsyncIterator[Database]:
    async with open_store(owner_dsn) as (_, opened):
        yield opened


@pytest.fixture
def open_rag(make_container: Open) -> Open:
    async def opened(model: EmbeddingModel = TEST_MODEL, **settings: Any) -> Rag:
        return make_rag(await make_container(parts=Parts(embedder=HashingEmbedder(model=model)), **settings))

    return opened


@pytest.fixture
async def rag(open_rag: Open) -> Rag:
    """A library over every kind of text that has vectors, of TEST_MODEL."""
    rag: Rag = await open_rag()
    await fill(rag)
    return rag

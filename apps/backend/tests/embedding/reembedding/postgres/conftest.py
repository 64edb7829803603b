"""A test database with texts of every kind that has vectors, and what changes its embedding model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from ragcorp.domain.embeddings import EmbeddingModel
from ragcorp.infrastructure.postgres.connections.database import Database
from ragcorp.infrastructure.postgres.embeddings.reembedding import PostgresReembedding
from ragcorp.interface.library.rag import Rag
from ragcorp.main.opening.library import make_rag
from ragcorp.main.settings.schema import load_settings
from ragcorp.main.wiring.base import Parts
from ragcorp.main.wiring.container import open_container
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


@pytest.fixture(scope="session")
def filled_database(postgres_server: Any, template_database: str, keep_database: Callable[..., str]) -> str:
    """The name of a database with every kind of text that has vectors, of TEST_MODEL: filled once, cloned by tests."""
    name = keep_database(template_database)

    async def fill_it() -> None:
        settings, parts = load_settings({"embedding_provider": "none"}), Parts(embedder=HashingEmbedder())
        async with open_container(settings, postgres_server.dsn(name), parts=parts) as container:
            await fill(make_rag(container))

    asyncio.run(fill_it())
    return name


@pytest.fixture
def database_name(make_database: Callable[..., str], filled_database: str) -> str:
    return make_database(filled_database)


@pytest.fixture
async def rag(open_rag: Open) -> Rag:
    rag: Rag = await open_rag()
    return rag

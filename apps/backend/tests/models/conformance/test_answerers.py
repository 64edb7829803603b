"""Our answerers against the conformance suite that authors of answerers use."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from ragcorp.domain.ports.models import Answerer
from ragcorp.infrastructure.extractive.answerer import ExtractiveAnswerer
from ragcorp.infrastructure.openai_compatible.answerer import OpenAIAnswerer
from ragcorp.infrastructure.openai_compatible.client import Endpoint
from ragcorp.testing.answerers import TEXTS, AnswererConformance
from support.answering.passages import PlainTexts
from support.models.openai_server import openai_server


def openai_answerer(base_url: str) -> OpenAIAnswerer:
    return OpenAIAnswerer(endpoint=Endpoint(base_url=base_url, api_key="", timeout_seconds=5.0), model="chat-test")


class TestOpenAI(AnswererConformance):
    @pytest.fixture
    async def answerer(self) -> AsyncIterator[Answerer]:
        async with openai_server() as server:
            server.pieces = ["Son 30 ", "días [1]."]
            answerer = openai_answerer(server.base_url)
            yield answerer
            await answerer.aclose()

    @pytest.fixture
    async def broken_answerer(self) -> AsyncIterator[Answerer]:
        async with openai_server() as server:
            server.always = "400"
            answerer = openai_answerer(server.base_url)
            yield answerer
            await answerer.aclose()


class TestExtractive(AnswererConformance):
    @pytest.fixture
    async def answerer(self) -> Answerer:
        texts = PlainTexts(documents={f"{n}.md": text for n, text in enumerate(TEXTS, start=1)})
        return ExtractiveAnswerer(analyzer=texts, documents=texts)

    async def test_it_quotes_the_passage_that_answers(self, answerer: Answerer) -> None:
        first, *_ = await self._events(answerer)
        assert getattr(first, "n", None) == 1

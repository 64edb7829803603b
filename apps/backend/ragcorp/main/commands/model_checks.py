"""The doctor's checks of the models: embeds one short text and answers one short question."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from uuid import UUID

from ragcorp.domain.answers import AnswerPrompt, Passage
from ragcorp.domain.diagnosis import Check
from ragcorp.domain.documents import Chunk
from ragcorp.domain.exceptions import RagcorpError
from ragcorp.main.settings.schema import AnswerProvider, Settings
from ragcorp.main.wiring.models import make_embedder, make_language_model

TEST_TEXT = "¿Cuál es el plazo de entrega?"
TEST_PASSAGE = "El plazo de entrega es de 30 días."


async def check_embedder(settings: Settings) -> Check:
    """Embed one short text within the deadline of the settings."""
    if settings.embedding is None:
        return Check.skipped("embedder", "none: text alone is searched")

    async def embed() -> None:
        async with aclosing(make_embedder(settings)) as embedder:
            await embedder.embed_query(TEST_TEXT)

    name, dimensions = settings.embedding
    return await _timed(
        embed,
        "embedder",
        f"{settings.embedding_provider.value}: {name}, {dimensions} dimensions",
        seconds=settings.embedding_timeout_seconds,
        result="a vector",
        remedy="Free the machine or the provider of load, or raise EMBEDDING_TIMEOUT_SECONDS.",
    )


async def check_answerer(settings: Settings) -> Check:
    """Ask a language model one short question and await its first word."""
    if settings.answer_provider is AnswerProvider.EXTRACTIVE:
        return Check.ok("answerer", "extractive: quotes the passages, needs no language model")

    async def answer() -> None:
        async with aclosing(make_language_model(settings)) as answerer, aclosing(answerer.answer(_prompt())) as events:
            await anext(events)

    return await _timed(
        answer,
        "answerer",
        f"openai: {settings.answer_model}",
        seconds=settings.answer_timeout_seconds,
        result="the first word",
        remedy="Check OPENAI_BASE_URL and the provider's load, or raise ANSWER_TIMEOUT_SECONDS.",
    )


async def _timed(
    call: Callable[[], Awaitable[None]], name: str, model: str, *, seconds: float, result: str, remedy: str
) -> Check:
    """Return how long ``call`` took to get its ``result``, or why it failed within ``seconds``."""
    started = time.monotonic()
    try:
        async with asyncio.timeout(seconds):
            await call()
    except RagcorpError as error:
        return Check.failed(name, f"{model}: {error.message}", error.remedy)
    except TimeoutError:
        return Check.failed(name, f"{model}: no {result.rsplit(maxsplit=1)[-1]} within {seconds:g} s", remedy)
    return Check.ok(name, f"{model}; {result} took {time.monotonic() - started:.2f} s")


def _prompt() -> AnswerPrompt:
    chunk = Chunk(
        id="0",
        document_id=UUID(int=0),
        external_id="doctor",
        chunk_index=0,
        content=TEST_PASSAGE,
        heading_path=(),
        title="",
        language="es",
        path=None,
        metadata={},
        line_start=1,
        line_end=1,
        page_start=None,
        page_end=None,
    )
    return AnswerPrompt(question=TEST_TEXT, language="es", workspace="default", passages=(Passage(n=1, chunk=chunk),))

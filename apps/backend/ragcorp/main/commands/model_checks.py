"""The doctor's checks of the models: embeds one short text and answers one short question."""

import asyncio
import time
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
    name = "embedder"
    if settings.embedding is None:
        return Check.skipped(name, "none: text alone is searched")
    model = f"{settings.embedding_provider.value}: {settings.embedding[0]}, {settings.embedding[1]} dimensions"
    started = time.monotonic()
    try:
        embedder = make_embedder(settings)
        try:
            async with asyncio.timeout(settings.embedding_timeout_seconds):
                await embedder.embed_query(TEST_TEXT)
        finally:
            await embedder.aclose()
    except RagcorpError as error:
        return Check.failed(name, f"{model}: {error.message}", error.remedy)
    except TimeoutError:
        return Check.failed(
            name,
            f"{model}: no vector within {settings.embedding_timeout_seconds:g} s",
            "Free the machine or the provider of load, or raise EMBEDDING_TIMEOUT_SECONDS.",
        )
    return Check.ok(name, f"{model}; a vector took {time.monotonic() - started:.2f} s")


async def check_answerer(settings: Settings) -> Check:
    """Ask a language model one short question and await its first word."""
    name = "answerer"
    if settings.answer_provider is AnswerProvider.EXTRACTIVE:
        return Check.ok(name, "extractive: quotes the passages, needs no language model")
    model = f"openai: {settings.answer_model}"
    started = time.monotonic()
    try:
        answerer = make_language_model(settings)
        try:
            async with asyncio.timeout(settings.answer_timeout_seconds), aclosing(answerer.answer(_prompt())) as events:
                await anext(events)
        finally:
            await answerer.aclose()
    except RagcorpError as error:
        return Check.failed(name, f"{model}: {error.message}", error.remedy)
    except TimeoutError:
        return Check.failed(
            name,
            f"{model}: no word within {settings.answer_timeout_seconds:g} s",
            "Check OPENAI_BASE_URL and the provider's load, or raise ANSWER_TIMEOUT_SECONDS.",
        )
    return Check.ok(name, f"{model}; the first word took {time.monotonic() - started:.2f} s")


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

"""The port Embedder over any OpenAI-compatible ``/embeddings``."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from ragcorp.domain.embeddings import EmbeddingModel, Vector
from ragcorp.domain.exceptions import EmbedderUnavailableError
from ragcorp.infrastructure.embedding_cache.vectors import normalised
from ragcorp.infrastructure.openai_compatible.client import Endpoint, make_client
from ragcorp.infrastructure.openai_compatible.completion import translated

BYTES_PER_VECTOR = 256 * 1024
"""8,192 numbers, as a server writes them that ignores ``dimensions``; its longest take 32 characters."""


class OpenAIEmbedder:
    """Sends batches with ``dimensions``; checks count, order, width and values of the vectors.

    A provider that ignores ``dimensions`` and returns more is truncated and normalised again.
    """

    def __init__(
        self, *, endpoint: Endpoint, model: EmbeddingModel, batch_size: int = 64, send_dimensions: bool = True
    ) -> None:
        self._client = make_client(replace(endpoint, max_response_bytes=(batch_size + 1) * BYTES_PER_VECTOR))
        self._deadline_seconds = endpoint.timeout_seconds
        self._send_dimensions = send_dimensions
        self.model = model
        self.batch_size = batch_size

    async def embed_query(self, text: str) -> Vector:
        (vector,) = await self._embed([text])
        return vector

    async def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
        vectors: list[Vector] = []
        for start in range(0, len(texts), self.batch_size):
            vectors += await self._embed(texts[start : start + self.batch_size])
        return vectors

    async def aclose(self) -> None:
        await self._client.close()

    async def _embed(self, texts: Sequence[str]) -> list[Vector]:
        """Embed one batch within the deadline, retries included. Raises EmbedderUnavailableError."""
        import openai

        with translated(_unavailable):
            async with asyncio.timeout(self._deadline_seconds):
                response = await self._client.embeddings.create(
                    model=self.model.name,
                    input=list(texts),
                    encoding_format="float",
                    dimensions=self.model.dimensions if self._send_dimensions else openai.omit,
                )
        data = getattr(response, "data", None)
        if not isinstance(data, list):
            raise _unavailable("bad_response")
        if len(data) != len(texts):
            raise _unavailable("wrong_count")
        try:
            by_index = {item.index: item.embedding for item in data}
        except (TypeError, AttributeError):
            raise _unavailable("bad_response") from None
        if set(by_index) != set(range(len(texts))):
            raise _unavailable("wrong_order")
        try:
            return [
                normalised(by_index[index], dimensions=self.model.dimensions, truncate=True)
                for index in range(len(texts))
            ]
        except (TypeError, ValueError, OverflowError):
            raise _unavailable("invalid_vector") from None


def _unavailable(reason: str) -> EmbedderUnavailableError:
    return EmbedderUnavailableError(
        "The embedding provider gave no usable vectors.",
        reason=reason,
        remedy="Check OPENAI_BASE_URL, OPENAI_API_KEY and EMBEDDING_MODEL; `ragcorp doctor` calls the provider once.",
    )

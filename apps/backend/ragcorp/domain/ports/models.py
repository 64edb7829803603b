"""Ports for the models: embeddings, their cache, and answers."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Protocol, runtime_checkable

from ragcorp.domain.answers import AnswerEvent, AnswerPrompt
from ragcorp.domain.collections import Item
from ragcorp.domain.embeddings import EmbeddingModel, Vector


class Embedder(Protocol):
    """Makes vectors. Every failure, deadline and bad response is an EmbedderUnavailableError."""

    @property
    def model(self) -> EmbeddingModel: ...

    @property
    def batch_size(self) -> int:
        """The preferred number of passages per call."""

    async def embed_query(self, text: str) -> Vector: ...

    async def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
        """Return one vector for each text, in order."""

    async def aclose(self) -> None: ...


@runtime_checkable
class WorkspaceEmbedder(Protocol):
    """An embedder that caches queries by workspace: response times reveal nothing of other workspaces' queries."""

    async def embed_query_of(self, workspace: str, text: str) -> Vector: ...


class EmbeddingCache(Protocol):
    """Vectors by (workspace, content hash, model, width). Outages are a StorageUnavailableError."""

    async def get(self, keys: Sequence[bytes], *, model: EmbeddingModel, workspace: str) -> Mapping[bytes, Vector]:
        """Return the cached vectors of ``keys`` (SHA-256 of the embedded text), and mark them as used."""

    async def put(self, vectors: Mapping[bytes, Vector], *, model: EmbeddingModel, workspace: str) -> None: ...


class Answerer(Protocol):
    """Writes an answer from numbered passages, or abstains."""

    @property
    def name(self) -> str: ...

    def answer(self, prompt: AnswerPrompt) -> AsyncGenerator[AnswerEvent]:
        """Yield the text, or quoted pieces, and last one ``AnswerFinished``. Raises AnswererUnavailableError if cut."""

    async def aclose(self) -> None: ...


class QuestionRewriter(Protocol):
    """Makes a follow-up question stand alone. Every failure is an AnswererUnavailableError."""

    @property
    def name(self) -> str: ...

    async def rewrite(self, question: str, turns: Sequence[Item]) -> str:
        """Return a question that is complete without the ``turns`` before it (oldest first), on one line."""

    async def aclose(self) -> None: ...


async def embed_query(embedder: Embedder, text: str, *, workspace: str) -> Vector:
    """Raises what the embedder raises."""
    if isinstance(embedder, WorkspaceEmbedder):
        return await embedder.embed_query_of(workspace, text)
    return await embedder.embed_query(text)

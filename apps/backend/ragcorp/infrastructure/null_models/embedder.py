"""The embedder of EMBEDDING_PROVIDER=none: dense search is out, by configuration."""

from collections.abc import Sequence

from ragcorp.domain.embeddings import EmbeddingModel, Vector
from ragcorp.domain.exceptions import EmbedderUnavailableError


class NullEmbedder:
    """Refuses every text, so that sparse search answers and says why."""

    model = EmbeddingModel(name="none", dimensions=0)
    batch_size = 1

    async def embed_query(self, text: str) -> Vector:  # noqa: ARG002
        raise _no_embedder()

    async def embed_passages(self, texts: Sequence[str]) -> list[Vector]:  # noqa: ARG002
        raise _no_embedder()

    async def aclose(self) -> None:
        return None


def _no_embedder() -> EmbedderUnavailableError:
    return EmbedderUnavailableError(
        "No embedder is configured.", reason="no_embedder", remedy="Set EMBEDDING_PROVIDER to local or openai."
    )

"""The vector of a query, from the memory of the caller's workspace where the embedder has one."""

from __future__ import annotations

from ragcorp.domain.embeddings import Vector
from ragcorp.domain.ports.models import Embedder, WorkspaceEmbedder


async def embed_query(embedder: Embedder, text: str, *, workspace: str) -> Vector:
    """Raises what the embedder raises."""
    if isinstance(embedder, WorkspaceEmbedder):
        return await embedder.embed_query_of(workspace, text)
    return await embedder.embed_query(text)

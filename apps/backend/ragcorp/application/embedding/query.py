"""Embeds a query, cached by workspace if the embedder supports it."""

from __future__ import annotations

from ragcorp.domain.embeddings import Vector
from ragcorp.domain.ports.models import Embedder, WorkspaceEmbedder


async def embed_query(embedder: Embedder, text: str, *, workspace: str) -> Vector:
    """Raises what the embedder raises."""
    if isinstance(embedder, WorkspaceEmbedder):
        return await embedder.embed_query_of(workspace, text)
    return await embedder.embed_query(text)

"""Finds one passage by its id."""

from ragcorp.domain.documents import Chunk
from ragcorp.domain.exceptions import NotFoundError
from ragcorp.domain.ports.storage import DocumentRepository
from ragcorp.domain.principal import Principal


async def stored_chunk(repository: DocumentRepository, chunk_id: str, *, principal: Principal) -> Chunk:
    """Raises NotFoundError."""
    chunks = await repository.get_chunks([chunk_id], principal=principal)
    if chunk_id not in chunks:
        raise NotFoundError(
            "There is no such passage.",
            field="chunk_id",
            remedy="Its id changes when its artifact is written: list the artifact's passages.",
        )
    return chunks[chunk_id]

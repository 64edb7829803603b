"""Use case: list passages, and read one."""

from dataclasses import dataclass

from ragcorp.application.validation import list_cursor
from ragcorp.application.validation.attribute_checks import require_external_id
from ragcorp.domain.documents import Chunk
from ragcorp.domain.exceptions import NotFoundError
from ragcorp.domain.ports.chunks import ChunkCatalogue, ChunkPosition, ChunkSelection
from ragcorp.domain.ports.storage import DocumentRepository
from ragcorp.domain.principal import Principal
from ragcorp.domain.retrieval import MAX_CHUNK_INDEX
from ragcorp.domain.text.checks import require_storable


@dataclass(frozen=True, slots=True, kw_only=True)
class ListChunks:
    """Pages through passages in the order of their artifacts' external_id and of the text."""

    repository: DocumentRepository
    catalogue: ChunkCatalogue

    async def list(
        self, selection: ChunkSelection, *, principal: Principal, limit: int = 50, cursor: str | None = None
    ) -> tuple[tuple[Chunk, ...], str | None]:
        """Return a page and the cursor of the next one. Raises InvalidInputError for a bad limit, prefix or cursor."""
        list_cursor.require_page_size(limit)
        require_storable(selection.prefix, field="prefix")
        if selection.artifact is not None:
            require_external_id(selection.artifact)
        page = await self.catalogue.list_page(
            selection, principal=principal, limit=limit, after=None if cursor is None else _position(cursor)
        )
        return page.items, None if page.next_after is None else _cursor(page.next_after)

    async def get(self, chunk_id: str, *, principal: Principal) -> Chunk:
        """Raises NotFoundError."""
        return await stored_chunk(self.repository, chunk_id, principal=principal)


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


def _cursor(position: ChunkPosition) -> str:
    external_id, index = position
    return list_cursor.encode(f"{index}:{external_id}", kind="chunk")


def _position(cursor: str) -> ChunkPosition:
    index, separator, external_id = list_cursor.decode(cursor, kind="chunk").partition(":")
    if not (separator and index.isascii() and index.isdigit() and len(index) <= len(str(MAX_CHUNK_INDEX))):
        raise list_cursor.foreign_cursor()
    if int(index) > MAX_CHUNK_INDEX:
        raise list_cursor.foreign_cursor()
    return external_id, int(index)

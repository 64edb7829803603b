"""Use case: edit a passage, that is, the text of its artifact."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import anyio.to_thread

from ragcorp.application.documents.chunk_lookup import stored_chunk
from ragcorp.application.documents.passage_slices import (
    Slice,
    inserted,
    lines_of,
    removed,
    replaced,
    slice_among,
    slice_of,
)
from ragcorp.application.documents.revision import DocumentRevision, ReadDocument, require_editable
from ragcorp.application.validation.attribute_checks import prose, require_external_id
from ragcorp.domain.documents import Chunk
from ragcorp.domain.exceptions import ConflictError, InvalidInputError
from ragcorp.domain.ingestion import IngestResult
from ragcorp.domain.ports.chunks import ChunkCatalogue, ChunkSelection
from ragcorp.domain.ports.storage import DocumentRepository, DocumentStore
from ragcorp.domain.principal import Principal
from ragcorp.domain.text.checks import is_blank

MAX_SHOWN = 200
MAX_PASSAGE_CHARACTERS = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkEdit:
    """The new version of the artifact, and the passages that contain the new text; none after a removal."""

    artifact: IngestResult
    passages: tuple[Chunk, ...] = ()


class EditChunk:
    """Replaces, removes and adds passages in the text of artifacts of text or Markdown.

    The artifact is chunked and indexed again: its passages get new ids; equal ones keep their vectors. A concurrent
    write raises ConflictError.
    """

    def __init__(
        self,
        *,
        repository: DocumentRepository,
        store: DocumentStore,
        catalogue: ChunkCatalogue,
        revision: DocumentRevision,
    ) -> None:
        self._repository = repository
        self._store = store
        self._catalogue = catalogue
        self._revision = revision

    async def replace(self, chunk_id: str, text: str, *, principal: Principal) -> ChunkEdit:
        """Replace the passage. Raises NotFoundError, InvalidInputError or ConflictError."""
        content = _passage(text)
        chunk = await stored_chunk(self._repository, chunk_id, principal=principal)
        read = await self._read(chunk.external_id, principal)
        place = await anyio.to_thread.run_sync(slice_of, chunk, read.text)
        return await self._written(read, *replaced(read.text, place, content), principal)

    async def remove(self, chunk_id: str, *, principal: Principal) -> ChunkEdit:
        """Take the passage out. Raises NotFoundError, or ConflictError, also for the last one of its artifact."""
        chunk = await stored_chunk(self._repository, chunk_id, principal=principal)
        read = await self._read(chunk.external_id, principal)
        text = removed(read.text, await anyio.to_thread.run_sync(slice_of, chunk, read.text))
        if is_blank(text):
            raise ConflictError(
                "The artifact has no other text than this passage.", field="chunk_id", remedy="Delete the artifact."
            )
        return ChunkEdit(artifact=await self._revision.write(read, principal=principal, text=text))

    async def add(self, artifact: str, text: str, *, after: int | None = None, principal: Principal) -> ChunkEdit:
        """Add a passage after that of index ``after``, or at the end.

        Of several equal passages in one line, the index selects one.
        Raises NotFoundError, InvalidInputError or ConflictError.
        """
        content = _passage(text)
        require_external_id(artifact)
        read = await self._read(artifact, principal)
        offset = len(read.text)
        if after is not None:
            offset = await self._end_of(await self._chunk_at(read, after, principal), read, principal)
        return await self._written(read, *inserted(read.text, offset, content), principal)

    async def _written(self, read: ReadDocument, text: str, place: Slice, principal: Principal) -> ChunkEdit:
        result = await self._revision.write(read, principal=principal, text=text)
        selection = ChunkSelection(artifact=read.document.external_id, lines=lines_of(text, place))
        page = await self._catalogue.list_page(selection, principal=principal, limit=MAX_SHOWN)
        return ChunkEdit(artifact=result, passages=page.chunks)

    async def _end_of(self, chunk: Chunk, read: ReadDocument, principal: Principal) -> int:
        line = (chunk.line_start, chunk.line_start)
        selection = ChunkSelection(artifact=read.document.external_id, lines=line)
        equal: list[int] = []
        page = await self._catalogue.list_page(selection, principal=principal, limit=MAX_SHOWN)
        while True:
            equal += [
                one.chunk_index
                for one in page.chunks
                if (one.line_start, one.content) == (chunk.line_start, chunk.content)
            ]
            if page.next_after is None:
                break
            page = await self._catalogue.list_page(
                selection, principal=principal, limit=MAX_SHOWN, after=page.next_after
            )
        if chunk.chunk_index not in equal:  # written since the passage was read
            equal = [chunk.chunk_index]
        found = partial(slice_among, chunk, read.text, position=equal.index(chunk.chunk_index), count=len(equal))
        return (await anyio.to_thread.run_sync(found))[1]

    async def _read(self, external_id: str, principal: Principal) -> ReadDocument:
        require_editable(await self._store.get(external_id, principal=principal))
        return await self._revision.read(external_id, principal=principal)

    async def _chunk_at(self, read: ReadDocument, index: int, principal: Principal) -> Chunk:
        position = (read.document.id, index)
        ids = await self._repository.find_chunk_ids([position], principal=principal)
        if position not in ids:
            raise InvalidInputError(
                "The artifact has no passage of this index.",
                field="after",
                limit=f"0 to {read.document.chunks - 1}",
                remedy="List its passages.",
            )
        return await stored_chunk(self._repository, ids[position], principal=principal)


def _passage(text: str) -> str:
    content = prose(text, field="text").strip("\n")
    if is_blank(content):
        raise InvalidInputError("text is empty.", field="text", remedy="Give the passage a text, or delete it.")
    if len(content) > MAX_PASSAGE_CHARACTERS:
        raise InvalidInputError(
            "text is too long for a passage.",
            field="text",
            limit=f"{MAX_PASSAGE_CHARACTERS} characters",
            remedy="Write the artifact's whole text.",
        )
    return content

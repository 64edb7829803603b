"""Use case: edit a passage, that is, the text of its artifact. A slice is ``[start, end)`` in characters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice

import anyio.to_thread

from ragcorp.application.documents.list_chunks import stored_chunk
from ragcorp.application.documents.revise import ReadDocument, ReviseDocument, require_editable
from ragcorp.application.validation.attribute_checks import prose, require_external_id
from ragcorp.domain.documents import Chunk
from ragcorp.domain.exceptions import ConflictError, InvalidInputError
from ragcorp.domain.ingestion import IngestResult
from ragcorp.domain.ports.chunks import ChunkCatalogue, ChunkPosition, ChunkSelection
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


@dataclass(frozen=True, slots=True, kw_only=True)
class EditChunk:
    """Edits passages of text and Markdown, and indexes again. Raises ConflictError for a concurrent write."""

    repository: DocumentRepository
    store: DocumentStore
    catalogue: ChunkCatalogue
    revision: ReviseDocument

    async def replace(self, chunk_id: str, text: str, *, principal: Principal) -> ChunkEdit:
        """Replace the passage. Raises NotFoundError, InvalidInputError or ConflictError."""
        content = _passage(text)
        chunk = await stored_chunk(self.repository, chunk_id, principal=principal)
        read = await self._read(chunk.external_id, principal)
        place = await anyio.to_thread.run_sync(slice_of, chunk, read.text)
        return await self._written(read, *replaced(read.text, place, content), principal)

    async def remove(self, chunk_id: str, *, principal: Principal) -> ChunkEdit:
        """Take the passage out. Raises NotFoundError, or ConflictError, also for the last one of its artifact."""
        chunk = await stored_chunk(self.repository, chunk_id, principal=principal)
        read = await self._read(chunk.external_id, principal)
        text = removed(read.text, await anyio.to_thread.run_sync(slice_of, chunk, read.text))
        if is_blank(text):
            raise ConflictError(
                "The artifact has no other text than this passage.", field="chunk_id", remedy="Delete the artifact."
            )
        return ChunkEdit(artifact=await self.revision.write(read, principal=principal, text=text))

    async def add(self, artifact: str, text: str, *, after: int | None = None, principal: Principal) -> ChunkEdit:
        """Add a passage after index ``after``, or last. Raises NotFoundError, InvalidInputError or ConflictError."""
        content = _passage(text)
        require_external_id(artifact)
        read = await self._read(artifact, principal)
        offset = len(read.text)
        if after is not None:
            offset = await self._end_of(await self._chunk_at(read, after, principal), read, principal)
        return await self._written(read, *inserted(read.text, offset, content), principal)

    async def _written(self, read: ReadDocument, text: str, place: Slice, principal: Principal) -> ChunkEdit:
        result = await self.revision.write(read, principal=principal, text=text)
        selection = ChunkSelection(artifact=read.document.external_id, lines=lines_of(text, place))
        page = await self.catalogue.list_page(selection, principal=principal, limit=MAX_SHOWN)
        return ChunkEdit(artifact=result, passages=page.items)

    async def _end_of(self, chunk: Chunk, read: ReadDocument, principal: Principal) -> int:
        line = (chunk.line_start, chunk.line_start)
        selection = ChunkSelection(artifact=read.document.external_id, lines=line)
        equal: list[int] = []
        after: ChunkPosition | None = None
        while True:
            page = await self.catalogue.list_page(selection, principal=principal, limit=MAX_SHOWN, after=after)
            equal += [
                passage.chunk_index
                for passage in page.items
                if (passage.line_start, passage.content) == (chunk.line_start, chunk.content)
            ]
            if (after := page.next_after) is None:
                break
        if chunk.chunk_index not in equal:  # written since the passage was read
            equal = [chunk.chunk_index]
        find = partial(slice_among, chunk, read.text, position=equal.index(chunk.chunk_index), count=len(equal))
        return (await anyio.to_thread.run_sync(find))[1]

    async def _read(self, external_id: str, principal: Principal) -> ReadDocument:
        require_editable(await self.store.get(external_id, principal=principal))
        return await self.revision.read(external_id, principal=principal)

    async def _chunk_at(self, read: ReadDocument, index: int, principal: Principal) -> Chunk:
        position = (read.document.id, index)
        ids = await self.repository.find_chunk_ids([position], principal=principal)
        if position not in ids:
            raise InvalidInputError(
                "The artifact has no passage of this index.",
                field="after",
                limit=f"0 to {read.document.chunks - 1}",
                remedy="List its passages.",
            )
        return await stored_chunk(self.repository, ids[position], principal=principal)


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


BLANK_LINE = "\n\n"

Slice = tuple[int, int]

_BLANK = re.compile(r"\A\s*\n")
"""Blank lines, and the end of a line, but not the indentation of the next one."""


def slice_of(chunk: Chunk, text: str) -> Slice:
    """Return the slice of the passage in its first line. Raises ConflictError unless it occurs there exactly once."""
    return slice_among(chunk, text, position=0, count=1)


def slice_among(chunk: Chunk, text: str, *, position: int, count: int) -> Slice:
    """Return slice ``position`` of the ``count`` equal ones in the line. Raises ConflictError if not that many."""
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    if chunk.line_start <= len(starts):
        low = starts[chunk.line_start - 1]
        high = starts[chunk.line_start] if chunk.line_start < len(starts) else len(text)
        places = list(islice(_places(chunk.content, text, low, high), count + 1))
        if len(places) == count:
            return places[position], places[position] + len(chunk.content)
    raise ConflictError(
        "The passage does not occur in its artifact's text exactly once, at its line.",
        field="text",
        remedy="Write the artifact's whole text.",
    )


def _places(content: str, text: str, low: int, high: int) -> Iterator[int]:
    """Yield where ``content`` starts from ``low`` on, before ``high``; one may overlap the next."""
    place = text.find(content, low)
    while low <= place < high:
        yield place
        place = text.find(content, place + 1)


def replaced(text: str, place: Slice, content: str) -> tuple[str, Slice]:
    """Return the text with the slice replaced, and the new slice."""
    start, end = place
    return text[:start] + content + text[end:], (start, start + len(content))


def removed(text: str, place: Slice) -> str:
    """Return the text without the slice and the blank lines after it."""
    start, end = place
    before, after = text[:start], text[end:]
    return before + (_BLANK.sub("", after) if not before or before.endswith("\n") else after)


def inserted(text: str, after: int, content: str) -> tuple[str, Slice]:
    """Return the text with a passage inserted after the offset, between blank lines, and its slice."""
    before, rest = text[:after].rstrip(), _BLANK.sub("", text[after:])
    head = before + BLANK_LINE if before else ""
    tail = BLANK_LINE + rest if rest.strip() else "\n"
    return head + content + tail, (len(head), len(head) + len(content))


def lines_of(text: str, place: Slice) -> tuple[int, int]:
    """Return the first and the last line (1-based) of a slice that is not empty."""
    start, end = place
    return text.count("\n", 0, start) + 1, text.count("\n", 0, max(start, end - 1)) + 1

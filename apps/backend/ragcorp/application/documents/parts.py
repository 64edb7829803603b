"""Documents made of the files inside a file: attachments of mails and PDFs, members of archives, and theirs."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace

from ragcorp.application.validation.attribute_checks import MAX_EXTERNAL_ID, MAX_PATH
from ragcorp.domain.documents import SourceFile, UnreadKind, UnreadPart
from ragcorp.domain.exceptions import InvalidInputError, MissingExtraError
from ragcorp.domain.files.part_names import distinct_names
from ragcorp.domain.files.source_paths import metadata_of_part
from ragcorp.domain.ingestion import IngestRequest
from ragcorp.domain.ports.storage import DocumentWrite
from ragcorp.domain.unread import merged

MAX_DEPTH = 4
MAX_PARTS = 1_000
MAX_BYTES = 100 << 20
_LEAST_ROOM = 20
"""Characters of a part's name; a document with a longer name of its own has no parts."""
_ARCHIVES = frozenset({"application/zip"})
_FILES = frozenset({UnreadKind.ATTACHMENT, UnreadKind.MEMBER})

Prepare = Callable[[IngestRequest], Awaitable[tuple[DocumentWrite, Sequence[SourceFile]]]]
"""Returns the document of a file, and the files inside it."""


@dataclass(slots=True, kw_only=True)
class PartsOfFile:
    """Prepares the files inside one uploaded file, at any depth, until a limit is reached.

    The document of the uploaded file names what could not be read of them, as does each of those in between.
    """

    prepare: Prepare
    seconds: float
    writes: list[DocumentWrite] = field(default_factory=list)
    failed: list[IngestRequest] = field(default_factory=list)
    size: int = 0

    async def added_to(self, write: DocumentWrite, files: Sequence[SourceFile]) -> DocumentWrite:
        """Return the document of the uploaded file with its parts."""
        if not files:
            return write
        deadline = asyncio.get_running_loop().time() + self.seconds
        write = await self._read(write, files, depth=1, deadline=deadline)
        return replace(write, parts=tuple(self.writes), failed=tuple(self.failed))

    async def _read(
        self, outer: DocumentWrite, files: Sequence[SourceFile], *, depth: int, deadline: float
    ) -> DocumentWrite:
        """Prepare the files inside one file; return its document, which names those that were not read."""
        room = max(_LEAST_ROOM, MAX_EXTERNAL_ID - len(outer.external_id) - 1)
        left_out: list[str] = []
        unread = list(outer.parsed.unread)
        for name, file in zip(distinct_names((file.filename for file in files), room=room), files, strict=True):
            request = _request(outer, name, file)
            within = depth <= MAX_DEPTH and len(self.writes) < MAX_PARTS and self.size + len(file.content) <= MAX_BYTES
            if not within or asyncio.get_running_loop().time() >= deadline:
                left_out.append(file.filename)
                self.failed.append(request)
                continue
            try:
                async with asyncio.timeout_at(deadline):
                    write, inside = await self.prepare(request)
            except (TimeoutError, InvalidInputError, MissingExtraError):
                left_out.append(file.filename)
                self.failed.append(request)
                continue
            self.size += len(file.content)
            place = len(self.writes)
            self.writes.append(write)
            self.writes[place] = await self._read(write, inside, depth=depth + 1, deadline=deadline)
            unread += _within(file.filename, self.writes[place].parsed.unread)
        if left_out:
            kind = UnreadKind.MEMBER if outer.source.media_type in _ARCHIVES else UnreadKind.ATTACHMENT
            unread.append(UnreadPart(kind=kind, count=len(left_out), places=tuple(left_out)))
        return replace(outer, parsed=replace(outer.parsed, unread=merged(unread)))


def _within(name: str, unread: Sequence[UnreadPart]) -> list[UnreadPart]:
    """Return what was not read of a part as what was not read of the file that it is in."""
    return [
        replace(part, places=tuple(f"{name}{'/' if part.kind in _FILES else ': '}{place}" for place in part.places))
        if part.places
        else replace(part, places=(name,))
        for part in unread
    ]


def _request(outer: DocumentWrite, name: str, file: SourceFile) -> IngestRequest:
    """Return the request of a part: the attributes of the document that it is in, a name and a path below it."""
    attributes = outer.attributes
    metadata = metadata_of_part(attributes.metadata, name)
    path = f"{attributes.path}/{name}"
    return IngestRequest(
        external_id=f"{outer.external_id}/{name}",
        file=replace(file, filename=name.rpartition("/")[2]),
        attributes=replace(attributes, title="", path=path if len(path) <= MAX_PATH else None, metadata=metadata),
    )

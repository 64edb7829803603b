"""Documents made of the files inside a file: attachments of mails and PDFs, members of archives, and theirs."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace

from ragcorp.application.validation.attribute_checks import MAX_EXTERNAL_ID, MAX_PATH
from ragcorp.domain.documents import MAX_CHARACTERS, SourceFile, UnreadKind, UnreadPart
from ragcorp.domain.exceptions import InvalidInputError, MissingExtraError
from ragcorp.domain.files.part_names import MAX_PART_BYTES, MAX_PARTS, distinct_names, numbered
from ragcorp.domain.files.source_paths import metadata_of_part
from ragcorp.domain.ingestion import IngestRequest
from ragcorp.domain.ports.storage import DocumentWrite
from ragcorp.domain.unread import merged, within

MAX_DEPTH = 4
_LEAST_ROOM = 20
"""Characters of a part's name; a document with a longer name of its own has no parts."""
_ARCHIVES = frozenset({"application/zip"})

Prepare = Callable[[IngestRequest], Awaitable[tuple[DocumentWrite, Sequence[SourceFile]]]]
"""Returns the document of a file, and the files inside it."""


@dataclass(slots=True, kw_only=True)
class PartsOfFile:
    """Prepares the files inside one uploaded file, at any depth, until a limit is reached.

    The document of the uploaded file names what could not be read of them, as does each of those in between. If another
    attempt may read more, it gets another content hash than the file has, so that it is read again when sent again.
    """

    prepare: Prepare
    seconds: float
    writes: list[DocumentWrite] = field(default_factory=list)
    failed: list[IngestRequest] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    size: int = 0
    characters: int = 0

    async def added_to(self, write: DocumentWrite, files: Sequence[SourceFile]) -> DocumentWrite:
        """Return the document of the uploaded file with its parts."""
        if not files:
            return write
        deadline = asyncio.get_running_loop().time() + self.seconds
        write, _ = await self._read(write, files, depth=1, deadline=deadline)
        return replace(write, parts=tuple(self.writes), failed=tuple(self.failed))

    async def _read(
        self, outer: DocumentWrite, files: Sequence[SourceFile], *, depth: int, deadline: float
    ) -> tuple[DocumentWrite, list[UnreadPart]]:
        """Prepare the files inside one file.

        Return its document, which names what was not read of them, and this again, apart from the rest.
        """
        room = max(_LEAST_ROOM, MAX_EXTERNAL_ID - len(outer.external_id) - 1)
        left_out: list[str] = []
        again: list[bytes] = []
        unread: list[UnreadPart] = []
        for given, file in zip(distinct_names((file.filename for file in files), room=room), files, strict=True):
            external_id = f"{outer.external_id}/{given}"
            if external_id in self.names:  # the name of a file inside a file before it
                external_id = numbered(external_id, self.names, room=MAX_EXTERNAL_ID)
            self.names.add(external_id)
            name = external_id.removeprefix(f"{outer.external_id}/")
            request = _request(outer, name, file)
            try:
                write, inside = await self._prepare(request, depth=depth, deadline=deadline)
            except (TimeoutError, InvalidInputError, MissingExtraError) as error:
                left_out.append(name)
                self.failed.append(request)
                if _may_pass(error):
                    again.append(name.encode())
                continue
            place = len(self.writes)
            self.writes.append(write)
            self.writes[place], deeper = await self._read(write, inside, depth=depth + 1, deadline=deadline)
            unread += within(name, write.parsed.unread)
            unread += (replace(part, places=tuple(f"{name}/{place}" for place in part.places)) for part in deeper)
            if self.writes[place].content_hash != write.content_hash:
                again.append(self.writes[place].content_hash)
        if left_out:
            kind = UnreadKind.MEMBER if outer.source.media_type in _ARCHIVES else UnreadKind.ATTACHMENT
            unread.append(UnreadPart(kind=kind, count=len(left_out), places=tuple(left_out)))
        content_hash = (
            hashlib.sha256(b"\0".join([outer.content_hash, *again])).digest() if again else outer.content_hash
        )
        parsed = replace(outer.parsed, unread=merged([*outer.parsed.unread, *unread]))
        return replace(outer, parsed=parsed, content_hash=content_hash), unread

    async def _prepare(
        self, request: IngestRequest, *, depth: int, deadline: float
    ) -> tuple[DocumentWrite, Sequence[SourceFile]]:
        """Raises TimeoutError, MissingExtraError, or InvalidInputError, also beyond a limit."""
        size = self.size + len(request.file.content)
        if depth > MAX_DEPTH or len(self.writes) == MAX_PARTS or size > MAX_PART_BYTES:
            raise _beyond_limits()
        if asyncio.get_running_loop().time() >= deadline:
            raise TimeoutError
        async with asyncio.timeout_at(deadline):
            write, inside = await self.prepare(request)
        if self.characters + len(write.parsed.text) > MAX_CHARACTERS:
            raise _beyond_limits()
        self.size = size
        self.characters += len(write.parsed.text)
        return write, inside


def _beyond_limits() -> InvalidInputError:
    return InvalidInputError(
        "The file holds more files than are read.", field="content", remedy="Send them one by one."
    )


def _may_pass(error: Exception) -> bool:
    """Return whether a file may be read another time: on an idle machine, or with what is not installed now."""
    return not isinstance(error, InvalidInputError) or error.reason is not None


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

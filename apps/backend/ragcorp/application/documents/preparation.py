"""Prepares documents for storage: checks, parses, chunks and hashes."""

import hashlib
import json
import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

import anyio.to_thread

from ragcorp.application.documents.parts import PartsOfFile
from ragcorp.application.documents.reading import DocumentReader
from ragcorp.application.validation.attribute_checks import (
    MAX_METADATA_BYTES,
    MAX_TITLE,
    checked_attributes,
    owned_attributes,
    require_external_id,
)
from ragcorp.domain.documents import Document, DocumentAttributes, ParsedText, SourceFile, UnreadKind, index_text
from ragcorp.domain.exceptions import PayloadTooLargeError, UnreadableDocumentError
from ragcorp.domain.files.source_paths import is_generic, metadata_path, shown_path
from ragcorp.domain.ingestion import IngestRequest
from ragcorp.domain.ports.storage import DocumentWrite
from ragcorp.domain.ports.text import Digest, ReadingPool
from ragcorp.domain.principal import Principal
from ragcorp.domain.recognition import RecognizedPage
from ragcorp.domain.structure.entities import DocumentStructure
from ragcorp.domain.text.checks import clean_text, is_blank
from ragcorp.domain.unread import merged

logger = logging.getLogger(__name__)

MAX_NAME = 100
SMALL_BYTES = 32 * 1024
TEXT_TYPES = frozenset({"text/markdown", "text/plain"})
"""Small files of these types are read in this process."""
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentLimits:
    """Bounds of a document, in bytes, and the time for reading the files inside its file."""

    max_file_bytes: int = 20 * 1024 * 1024
    max_metadata_bytes: int = MAX_METADATA_BYTES
    parts_seconds: float = 120.0


class DocumentPreparation:
    """Prepares documents with ``reader``: small texts in a thread, all others in the children of ``pool``."""

    def __init__(self, *, reader: DocumentReader, pool: ReadingPool, limits: DocumentLimits) -> None:
        self._reader = reader
        self._pool = pool
        self._limits = limits

    def chunker(self, filename: str) -> str:
        """Return the fingerprint of the chunker for a file; stored chunks of another one are out of date."""
        return self._reader.chunker.fingerprint(plain=self._reader.parser.is_plain(filename))

    def check(self, request: IngestRequest, *, principal: Principal) -> IngestRequest:
        """Check attributes, size and media type without reading the content. Raises InvalidInputError or a subclass."""
        require_external_id(request.external_id)
        checked = checked_attributes(request.attributes, max_metadata_bytes=self._limits.max_metadata_bytes)
        attributes = owned_attributes(checked, principal)
        return self._checked_file(replace(request, attributes=attributes))

    def _checked_file(self, request: IngestRequest) -> IngestRequest:
        if len(request.file.content) > self._limits.max_file_bytes:
            raise PayloadTooLargeError(
                "The file is too large.",
                field="file",
                limit=f"{self._limits.max_file_bytes} bytes",
                remedy="Split it, or raise MAX_FILE_BYTES.",
            )
        media_type = self._reader.parser.media_type(request.file.filename, request.file.media_type or None)
        return replace(request, file=replace(request.file, media_type=media_type))

    async def read(self, file: SourceFile) -> ParsedText:
        """Return the text of a file. Raises what ``prepare`` does for one that cannot be read."""
        return await self._pool.run(DocumentReader.parse, file, size=len(file.content), apart=self.is_slow(file))

    def is_slow(self, file: SourceFile) -> bool:
        """Return whether reading the file may be slow, or worse: all but small texts."""
        media_type = self._reader.parser.media_type(file.filename, file.media_type or None)
        return media_type not in TEXT_TYPES or len(file.content) > SMALL_BYTES

    async def content_hashes(self, checked: Sequence[IngestRequest]) -> dict[str, bytes]:
        """Return the content hash of each checked request, by external_id."""
        return await anyio.to_thread.run_sync(
            lambda: {request.external_id: content_hash(request) for request in checked}
        )

    async def prepare(self, checked: IngestRequest, *, content_hash: bytes) -> DocumentWrite:
        """Parse and chunk the file of a checked request, and the files inside it. Raises InvalidInputError."""
        write, inside = await self._prepare_file(checked, content_hash)
        parts = PartsOfFile(prepare=self._prepare_part, seconds=self._limits.parts_seconds)
        return await parts.added_to(write, inside)

    async def _prepare_part(self, request: IngestRequest) -> tuple[DocumentWrite, Sequence[SourceFile]]:
        require_external_id(request.external_id)
        checked = self._checked_file(request)
        hashes = await self.content_hashes([checked])
        return await self._prepare_file(checked, hashes[checked.external_id])

    async def prepare_recognized(
        self, document: Document, source: SourceFile, recognized: Sequence[RecognizedPage]
    ) -> DocumentWrite:
        """Prepare a stored document with the text of recognised pages, but not the files inside it."""
        request = IngestRequest(external_id=document.external_id, file=source, attributes=document.attributes)
        write, _ = await self._prepare_file(request, bytes.fromhex(document.content_hash), recognized)
        others = (part for part in document.unread if part.kind is not UnreadKind.PAGE)
        pages = (part for part in write.parsed.unread if part.kind is UnreadKind.PAGE)
        parsed = replace(write.parsed, unread=merged([*pages, *others]))
        return replace(write, parsed=parsed)

    async def _prepare_file(
        self, checked: IngestRequest, content_hash: bytes, recognized: Sequence[RecognizedPage] = ()
    ) -> tuple[DocumentWrite, Sequence[SourceFile]]:
        file = checked.file
        digest = await self._pool.run(
            DocumentReader.digest, file, _path(checked), recognized, size=len(file.content), apart=self.is_slow(file)
        )
        write = await anyio.to_thread.run_sync(_write, checked, digest, content_hash, self.chunker(file.filename))
        return write, digest.parsed.parts

    async def index(self, checked: IngestRequest, parsed: ParsedText, *, content_hash: bytes) -> DocumentWrite:
        """Chunk a parsed document and find its entities. Raises UnreadableDocumentError if no text is left."""
        name, size = checked.file.filename, len(parsed.text)
        digest = await self._pool.run(
            DocumentReader.index, parsed, name, _path(checked), size=size, apart=size > SMALL_BYTES
        )
        return await anyio.to_thread.run_sync(_write, checked, digest, content_hash, self.chunker(name))

    async def extract(self, parsed: ParsedText, filename: str, path: str) -> DocumentStructure:
        """Return the entities of a text; none if it reaches a limit."""
        size = len(parsed.text)
        try:
            return await self._pool.run(
                DocumentReader.extract, parsed, filename, path, size=size, apart=size > SMALL_BYTES
            )
        except UnreadableDocumentError as error:
            logger.warning("the entities of a document could not be extracted: %s", error.reason)
            structure = self._reader.structure
            return DocumentStructure(fingerprint=structure.fingerprint if structure else "", path=path)


def _write(checked: IngestRequest, digest: Digest, content_hash: bytes, chunker: str) -> DocumentWrite:
    if is_blank(digest.parsed.text) or not digest.chunks:
        raise UnreadableDocumentError(
            "The document contains no text.", field="text", remedy="Send a document with at least one word."
        )
    title = checked.attributes.title or _derived_title(digest.parsed, external_id=checked.external_id)
    return DocumentWrite(
        external_id=checked.external_id,
        attributes=replace(checked.attributes, title=title, path=_path(checked)),
        parsed=replace(digest.parsed, unread=merged(digest.parsed.unread), parts=()),
        source=checked.file,
        content_hash=content_hash,
        chunker=chunker,
        chunks=digest.chunks,
        index_hashes=tuple(
            hashlib.sha256(
                index_text(title=title, heading_path=chunk.heading_path, content=chunk.content).encode()
            ).digest()
            for chunk in digest.chunks
        ),
        structure=digest.structure,
    )


def content_hash(checked: IngestRequest) -> bytes:
    """Return the SHA-256 over the original and its description."""
    attributes, file = checked.attributes, checked.file
    digest = hashlib.sha256(file.content)
    parts = [file.media_type, file.filename, *attributes.for_digest(), attributes.path, dict(attributes.metadata)]
    digest.update(json.dumps(parts, sort_keys=True, ensure_ascii=False).encode())
    return digest.digest()


def as_requested(document: Document, parsed: ParsedText) -> DocumentAttributes:
    """Return a stored document's attributes with derived ones blank, so that they are derived again."""
    attributes = document.attributes
    title_derived = attributes.title == _derived_title(parsed, external_id=document.external_id)
    given_path = attributes.path not in (
        document.external_id,
        _derived_path(attributes.metadata, external_id=document.external_id, filename=document.filename),
    )
    return replace(
        attributes, title="" if title_derived else attributes.title, path=attributes.path if given_path else None
    )


def _path(checked: IngestRequest) -> str:
    return checked.attributes.path or _derived_path(
        checked.attributes.metadata, external_id=checked.external_id, filename=checked.file.filename
    )


def _derived_path(metadata: Mapping[str, object], *, external_id: str, filename: str) -> str:
    """Return the metadata's path, else the external_id if it is a path, else the file's name, else the external_id."""
    named = external_id if shown_path(external_id) else shown_path(filename)
    return metadata_path(metadata) or named or external_id


def _derived_title(parsed: ParsedText, *, external_id: str) -> str:
    title = clean_text(parsed.title or "", field="title").strip()
    return document_title("" if is_generic(title) else title, external_id=external_id)


def document_title(title: str, *, external_id: str) -> str:
    """Return the title and, if it adds words, the file's name: ``Contrato (marco-acme-2025)``."""
    path = PurePosixPath(external_id)
    if not path.suffix or not _WORD.search(path.stem):
        return title[:MAX_TITLE]
    if not title:
        return " ".join(_WORD.findall(path.stem))[:MAX_TITLE]
    if {word.casefold() for word in _WORD.findall(path.stem)} <= {word.casefold() for word in _WORD.findall(title)}:
        return title[:MAX_TITLE]
    return f"{title[: MAX_TITLE - MAX_NAME - 3]} ({path.stem[:MAX_NAME]})"

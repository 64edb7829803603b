"""Prepares documents for storage: checks, parses, chunks and hashes. Blocking."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from ragcorp.application.structure.refresh import extracted
from ragcorp.application.validation.attribute_checks import (
    MAX_METADATA_BYTES,
    MAX_TITLE,
    checked_attributes,
    owned_attributes,
    require_external_id,
)
from ragcorp.domain.documents import Document, DocumentAttributes, ParsedText, SourceFile, index_text
from ragcorp.domain.exceptions import PayloadTooLargeError, UnreadableDocumentError
from ragcorp.domain.files.source_paths import is_generic, metadata_path, shown_path
from ragcorp.domain.ingestion import IngestRequest
from ragcorp.domain.ports.storage import DocumentWrite
from ragcorp.domain.ports.structure import StructureExtractor
from ragcorp.domain.ports.text import Chunker, DocumentParser
from ragcorp.domain.principal import Principal
from ragcorp.domain.structure.entities import DocumentStructure
from ragcorp.domain.text.checks import clean_text, is_blank

MAX_NAME = 100
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentLimits:
    """Bounds of a document, in bytes."""

    max_file_bytes: int = 20 * 1024 * 1024
    max_metadata_bytes: int = MAX_METADATA_BYTES


class DocumentPreparation:
    """Prepares documents with a parser and a chunker; without ``structure`` they get no entities."""

    def __init__(
        self,
        *,
        parser: DocumentParser,
        chunker: Chunker,
        limits: DocumentLimits,
        structure: StructureExtractor | None = None,
    ) -> None:
        self._parser = parser
        self._chunker = chunker
        self._limits = limits
        self._structure = structure

    def chunker(self, filename: str) -> str:
        """Return the fingerprint of the chunker for a file; stored chunks of another one are out of date."""
        return self._chunker.fingerprint(plain=self._parser.is_plain(filename))

    def check(self, request: IngestRequest, *, principal: Principal) -> IngestRequest:
        """Check attributes, size and media type without reading the content. Raises InvalidInputError or a subclass."""
        require_external_id(request.external_id)
        checked = checked_attributes(request.attributes, max_metadata_bytes=self._limits.max_metadata_bytes)
        attributes = owned_attributes(checked, principal)
        if len(request.file.content) > self._limits.max_file_bytes:
            raise PayloadTooLargeError(
                "The file is too large.",
                field="file",
                limit=f"{self._limits.max_file_bytes} bytes",
                remedy="Split it, or raise MAX_FILE_BYTES.",
            )
        media_type = self._parser.media_type(request.file.filename, request.file.media_type or None)
        return replace(request, attributes=attributes, file=replace(request.file, media_type=media_type))

    def read(self, file: SourceFile) -> ParsedText:
        """Return the text of a file. Raises what ``prepare`` does for one that cannot be read."""
        return self._parser.parse(file)

    def prepare(self, checked: IngestRequest) -> DocumentWrite:
        """Parse and chunk the file of a checked request. Raises InvalidInputError or a subclass."""
        parsed = self.read(checked.file)
        return self.index(checked, parsed, content_hash=content_hash(checked))

    def index(self, checked: IngestRequest, parsed: ParsedText, *, content_hash: bytes) -> DocumentWrite:
        """Chunk a parsed document and find its entities. Raises UnreadableDocumentError if no text is left."""
        title = checked.attributes.title or _derived_title(parsed, external_id=checked.external_id)
        path = _path(checked)
        attributes = replace(checked.attributes, title=title, path=path)
        if is_blank(parsed.text):
            raise UnreadableDocumentError(
                "The document contains no text.", field="text", remedy="Send a document with at least one word."
            )
        # a stored text has lost its mark as plain
        parsed = replace(parsed, plain=self._parser.is_plain(checked.file.filename))
        chunks = tuple(self._chunker.chunk(parsed))
        if not chunks:
            raise UnreadableDocumentError("The document contains no text.", field="text")
        return DocumentWrite(
            external_id=checked.external_id,
            attributes=attributes,
            parsed=parsed,
            source=checked.file,
            content_hash=content_hash,
            chunker=self._chunker.fingerprint(plain=parsed.plain),
            chunks=chunks,
            index_hashes=tuple(
                hashlib.sha256(
                    index_text(title=title, heading_path=chunk.heading_path, content=chunk.content).encode()
                ).digest()
                for chunk in chunks
            ),
            structure=(
                DocumentStructure()
                if self._structure is None
                else extracted(self._structure, parsed, path=path, title=title)
            ),
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

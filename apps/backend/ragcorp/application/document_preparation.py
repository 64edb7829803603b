"""Turns a request into a document ready to be stored: checked, parsed, chunked and hashed. Blocking."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import PurePosixPath

from ragcorp.domain.documents import DocumentAttributes, ParsedText, VisibilityScope, index_text
from ragcorp.domain.exceptions import InvalidInputError, PayloadTooLargeError, UnreadableDocumentError
from ragcorp.domain.ingestion import IngestRequest
from ragcorp.domain.ports.storage import DocumentWrite
from ragcorp.domain.ports.text import Chunker, DocumentParser
from ragcorp.domain.principal import Principal
from ragcorp.domain.text import clean_text, is_blank, require_length, require_storable

MAX_EXTERNAL_ID = 500
MAX_NAME = 100
_WORD = re.compile(r"[^\W_]+")
MAX_TITLE = 500
MAX_LABEL = 100
MAX_METADATA_DEPTH = 8
LANGUAGE_PATTERN = re.compile(r"[a-z]{2,3}")


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentLimits:
    """Bounds of a document, in bytes."""

    max_file_bytes: int = 20 * 1024 * 1024
    max_metadata_bytes: int = 16 * 1024


class DocumentPreparation:
    """Prepares documents with a parser and a chunker."""

    def __init__(self, *, parser: DocumentParser, chunker: Chunker, limits: DocumentLimits) -> None:
        self._parser = parser
        self._chunker = chunker
        self._limits = limits

    @property
    def chunker(self) -> str:
        """The fingerprint of the chunker: another one means that stored chunks are out of date."""
        return self._chunker.fingerprint

    def check(self, request: IngestRequest, *, principal: Principal) -> IngestRequest:
        """Return the request with checked attributes and media type, without reading the file's content.

        Raises InvalidInputError, PayloadTooLargeError or UnsupportedMediaTypeError.
        """
        require_external_id(request.external_id)
        attributes = _owned(self._checked(request.attributes), principal)
        if len(request.file.content) > self._limits.max_file_bytes:
            raise PayloadTooLargeError(
                "The file is too large.",
                field="file",
                limit=f"{self._limits.max_file_bytes} bytes",
                remedy="Split it, or raise MAX_FILE_BYTES.",
            )
        media_type = self._parser.media_type(request.file.filename, request.file.media_type or None)
        return replace(request, attributes=attributes, file=replace(request.file, media_type=media_type))

    def prepare(self, checked: IngestRequest) -> DocumentWrite:
        """Parse and chunk the file of a checked request.

        Raises InvalidInputError, PayloadTooLargeError, UnsupportedMediaTypeError or UnreadableDocumentError.
        """
        parsed = self._parser.parse(checked.file)
        return self.index(checked, parsed, content_hash=content_hash(checked))

    def index(self, checked: IngestRequest, parsed: ParsedText, *, content_hash: bytes) -> DocumentWrite:
        """Chunk a parsed document. Raises UnreadableDocumentError if no text is left."""
        title = checked.attributes.title or document_title(
            clean_text(parsed.title or "", field="title").strip(), external_id=checked.external_id
        )
        attributes = replace(checked.attributes, title=title, path=checked.attributes.path or checked.external_id)
        if is_blank(parsed.text):
            raise UnreadableDocumentError(
                "The document holds no text.", field="text", remedy="Send a document with at least one word."
            )
        chunks = tuple(self._chunker.chunk(parsed))
        if not chunks:
            raise UnreadableDocumentError("The document holds no text.", field="text")
        return DocumentWrite(
            external_id=checked.external_id,
            attributes=attributes,
            parsed=parsed,
            source=checked.file,
            content_hash=content_hash,
            chunker=self._chunker.fingerprint,
            chunks=chunks,
            index_hashes=tuple(
                hashlib.sha256(
                    index_text(title=title, heading_path=chunk.heading_path, content=chunk.content).encode()
                ).digest()
                for chunk in chunks
            ),
        )

    def _checked(self, attributes: DocumentAttributes) -> DocumentAttributes:
        title = clean_text(attributes.title, field="title").strip()
        require_length(title, field="title", limit=MAX_TITLE)
        for field, value in (("artifact_type", attributes.artifact_type), ("owner", attributes.owner)):
            require_storable(value, field=field)
            require_length(value, field=field, limit=MAX_LABEL)
        if not LANGUAGE_PATTERN.fullmatch(attributes.language):
            raise InvalidInputError(
                "language is not an ISO 639 code.", field="language", remedy="Use a code such as 'es', 'en' or 'pt'."
            )
        if attributes.path is not None:
            require_storable(attributes.path, field="path")
            require_length(attributes.path, field="path", limit=1000)
        metadata = _storable_metadata(attributes.metadata, depth=1)
        size = len(json.dumps(metadata, ensure_ascii=False).encode())
        if size > self._limits.max_metadata_bytes:
            raise InvalidInputError(
                "metadata is too large.",
                field="metadata",
                limit=f"{self._limits.max_metadata_bytes} bytes as JSON",
                remedy="Keep only what filters and results need.",
            )
        occurred_at = attributes.occurred_at and _in_utc(attributes.occurred_at)
        return replace(attributes, title=title, metadata=metadata, occurred_at=occurred_at)


def _in_utc(moment: datetime) -> datetime:
    """Return the moment in UTC; one without a zone is taken to be in UTC already."""
    try:
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except OverflowError:
        raise InvalidInputError(
            "occurred_at is out of range.",
            field="occurred_at",
            limit="years 1 to 9999 in UTC",
            remedy="Give a time in that range.",
        ) from None


def _owned(attributes: DocumentAttributes, principal: Principal) -> DocumentAttributes:
    """Return the attributes with the owner that their scope needs.

    Raises InvalidInputError for a document that the writer could not read back: above its clearance, private to
    somebody else, or of a group that it is not in.
    """
    if attributes.sensitivity > principal.clearance:
        raise InvalidInputError(
            "sensitivity is above your own clearance.",
            field="sensitivity",
            limit=principal.clearance.label,
            remedy="Choose a level that you may read.",
        )
    if attributes.visibility_scope is VisibilityScope.PRIVATE:
        if attributes.owner not in ("", principal.subject):
            raise InvalidInputError(
                "A private document belongs to its writer.",
                field="owner",
                remedy="Leave owner out, or choose another visibility_scope.",
            )
        return replace(attributes, owner=principal.subject)
    if attributes.visibility_scope is VisibilityScope.GROUP and attributes.owner not in principal.groups:
        raise InvalidInputError(
            "A group's document needs one of your groups as its owner.",
            field="owner",
            remedy="Name a group that you are in, or choose another visibility_scope.",
        )
    return attributes


def require_external_id(external_id: str) -> None:
    """Raise InvalidInputError unless ``external_id`` can name a document."""
    require_storable(external_id, field="external_id")
    require_length(external_id, field="external_id", limit=MAX_EXTERNAL_ID, minimum=1)
    if any(ord(character) < 32 or ord(character) == 127 for character in external_id) or is_blank(external_id):
        raise InvalidInputError(
            "external_id is blank or holds a control character.",
            field="external_id",
            remedy="Use a path or a plain name.",
        )


def _storable_metadata(metadata: Mapping[str, object], *, depth: int) -> dict[str, object]:
    cleaned: dict[str, object] = {}
    for key, value in metadata.items():
        require_storable(key, field="metadata")
        cleaned[key] = _storable_value(value, depth=depth)
    return cleaned


def _storable_value(value: object, *, depth: int) -> object:
    if depth > MAX_METADATA_DEPTH:
        raise InvalidInputError(
            "metadata is nested too deeply.", field="metadata", limit=f"{MAX_METADATA_DEPTH} levels"
        )
    match value:
        case str():
            require_storable(value, field="metadata")
            return value
        case bool() | int() | None:
            return value
        case float() if math.isfinite(value):
            return value
        case Mapping():
            return _storable_metadata(value, depth=depth + 1)
        case list() | tuple():
            return [_storable_value(item, depth=depth + 1) for item in value]
    raise InvalidInputError(
        "metadata holds a value that JSON cannot carry.",
        field="metadata",
        remedy="Use text, finite numbers, booleans, null, lists and objects.",
    )


def content_hash(checked: IngestRequest) -> bytes:
    """Return the SHA-256 over the original and all that describes it: an equal hash means that nothing changed."""
    attributes, file = checked.attributes, checked.file
    digest = hashlib.sha256(file.content)
    described = [
        file.media_type,
        file.filename,
        attributes.title,
        attributes.language,
        attributes.artifact_type,
        int(attributes.sensitivity),
        attributes.visibility_scope,
        attributes.owner,
        attributes.occurred_at.isoformat() if attributes.occurred_at else None,
        attributes.path,
        dict(attributes.metadata),
    ]
    digest.update(json.dumps(described, sort_keys=True, ensure_ascii=False).encode())
    return digest.digest()


def document_title(found: str, *, external_id: str) -> str:
    """Return the title found in a file with the file's name, as far as that says more: ``Contrato (marco-acme-2025)``.

    Every passage is indexed and embedded with it, and a clause rarely repeats whose contract it stands in. An
    external_id without a file's suffix names no file.
    """
    path = PurePosixPath(external_id)
    if not path.suffix or not _WORD.search(path.stem):
        return found[:MAX_TITLE]
    if not found:
        return " ".join(_WORD.findall(path.stem))[:MAX_TITLE]
    if {word.casefold() for word in _WORD.findall(path.stem)} <= {word.casefold() for word in _WORD.findall(found)}:
        return found[:MAX_TITLE]
    return f"{found[: MAX_TITLE - MAX_NAME - 3]} ({path.stem[:MAX_NAME]})"

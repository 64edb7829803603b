"""Values of documents: source files, chunks and stored documents."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Generic, Self, TypeVar
from uuid import UUID

from ragcorp.domain.exceptions import InvalidInputError, RagcorpError
from ragcorp.domain.files.source_paths import document_path, is_generic, shown_path, shown_title
from ragcorp.domain.principal import Sensitivity
from ragcorp.domain.recognition import RecognitionCounts
from ragcorp.domain.retrieval import CHUNK_COLLECTION, HitKey, no_metadata

MAX_CHARACTERS = 20_000_000
"""Of the text of one file; also of the texts of all files inside it."""


class VisibilityScope(StrEnum):
    """Who may read a document: its whole workspace, the owner's group, or the owner alone."""

    WORKSPACE = "workspace"
    GROUP = "group"
    PRIVATE = "private"

    @classmethod
    def parse(cls, name: str, *, field: str = "visibility_scope") -> Self:
        """Raises InvalidInputError for an unknown name."""
        if name in set(cls):
            return cls(name)
        raise InvalidInputError(
            f"{field} is not a known scope.", field=field, limit=", ".join(cls), remedy="Use one of the listed scopes."
        )


class IngestStatus(StrEnum):
    CREATED = "created"
    UPDATED = "updated"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteOutcome:
    """The result of writing an item of memory or history, an entity or a fact."""

    external_id: str
    status: IngestStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteFailure:
    """An entry of a batch that was not stored, with its error."""

    external_id: str | None = None
    error: RagcorpError


SaveOutcome = WriteOutcome | WriteFailure

Entry = TypeVar("Entry")
Position = TypeVar("Position")


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[Entry, Position]):
    """A page of a list in the order of its positions; ``next_after`` is None at the end."""

    items: tuple[Entry, ...]
    next_after: Position | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """The original file: bytes, media type, file name; ``text`` if it was sent as text (``content`` is its UTF-8)."""

    content: bytes
    media_type: str
    filename: str
    text: str | None = None

    @classmethod
    def of_text(cls, text: str, *, media_type: str, filename: str = "") -> Self:
        return cls(content=text.encode(), media_type=media_type, filename=filename, text=text)


class UnreadKind(StrEnum):
    """What a parser leaves out."""

    PAGE = "page"
    ATTACHMENT = "attachment"
    MEMBER = "member"
    HIDDEN_SHEET = "hidden_sheet"
    FORMULA = "formula"
    ANNOTATION = "annotation"
    IMAGE = "image"
    EMBEDDED_OBJECT = "embedded_object"
    DAMAGED_TEXT = "damaged_text"
    FORMATTING = "formatting"


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadPart:
    """Parts of a file that its text lacks. ``places``: page numbers or names of the first of them, if known."""

    kind: UnreadKind
    count: int = 1
    places: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.count < max(1, len(self.places)):
            raise InvalidInputError("Unread parts are counted from 1, and each has one place.", field="count")


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedText:
    """The text of a document, as Markdown where it has structure.

    ``page_starts`` holds, for paged formats, the character offset in ``text`` at which each page starts
    (page 1 first, ascending); empty for others. ``title`` is the one found in the file, if any. ``plain``: the text
    is not Markdown, whatever it looks like: a ``#`` starts a comment. ``unread``: what the file has beside the text.
    ``scanned`` are the pages that are pictures of text; ``recognized`` gives the confidence in [0, 1] of those whose
    text was recognised.
    ``parts``: the files inside it, which are documents of their own; their names are relative paths.
    """

    text: str
    title: str | None = None
    page_starts: tuple[int, ...] = ()
    plain: bool = False
    unread: tuple[UnreadPart, ...] = ()
    scanned: tuple[int, ...] = ()
    recognized: Mapping[int, float] = field(default_factory=dict)
    parts: tuple[SourceFile, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkDraft:
    """A passage before it is stored. Lines (1-based, of the parsed text) and pages are inclusive spans.

    ``recognition_confidence`` is the lowest of its pages whose text was recognised (OCR); None if none was.
    """

    chunk_index: int
    content: str
    heading_path: tuple[str, ...]
    line_start: int
    line_end: int
    page_start: int | None
    page_end: int | None
    token_count: int
    recognition_confidence: float | None = None


def index_text(*, title: str, heading_path: tuple[str, ...], content: str) -> str:
    """Return the text to embed for a passage: ``title. heading path. text``; a title in the path is not repeated."""
    path = [part for part in heading_path if part != title]
    lead = ". ".join(part.rstrip(". ") for part in (title, *path) if part)
    return f"{lead}. {content}" if lead else content


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentAttributes:
    """A document's attributes other than its text. Its chunks have the same columns, for filters."""

    title: str = ""
    language: str = "es"
    artifact_type: str = "document"
    sensitivity: Sensitivity = Sensitivity.NORMAL
    visibility_scope: VisibilityScope = VisibilityScope.WORKSPACE
    owner: str = ""
    occurred_at: datetime | None = None
    path: str | None = None
    metadata: Mapping[str, object] = field(default_factory=no_metadata)

    def for_digest(self) -> list[object]:
        """Return the attributes other than path and metadata, for a digest over JSON."""
        return [
            self.title,
            self.language,
            self.artifact_type,
            int(self.sensitivity),
            self.visibility_scope,
            self.owner,
            self.occurred_at.isoformat() if self.occurred_at else None,
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A stored document without its text.

    ``chunks`` and ``pending`` count passages and missing vectors; ``unread``: parts of the file that were not read.
    ``recognition``: how far its scanned pages are, None if it has none. ``part_of``: the external_id of the document
    whose file holds this one's; ``parts``: those of the documents made of the files inside its own, if they were read.
    """

    id: UUID
    external_id: str
    attributes: DocumentAttributes
    content_hash: str
    media_type: str
    filename: str
    size_bytes: int
    chunks: int
    pending: int
    created_at: datetime
    updated_at: datetime
    deleted_at: datetime | None = None
    unread: tuple[UnreadPart, ...] = ()
    recognition: RecognitionCounts | None = None
    part_of: str | None = None
    parts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A stored passage with the fields that results and citations show.

    An item of another collection is a passage too: the opening of an artifact, a memory, a turn, a graph fact. If it
    has no document, ``document_id`` is its own.
    """

    id: str
    document_id: UUID
    external_id: str
    chunk_index: int = 0
    content: str
    heading_path: tuple[str, ...] = ()
    title: str
    language: str
    path: str | None
    metadata: Mapping[str, object] = field(default_factory=no_metadata)
    line_start: int
    line_end: int
    page_start: int | None = None
    page_end: int | None = None
    recognition_confidence: float | None = None
    collection: str = CHUNK_COLLECTION
    artifact_type: str = "document"
    sensitivity: Sensitivity = Sensitivity.NORMAL
    visibility_scope: VisibilityScope = VisibilityScope.WORKSPACE
    owner: str = ""
    occurred_at: datetime | None = None
    session: str | None = None
    speaker: str | None = None
    entities: tuple[str, ...] = ()

    @property
    def key(self) -> HitKey:
        """The key of the hits for this passage."""
        return (self.id, "", 0) if self.collection == CHUNK_COLLECTION else (self.id, self.collection, 0)

    @property
    def of_document(self) -> bool:
        """Whether the passage belongs to a document."""
        return self.collection in (CHUNK_COLLECTION, "artifacts")

    @property
    def source_path(self) -> str | None:
        """The path of the document or file to cite with the passage's lines; None if it has neither."""
        return self._named_path or (str(self.document_id) if self.of_document else None)

    @property
    def shown_title(self) -> str:
        """The title to show; the file's name in place of a loader's generic title."""
        return shown_title(self.title, path=self._named_path) if is_generic(self.title) else self.title

    @property
    def _named_path(self) -> str | None:
        if not self.of_document:
            return shown_path(self.path)
        return document_path(path=self.path, external_id=self.external_id, metadata=self.metadata, title=self.title)

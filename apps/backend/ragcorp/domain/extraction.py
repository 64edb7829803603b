"""Values of the extraction of facts from text by a language model."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractorVersion:
    """The extractor. ``prompt_version`` changes whenever the same text could give another answer."""

    model: str
    prompt_version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedFact:
    """A fact stated by a text, with the quotation that states it. The text contains all names."""

    subject: str
    subject_kind: str
    predicate: str
    object: str
    object_kind: str
    quote: str
    valid_from: datetime | None = None
    valid_to: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """The facts that a model found in a text. ``dropped`` counts those that the text does not support."""

    facts: tuple[ExtractedFact, ...]
    dropped: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionTask:
    """A chunk to extract facts from; ``cached`` is an earlier extraction of the same text."""

    chunk_id: int
    document_id: UUID
    content_hash: bytes
    title: str
    content: str
    cached: Extraction | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionReport:
    """Counts: ``chunks`` processed (``reused``: from an earlier extraction) or ``failed``, ``facts`` stored or
    ``dropped``.

    ``removed`` facts lost their chunk; ``remaining`` chunks are to be processed.
    """

    chunks: int = 0
    reused: int = 0
    failed: int = 0
    facts: int = 0
    dropped: int = 0
    removed: int = 0
    remaining: int = 0

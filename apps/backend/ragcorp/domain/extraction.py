"""Values of the extraction of facts from text by a language model."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractorVersion:
    """Who reads. ``prompt_version`` changes whenever the same text could be answered otherwise."""

    model: str
    prompt_version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedFact:
    """A fact that a text says, with the words in which it says so. All names stand in the text."""

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
    """What a model found in a text. ``dropped`` counts what it said and the text does not bear out."""

    facts: tuple[ExtractedFact, ...]
    dropped: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionTask:
    """A chunk from which facts are to be extracted; ``known`` is what was found in the same text before."""

    chunk_id: int
    document_id: UUID
    content_hash: bytes
    title: str
    content: str
    known: Extraction | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionReport:
    """``chunks`` were read (``reused`` of them by an earlier answer) and ``failed`` are to be tried again.

    ``facts`` stand now on what was read; ``dropped`` were said by the model and not borne out by the text.
    ``removed`` facts were of chunks that are gone. ``remaining`` chunks wait.
    """

    chunks: int = 0
    reused: int = 0
    failed: int = 0
    facts: int = 0
    dropped: int = 0
    removed: int = 0
    remaining: int = 0

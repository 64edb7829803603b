"""Values of answering: what the answerer gets, what it yields, and the cited answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID

from ragcorp.domain.documents import Chunk
from ragcorp.domain.retrieval import CHUNK_COLLECTION, SourceReport
from ragcorp.domain.search.requests import SearchResponse
from ragcorp.domain.structure.hydration import Hydration


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A retrieved chunk under its citation number ``n`` (from 1)."""

    n: int
    chunk: Chunk


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerPrompt:
    """A question with the passages that may be cited. ``language`` is that of the question."""

    question: str
    language: str
    workspace: str
    passages: tuple[Passage, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """Words of passage ``n`` that carry a part of the answer."""

    n: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerDelta:
    """The next piece of the answer's text."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerFinished:
    """The end of an answer. ``quotes`` is empty where the answerer quotes nothing literally."""

    abstained: bool
    quotes: tuple[Quote, ...] = ()
    usage: Mapping[str, int] = field(default_factory=dict)


AnswerEvent = AnswerDelta | AnswerFinished


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """Where a [n] of an answer leads."""

    n: int
    chunk_id: str
    document_id: UUID
    external_id: str
    title: str
    quote: str
    path: str | None
    line_start: int
    line_end: int
    page: int | None
    collection: str = CHUNK_COLLECTION


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The checked answer: every [n] in ``text`` stands in ``citations`` once.

    ``rewritten_query`` is what was asked instead of a follow-up question, None where that is the question itself;
    ``hydration`` what the turn of an episode showed, if the request named one.
    """

    text: str
    abstained: bool
    citations: tuple[Citation, ...]
    degraded: tuple[SourceReport, ...]
    usage: Mapping[str, int]
    rewritten_query: str | None = None
    hydration: Hydration | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Searched:
    """First event of an answer: what the answerer will read, and for which question if that was rewritten."""

    response: SearchResponse
    rewritten_query: str | None = None


AskEvent = Searched | AnswerDelta | Answer

"""Values of answering: the answerer's prompt and events, and the cited answer."""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from uuid import UUID

from ragcorp.domain.documents import Chunk, UnreadPart
from ragcorp.domain.exceptions import AnswererUnavailableError
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
class AnswerDelta:
    """The next characters of the answer. A language model cites passages in them as [n]."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotedPiece:
    """A part of the answer that rests on the words ``quote`` of passage ``n``. Readers see ``text`` and then [n]."""

    text: str
    quote: str
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerFinished:
    """The end of an answer, with the tokens that a language model used."""

    abstained: bool
    usage: Mapping[str, int] = field(default_factory=dict)


AnswerEvent = AnswerDelta | QuotedPiece | AnswerFinished


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """The passage, and its words, behind an [n] of an answer.

    ``recognition_confidence`` in [0, 1]: that of its page, whose text was recognised (OCR); None for other text.
    """

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
    recognition_confidence: float | None = None
    collection: str = CHUNK_COLLECTION


@dataclass(frozen=True, slots=True, kw_only=True)
class IncompleteDocument:
    """A document behind an answer, with the ``unread`` parts of its file that may say more."""

    external_id: str
    title: str
    unread: tuple[UnreadPart, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The checked answer, with a citation for every [n] in ``text``, and the question that replaced a follow-up.

    ``incomplete``: the cited documents that were not read whole; for an abstention, those of the first results.
    """

    text: str
    abstained: bool
    citations: tuple[Citation, ...]
    degraded: tuple[SourceReport, ...]
    usage: Mapping[str, int]
    rewritten_query: str | None = None
    hydration: Hydration | None = None
    incomplete: tuple[IncompleteDocument, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Searched:
    """First event of an answer: the search results that the answerer will read, and the rewritten question, if any."""

    response: SearchResponse
    rewritten_query: str | None = None


AskEvent = Searched | AnswerDelta | Answer


async def final_answer(
    events: AsyncGenerator[AskEvent], *, on_search: Callable[[SearchResponse], object] | None = None
) -> Answer:
    """Return the last event, the answer, and close the stream. Raises AnswererUnavailableError without one."""
    async with aclosing(events):
        async for event in events:
            if isinstance(event, Answer):
                return event
            if isinstance(event, Searched) and on_search is not None:
                on_search(event.response)
    raise AnswererUnavailableError("The answer broke off.", reason="cut", remedy="Try again.")

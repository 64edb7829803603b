"""Values of the memory briefing: remembered items and the text for a language model's prompt."""

from dataclasses import dataclass
from datetime import datetime

from ragcorp.domain.retrieval import SourceReport
from ragcorp.domain.search.requests import SearchResponse


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryItem:
    """A retrieved passage as a memory item; the text of a graph fact is ``A -> B: predicate``."""

    id: str
    collection: str
    text: str
    score: float
    speaker: str | None = None
    session: str | None = None
    occurred_at: datetime | None = None
    entities: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryContext:
    """The fenced briefing for a prompt, "" if empty, and all results as ``items``, neutralised too."""

    context: str
    items: tuple[MemoryItem, ...]
    response: SearchResponse

    @property
    def degraded(self) -> tuple[SourceReport, ...]:
        return self.response.degraded

"""Values of the memory briefing: what is remembered, and the text that a language model reads of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ragcorp.domain.retrieval import SourceReport
from ragcorp.domain.search.requests import SearchResponse


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryItem:
    """A retrieved passage as memory: a turn, a memory, a fact of the graph (``A -> B: predicate``) or a chunk.

    ``score`` is the retrieval's, higher is better.
    """

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
    """``context`` is the briefing inside its fence, ready for a prompt; "" where nothing is remembered.

    ``items`` are what was found, best first, also those that the briefing had no room for; no delimiter is left in
    their fields either. ``response`` is the search behind them.
    """

    context: str
    items: tuple[MemoryItem, ...]
    response: SearchResponse

    @property
    def degraded(self) -> tuple[SourceReport, ...]:
        return self.response.degraded

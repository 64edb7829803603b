"""Fakes for conversations: history in memory, a search that found already, an answerer that says what it is told."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from uuid import UUID

from ragcorp.application.answering.cited_pages import CitedPages
from ragcorp.domain.answers import AnswerDelta, AnswerEvent, AnswerFinished, AnswerPrompt
from ragcorp.domain.collections import Collection, Item, ItemDraft
from ragcorp.domain.documents import Chunk, IngestStatus, VisibilityScope, WriteOutcome
from ragcorp.domain.ports.chunks import PagedText, PageSpan
from ragcorp.domain.principal import Principal
from ragcorp.domain.retrieval import SourceReport
from ragcorp.domain.search.requests import SearchHit, SearchMode, SearchRequest, SearchResponse
from ragcorp.domain.structure.hydration import Hydration

MOMENT = datetime(2026, 3, 1, tzinfo=UTC)


def turn(text: str, speaker: str | None = None, **fields: object) -> Chunk:
    """Return a passage of history, or of the collection that ``fields`` name."""
    defaults: dict[str, object] = {
        "id": "7", "document_id": UUID(int=7), "external_id": "7", "chunk_index": 0, "content": text,
        "speaker": speaker,
        "heading_path": (), "title": "", "language": "es", "path": None, "metadata": {}, "line_start": 1, "line_end": 1,
        "page_start": None, "page_end": None, "collection": "history",
    }  # fmt: skip
    return Chunk(**(defaults | fields))  # type: ignore[arg-type]


class NoPages:
    """No document has pages."""

    async def read(self, spans: Sequence[PageSpan], *, principal: Principal) -> Mapping[PageSpan, PagedText]:
        del spans, principal
        return {}


NO_PAGES = CitedPages(texts=NoPages())


@dataclass
class FoundAlready:
    """A search that finds the given passages, after ``seconds`` or with ``error``; it keeps what it was asked."""

    chunks: Sequence[Chunk] = ()
    reports: Sequence[SourceReport] = ()
    error: Exception | None = None
    seconds: float = 0.0
    hydration: Hydration | None = None
    requests: list[SearchRequest] = field(default_factory=list)

    async def search(self, request: SearchRequest, *, principal: Principal) -> SearchResponse:
        del principal
        self.requests.append(request)
        await asyncio.sleep(self.seconds)
        if self.error is not None:
            raise self.error
        hits = tuple(
            SearchHit(rank=rank, score=1 / (60 + rank), score_type="rrf", chunk=result, sources=())
            for rank, result in enumerate(self.chunks[: request.limit], start=1)
        )
        return SearchResponse(
            mode_used=SearchMode.HYBRID, hits=hits, reports=tuple(self.reports), hydration=self.hydration
        )


@dataclass
class Says:
    """An answerer that says ``text`` after ``seconds``, or raises ``error``."""

    text: str = "El plazo es de 30 días [1]."
    seconds: float = 0.0
    error: Exception | None = None
    prompts: list[AnswerPrompt] = field(default_factory=list)
    name: str = "says"

    async def answer(self, prompt: AnswerPrompt) -> AsyncGenerator[AnswerEvent]:
        self.prompts.append(prompt)
        await asyncio.sleep(self.seconds)
        if self.error is not None:
            raise self.error
        yield AnswerDelta(text=self.text)
        yield AnswerFinished(abstained=False)

    async def aclose(self) -> None:
        return None


class InMemoryHistory:
    """What conversations call of an ItemRepository, which passes ``TurnsOfConversations``.

    ``read_error`` and ``write_error`` are raised, and ``hang`` waits for ever.
    """

    def __init__(self) -> None:
        self.stored: dict[tuple[str, str], Item] = {}
        self.read_error: Exception | None = None
        self.write_error: Exception | None = None
        self.hang = False

    @property
    def items(self) -> list[Item]:
        return list(self.stored.values())

    def of(self, session: str) -> list[Item]:
        return sorted((item for item in self.items if item.session == session), key=_time)

    def said(self, session: str) -> list[tuple[str | None, str]]:
        return [(item.speaker, item.text) for item in self.of(session)]

    async def save_many(self, drafts: Sequence[ItemDraft], *, principal: Principal) -> list[WriteOutcome]:
        await self._fail(self.write_error)
        return [self._save(draft, principal.workspace) for draft in drafts]

    def _save(self, draft: ItemDraft, workspace: str) -> WriteOutcome:
        name = draft.external_id or hashlib.sha256(str(draft.named_after).encode()).hexdigest()[:32]
        before = self.stored.get((workspace, name))
        now = Item(
            id=str(len(self.stored) + 1) if before is None else before.id,
            collection=Collection.HISTORY,
            external_id=name,
            text=draft.text,
            attributes=draft.attributes,
            session=draft.session,
            speaker=draft.speaker,
            entities=draft.entities,
            pending=True,
            created_at=MOMENT,
            updated_at=MOMENT,
        )
        self.stored[workspace, name] = now
        same = IngestStatus.UNCHANGED if before == now else IngestStatus.UPDATED
        return WriteOutcome(external_id=name, status=IngestStatus.CREATED if before is None else same)

    async def latest_of_conversation(self, session: str, *, principal: Principal, limit: int) -> list[Item]:
        await self._fail(self.read_error)
        own = [item for (workspace, _), item in self.stored.items() if workspace == principal.workspace]
        own = [item for item in own if item.session == session and _is_own(item, principal)]
        return sorted(own, key=_time)[-limit:]

    async def _fail(self, error: Exception | None) -> None:
        if self.hang:
            await asyncio.Event().wait()
        if error is not None:
            raise error


def _time(item: Item) -> tuple[datetime, int]:
    return (item.attributes.occurred_at or MOMENT, int(item.id))


def _is_own(item: Item, principal: Principal) -> bool:
    about = item.attributes
    if about.sensitivity > principal.clearance:
        return False
    return about.visibility_scope is VisibilityScope.PRIVATE and about.owner == principal.subject


class Spanish:
    def detect(self, text: str) -> str:
        del text
        return "es"

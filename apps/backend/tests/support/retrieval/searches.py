"""A search for tests: it implements the port and ranks as it is told."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from ragcorp.application.retrieval.search import page_cursor
from ragcorp.application.retrieval.search.page_cursor import Position
from ragcorp.application.retrieval.search.search_chunks import current_hour
from ragcorp.domain.documents import Chunk
from ragcorp.domain.principal import Principal
from ragcorp.domain.retrieval import SourceOutcome, SourceReport
from ragcorp.domain.search.requests import SearchHit, SearchMode, SearchRequest, SearchResponse


@dataclass
class ScriptedSearch:
    """Gives each mode its ranking, page by page. ``errors`` and ``gates`` are by mode: a gate holds until it is set."""

    rankings: Mapping[SearchMode, Sequence[str]]
    errors: dict[SearchMode, Exception] = field(default_factory=dict)
    gates: dict[SearchMode, asyncio.Event] = field(default_factory=dict)
    outcomes: dict[SearchMode, SourceOutcome] = field(default_factory=dict)
    requests: list[SearchRequest] = field(default_factory=list)
    entered: asyncio.Event = field(default_factory=asyncio.Event)
    cancelled: list[SearchMode] = field(default_factory=list)

    async def search(self, request: SearchRequest, *, principal: Principal) -> SearchResponse:
        self.requests.append(request)
        if request.mode in self.gates:
            self.entered.set()
            try:
                await self.gates[request.mode].wait()
            except asyncio.CancelledError:
                self.cancelled.append(request.mode)
                raise
        if request.mode in self.errors:
            raise self.errors[request.mode]
        ranking = self.rankings[request.mode]
        start = page_cursor.decode(request, window=max(1, len(ranking)), now=current_hour()).offset
        end = start + request.limit
        return SearchResponse(
            mode_used=request.mode,
            hits=tuple(_hit(rank, name) for rank, name in enumerate(ranking[start:end], start=start + 1)),
            reports=(
                SourceReport(source="dense", outcome=self.outcomes.get(request.mode, SourceOutcome.OK), elapsed_ms=1.0),
            ),
            next_cursor=page_cursor.encode(Position(offset=end, moment=current_hour()), request)
            if end < len(ranking)
            else None,
            explanation={"profile": request.mode.value} if request.explain else None,
        )


def _hit(rank: int, name: str) -> SearchHit:
    chunk = Chunk(
        id=name,
        document_id=UUID(int=rank),
        external_id=name,
        chunk_index=0,
        content=name,
        heading_path=(),
        title="",
        language="es",
        path=None,
        metadata={},
        line_start=1,
        line_end=1,
        page_start=None,
        page_end=None,
    )
    return SearchHit(rank=rank, score=1.0 / rank, score_type="scripted", chunk=chunk, sources=())

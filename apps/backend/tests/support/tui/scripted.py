"""Ports for the terminal UI's tests: they answer as they are told, and wait where they are held."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from ragcorp.domain.answers import Answer, AskEvent, Citation
from ragcorp.domain.documents import Chunk
from ragcorp.domain.exceptions import FileNotFoundInRootsError
from ragcorp.domain.files.values import FileText
from ragcorp.domain.principal import Principal
from ragcorp.domain.retrieval import Contribution, SourceOutcome, SourceReport
from ragcorp.domain.search.requests import SearchHit, SearchMode, SearchRequest, SearchResponse
from ragcorp.interface.tui.services import TuiServices
from support.use_cases import use_cases


def passage(
    rank: int,
    content: str,
    *,
    path: str | None = None,
    line_start: int = 1,
    title: str = "",
    page: int | None = None,
    matched_lines: tuple[int, ...] = (),
    sources: tuple[Contribution, ...] = (),
) -> SearchHit:
    """A result whose lines are those of its content."""
    chunk = Chunk(
        id=f"chunk-{rank}",
        document_id=UUID(int=rank),
        external_id=path or f"doc-{rank}",
        chunk_index=0,
        content=content,
        heading_path=(title,) if title else (),
        title=title,
        language="es",
        path=path,
        metadata={},
        line_start=line_start,
        line_end=line_start + content.count("\n"),
        page_start=page,
        page_end=page,
    )
    return SearchHit(
        rank=rank, score=1 / (60 + rank), score_type="rrf", chunk=chunk, sources=sources, matched_lines=matched_lines
    )


def response(*hits: SearchHit, degraded: Sequence[tuple[str, str]] = ()) -> SearchResponse:
    reports = [SourceReport(source="dense", outcome=SourceOutcome.OK, elapsed_ms=1.0, hits=len(hits))]
    reports += [
        SourceReport(source=source, outcome=SourceOutcome.FAILED, elapsed_ms=1.0, reason=reason)
        for source, reason in degraded
    ]
    return SearchResponse(mode_used=SearchMode.HYBRID, hits=hits, reports=tuple(reports))


@dataclass
class Search:
    """``answers`` go by the query; ``gates`` hold one until they are set, also against cancellation if ``stubborn``."""

    answers: dict[str, SearchResponse | Exception] = field(default_factory=dict)
    default: SearchResponse | Exception = field(default_factory=response)
    gates: dict[str, asyncio.Event] = field(default_factory=dict)
    stubborn: bool = False
    requests: list[SearchRequest] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)
    entered: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def queries(self) -> list[str]:
        return [request.query for request in self.requests]

    async def search(self, request: SearchRequest, *, principal: Principal) -> SearchResponse:
        self.requests.append(request)
        self.entered.set()
        if request.query in self.gates:
            await self._held(request.query)
        answer = self.answers.get(request.query, self.default)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def _held(self, query: str) -> None:
        try:
            await self.gates[query].wait()
        except asyncio.CancelledError:
            self.cancelled.append(query)
            if not self.stubborn:
                raise
            await self.gates[query].wait()


Step = AskEvent | Exception | asyncio.Event


@dataclass
class Answering:
    """Streams its ``steps``: an event is yielded, an exception raised, an ``asyncio.Event`` waited for."""

    steps: Sequence[Step] = ()
    requests: list[SearchRequest] = field(default_factory=list)
    closed: asyncio.Event = field(default_factory=asyncio.Event)

    async def stream(self, request: SearchRequest, *, principal: Principal) -> AsyncGenerator[AskEvent]:
        self.requests.append(request)
        try:
            for step in self.steps:
                if isinstance(step, asyncio.Event):
                    await step.wait()
                elif isinstance(step, Exception):
                    raise step
                else:
                    yield step
        finally:
            self.closed.set()


@dataclass
class Files:
    """Files by path; ``errors`` are raised for theirs, and all wait for the ``gate``."""

    texts: dict[str, str] = field(default_factory=dict)
    errors: dict[str, Exception] = field(default_factory=dict)
    gate: asyncio.Event | None = None
    asked: list[tuple[str, int | None, int | None]] = field(default_factory=list)

    async def read(
        self, path: str, *, principal: Principal, line_start: int | None = None, line_end: int | None = None
    ) -> FileText:
        self.asked.append((path, line_start, line_end))
        if self.gate is not None:
            await self.gate.wait()
        if path in self.errors and line_start is None:
            raise self.errors[path]
        if path not in self.texts:
            raise FileNotFoundInRootsError("There is no such file.", remedy="Allowed roots: docs.")
        lines = self.texts[path].split("\n")
        first, last = line_start or 1, min(line_end or len(lines), len(lines))
        return FileText(
            path=path, text="\n".join(lines[first - 1 : last]), line_start=first, line_end=last, total_lines=len(lines)
        )


def services(
    *,
    search: Search | None = None,
    answer: Answering | None = None,
    read: Files | None = None,
    profiles: tuple[str, ...] = ("auto", "dense", "files", "grep"),
    profile: str = "files",
    facts: tuple[str, ...] = (),
) -> TuiServices:
    return TuiServices(
        use_cases=use_cases(search=search or Search(), answer=answer or Answering(), read_file=read or Files()),
        principal=Principal(),
        profiles=profiles,
        profile=profile,
        facts=facts,
    )


def answer(
    text: str, *, citations: Sequence[Citation] = (), abstained: bool = False, rewritten: str | None = None
) -> Answer:
    return Answer(
        text=text, abstained=abstained, citations=tuple(citations), degraded=(), usage={}, rewritten_query=rewritten
    )


def citation(n: int, hit: SearchHit, *, line: int, quote: str) -> Citation:
    return Citation(
        n=n,
        chunk_id=hit.chunk.id,
        document_id=hit.chunk.document_id,
        external_id=hit.chunk.external_id,
        title=hit.chunk.title,
        quote=quote,
        path=hit.chunk.path,
        line_start=line,
        line_end=line,
        page=hit.chunk.page_start,
    )

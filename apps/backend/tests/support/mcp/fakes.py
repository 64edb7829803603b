"""Use cases that answer as they are told, and an MCP server over them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from mcp.server import Server
from mcp_types import CallToolResult, LoggingMessageNotificationParams

from ragcorp.application.memory.load_context import ContextLimits, LoadContext
from ragcorp.domain.answers import Answer, AskEvent, Citation
from ragcorp.domain.files.values import FileText, GrepPassage, GrepRequest, GrepResult, Mark
from ragcorp.domain.filters import Filters
from ragcorp.domain.keys import EVERY_SCOPE, Caller
from ragcorp.domain.principal import Principal
from ragcorp.domain.retrieval import SourceOutcome, SourceReport
from ragcorp.domain.search.requests import SearchHit, SearchMode, SearchRequest, SearchResponse
from ragcorp.interface.mcp.server import make_mcp_server
from ragcorp.interface.mcp.services import McpLimits, McpServices
from support.memory.conversations import turn
from support.use_cases import use_cases

GATE_SECONDS = 60.0


@dataclass
class Behaviour:
    """What the use cases do before they answer: raise ``error``, or wait at a ``gate``. They tell what befell them."""

    error: BaseException | None = None
    gate: asyncio.Event | None = None
    entered: asyncio.Event = field(default_factory=asyncio.Event)
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)
    asked: list[tuple[Any, Principal]] = field(default_factory=list)

    async def befall(self, request: object, principal: Principal) -> None:
        self.asked.append((request, principal))
        self.entered.set()
        if self.error is not None:
            raise self.error
        if self.gate is not None:
            try:
                await self.gate.wait()
            except asyncio.CancelledError:
                self.cancelled.set()
                raise


@dataclass
class FakeSearch:
    behaviour: Behaviour

    async def search(self, request: SearchRequest, *, principal: Principal) -> SearchResponse:
        await self.behaviour.befall(request, principal)
        chunk = turn(
            "El plazo es de 30 días.", id="4711", external_id="marco.md", path="docs/marco.md", title="Marco",
            line_start=3, line_end=4, collection="artifact_chunks",
        )  # fmt: skip
        return SearchResponse(
            mode_used=SearchMode.HYBRID,
            hits=(SearchHit(rank=1, score=1 / 61, score_type="rrf", chunk=chunk, sources=()),),
            reports=(
                SourceReport(source="dense", outcome=SourceOutcome.OK, elapsed_ms=1.0),
                SourceReport(source="grep", outcome=SourceOutcome.EMPTY, elapsed_ms=1.0),
            ),
        )


@dataclass
class FakeAnswers:
    behaviour: Behaviour

    async def stream(self, request: SearchRequest, *, principal: Principal) -> AsyncGenerator[AskEvent]:
        await self.behaviour.befall(request, principal)
        cited = Citation(
            n=1, chunk_id="4711", document_id=UUID(int=7), external_id="marco.md", title="Marco", quote="30 días",
            path="docs/marco.md", line_start=3, line_end=4, page=None,
        )  # fmt: skip
        yield Answer(text="Son 30 días [1].", abstained=False, citations=(cited,), degraded=(), usage={})


@dataclass
class FakeGrep:
    behaviour: Behaviour

    async def grep(self, request: GrepRequest, *, principal: Principal, filters: Filters = ()) -> GrepResult:
        await self.behaviour.befall(request, principal)
        passage = GrepPassage(
            path="docs/marco.md", line_start=1, line_end=2, text="# Marco\nplazo", terms=("plazo",), score=1.0,
            marks=(Mark(line=2, start=0, end=5, term=0),),
        )  # fmt: skip
        return GrepResult(passages=(passage,), terms=("plazo",), files=1, matched_lines=1, searched=3)


@dataclass
class FakeReading:
    behaviour: Behaviour

    async def read(
        self, path: str, *, principal: Principal, line_start: int | None = None, line_end: int | None = None
    ) -> FileText:
        await self.behaviour.befall((path, line_start, line_end), principal)
        return FileText(path="docs/marco.md", text="# Marco\nplazo", line_start=1, line_end=2, total_lines=2)


def fake_services(behaviour: Behaviour) -> McpServices:
    search = FakeSearch(behaviour)
    return McpServices(
        use_cases=use_cases(
            search=search,
            answer=FakeAnswers(behaviour),
            context=LoadContext(search=search, limits=ContextLimits(timeout_seconds=GATE_SECONDS)),
            grep=FakeGrep(behaviour),
            read_file=FakeReading(behaviour),
        )
    )


def server_over(
    services: McpServices,
    *,
    principal: Principal | None = None,
    seconds: float = GATE_SECONDS,
    stopping: asyncio.Event | None = None,
) -> Server[Any]:
    async def opened() -> McpServices:
        return services

    def caller_of(_: object) -> Caller:
        return Caller(principal=principal or Principal(), scopes=EVERY_SCOPE)

    return make_mcp_server(
        opened,
        caller_of=caller_of,
        limits=McpLimits(tool_seconds=seconds, grep_seconds=seconds, ask_seconds=seconds),
        version="1.2.3",
        stopping=stopping,
    )


def text_of(result: CallToolResult) -> str:
    (content,) = result.content
    assert content.type == "text"
    return content.text


@dataclass
class Log:
    """Keeps the log messages that a client is sent."""

    messages: list[LoggingMessageNotificationParams] = field(default_factory=list)

    async def __call__(self, message: LoggingMessageNotificationParams) -> None:
        self.messages.append(message)

    @property
    def said(self) -> list[Any]:
        return [message.data for message in self.messages]

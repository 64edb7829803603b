"""Tracing, as wiring: what is traced is wrapped, and inner code knows nothing of it. Off, nothing is wrapped at all."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import AbstractContextManager, aclosing, asynccontextmanager, nullcontext
from importlib.util import find_spec
from typing import TYPE_CHECKING, Protocol

import ragcorp
from ragcorp.domain.answers import AnswerEvent, AnswerFinished, AnswerPrompt
from ragcorp.domain.embeddings import EmbeddingModel, Vector
from ragcorp.domain.exceptions import MissingExtraError
from ragcorp.domain.ports.collections import Reranker
from ragcorp.domain.ports.models import Answerer, Embedder
from ragcorp.domain.ports.sources import FusionService, RetrievalSource, SourceAnswer, SourceQuery
from ragcorp.domain.ports.tracing import Tracer
from ragcorp.domain.retrieval import FusedHit, RankedList
from ragcorp.infrastructure.postgres.connections.database import Database, DatabaseOptions, DriverConnection
from ragcorp.main.settings.schema import Settings

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

OBSERVED = "ragcorp.observed"
"""Where the HTTP boundary leaves method, route and status in the scope that it was given."""

SERVER_ERROR = 500


class Tracing(Protocol):
    """Wraps what a request passes through."""

    def sources(self, sources: Mapping[str, RetrievalSource]) -> Mapping[str, RetrievalSource]: ...
    def embedder(self, embedder: Embedder) -> Embedder: ...
    def answerer(self, answerer: Answerer) -> Answerer: ...
    def reranker(self, reranker: Reranker | None) -> Reranker | None: ...
    def fusion(self, fusion: FusionService) -> FusionService: ...
    def database(self, dsn: str, options: DatabaseOptions) -> Database: ...
    def application(self, app: ASGIApp) -> ASGIApp: ...
    def step(self, name: str) -> AbstractContextManager[object]: ...
    async def aclose(self) -> None: ...


def make_tracing(settings: Settings) -> Tracing:
    """Return what ENABLE_TRACING asks for. Raises MissingExtraError."""
    if not settings.enable_tracing:
        return Untraced()
    if find_spec("opentelemetry") is None or find_spec("opentelemetry.sdk") is None:
        raise MissingExtraError(feature="Tracing (ENABLE_TRACING)", extra="otel")
    try:
        from ragcorp.infrastructure.otel.tracer import OtelTracer
    except ImportError:
        raise MissingExtraError(feature="Tracing (ENABLE_TRACING)", extra="otel") from None
    return Traced(OtelTracer(version=ragcorp.__version__))


class Untraced:
    """Leaves everything as it is."""

    def sources(self, sources: Mapping[str, RetrievalSource]) -> Mapping[str, RetrievalSource]:
        return sources

    def embedder(self, embedder: Embedder) -> Embedder:
        return embedder

    def answerer(self, answerer: Answerer) -> Answerer:
        return answerer

    def reranker(self, reranker: Reranker | None) -> Reranker | None:
        return reranker

    def fusion(self, fusion: FusionService) -> FusionService:
        return fusion

    def database(self, dsn: str, options: DatabaseOptions) -> Database:
        return Database(dsn, options=options)

    def application(self, app: ASGIApp) -> ASGIApp:
        return app

    def step(self, name: str) -> AbstractContextManager[object]:
        return nullcontext(name)

    async def aclose(self) -> None:
        pass


class Traced:
    """Wraps everything in spans."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer

    def sources(self, sources: Mapping[str, RetrievalSource]) -> Mapping[str, RetrievalSource]:
        return {name: _Source(source, name, self._tracer) for name, source in sources.items()}

    def embedder(self, embedder: Embedder) -> Embedder:
        return _Embedder(embedder, self._tracer)

    def answerer(self, answerer: Answerer) -> Answerer:
        return _Answerer(answerer, self._tracer)

    def reranker(self, reranker: Reranker | None) -> Reranker | None:
        return None if reranker is None else _Reranker(reranker, self._tracer)

    def fusion(self, fusion: FusionService) -> FusionService:
        return _Fusion(fusion, self._tracer)

    def database(self, dsn: str, options: DatabaseOptions) -> Database:
        return TracedDatabase(dsn, options=options, tracer=self._tracer)

    def application(self, app: ASGIApp) -> ASGIApp:
        return TracedRequests(app, self._tracer)

    def step(self, name: str) -> AbstractContextManager[object]:
        return self._tracer.span(f"step {name}")

    async def aclose(self) -> None:
        await self._tracer.aclose()


class _Source:
    """A source under its span; whatever else it has shows through."""

    def __init__(self, source: RetrievalSource, name: str, tracer: Tracer) -> None:
        self._source = source
        self._wired = name
        self._tracer = tracer
        for attribute in ("collection", "filter_fields"):
            if hasattr(source, attribute):
                setattr(self, attribute, getattr(source, attribute))

    @property
    def name(self) -> str:
        return self._source.name

    async def retrieve(self, query: SourceQuery) -> SourceAnswer:
        with self._tracer.span(f"source {self._wired}", limit=query.limit) as span:
            answer = await self._source.retrieve(query)
            span.note(hits=len(answer.ranked_list.hits), cut=answer.cut)
            if answer.incomplete is not None:
                span.note(incomplete=True)
            return answer


class _Embedder:
    def __init__(self, embedder: Embedder, tracer: Tracer) -> None:
        self._embedder = embedder
        self._tracer = tracer

    @property
    def model(self) -> EmbeddingModel:
        return self._embedder.model

    @property
    def batch_size(self) -> int:
        return self._embedder.batch_size

    async def embed_query(self, text: str) -> Vector:
        with self._tracer.leaf("embed query", model=self.model.name):
            return await self._embedder.embed_query(text)

    async def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
        with self._tracer.leaf("embed passages", model=self.model.name, passages=len(texts)):
            return await self._embedder.embed_passages(texts)

    async def aclose(self) -> None:
        await self._embedder.aclose()


class _Answerer:
    def __init__(self, answerer: Answerer, tracer: Tracer) -> None:
        self._answerer = answerer
        self._tracer = tracer

    @property
    def name(self) -> str:
        return self._answerer.name

    async def answer(self, prompt: AnswerPrompt) -> AsyncGenerator[AnswerEvent]:
        finished: AnswerFinished | None = None
        with self._tracer.leaf("answer", model=self.name, passages=len(prompt.passages)) as span:
            async with aclosing(self._answerer.answer(prompt)) as events:
                async for event in events:
                    if isinstance(event, AnswerFinished):
                        span.note(abstained=event.abstained, **event.usage)
                        finished = event
                        break
                    yield event
        if finished is not None:
            yield finished  # the work is done: whoever goes now leaves nothing unfinished

    async def aclose(self) -> None:
        await self._answerer.aclose()


class _Reranker:
    def __init__(self, reranker: Reranker, tracer: Tracer) -> None:
        self._reranker = reranker
        self._tracer = tracer

    @property
    def name(self) -> str:
        return self._reranker.name

    async def scores(self, query: str, passages: Sequence[str]) -> Sequence[float]:
        with self._tracer.leaf("rerank", model=self.name, passages=len(passages)):
            return await self._reranker.scores(query, passages)

    async def aclose(self) -> None:
        await self._reranker.aclose()


class _Fusion:
    def __init__(self, fusion: FusionService, tracer: Tracer) -> None:
        self._fusion = fusion
        self._tracer = tracer

    def fuse(
        self, lists: Sequence[RankedList], *, weights: Mapping[str, float] | None = None, k: int | None = None
    ) -> tuple[FusedHit, ...]:
        with self._tracer.leaf("fuse", lists=len(lists)):
            return self._fusion.fuse(lists, weights=weights, k=k)


class TracedDatabase(Database):
    """A span a transaction, from before the checkout of its connection until it is given back."""

    def __init__(self, dsn: str, *, options: DatabaseOptions, tracer: Tracer) -> None:
        super().__init__(dsn, options=options)
        self._tracer = tracer

    @asynccontextmanager
    async def autocommit(self, workspace: str) -> AsyncIterator[DriverConnection]:
        with self._tracer.leaf("database", kind="autocommit"):
            async with super().autocommit(workspace) as connection:
                yield connection

    @asynccontextmanager
    async def driver_transaction(self, workspace: str) -> AsyncIterator[DriverConnection]:
        with self._tracer.leaf("database", kind="driver_transaction"):
            async with super().driver_transaction(workspace) as connection:
                yield connection


class TracedRequests:
    """A span a request, named by method and route template; outermost, so that all that a request does is in it."""

    def __init__(self, app: ASGIApp, tracer: Tracer) -> None:
        self._app = app
        self._tracer = tracer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {
            name.decode("latin-1"): value.decode("latin-1")
            for name, value in scope["headers"]
            if name in (b"traceparent", b"tracestate")
        }
        with self._tracer.request(headers) as span:
            await self._app(scope, receive, send)
            observed = scope.get(OBSERVED, {})
            span.note(**observed)
            if observed:
                span.rename(f"{observed['method']} {observed['route']}")
                if observed["status"] >= SERVER_ERROR:
                    span.fail(str(observed["status"]))

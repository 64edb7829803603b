"""Context of a handler: the request, its caller and the services; and its JSON response."""

from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Depends
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from ragcorp.application.status.report import ReportStatus
from ragcorp.domain.filters import Filters
from ragcorp.domain.ingestion import IngestRequest, IngestResult
from ragcorp.domain.ports.keys import Authenticator
from ragcorp.domain.ports.observers import EmbeddingCacheObserver, RolloutObserver
from ragcorp.domain.principal import Principal
from ragcorp.interface.http.layers.admission import Limiters, RequestSlot, slot_of
from ragcorp.interface.http.layers.bounded_route import BoundedRoute
from ragcorp.interface.http.monitoring.merging import Snapshot
from ragcorp.interface.http.monitoring.metrics import HttpMetrics, ServiceState
from ragcorp.interface.http.protocol.bodies import allow, read_json
from ragcorp.interface.http.protocol.disconnect import unless_disconnected
from ragcorp.interface.http.protocol.filters import filters_of_text
from ragcorp.interface.http.protocol.limits import HttpLimits
from ragcorp.interface.http.protocol.request_scope import caller_of, request_id_of
from ragcorp.interface.shapes.json_text import dumps
from ragcorp.interface.use_cases import UseCases

INDEXED_BYTES_A_SECOND = 25_000
"""Lowest speed of indexing on a busy machine: a document's request may take a second more for each."""
QUEUE = 1
"""Files ahead of a slow one for whose reading it waits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpServices:
    """Use cases and hooks of the routes.

    ``readiness`` raises a RagcorpError if the service cannot serve; ``pool_statistics`` returns psycopg_pool's
    counters; ``wake_embedding`` is called after chunks were stored without vectors. ``observe_rollout`` and
    ``observe_embedding_cache`` register an observer. ``state`` feeds the metrics of the process.
    """

    version: str
    use_cases: UseCases
    status: ReportStatus
    readiness: Callable[[], Coroutine[Any, Any, None]]
    pool_statistics: Callable[[], Mapping[str, int]]
    wake_embedding: Callable[[], None]
    observe_rollout: Callable[[RolloutObserver], None]
    observe_embedding_cache: Callable[[EmbeddingCacheObserver], None]
    authenticator: Authenticator
    state: ServiceState


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerLink:
    """What a worker gets from the processes of its service.

    ``limiters`` returns the limiters of all workers; its argument runs for each refusal of a slot. ``snapshots``
    returns the metrics of all processes by name.
    """

    name: str
    limiters: Callable[[Callable[[], None]], Limiters]
    snapshots: Callable[[], Awaitable[Mapping[str, Snapshot]]]


Model = TypeVar("Model", bound=BaseModel)
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    request: Request
    principal: Principal
    services: HttpServices
    limits: HttpLimits
    metrics: HttpMetrics
    worker: WorkerLink | None

    @property
    def use_cases(self) -> UseCases:
        return self.services.use_cases

    @property
    def request_id(self) -> str:
        return request_id_of(self.request.scope)

    @property
    def slot(self) -> RequestSlot:
        return slot_of(self.request.scope)

    async def json(self, model: type[Model]) -> Model:
        """Return the body of an operation whose model depends on its path. Other operations take it as a parameter."""
        return await read_json(self.request, model, self.limits)

    def allow(self, seconds: float | None) -> None:
        """Let the request run ``seconds`` from now on; None sets no bound."""
        allow(self.request, seconds)

    @asynccontextmanager
    async def indexing(self, *, size: int = 0, slow: bool = True) -> AsyncIterator[None]:
        """Wait for a turn to read and index ``size`` bytes, and allow the time for it.

        While a ``slow`` one waits, the request uses no slot that others could use. Raises BusyError.
        """
        limits = self.limits
        self.slot.release()
        self.allow(None)
        wait_seconds = QUEUE * limits.reading_seconds if slow else limits.admission_wait_seconds
        async with self.slot.upload(slow=slow, wait_seconds=wait_seconds):
            seconds = limits.request_timeout_seconds + size / INDEXED_BYTES_A_SECOND
            self.allow(seconds + limits.reading_seconds if slow else seconds)
            yield

    async def ingest(self, document: IngestRequest) -> IngestResult:
        """Store a document when its turn comes, unless the client leaves first."""
        ingest = self.use_cases.ingest

        async def ingested() -> IngestResult:
            async with self.indexing(size=len(document.file.content), slow=ingest.preparation.is_slow(document.file)):
                return await ingest.ingest(document, principal=self.principal)

        return await self.unless_disconnected(ingested())

    async def unless_disconnected(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Return the result of ``work``; cancel it if the connection closes first."""
        return await unless_disconnected(self.request, work)

    def written(self, shape: Any, *, created: bool, wake: bool) -> Response:
        """Answer a write with its shape, 201 for a new object; ``wake`` the embedding of what lacks a vector."""
        if wake:
            self.services.wake_embedding()
        return json_response(shape, status=201 if created else 200)

    def filters(self, text: str | None) -> Filters:
        """Return the filters of a query parameter. Raises InvalidInputError or RequestRefusedError."""
        return filters_of_text(text, limits=self.limits)


async def current_call(request: Request) -> Call:
    state = request.app.state
    return Call(
        request=request,
        principal=caller_of(request.scope).principal,
        services=state.services,
        limits=state.limits,
        metrics=state.metrics,
        worker=state.worker,
    )


CurrentCall = Annotated[Call, Depends(current_call)]


def operations(tag: str) -> APIRouter:
    """Return a router whose operations are named after their functions."""
    return APIRouter(route_class=BoundedRoute, tags=[tag], generate_unique_id_function=lambda route: route.name)


def json_response(shape: Any, *, status: int = 200) -> Response:
    """Return a shape as JSON. Shapes are described, not validated, so that the hot path does not pay for that."""
    return Response(dumps(shape), status_code=status, media_type="application/json")

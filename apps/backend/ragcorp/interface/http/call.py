"""Context of a handler: the request, its caller and the services."""

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Depends
from pydantic import BaseModel
from starlette.requests import Request

from ragcorp.application.status.report import ReportStatus
from ragcorp.domain.filters import Filters
from ragcorp.domain.keys import LOCAL_CALLER, Caller
from ragcorp.domain.ports.keys import Authenticator
from ragcorp.domain.ports.observers import EmbeddingCacheObserver, RolloutObserver
from ragcorp.domain.principal import Principal
from ragcorp.interface.http.layers.admission import RequestSlot, slot_of
from ragcorp.interface.http.layers.bounded_route import BoundedRoute
from ragcorp.interface.http.monitoring.metrics import HttpMetrics, ServiceState
from ragcorp.interface.http.protocol.bodies import allow, allow_indexing, read_json
from ragcorp.interface.http.protocol.disconnect import unless_client_leaves
from ragcorp.interface.http.protocol.filters import filters_of_text
from ragcorp.interface.http.protocol.limits import HttpLimits
from ragcorp.interface.http.protocol.principal import caller_of
from ragcorp.interface.http.protocol.request_id import request_id_of
from ragcorp.interface.use_cases import UseCases


class OnlyLocal:
    """Authenticator without keys: every caller is the local user."""

    async def caller(self, credential: str | None) -> Caller:  # noqa: ARG002 - the port's name
        return LOCAL_CALLER


def _ignore(_: object = None) -> None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpServices:
    """Use cases and hooks of the routes.

    ``readiness`` raises a RagcorpError if the service cannot serve; ``pool_statistics`` returns psycopg_pool's
    counters; ``wake_embedding`` is called after chunks were stored without vectors. ``observe_rollout`` and
    ``observe_embedding_cache`` register an observer. ``state`` feeds the metrics of the process.
    """

    use_cases: UseCases
    status: ReportStatus
    readiness: Callable[[], Coroutine[Any, Any, None]]
    pool_statistics: Callable[[], Mapping[str, int]]
    wake_embedding: Callable[[], None] = _ignore
    observe_rollout: Callable[[RolloutObserver], None] = _ignore
    observe_embedding_cache: Callable[[EmbeddingCacheObserver], None] = _ignore
    authenticator: Authenticator = field(default_factory=OnlyLocal)
    state: ServiceState = field(default_factory=ServiceState)


Model = TypeVar("Model", bound=BaseModel)
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request of an operation."""

    request: Request
    principal: Principal
    services: HttpServices
    limits: HttpLimits
    metrics: HttpMetrics

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

    def allow_indexing(self, text: str) -> None:
        """Let the request run as long as storing ``text`` may take."""
        allow_indexing(self.request, self.limits, size=len(text.encode()), slow=True)

    async def unless_client_leaves(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Return the result of ``work``; cancel it if the connection closes first."""
        return await unless_client_leaves(self.request, work)

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
    )


CurrentCall = Annotated[Call, Depends(current_call)]


def operations(tag: str) -> APIRouter:
    """Return a router whose operations are named after their functions."""
    return APIRouter(route_class=BoundedRoute, tags=[tag], generate_unique_id_function=lambda route: route.name)

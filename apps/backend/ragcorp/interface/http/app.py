"""Assembles the HTTP application from use cases."""

from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import cast

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match
from starlette.staticfiles import StaticFiles

from ragcorp.domain.exceptions import RagcorpError
from ragcorp.interface.http.answers.routes import router as answers_router
from ragcorp.interface.http.call import HttpServices, WorkerLink
from ragcorp.interface.http.collections.routes import router as collections_router
from ragcorp.interface.http.documents.routes import router as documents_router
from ragcorp.interface.http.files.routes import router as files_router
from ragcorp.interface.http.graph.routes import router as graph_router
from ragcorp.interface.http.hydration.routes import router as hydration_router
from ragcorp.interface.http.layers.admission import AdmissionGate, Limiters
from ragcorp.interface.http.layers.authentication import Authentication
from ragcorp.interface.http.layers.boundary import RequestBoundary
from ragcorp.interface.http.layers.bounded_route import BoundedRoute
from ragcorp.interface.http.layers.cors import EXPOSED_HEADERS, METHODS, SENT_HEADERS, Cors
from ragcorp.interface.http.layers.host_and_origin import HostCheck, OriginCheck
from ragcorp.interface.http.layers.key_limits import KeyLimits
from ragcorp.interface.http.layers.lingering_close import LingeringClose
from ragcorp.interface.http.layers.stopping import Stopping, StoppingGate
from ragcorp.interface.http.monitoring.metrics import HttpMetrics
from ragcorp.interface.http.openapi import describe
from ragcorp.interface.http.protocol.limits import HttpLimits
from ragcorp.interface.http.protocol.problems import BodyStalledError, Problem, RequestRefusedError, problem_of
from ragcorp.interface.http.protocol.validation import field_errors
from ragcorp.interface.http.search.routes import router as search_router
from ragcorp.interface.http.system.page_routes import BUILT, page_routes, whole_files
from ragcorp.interface.http.system.system_routes import ASSETS, ASSETS_PATH, status_router
from ragcorp.interface.http.system.system_routes import router as system_router
from ragcorp.tracing import note_refusal

ROUTERS = (
    search_router,
    answers_router,
    status_router,
    hydration_router,
    files_router,
    documents_router,
    collections_router,
    graph_router,
    system_router,
)


def create_app(
    services: HttpServices, limits: HttpLimits, *, page: Path = BUILT, worker: WorkerLink | None = None
) -> FastAPI:
    """Return the application over open services; ``page`` is the folder of the web page.

    ``worker`` links it with the other processes of a service that has several.
    """
    app = FastAPI(
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        telemetry={"tracing": False, "metrics": False, "logs": False},
    )
    app.state.services = services
    app.state.limits = limits
    app.state.worker = worker
    metrics = HttpMetrics()
    app.state.metrics = metrics
    services.observe_rollout(metrics)
    services.observe_embedding_cache(metrics)

    app.state.description = cache(lambda: describe(version=services.version, routes=app.routes, limits=limits))
    for router in ROUTERS:
        app.router.routes.extend(router.routes)
    app.router.routes.extend(page_routes(page))
    app.mount(ASSETS_PATH, whole_files(StaticFiles(directory=ASSETS)), name="assets")

    for kind in (RagcorpError, RequestRefusedError, BodyStalledError):
        app.add_exception_handler(kind, _on_error)
    app.add_exception_handler(RequestValidationError, _on_bad_parameters)
    app.add_exception_handler(HTTPException, _on_http_error)

    def on_busy() -> None:
        metrics.count_refusal("busy")

    limiters = worker.limiters(on_busy) if worker else Limiters.of(limits, on_busy=on_busy)
    app.state.admission = limiters.requests
    metrics.watch(services.state, admission=limiters.requests)
    app.add_middleware(AdmissionGate, limiters=limiters)
    app.add_middleware(KeyLimits, meter=limiters.keys, metrics=metrics)
    app.add_middleware(OriginCheck, allowed=limits.cors_origins, metrics=metrics)
    app.add_middleware(Authentication, authenticator=services.authenticator, metrics=metrics)
    if limits.allowed_hosts is not None:
        app.add_middleware(HostCheck, allowed=limits.allowed_hosts)
    app.state.stopping = Stopping()
    app.add_middleware(StoppingGate, stopping=app.state.stopping)
    if limits.cors_origins:
        app.add_middleware(
            Cors,
            allow_origins=limits.cors_origins,
            allow_methods=METHODS,
            allow_headers=SENT_HEADERS,
            allow_credentials=limits.cors_credentials,
            expose_headers=EXPOSED_HEADERS,
        )
    app.add_middleware(LingeringClose)
    app.add_middleware(RequestBoundary, metrics=metrics, worker=worker.name if worker else None)
    return app


async def _on_error(request: Request, error: Exception) -> Response:
    note_refusal(error)
    return problem_of(error).response(request.scope)


async def _on_bad_parameters(request: Request, error: Exception) -> Response:
    invalid = cast("RequestValidationError", error)
    details = [{**detail, "loc": tuple(detail["loc"])[1:]} for detail in invalid.errors()]
    route = cast("BoundedRoute", request.scope["route"])
    errors = field_errors(details, names=route.query_names | {"collection"}, root="query")
    return problem_of(RequestRefusedError(*errors)).response(request.scope)


async def _on_http_error(request: Request, error: Exception) -> Response:
    """Answer errors of the routing, without their details: these may repeat what the caller sent."""
    status = cast("HTTPException", error).status_code
    headers: dict[str, str] = {}
    if status == HTTPStatus.METHOD_NOT_ALLOWED:
        code, detail = "method_not_allowed", "This path does not take this method. Allow names those that it takes."
        headers["Allow"] = ", ".join(_allowed(request))
    elif status == HTTPStatus.NOT_FOUND:
        code, detail = "no_such_path", "There is no such path. /openapi.json describes those that there are."
    else:
        code, detail = "http_error", f"{HTTPStatus(status).phrase}."
    return Problem(status=status, code=code, detail=detail, headers=headers).response(request.scope)


def _allowed(request: Request) -> list[str]:
    methods: set[str] = set()
    for route in request.app.routes:
        if route.matches(request.scope)[0] is not Match.NONE:
            methods |= getattr(route, "methods", None) or set()
    return sorted(methods | ({"HEAD"} if "GET" in methods else set()))

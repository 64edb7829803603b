"""The service: the HTTP application over a container."""

import platform
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial

from fastapi import FastAPI

import ragcorp
from ragcorp.application.status.readiness import Readiness
from ragcorp.domain.keys import Scope
from ragcorp.infrastructure.postgres.administration.inspection import search_facts
from ragcorp.infrastructure.postgres.administration.migrations import head_revision
from ragcorp.interface.http.app import create_app
from ragcorp.interface.http.call import HttpServices, WorkerLink
from ragcorp.interface.http.layers.access import ScopeRequired
from ragcorp.interface.http.monitoring.metrics import ServiceState
from ragcorp.interface.http.system.page_routes import UnlistedRoute
from ragcorp.main.service.background import run_background
from ragcorp.main.service.limits import http_limits
from ragcorp.main.service.logs import dropped_lines
from ragcorp.main.service.mcp import mounted_mcp
from ragcorp.main.service.status import make_status
from ragcorp.main.wiring.container import Container

MCP_PATH = "/mcp"


@asynccontextmanager
async def run_service(container: Container) -> AsyncIterator[FastAPI]:
    """Yield the application over an open container, with the background work, both until the end of the block."""
    async with run_background(container) as worker, run_app(container, wake_embedding=worker.wake) as app:
        yield app


@asynccontextmanager
async def run_app(
    container: Container, *, wake_embedding: Callable[[], None], worker: WorkerLink | None = None
) -> AsyncIterator[FastAPI]:
    """Yield the application over an open container; ``wake_embedding`` is called after texts without vectors.

    ``app.state.mcp`` is the MCP endpoint or None. A shutdown ends its sessions first: their streams have no end.
    ``worker`` links it with the other processes of a service that has several.
    """
    limits = http_limits(container.settings)
    app = create_app(http_services(container, wake_embedding), limits, worker=worker)
    container.token_observers.add(app.state.metrics)
    async with mounted_mcp(container, limits, app.state.metrics, keeps_sessions=worker is None) as endpoint:
        app.state.mcp = endpoint
        if endpoint is not None:
            guarded = ScopeRequired(endpoint, scope=Scope.TOOLS)
            app.router.routes.append(UnlistedRoute(MCP_PATH, endpoint=guarded, include_in_schema=False))
        yield app


def http_services(container: Container, wake_embedding: Callable[[], None]) -> HttpServices:
    head = head_revision()
    readiness = Readiness(
        look=partial(search_facts, container.database, model=container.embedder.model),
        model=container.embedder.model,
        head=head,
        now=time.monotonic,
    )
    build = {"version": ragcorp.__version__, "python": platform.python_version(), "schema": head}
    return HttpServices(
        version=ragcorp.__version__,
        use_cases=container.use_cases,
        status=make_status(container, readiness=readiness),
        readiness=readiness,
        pool_statistics=container.database.statistics,
        wake_embedding=wake_embedding,
        observe_rollout=container.search_parts.rollout_observers.add,
        observe_embedding_cache=container.cache_observers.add,
        state=ServiceState(
            breakers=container.search_parts.breaker_states,
            dropped_lines=dropped_lines,
            build=lambda: build,
            schema=readiness.seen,
        ),
        authenticator=container.authenticator,
    )

"""The service: the HTTP application over a container, with its background workers."""

import asyncio
import logging
import platform
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from functools import partial

from fastapi import FastAPI

import ragcorp
from ragcorp.application.documents.recognize import RecognitionWorker
from ragcorp.application.embedding.embed_pending import EmbeddingWorker
from ragcorp.application.status.readiness import Readiness
from ragcorp.application.structure.refresh import StructureWorker
from ragcorp.domain.keys import Scope
from ragcorp.infrastructure.postgres.administration.inspection import search_facts
from ragcorp.infrastructure.postgres.administration.migrations import head_revision
from ragcorp.interface.http.app import create_app
from ragcorp.interface.http.call import HttpServices
from ragcorp.interface.http.layers.access import ScopeRequired
from ragcorp.interface.http.layers.cors import parse_origins
from ragcorp.interface.http.monitoring.metrics import ServiceState
from ragcorp.interface.http.protocol.limits import HttpLimits
from ragcorp.interface.http.system.page_routes import UnlistedRoute
from ragcorp.main.service.deadlines import ask_seconds, grep_seconds, reading_seconds
from ragcorp.main.service.logs import dropped_lines
from ragcorp.main.service.mcp import mounted_mcp
from ragcorp.main.service.status import make_status
from ragcorp.main.settings.addresses import allowed_hosts
from ragcorp.main.settings.schema import Settings
from ragcorp.main.wiring.container import Container

logger = logging.getLogger(__name__)

MCP_PATH = "/mcp"

CANCEL_AGAIN_SECONDS = 0.5

WRITE_MARGIN_SECONDS = 5.0
"""A stream waits this much longer for its client than the server, which cuts the connection."""


@asynccontextmanager
async def run_app(container: Container) -> AsyncIterator[FastAPI]:
    """Yield the application over an open container; its workers run until the end of the block.

    ``app.state.mcp`` is the MCP endpoint or None. A shutdown ends its sessions first: their streams have no end.
    """
    worker = EmbeddingWorker(embed_pending=container.use_cases.embed_pending)
    limits = http_limits(container.settings)
    app = create_app(http_services(container, worker), limits)
    container.token_observers.add(app.state.metrics)
    tasks = []
    if container.embedder.model.dimensions > 0:
        tasks.append(asyncio.create_task(worker.run(), name="embedding worker"))
    recognition = RecognitionWorker(recognition=container.use_cases.recognize)
    tasks.append(asyncio.create_task(recognition.run(), name="text recognition worker"))
    structure = StructureWorker(refresh=container.use_cases.refresh_structure)
    tasks.append(asyncio.create_task(structure.run(), name="structure worker"))
    tasks += [
        asyncio.create_task(purge.run(), name=f"purge worker of {purge.what}") for purge in container.purge_workers
    ]
    for task in tasks:
        task.add_done_callback(_log_death)
    try:
        async with mounted_mcp(container, limits, app.state.metrics) as endpoint:
            app.state.mcp = endpoint
            if endpoint is not None:
                guarded = ScopeRequired(endpoint, scope=Scope.TOOLS)
                app.router.routes.append(UnlistedRoute(MCP_PATH, endpoint=guarded, include_in_schema=False))
            yield app
    finally:
        await _ended(tasks)


async def _ended(tasks: Iterable[asyncio.Task[None]]) -> None:
    """Cancel repeatedly: before Python 3.12 ``wait_for``, which the pool uses, may swallow a cancellation."""
    running = set(tasks)
    while running:
        for task in running:
            task.cancel()
        _, running = await asyncio.wait(running, timeout=CANCEL_AGAIN_SECONDS)


def _log_death(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        logger.critical("the %s died: its work waits for a restart", task.get_name(), exc_info=error)


def http_services(container: Container, worker: EmbeddingWorker) -> HttpServices:
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
        wake_embedding=worker.wake,
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


def http_limits(settings: Settings) -> HttpLimits:
    return HttpLimits(
        max_body_bytes=settings.max_body_bytes,
        max_file_bytes=settings.max_file_bytes,
        max_query_characters=settings.max_query_characters,
        max_limit=settings.max_limit,
        request_timeout_seconds=settings.request_timeout_seconds,
        reading_seconds=reading_seconds(settings),
        grep_timeout_seconds=grep_seconds(settings),
        ask_timeout_seconds=ask_seconds(settings),
        write_timeout_seconds=settings.write_timeout_seconds + WRITE_MARGIN_SECONDS,
        max_json_depth=settings.max_json_depth,
        max_filter_conditions=settings.max_filter_conditions,
        max_concurrent_requests=settings.max_concurrent_requests or max(1, settings.database_pool_size - 2),
        admission_wait_seconds=settings.admission_wait_seconds,
        max_streams=settings.max_streams,
        rate_limit_per_minute=settings.rate_limit_per_minute,
        rate_limit_burst=settings.rate_limit_burst,
        key_concurrency=settings.key_concurrency,
        cors_origins=parse_origins(settings.cors_origins, credentials=settings.cors_credentials),
        cors_credentials=settings.cors_credentials,
        allowed_hosts=allowed_hosts(settings),
    )

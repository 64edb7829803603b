"""Opens the service: in this process, or in several workers."""

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from ragcorp.domain.exceptions import ConfigurationError
from ragcorp.infrastructure.postgres.connections.database import Database, DatabaseOptions
from ragcorp.interface.cli.console.services import OnListening, RunningService, ServeOptions, Target
from ragcorp.interface.http.layers.admission import Limiters
from ragcorp.main.opening.facts import facts_of
from ragcorp.main.opening.storage import open_storage, prepare_storage
from ragcorp.main.service.limits import http_limits
from ragcorp.main.service.listener import listening_socket, url_of
from ragcorp.main.service.logs import service_logs
from ragcorp.main.service.shutdown import Shutdown
from ragcorp.main.service.startup import checked_access
from ragcorp.main.settings.for_commands import settings_for
from ragcorp.main.settings.schema import Settings
from ragcorp.main.wiring.keys import make_authenticator
from ragcorp.main.workers.roles import Setup
from ragcorp.main.workers.supervisor import Supervisor, forking

CONNECTIONS = 2
"""For the checks at the start."""

EMBEDDED_CONNECTIONS = 90
"""Of the embedded server for pools: the rest is for commands and upkeep."""


@asynccontextmanager
async def open_service(target: Target, options: ServeOptions) -> AsyncIterator[RunningService]:
    """Bind the port, then open the storage; ``run`` of the yielded service serves until it is cancelled.

    Raises ConflictError for a port in use, ConfigurationError for an address that needs a key if there is none.
    """
    settings = settings_for(target, host=options.host, port=options.port, workers=options.workers)
    with (
        listening_socket(settings.host, settings.port) as listener,
        service_logs(settings, target),
        Shutdown(settings.shutdown_grace_seconds) as ending,
    ):
        if settings.workers > 1:
            opened = open_workers(target, settings, listener, ending)
        else:
            from ragcorp.main.service.serving import open_alone  # 50 MB that a supervisor has no use for

            opened = open_alone(settings, listener, ending)
        async with opened as service:
            yield service


@asynccontextmanager
async def open_workers(
    target: Target, settings: Settings, listener: socket.socket, ending: Shutdown
) -> AsyncIterator[RunningService]:
    """Open the storage once for all processes. Raises as ``open_service``."""
    if settings.database_url is None:
        _require_connections(settings)
    async with forking(listener) as forks, open_storage(settings) as storage:
        await prepare_storage(storage, settings)
        access = await _access(settings, listener, storage.dsn)
        supervisor = Supervisor(
            forks,
            workers=settings.workers,
            setup=lambda name: Setup.of(name, target=target, settings=settings, dsn=storage.dsn).as_json(),
            limiters=Limiters.of(http_limits(settings)),
            shutdown=ending,
        )

        async def run(on_listening: OnListening) -> None:
            await supervisor.run(lambda: on_listening(url_of(listener)))

        yield RunningService(facts=facts_of(settings), run=run, hurry=ending.hurry, access=access)


async def _access(settings: Settings, listener: socket.socket, dsn: str) -> str:
    database = Database(dsn, options=DatabaseOptions(pool_size=CONNECTIONS))
    await database.open()
    try:
        authenticator = make_authenticator(settings, database)
        try:
            return await checked_access(settings, listener, database, authenticator.any_exists)
        finally:
            await authenticator.aclose()
    finally:
        await database.close()


def _require_connections(settings: Settings) -> None:
    needed = (settings.workers + 1) * settings.database_pool_size
    if needed > EMBEDDED_CONNECTIONS:
        raise ConfigurationError(
            f"The service would need {needed} connections.",
            field="WORKERS, DATABASE_POOL_SIZE",
            limit=f"{EMBEDDED_CONNECTIONS} connections of the embedded PostgreSQL",
            remedy="Lower one of them, or use your own server with DATABASE_URL.",
        )

"""Where the database is: the embedded server, or the one that DATABASE_URL names."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

import anyio.to_thread

from ragcorp.application.resilience.time_bound import wait_to_end
from ragcorp.domain.exceptions import ConfigurationError, RagcorpError
from ragcorp.infrastructure.embedded_postgres.launcher import EmbeddedPostgres
from ragcorp.infrastructure.postgres.administration.migrations import Migrated, migrate, state
from ragcorp.main.settings.schema import Settings

if TYPE_CHECKING:
    from ragcorp.main.wiring.base import Parts

logger = logging.getLogger(__name__)

WATCH_SECONDS = 2.0

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class Storage:
    """DSNs of the application role and of the owner; they may be the same on a server of the user's own."""

    dsn: str
    owner_dsn: str
    embedded: bool
    superuser_dsn: str | None = field(default=None, repr=False)
    """Of the embedded server only: it makes backups."""


@asynccontextmanager
async def open_storage(settings: Settings) -> AsyncIterator[Storage]:
    """Start or join the embedded server, or take DATABASE_URL. Raises MissingExtraError or StorageUnavailableError."""
    if settings.database_url is not None:
        dsn = settings.database_url.get_secret_value().replace("postgresql+psycopg://", "postgresql://", 1)
        owner = settings.database_owner_url
        yield Storage(
            dsn=dsn,
            owner_dsn=owner.get_secret_value().replace("postgresql+psycopg://", "postgresql://", 1) if owner else dsn,
            embedded=False,
        )
        return
    server = EmbeddedPostgres(data_dir=settings.data_dir)
    try:
        running = await _to_completion(server.start)
        watch = asyncio.create_task(_keep_running(server), name="embedded server watch")
        try:
            yield Storage(
                dsn=running.app_dsn, owner_dsn=running.owner_dsn, embedded=True, superuser_dsn=running.superuser_dsn
            )
        finally:
            watch.cancel()
            await asyncio.gather(watch, return_exceptions=True)
    finally:
        await _to_completion(server.release)


async def _to_completion(call: Callable[[], Result]) -> Result:
    """Run ``call`` in a thread to its end, also when cancelled: a late start would outlive this process."""
    work = asyncio.ensure_future(anyio.to_thread.run_sync(call))
    with anyio.CancelScope(shield=True):
        await wait_to_end(work)
    return work.result()


async def _keep_running(server: EmbeddedPostgres) -> None:
    """Restart the server if it was killed; a check of a running one takes a millisecond."""
    while True:
        await asyncio.sleep(WATCH_SECONDS)
        try:
            await _to_completion(server.start)
        except RagcorpError as error:
            logger.warning("the embedded PostgreSQL does not start: %s", error.message)


async def prepare_storage(storage: Storage, settings: Settings, *, parts: Parts | None = None) -> None:
    """Migrate the embedded database; raise ConfigurationError if another is not at the newest revision."""
    if storage.embedded:
        await migrate_storage(storage, settings, parts=parts)
        return
    schema = await anyio.to_thread.run_sync(state, storage.dsn)
    schema.require_known()
    if not schema.up_to_date:
        raise ConfigurationError(
            f"The database is at schema revision {schema.current or 'none'}; this version needs {schema.head}.",
            field="DATABASE_URL",
            remedy="Run `ragcorp migrate`.",
        )


async def migrate_storage(
    storage: Storage, settings: Settings, *, parts: Parts | None = None, protect: bool | None = None
) -> Migrated:
    """Bring the schema to the newest revision, prepared for the model in use. Arguments and errors as ``migrate``."""
    model = settings.embedding if parts is None else parts.embedding(settings)
    return await anyio.to_thread.run_sync(
        lambda: migrate(
            storage.owner_dsn,
            embedding_model=model,
            application_dsn=storage.dsn,
            superuser_dsn=storage.superuser_dsn,
            protect=protect,
        )
    )

"""Opens the use cases of `ragcorp keys`: the database without models."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from ragcorp.application.keys.create import CreateKey
from ragcorp.application.keys.list import ListKeys
from ragcorp.application.keys.revoke import RevokeKey
from ragcorp.infrastructure.postgres.connections.database import Database, DatabaseOptions
from ragcorp.infrastructure.postgres.keys.store import PostgresKeyStore
from ragcorp.interface.cli.console.services import Keys, Target
from ragcorp.main.opening.storage import open_storage, prepare_storage
from ragcorp.main.settings.for_commands import settings_for
from ragcorp.main.wiring.keys import make_digests, utc_now

CONNECTIONS = 2


@asynccontextmanager
async def open_keys(target: Target) -> AsyncIterator[Keys]:
    """Raises ConfigurationError, MissingExtraError or StorageUnavailableError."""
    settings = settings_for(target)
    async with open_storage(settings) as storage:
        await prepare_storage(storage, settings)
        database = Database(storage.dsn, options=DatabaseOptions(pool_size=CONNECTIONS))
        try:
            await database.open()
            store = PostgresKeyStore(database=database)
            yield Keys(
                create=CreateKey(store=store, digests=make_digests(settings, store), random=os.urandom, now=utc_now),
                list=ListKeys(store=store, now=utc_now),
                revoke=RevokeKey(store=store, now=utc_now),
                workspace=settings.ragcorp_workspace,
            )
        finally:
            await database.close()

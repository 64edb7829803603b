"""Migrates by hand, and tells how far a database is."""

from __future__ import annotations

import anyio.to_thread

from ragcorp.infrastructure.postgres.migrations import MigrationState, state
from ragcorp.interface.cli.services import Migration, SchemaState, Target
from ragcorp.main.command_settings import settings_for
from ragcorp.main.storage import migrate_storage, open_storage


async def migrate_database(target: Target) -> Migration:
    """Bring the schema to the newest revision, as its owner. Raises as ``open_storage`` and ``migrate``."""
    settings = settings_for(target)
    async with open_storage(settings) as storage:
        before = await anyio.to_thread.run_sync(state, storage.owner_dsn)
        await migrate_storage(storage, settings)
        after = await anyio.to_thread.run_sync(state, storage.owner_dsn)
    return Migration(before=_schema(before), after=_schema(after))


async def schema_state(target: Target) -> SchemaState:
    async with open_storage(settings_for(target)) as storage:
        return _schema(await anyio.to_thread.run_sync(state, storage.dsn))


def _schema(found: MigrationState) -> SchemaState:
    return SchemaState(current=found.current, head=found.head)

"""Migrates on demand, and reports the schema revision."""

import anyio.to_thread

from ragcorp.infrastructure.postgres.administration.migrations import state
from ragcorp.interface.cli.console.services import Migration, RowLevelSecurity, SchemaState, Target
from ragcorp.main.opening.storage import migrate_storage, open_storage
from ragcorp.main.settings.for_commands import settings_for


async def migrate_database(target: Target, row_level_security: RowLevelSecurity | None) -> Migration:
    """Bring the schema to the newest revision, as its owner. Raises as ``open_storage`` and ``migrate``."""
    settings = settings_for(target)
    protect = None if row_level_security is None else row_level_security is RowLevelSecurity.ON
    async with open_storage(settings) as storage:
        done = await migrate_storage(storage, settings, protect=protect)
    return Migration(
        before=done.before,
        after=SchemaState(current=done.current, head=done.head),
        row_level_security=RowLevelSecurity.OFF if done.off else RowLevelSecurity.ON,
        left=done.left,
        stop_older_processes=done.turned_on,
    )


async def schema_state(target: Target) -> SchemaState:
    """Raises ConfigurationError for a database that a newer version migrated."""
    async with open_storage(settings_for(target)) as storage:
        revision = await anyio.to_thread.run_sync(state, storage.dsn)
    revision.require_known()
    return SchemaState(current=revision.current, head=revision.head)

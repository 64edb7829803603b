"""Opens the use cases for a command of the command line."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from ragcorp.interface.cli.console.services import Session, Target
from ragcorp.main.opening.facts import facts_of
from ragcorp.main.opening.storage import open_storage, prepare_storage
from ragcorp.main.settings.for_commands import settings_for
from ragcorp.main.settings.schema import Settings
from ragcorp.main.wiring.container import Container, open_container


@asynccontextmanager
async def open_prepared(settings: Settings) -> AsyncIterator[Container]:
    """Open storage, bring an embedded database up to date, and wire the use cases. Raises as ``open_container``."""
    async with open_storage(settings) as storage:
        await prepare_storage(storage, settings)
        async with open_container(settings, storage.dsn) as container:
            yield container


@asynccontextmanager
async def open_session(target: Target) -> AsyncIterator[Session]:
    async with open_prepared(settings_for(target)) as container:
        yield session_of(container)


def session_of(container: Container) -> Session:
    return Session(
        use_cases=container.use_cases,
        principal=container.settings.local_caller.principal,
        makes_vectors=container.embedder.model.dimensions > 0,
        facts=facts_of(container.settings),
    )

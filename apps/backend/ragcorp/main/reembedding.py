"""Opens what changes the embedding model of a database."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import anyio.to_thread

from ragcorp.application.drop_vectors import DropVectors
from ragcorp.application.embed_pending import EmbedPending
from ragcorp.application.reembed import Reembed
from ragcorp.application.switch_back import SwitchBack
from ragcorp.domain.exceptions import ConfigurationError
from ragcorp.infrastructure.postgres.database import Database, DatabaseOptions
from ragcorp.infrastructure.postgres.embedding_backlog import PostgresEmbeddingBacklog
from ragcorp.infrastructure.postgres.embedding_cache import PostgresEmbeddingCache
from ragcorp.infrastructure.postgres.item_backlog import PostgresItemBacklog
from ragcorp.infrastructure.postgres.item_rows import WITH_VECTORS
from ragcorp.infrastructure.postgres.migrations import migrate
from ragcorp.infrastructure.postgres.reembedding import PostgresReembedding
from ragcorp.infrastructure.postgres.structure_vectors import PostgresStructureVectors
from ragcorp.interface.cli.services import ModelChoice, Models, Target
from ragcorp.main.command_settings import settings_for
from ragcorp.main.model_parts import make_embedder
from ragcorp.main.settings import LOCAL_MODEL, OPENAI_MODEL, EmbeddingProvider, Settings
from ragcorp.main.storage import Storage, open_storage, prepare_storage

CONNECTIONS = 8
STATEMENT_TIMEOUT_MS = 3_600_000
"""Counting the texts of a large database, or going through them after a restart, takes longer than a query may."""


@asynccontextmanager
async def open_models(target: Target, choice: ModelChoice | None) -> AsyncIterator[Models]:
    """Open the database as its owner, whatever model the settings name; ``choice`` is the model to embed with.

    Raises ConfigurationError, MissingExtraError or StorageUnavailableError.
    """
    async with AsyncExitStack() as stack:
        settings = settings_for(target) if choice is None else settings_for(target, **_overrides(choice))
        embedder = None
        if choice is not None:
            embedder = make_embedder(settings)
            stack.push_async_callback(embedder.aclose)
        storage = await stack.enter_async_context(open_storage(settings))
        await _prepare(storage, settings)
        options = DatabaseOptions(pool_size=CONNECTIONS, statement_timeout_ms=STATEMENT_TIMEOUT_MS)
        database = Database(storage.owner_dsn, options=options)
        stack.push_async_callback(database.close)
        await database.open()
        store = PostgresReembedding(database=database, dsn=storage.owner_dsn)
        reembed = None
        if embedder is not None:
            cache = PostgresEmbeddingCache(database=database)
            pending = EmbedPending(
                embedder=embedder,
                backlogs=(PostgresEmbeddingBacklog(database=database), PostgresStructureVectors(database=database)),
                item_backlogs=[PostgresItemBacklog(database=database, tables=tables) for tables in WITH_VECTORS],
                cache=cache,
            )
            reembed = Reembed(embedder=embedder, store=store, cache=cache, backlog=pending)
        yield Models(
            reembed=reembed,
            switch_back=SwitchBack(store=store),
            drop=DropVectors(store=store),
            states=store.models,
        )


async def _prepare(storage: Storage, settings: Settings) -> None:
    """As ``prepare_storage``, but for no model: the settings' one may be that of before or of after a switch."""
    if storage.embedded:
        await anyio.to_thread.run_sync(
            lambda: migrate(storage.owner_dsn, embedding_model=None, application_dsn=storage.dsn)
        )
        return
    await prepare_storage(storage, settings)


def _overrides(choice: ModelChoice) -> dict[str, object]:
    """Return the settings of the chosen model. Raises ConfigurationError if its width is not known."""
    known = {LOCAL_MODEL[0]: (EmbeddingProvider.LOCAL, LOCAL_MODEL[1])}
    known[OPENAI_MODEL[0]] = (EmbeddingProvider.OPENAI, OPENAI_MODEL[1])
    provider, dimensions = known.get(choice.name, (EmbeddingProvider.OPENAI, None))
    if choice.provider is not None:
        if choice.provider not in (EmbeddingProvider.LOCAL, EmbeddingProvider.OPENAI):
            raise ConfigurationError(
                "There is no such provider.", field="--provider", limit="local, openai", remedy="Name one of these."
            )
        provider = EmbeddingProvider(choice.provider)
    dimensions = choice.dimensions or dimensions
    if dimensions is None:
        raise ConfigurationError(
            "The width of this model's vectors is not known here.",
            field="--dimensions",
            remedy="Add --dimensions N: the provider's documentation has it.",
        )
    return {
        "embedding_provider": provider.value,
        "embedding_model": choice.name,
        "embedding_dim": dimensions,
    }

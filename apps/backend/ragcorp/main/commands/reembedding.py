"""Opens the use cases that change the embedding model of a database."""

import re
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager

import anyio.to_thread

from ragcorp.application.embedding.drop_vectors import DropVectors
from ragcorp.application.embedding.embed_pending import EmbedPending
from ragcorp.application.embedding.reembed import Reembed
from ragcorp.application.embedding.switch_back import SwitchBack
from ragcorp.domain.exceptions import ConfigurationError, RagcorpError
from ragcorp.infrastructure.postgres.administration.migrations import migrate
from ragcorp.infrastructure.postgres.connections.database import Database, DatabaseOptions
from ragcorp.infrastructure.postgres.embeddings.backlog import PostgresEmbeddingBacklog
from ragcorp.infrastructure.postgres.embeddings.cache import PostgresEmbeddingCache
from ragcorp.infrastructure.postgres.embeddings.reembedding import PostgresReembedding
from ragcorp.infrastructure.postgres.models.embedding_models import HALFVEC_INDEX_LIMIT
from ragcorp.infrastructure.postgres.tables.embedded import OF_DOCUMENTS, OF_ITEMS
from ragcorp.interface.cli.console.services import ModelChoice, Models, Target
from ragcorp.main.opening.storage import Storage, open_storage, prepare_storage
from ragcorp.main.settings.for_commands import settings_for
from ragcorp.main.settings.schema import LOCAL_MODEL, OPENAI_MODEL, REMEDY, EmbeddingProvider, Settings
from ragcorp.main.wiring.models import make_embedder

CONNECTIONS = 8
STATEMENT_TIMEOUT_MS = 3_600_000
"""Counting or scanning the texts of a large database takes longer than a query may."""

OPTIONS = {"EMBEDDING_PROVIDER": "--provider", "EMBEDDING_MODEL": "--model", "EMBEDDING_DIM": "--dimensions"}


@asynccontextmanager
async def open_models(target: Target, choice: ModelChoice | None) -> AsyncIterator[Models]:
    """Open the database as its owner, whatever model the settings name; ``choice`` is the model to embed with."""
    async with AsyncExitStack() as stack:
        if choice is not None:
            stack.enter_context(_options_named())
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
                backlogs=[PostgresEmbeddingBacklog(database=database, table=table) for table in OF_DOCUMENTS],
                item_backlogs=[PostgresEmbeddingBacklog(database=database, table=table) for table in OF_ITEMS],
                cache=cache,
            )
            reembed = Reembed(embedder=embedder, store=store, cache=cache, backlog=pending)
        yield Models(
            reembed=reembed, switch_back=SwitchBack(store=store), drop=DropVectors(store=store), states=store.models
        )


async def _prepare(storage: Storage, settings: Settings) -> None:
    """As ``prepare_storage``, without a model: the configured one may be that before or after a switch."""
    if storage.embedded:
        await anyio.to_thread.run_sync(
            lambda: migrate(storage.owner_dsn, embedding_model=None, application_dsn=storage.dsn)
        )
        return
    await prepare_storage(storage, settings)


def _overrides(choice: ModelChoice) -> dict[str, object]:
    """Return the settings of the chosen model. Raises ConfigurationError if its width is unknown."""
    models = {LOCAL_MODEL[0]: (EmbeddingProvider.LOCAL, LOCAL_MODEL[1])}
    models[OPENAI_MODEL[0]] = (EmbeddingProvider.OPENAI, OPENAI_MODEL[1])
    provider, dimensions = models.get(choice.name, (EmbeddingProvider.OPENAI, None))
    if not choice.name.strip():
        raise ConfigurationError("The model has no name.", field="--model", remedy="Name the one to change to.")
    if choice.provider is not None:
        if choice.provider not in (EmbeddingProvider.LOCAL, EmbeddingProvider.OPENAI):
            raise ConfigurationError(
                "There is no such provider.", field="--provider", limit="local, openai", remedy="Name one of these."
            )
        provider = EmbeddingProvider(choice.provider)
    dimensions = dimensions if choice.dimensions is None else choice.dimensions
    if dimensions is None:
        raise ConfigurationError(
            "The width of this model's vectors is not known here.",
            field="--dimensions",
            remedy="Add --dimensions N: the provider's documentation has it.",
        )
    if not 1 <= dimensions <= HALFVEC_INDEX_LIMIT:
        raise ConfigurationError(
            "--dimensions is out of range.",
            field="--dimensions",
            limit=f"1 to {HALFVEC_INDEX_LIMIT}",
            remedy="Give the width that the model makes; one that takes `dimensions` can shorten its vectors.",
        )
    if provider is EmbeddingProvider.LOCAL and (choice.name, dimensions) != LOCAL_MODEL:
        raise ConfigurationError(
            "The local provider carries one model only.",
            field="--model, --dimensions",
            limit=f"{LOCAL_MODEL[0]}, {LOCAL_MODEL[1]} dimensions",
            remedy="Name that one, or give --provider openai.",
        )
    return {"embedding_provider": provider.value, "embedding_model": choice.name, "embedding_dim": dimensions}


@contextmanager
def _options_named() -> Iterator[None]:
    """Make errors name the options instead of the settings that they replace."""
    try:
        yield
    except RagcorpError as error:
        if error.field is not None and set(error.field.split(", ")) <= OPTIONS.keys():
            error.message = error.message.replace("The settings are not valid", "The options are not valid")
            error.remedy = "Correct the named options." if error.remedy == REMEDY else error.remedy
        error.message = _with_options(error.message)
        error.field = _with_options(error.field) if error.field else None
        error.remedy = _with_options(error.remedy) if error.remedy else None
        raise


def _with_options(text: str) -> str:
    return re.sub(r"\b[A-Z_]+\b", lambda match: OPTIONS.get(match[0], match[0]), text)

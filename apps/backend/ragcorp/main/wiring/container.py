"""The composition root: turns settings into wired use cases."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from ragcorp.application.documents.delete import DeleteDocument
from ragcorp.application.documents.list import ListDocuments
from ragcorp.application.documents.restore import RestoreDocument
from ragcorp.application.embedding.embed_elsewhere import EmbedDocument, EmbedElsewhere
from ragcorp.application.embedding.prune import PruneEmbeddings
from ragcorp.application.keys.authenticate import Authenticate
from ragcorp.application.upkeep.purge_worker import PurgeWorker
from ragcorp.application.workspaces.choose_language import ChooseLanguage
from ragcorp.domain.ports.models import Embedder
from ragcorp.domain.ports.observers import EmbeddingCacheObservers, TokenObservers
from ragcorp.domain.ports.text import DocumentParser
from ragcorp.infrastructure.postgres.connections.database import Database
from ragcorp.infrastructure.postgres.documents.store import PostgresDocumentStore
from ragcorp.infrastructure.postgres.embeddings.cache import PostgresEmbeddingCache
from ragcorp.infrastructure.postgres.episodes.store import PostgresEpisodeStore
from ragcorp.infrastructure.postgres.workspaces.registry import WorkspaceLanguages
from ragcorp.interface.use_cases import UseCases
from ragcorp.main.settings.schema import Settings
from ragcorp.main.wiring.answering import make_answer, make_context
from ragcorp.main.wiring.base import Parts, open_base
from ragcorp.main.wiring.collections import make_collections
from ragcorp.main.wiring.files import make_files
from ragcorp.main.wiring.graph import make_graph
from ragcorp.main.wiring.hydration import make_hydration
from ragcorp.main.wiring.ingestion import make_embedding, make_ingestion
from ragcorp.main.wiring.keys import make_authenticator, make_budget
from ragcorp.main.wiring.retrieval import require_free_names
from ragcorp.main.wiring.search import SearchParts, make_search
from ragcorp.main.wiring.tracing import make_tracing

if TYPE_CHECKING:
    from ragcorp.infrastructure.otel.exporting import OtlpTraces


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """The wired use cases, and what the service needs besides."""

    settings: Settings
    database: Database
    embedder: Embedder
    parser: DocumentParser
    use_cases: UseCases
    search_parts: SearchParts
    file_roots: tuple[str, ...]
    purge_workers: tuple[PurgeWorker, ...]
    authenticator: Authenticate
    cache_observers: EmbeddingCacheObservers
    token_observers: TokenObservers
    tracing: OtlpTraces | None


@asynccontextmanager
async def open_container(
    settings: Settings, dsn: str, *, parts: Parts | None = None, embed_document: EmbedDocument | None = None
) -> AsyncIterator[Container]:
    """Open the database at ``dsn`` (the application role's) and wire the use cases. Raises as ``open_base``.

    ``embed_document`` makes the vectors for which an ingestion waits in another process.
    """
    parts = parts or Parts()
    require_free_names(parts.sources)
    async with AsyncExitStack() as stack:
        tracing = make_tracing(settings)
        if tracing is not None:
            stack.push_async_callback(tracing.aclose)
        base = await open_base(settings, dsn, own_embedder=parts.embedder, stack=stack)
        authenticator = base.closing(make_authenticator(settings, base.database))
        files = make_files(settings, base.database)
        hydration = make_hydration(base)
        search_parts = make_search(base, parts, files=files, hydration=hydration)
        budget = make_budget(base)
        answer = make_answer(base, parts, search=search_parts.search, budget=budget, health=search_parts.model_health)
        embedding_cache = PostgresEmbeddingCache(database=base.database)
        embed_pending = make_embedding(base, embedding_cache)
        ingestion = make_ingestion(
            base,
            embed_pending=EmbedElsewhere(embed_document, embed_pending) if embed_document else embed_pending,
            recognizer=parts.recognizer,
        )
        use_cases = UseCases(
            search=search_parts.search,
            answer=answer,
            context=make_context(settings, search_parts.search),
            introspect=hydration.introspect,
            grep=files.grep,
            read_file=files.read,
            ingest=ingestion.ingest,
            ingest_folder=ingestion.ingest_folder,
            watch_folder=ingestion.watch_folder,
            delete=DeleteDocument(store=base.store),
            restore=RestoreDocument(store=base.store, preparation=ingestion.preparation),
            documents=ListDocuments(store=base.store),
            collections=make_collections(base, ingestion),
            graph=make_graph(base, budget),
            refresh_structure=ingestion.refresh_structure,
            recognize=ingestion.recognize,
            embed_pending=embed_pending,
            prune_embeddings=PruneEmbeddings(cache=embedding_cache),
            language=ChooseLanguage(
                languages=WorkspaceLanguages(database=base.database), default_language=settings.default_language
            ),
            default_language=settings.default_language,
        )
        yield Container(
            settings=settings,
            database=base.database,
            embedder=base.embedder,
            parser=ingestion.parser,
            use_cases=use_cases,
            search_parts=search_parts,
            file_roots=files.repository.roots,
            authenticator=authenticator,
            cache_observers=base.cache_observers,
            token_observers=base.token_observers,
            tracing=tracing,
            purge_workers=_purge_workers(settings, base.store, hydration.episodes),
        )


def _purge_workers(
    settings: Settings, store: PostgresDocumentStore, episodes: PostgresEpisodeStore
) -> tuple[PurgeWorker, ...]:
    turns = PurgeWorker(
        purge=partial(episodes.purge, older_than_days=settings.hydration_retention_days), what="turns of episodes"
    )
    if settings.purge_deleted_after_days is None:
        return (turns,)
    documents = partial(store.purge_deleted, older_than_days=settings.purge_deleted_after_days, principal=None)
    return turns, PurgeWorker(purge=documents, what="deleted documents")

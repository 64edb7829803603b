"""Dependencies of the HTTP interface: use cases, authentication and observability hooks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ragcorp.application.documents.delete import DeleteDocument
from ragcorp.application.documents.ingest import IngestDocument
from ragcorp.application.documents.list import ListDocuments
from ragcorp.application.documents.restore import RestoreDocument
from ragcorp.application.embedding.embed_pending import EmbedPending
from ragcorp.application.hydration.introspect import IntrospectHydration
from ragcorp.application.memory.load_context import LoadContext
from ragcorp.application.status.report import ReportStatus
from ragcorp.domain.keys import LOCAL_CALLER, Caller
from ragcorp.domain.ports.file_search import FileGrep, FileReading
from ragcorp.domain.ports.keys import Authenticator
from ragcorp.domain.ports.observers import EmbeddingCacheObserver, RolloutObserver
from ragcorp.domain.ports.use_cases import ChunkSearch, QuestionAnswering
from ragcorp.interface.collection_use_cases import CollectionUseCases
from ragcorp.interface.graph_use_cases import GraphUseCases
from ragcorp.interface.http.monitoring.readiness import Readiness
from ragcorp.interface.http.monitoring.state_metrics import ServiceState


class OnlyLocal:
    """The port Authenticator where there are no keys at all: who calls is the local user."""

    async def caller(self, credential: str | None) -> Caller:  # noqa: ARG002 - the port's name
        return LOCAL_CALLER


def _nobody_waits() -> None:
    return None


def _no_vector_is_cached(_: EmbeddingCacheObserver) -> None:
    return None


def _nothing_is_rolled_out(_: RolloutObserver) -> None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpServices:
    """The use cases behind the routes.

    ``readiness`` raises a RagcorpError where the service cannot serve; ``pool_statistics`` are psycopg_pool's counters;
    ``wake_embedding`` is called when chunks were stored without vectors; ``observe_rollout`` is given who counts arms
    and shadows, ``observe_embedding_cache`` who counts what the caches of vectors spared.
    ``state`` is what metrics show of the service at any moment.
    """

    search: ChunkSearch
    answer: QuestionAnswering
    context: LoadContext
    status: ReportStatus
    ingest: IngestDocument
    delete: DeleteDocument
    restore: RestoreDocument
    documents: ListDocuments
    collections: CollectionUseCases
    graph: GraphUseCases
    grep: FileGrep
    read_file: FileReading
    introspect: IntrospectHydration
    embed_pending: EmbedPending
    readiness: Readiness
    pool_statistics: Callable[[], Mapping[str, int]]
    wake_embedding: Callable[[], None] = _nobody_waits
    observe_rollout: Callable[[RolloutObserver], None] = _nothing_is_rolled_out
    observe_embedding_cache: Callable[[EmbeddingCacheObserver], None] = _no_vector_is_cached
    authenticator: Authenticator = field(default_factory=OnlyLocal)
    state: ServiceState = field(default_factory=ServiceState)
    default_language: str = "es"

"""What the HTTP interface is given: the use cases, what an operator watches, and its limits."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from ragcorp.application.delete_document import DeleteDocument
from ragcorp.application.embed_pending import EmbedPending
from ragcorp.application.ingest_document import IngestDocument
from ragcorp.application.introspect_hydration import IntrospectHydration
from ragcorp.application.list_documents import ListDocuments
from ragcorp.application.load_context import LoadContext
from ragcorp.application.restore_document import RestoreDocument
from ragcorp.domain.ports.file_search import FileGrep, FileReading
from ragcorp.domain.ports.observers import EmbeddingCacheObserver, RolloutObserver
from ragcorp.domain.ports.use_cases import ChunkSearch, QuestionAnswering
from ragcorp.interface.collection_use_cases import CollectionUseCases
from ragcorp.interface.graph_use_cases import GraphUseCases


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
    """

    search: ChunkSearch
    answer: QuestionAnswering
    context: LoadContext
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
    readiness: Callable[[], Awaitable[None]]
    pool_statistics: Callable[[], Mapping[str, int]]
    wake_embedding: Callable[[], None] = _nobody_waits
    observe_rollout: Callable[[RolloutObserver], None] = _nothing_is_rolled_out
    observe_embedding_cache: Callable[[EmbeddingCacheObserver], None] = _no_vector_is_cached
    default_language: str = "es"


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpLimits:
    """Bounds of a request. Times in seconds.

    ``request_timeout_seconds`` runs from when the body is in, and ``upload_timeout_seconds`` until then.
    ``ask_timeout_seconds`` is for /ask without a stream, ``grep_timeout_seconds`` for /grep, and
    ``bulk_batch_timeout_seconds`` for one batch of /documents/bulk, whose request has no bound of its own.
    ``max_query_characters`` and ``max_limit`` are enforced by the use case and only described here.
    ``allowed_hosts`` are the names that a Host header may have, in lower case, without port and brackets; None takes
    any.
    """

    max_body_bytes: int = 1024 * 1024
    max_file_bytes: int = 20 * 1024 * 1024
    max_json_depth: int = 32
    max_query_characters: int = 2000
    max_limit: int = 50
    request_timeout_seconds: float = 5.0
    ask_timeout_seconds: float = 5.0
    grep_timeout_seconds: float = 5.0
    upload_timeout_seconds: float = 60.0
    bulk_batch_timeout_seconds: float = 60.0
    ping_seconds: float = 15.0
    allowed_hosts: frozenset[str] | None = None

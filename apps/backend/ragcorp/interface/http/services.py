"""Dependencies of the HTTP interface: use cases, authentication and observability hooks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from ragcorp.application.status.report import ReportStatus
from ragcorp.domain.keys import LOCAL_CALLER, Caller
from ragcorp.domain.ports.keys import Authenticator
from ragcorp.domain.ports.observers import EmbeddingCacheObserver, RolloutObserver
from ragcorp.interface.http.monitoring.metrics import ServiceState
from ragcorp.interface.use_cases import UseCases


class OnlyLocal:
    """Authenticator without keys: every caller is the local user."""

    async def caller(self, credential: str | None) -> Caller:  # noqa: ARG002 - the port's name
        return LOCAL_CALLER


def _ignore(_: object = None) -> None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpServices:
    """Use cases and hooks of the routes.

    ``readiness`` raises a RagcorpError if the service cannot serve; ``pool_statistics`` returns psycopg_pool's
    counters; ``wake_embedding`` is called after chunks were stored without vectors. ``observe_rollout`` and
    ``observe_embedding_cache`` register an observer. ``state`` feeds the metrics of the process.
    """

    use_cases: UseCases
    status: ReportStatus
    readiness: Callable[[], Awaitable[None]]
    pool_statistics: Callable[[], Mapping[str, int]]
    wake_embedding: Callable[[], None] = _ignore
    observe_rollout: Callable[[RolloutObserver], None] = _ignore
    observe_embedding_cache: Callable[[EmbeddingCacheObserver], None] = _ignore
    authenticator: Authenticator = field(default_factory=OnlyLocal)
    state: ServiceState = field(default_factory=ServiceState)

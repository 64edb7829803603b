"""`ragcorp.open()`."""

from contextlib import AsyncExitStack, ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

from anyio.from_thread import start_blocking_portal

from ragcorp.domain.principal import Principal
from ragcorp.interface.library.blocking import BlockingRag
from ragcorp.interface.library.rag import Rag
from ragcorp.main.opening.storage import open_storage, prepare_storage
from ragcorp.main.settings.schema import Settings, load_settings
from ragcorp.main.wiring.base import Parts
from ragcorp.main.wiring.container import Container, open_container


class RagHandle:
    """Returned by `open`: use it with ``async with`` for a ``Rag``, or with ``with`` for a blocking one."""

    def __init__(self, settings: Settings, parts: Parts, principal: Principal) -> None:
        self._settings = settings
        self._parts = parts
        self._principal = principal
        self._async_stack: AsyncExitStack | None = None
        self._stack: ExitStack | None = None

    async def __aenter__(self) -> Rag:
        async with AsyncExitStack() as stack:
            storage = await stack.enter_async_context(open_storage(self._settings))
            await prepare_storage(storage, self._settings, parts=self._parts)
            container = await stack.enter_async_context(open_container(self._settings, storage.dsn, parts=self._parts))
            self._async_stack = stack.pop_all()
        return make_rag(container, principal=self._principal)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._async_stack is not None:
            await self._async_stack.__aexit__(kind, error, trace)
            self._async_stack = None

    def __enter__(self) -> BlockingRag:
        with ExitStack() as stack:
            portal = stack.enter_context(start_blocking_portal())
            rag = stack.enter_context(portal.wrap_async_context_manager(self))
            self._stack = stack.pop_all()
        return BlockingRag(rag, portal)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._stack is not None:
            self._stack.__exit__(kind, error, trace)
            self._stack = None


def open_rag(
    *,
    database_url: str | None = None,
    data_dir: str | Path | None = None,
    parts: Parts | None = None,
    workspace: str | None = None,
    principal: Principal | None = None,
    **settings: Any,
) -> RagHandle:
    """Open ragcorp over the embedded PostgreSQL in ``data_dir``, or over ``database_url``.

    Pass any setting by its name in lower case (``enable_hybrid_search=True``); the others come from the environment.
    ``parts`` are your own sources, models or fusion service. ``workspace`` defaults to RAGCORP_WORKSPACE, ``principal``
    to the local user.

    Raises ConfigurationError for invalid settings; entering it raises the errors of opening the database.

    >>> with ragcorp.open(enable_hybrid_search=True) as rag:
    ...     rag.documents(limit=1)[0][0].external_id
    'contrato.md'
    """
    overrides = {"database_url": database_url, "ragcorp_data_dir": data_dir, "ragcorp_workspace": workspace, **settings}
    loaded = load_settings(overrides)
    return RagHandle(loaded, parts or Parts(), principal or loaded.local_caller.principal)


def make_rag(container: Container, *, principal: Principal | None = None) -> Rag:
    return Rag(container.use_cases, principal=principal or container.settings.local_caller.principal)

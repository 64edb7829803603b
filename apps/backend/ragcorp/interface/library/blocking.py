"""Blocking variant of ``Rag`` for scripts and notebooks: an event loop in another thread runs the calls."""

import functools
import inspect
from collections.abc import AsyncGenerator, Iterator
from typing import Any

from anyio.from_thread import BlockingPortal

from ragcorp.interface.library.collections import Facade
from ragcorp.interface.library.rag import Rag


class BlockingRag:
    """Every method of ``Rag`` and of its parts, blocking.

    >>> rag.search('plazo de entrega').hits[0].chunk.external_id
    'contrato.md'
    """

    def __init__(self, rag: Rag | Facade, portal: BlockingPortal) -> None:
        self._rag = rag
        self._portal = portal

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._rag, name)
        if isinstance(method, Facade):
            return BlockingRag(method, self._portal)
        if not callable(method):
            raise AttributeError(name)  # noqa: TRY004 - what Python raises for a name that is not there

        @functools.wraps(method)
        def call(*args: Any, **kwargs: Any) -> Any:
            if inspect.iscoroutinefunction(method):
                return self._portal.call(functools.partial(method, *args, **kwargs))
            result = method(*args, **kwargs)
            if isinstance(result, Rag):
                return BlockingRag(result, self._portal)
            return self._iterate(result) if hasattr(result, "__anext__") else result

        return call

    def __dir__(self) -> list[str]:
        return [name for name in dir(self._rag) if not name.startswith("_")]

    def _iterate(self, events: AsyncGenerator[Any]) -> Iterator[Any]:
        try:
            while True:
                try:
                    event = self._portal.call(events.__anext__)
                except StopAsyncIteration:
                    return
                yield event
        finally:
            # a loop that is left early ends the model's request too
            self._portal.call(events.aclose)

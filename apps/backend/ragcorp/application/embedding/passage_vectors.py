"""The vectors of passages: from memory, from the database, else from the model, once for all who ask."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ragcorp.application.embedding.vector_memory import VectorMemory
from ragcorp.domain.embeddings import CacheName, CacheOutcome, EmbeddingModel, Vector
from ragcorp.domain.exceptions import EmbedderUnavailableError
from ragcorp.domain.observers import EmbeddingCacheObservers
from ragcorp.domain.ports.models import Embedder, EmbeddingCache
from ragcorp.domain.ports.observers import EmbeddingCacheObserver

logger = logging.getLogger(__name__)

REJECTED = "rejected"
"""The reason of an EmbedderUnavailableError that no retry can mend: a text is refused."""

PassageKey = tuple[str, bytes]
"""A passage's workspace and the SHA-256 of what is embedded: no workspace learns what another has embedded."""

_Wanted = tuple[EmbeddingModel, PassageKey]


@dataclass(slots=True, eq=False)
class _Call:
    """One look into the database and, for what is not there, one call to the model."""

    model: EmbeddingModel
    passages: Mapping[PassageKey, str]
    remembered: set[PassageKey] = field(default_factory=set)
    task: asyncio.Task[dict[PassageKey, Vector]] = field(init=False)
    waiting: int = 0


class PassageVectors:
    """Gives the vector of each passage. It writes nothing to the database and holds no connection while the model runs.

    Whoever wants a passage that another is getting waits for that call and shares its outcome; only what nobody is
    getting is asked for anew. A failure is not remembered. One who is cancelled leaves the others waiting; the last
    cancels the call. ``memory`` may be shared with other models: its keys name the model and its width.
    """

    def __init__(
        self,
        *,
        embedder: Embedder,
        cache: EmbeddingCache,
        memory: VectorMemory | None = None,
        observer: EmbeddingCacheObserver | None = None,
    ) -> None:
        self._embedder = embedder
        self._cache = cache
        self._memory = memory or VectorMemory(size=0, ttl_seconds=0)
        self._observer = observer or EmbeddingCacheObservers()
        self._calls: dict[_Wanted, _Call] = {}

    async def of(self, passages: Mapping[PassageKey, str], *, remember: bool = True) -> dict[PassageKey, Vector]:
        """Return the vector of each text; with ``remember`` they stay in memory.

        Raises EmbedderUnavailableError, with reason ``rejected`` where one of these texts is refused, and
        StorageUnavailableError.
        """
        model = self._embedder.model
        found = self._remembered(passages, model)
        while missing := {key: text for key, text in passages.items() if key not in found}:
            calls = self._calls_for(missing, model)
            if remember:
                for call in calls:
                    call.remembered |= missing.keys() & call.passages.keys()
            await self._ended(calls)
            for call in calls:
                error = call.task.exception()
                if error is None:
                    found |= {key: vector for key, vector in call.task.result().items() if key in missing}
                elif call.passages.keys() <= passages.keys() or not _is_refusal(error):
                    raise error
                # else a text that is none of these was refused: what is missing is asked for again without it
        return found

    def _remembered(self, passages: Iterable[PassageKey], model: EmbeddingModel) -> dict[PassageKey, Vector]:
        known = {key: self._memory.get((model, key)) for key in passages}
        found = {key: vector for key, vector in known.items() if vector is not None}
        self._count(CacheOutcome.MEMORY, len(found))
        return found

    def _calls_for(self, missing: Mapping[PassageKey, str], model: EmbeddingModel) -> list[_Call]:
        """Join the calls that are getting some of it and begin one for the rest; without a pause in between."""
        running = {key: self._calls[model, key] for key in missing if (model, key) in self._calls}
        self._count(CacheOutcome.JOINED, len(running))
        calls = list(dict.fromkeys(running.values()))
        rest = {key: text for key, text in missing.items() if key not in running}
        if rest:
            begun = _Call(model=model, passages=rest)
            begun.task = asyncio.create_task(self._get(begun))
            begun.task.add_done_callback(_note_failure)
            self._calls |= dict.fromkeys(((model, key) for key in rest), begun)
            calls.append(begun)
        for call in calls:
            call.waiting += 1
        return calls

    async def _ended(self, calls: Iterable[_Call]) -> None:
        try:
            await asyncio.wait([call.task for call in calls])  # which cancels none of them
        finally:
            for call in calls:
                call.waiting -= 1
                if call.waiting == 0 and not call.task.done():
                    self._forget(call)
                    call.task.cancel()

    def _forget(self, call: _Call) -> None:
        for key in call.passages:
            if self._calls.get((call.model, key)) is call:
                del self._calls[call.model, key]

    async def _get(self, call: _Call) -> dict[PassageKey, Vector]:
        try:
            vectors = await self._cached(call)
            missing = {key: text for key, text in call.passages.items() if key not in vectors}
            self._count(CacheOutcome.DATABASE, len(vectors))
            self._count(CacheOutcome.MISS, len(missing))
            if missing:
                vectors |= zip(missing, await self._embedded(list(missing.values()), call.model), strict=True)
            for key in call.remembered:
                self._memory.put((call.model, key), vectors[key])
            return vectors
        finally:
            # before anyone sees that it ended: who comes later finds a vector in memory, and shares no failure
            self._forget(call)

    async def _cached(self, call: _Call) -> dict[PassageKey, Vector]:
        vectors: dict[PassageKey, Vector] = {}
        for asked in dict.fromkeys(workspace for workspace, _ in call.passages):
            hashes = [index_hash for workspace, index_hash in call.passages if workspace == asked]
            known = await self._cache.get(hashes, model=call.model, workspace=asked)
            vectors |= {(asked, index_hash): vector for index_hash, vector in known.items()}
        return vectors

    async def _embedded(self, texts: Sequence[str], model: EmbeddingModel) -> Sequence[Vector]:
        """Embed, and hold an embedder of the user's own to its port. Raises EmbedderUnavailableError only."""
        try:
            vectors = await self._embedder.embed_passages(texts)
            widths = {len(vector) for vector in vectors}
        except EmbedderUnavailableError:
            raise
        except Exception as error:  # its bug must not stop the worker: it is logged, and the chunks are tried later
            logger.exception("the embedder raised an unexpected error")
            raise EmbedderUnavailableError("The embedder failed.", reason="error") from error
        if len(vectors) != len(texts):
            raise EmbedderUnavailableError("The embedder returned another number of vectors.", reason="wrong_count")
        if widths - {model.dimensions}:
            raise EmbedderUnavailableError("The embedder returned vectors of another width.", reason="wrong_width")
        return vectors

    def _count(self, outcome: CacheOutcome, count: int) -> None:
        if count:
            self._observer.vectors_served(CacheName.PASSAGE, outcome, count=count)


def _is_refusal(error: BaseException) -> bool:
    return isinstance(error, EmbedderUnavailableError) and error.reason == REJECTED


def _note_failure(task: asyncio.Task[dict[PassageKey, Vector]]) -> None:
    """Look at what a call ended with after all who waited for it had gone."""
    if not task.cancelled():
        task.exception()

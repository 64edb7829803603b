"""Vectors of passages: from memory, else the database, else the model, once for concurrent callers."""

import logging
import time
from array import array
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from cachetools import TTLCache

from ragcorp.application.resilience.single_flight import Flight, SingleFlight
from ragcorp.domain.embeddings import CacheName, CacheOutcome, EmbeddingModel, Vector
from ragcorp.domain.exceptions import EmbedderUnavailableError
from ragcorp.domain.ports.models import Embedder, EmbeddingCache
from ragcorp.domain.ports.observers import EmbeddingCacheObserver, EmbeddingCacheObservers

logger = logging.getLogger(__name__)

REJECTED = "rejected"
"""Reason of an EmbedderUnavailableError that a retry cannot mend: a text is refused."""

PassageKey = tuple[str, bytes]
"""Workspace and SHA-256 of the embedded text: no workspace learns what another has embedded."""

_Wanted = tuple[EmbeddingModel, PassageKey]


@dataclass(slots=True, eq=False, kw_only=True)
class _Call(Flight[_Wanted, dict[PassageKey, Vector]]):
    """One read of the database and, for missing passages, one call to the model."""

    model: EmbeddingModel
    passages: Mapping[PassageKey, str]
    remembered: set[PassageKey] = field(default_factory=set)


class VectorMemory:
    """Caches ``size`` vectors for ``ttl_seconds``, least recently used out first; zero of either caches none."""

    def __init__(self, *, size: int, ttl_seconds: float, timer: Callable[[], float] = time.monotonic) -> None:
        # eight bytes a number: a tuple takes 32
        self._vectors: TTLCache[Hashable, array[float]] | None = (
            TTLCache(maxsize=size, ttl=ttl_seconds, timer=timer) if size and ttl_seconds else None
        )

    def get(self, key: Hashable) -> Vector | None:
        vector = None if self._vectors is None else self._vectors.get(key)
        return None if vector is None else tuple(vector)

    def put(self, key: Hashable, vector: Vector) -> None:
        if self._vectors is not None:
            self._vectors[key] = array("d", vector)


class PassageVectors:
    """Returns the vectors of passages without writing to the database or holding a connection while the model runs."""

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
        self._flights = SingleFlight[_Wanted, _Call]()

    async def of(self, passages: Mapping[PassageKey, str], *, remember: bool = True) -> dict[PassageKey, Vector]:
        """Return each text's vector; ``remember`` keeps it. Raises EmbedderUnavailableError, also ``rejected``."""
        model = self._embedder.model
        vectors = self._remembered(passages, model)
        while missing := {key: text for key, text in passages.items() if key not in vectors}:
            calls = self._calls_for(missing, model)
            if remember:
                for call in calls:
                    call.remembered |= missing.keys() & call.passages.keys()
            await self._flights.ended(calls)
            for call in calls:
                error = call.task.exception()
                if error is None:
                    vectors |= {key: vector for key, vector in call.task.result().items() if key in missing}
                elif call.passages.keys() <= passages.keys() or not _is_refusal(error):
                    raise error
                # else another caller's text was refused: ask for the missing ones again without it
        return vectors

    def _remembered(self, passages: Iterable[PassageKey], model: EmbeddingModel) -> dict[PassageKey, Vector]:
        cached = {key: self._memory.get((model, key)) for key in passages}
        vectors = {key: vector for key, vector in cached.items() if vector is not None}
        self._count(CacheOutcome.MEMORY, len(vectors))
        return vectors

    def _calls_for(self, missing: Mapping[PassageKey, str], model: EmbeddingModel) -> list[_Call]:
        """Join the calls that fetch some of the passages and start one for the rest."""
        running = self._flights.running((model, key) for key in missing)
        self._count(CacheOutcome.JOINED, len(running))
        calls = list(dict.fromkeys(running.values()))
        rest = {key: text for key, text in missing.items() if (model, key) not in running}
        if rest:
            call = _Call(keys=[(model, key) for key in rest], model=model, passages=rest)
            calls.append(self._flights.start(call, self._get(call)))
        return calls

    async def _get(self, call: _Call) -> dict[PassageKey, Vector]:
        vectors = await cached_vectors(self._cache, call.passages, model=call.model)
        missing = {key: text for key, text in call.passages.items() if key not in vectors}
        self._count(CacheOutcome.DATABASE, len(vectors))
        self._count(CacheOutcome.MISS, len(missing))
        if missing:
            vectors |= zip(missing, await self._embedded(list(missing.values()), call.model), strict=True)
        for key in call.remembered:
            self._memory.put((call.model, key), vectors[key])
        return vectors

    async def _embedded(self, texts: Sequence[str], model: EmbeddingModel) -> Sequence[Vector]:
        """Embed, and check the answer of a user-supplied embedder. Raises EmbedderUnavailableError only."""
        try:
            vectors = await self._embedder.embed_passages(texts)
            widths = {len(vector) for vector in vectors}
        except EmbedderUnavailableError:
            raise
        except Exception as error:  # its bug must not stop the worker: log it, retry the chunks later
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


async def cached_vectors(
    cache: EmbeddingCache, keys: Collection[PassageKey], *, model: EmbeddingModel
) -> dict[PassageKey, Vector]:
    """Return the cached vectors of the keys, with one read for each workspace."""
    vectors: dict[PassageKey, Vector] = {}
    for workspace in dict.fromkeys(workspace for workspace, _ in keys):
        hashes = [index_hash for owner, index_hash in keys if owner == workspace]
        cached = await cache.get(hashes, model=model, workspace=workspace)
        vectors |= {(workspace, index_hash): vector for index_hash, vector in cached.items()}
    return vectors

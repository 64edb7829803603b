"""Combines candidate stores, each for its own collections."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeVar
from uuid import UUID

from ragcorp.application.resilience.time_bound import run_together
from ragcorp.domain.documents import Chunk
from ragcorp.domain.filters import Filters
from ragcorp.domain.ports.collections import CandidateStore
from ragcorp.domain.principal import Principal
from ragcorp.domain.retrieval import HitKey
from ragcorp.domain.search.candidates import Description, Features

Result = TypeVar("Result")
Key = TypeVar("Key")
Value = TypeVar("Value")


class RoutedCandidateStore:
    """Reads the stores in parallel by collection, ``default`` for others. One failure fails all: no half pages."""

    def __init__(self, *, default: CandidateStore, by_collection: Mapping[str, CandidateStore]) -> None:
        self._default = default
        self._by_collection = dict(by_collection)

    async def describe(
        self, keys: Sequence[HitKey], *, principal: Principal, filters: Filters = ()
    ) -> dict[HitKey, Description]:
        answers = await self._route(keys, lambda store, own: store.describe(own, principal=principal, filters=filters))
        return _merged(answers)

    async def features(self, keys: Sequence[HitKey], *, principal: Principal) -> Features:
        """Return the features of all stores; passages of different stores have no cosine."""
        answers = await self._route(keys, lambda store, own: store.features(own, principal=principal))
        return Features(
            cosines=_merged([answer.cosines for answer in answers]),
            lexemes=_merged([answer.lexemes for answer in answers]),
        )

    async def read(self, keys: Sequence[HitKey], *, principal: Principal) -> dict[HitKey, Chunk]:
        return _merged(await self._route(keys, lambda store, own: store.read(own, principal=principal)))

    async def neighbours(
        self, centres: Sequence[tuple[UUID, int]], *, distance: int, principal: Principal
    ) -> dict[tuple[UUID, int], Chunk]:
        """Only documents have neighbours."""
        return await self._default.neighbours(centres, distance=distance, principal=principal)

    async def _route(
        self, keys: Sequence[HitKey], read: Callable[[CandidateStore, Sequence[HitKey]], Awaitable[Result]]
    ) -> list[Result]:
        routed: dict[str, list[HitKey]] = {}
        for key in keys:
            routed.setdefault(key[1] if key[1] in self._by_collection else "", []).append(key)
        reads = [read(self._by_collection.get(name, self._default), own) for name, own in routed.items()]
        if len(reads) == 1:
            return [await reads[0]]
        return await run_together(reads)


def _merged(answers: Sequence[Mapping[Key, Value]]) -> dict[Key, Value]:
    return {key: value for answer in answers for key, value in answer.items()}

"""One CandidateStore of several: each reads the passages of its collections."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeVar
from uuid import UUID

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
    """Asks the stores that have keys, side by side; the ``default`` has those of every collection that is not named.

    Where one is out, so is the whole: half of a page would pass for all of it.
    """

    def __init__(self, *, default: CandidateStore, by_collection: Mapping[str, CandidateStore]) -> None:
        self._default = default
        self._by_collection = dict(by_collection)

    async def describe(
        self, keys: Sequence[HitKey], *, principal: Principal, filters: Filters = ()
    ) -> dict[HitKey, Description]:
        found = await self._asked(keys, lambda store, own: store.describe(own, principal=principal, filters=filters))
        return _merged(found)

    async def features(self, keys: Sequence[HitKey], *, principal: Principal) -> Features:
        """Return what the stores say; of passages of two of them there is no cosine."""
        found = await self._asked(keys, lambda store, own: store.features(own, principal=principal))
        return Features(
            cosines=_merged([item.cosines for item in found]), lexemes=_merged([item.lexemes for item in found])
        )

    async def read(self, keys: Sequence[HitKey], *, principal: Principal) -> dict[HitKey, Chunk]:
        return _merged(await self._asked(keys, lambda store, own: store.read(own, principal=principal)))

    async def neighbours(
        self, centres: Sequence[tuple[UUID, int]], *, distance: int, principal: Principal
    ) -> dict[tuple[UUID, int], Chunk]:
        """Only documents have neighbours."""
        return await self._default.neighbours(centres, distance=distance, principal=principal)

    async def _asked(
        self,
        keys: Sequence[HitKey],
        ask: Callable[[CandidateStore, Sequence[HitKey]], Awaitable[Result]],
    ) -> list[Result]:
        routed: dict[str, list[HitKey]] = {}
        for key in keys:
            routed.setdefault(key[1] if key[1] in self._by_collection else "", []).append(key)
        looks = [ask(self._by_collection.get(name, self._default), own) for name, own in routed.items()]
        if len(looks) == 1:
            return [await looks[0]]
        tasks = [asyncio.ensure_future(look) for look in looks]
        try:
            return list(await asyncio.gather(*tasks))
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


def _merged(found: Sequence[Mapping[Key, Value]]) -> dict[Key, Value]:
    return {key: value for item in found for key, value in item.items()}

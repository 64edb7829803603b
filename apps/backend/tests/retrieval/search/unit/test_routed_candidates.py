"""One store of several: each is asked for its own keys, and only if it has some."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from uuid import UUID

import pytest

from ragcorp.application.retrieval.search.routed_candidates import RoutedCandidateStore
from ragcorp.domain.documents import Chunk
from ragcorp.domain.exceptions import StorageUnavailableError
from ragcorp.domain.filters import Filters
from ragcorp.domain.principal import Principal
from ragcorp.domain.retrieval import HitKey
from ragcorp.domain.search.candidates import Description, Features
from support.retrieval.candidates import described
from support.storage.stored import ANYONE, where

pytestmark = pytest.mark.anyio

CHUNK, FACT, FILE, OTHER_FILE = ("7", "", 0), ("3", "graph", 0), ("a#L1-L2", "files", 0), ("b#L1-L2", "files", 0)
Keys = Sequence[HitKey]


class RecordingStore:
    """Knows every key that it is asked for. ``gate`` holds its answers; ``error`` is raised in their place."""

    def __init__(
        self, name: str, *, gate: asyncio.Barrier | asyncio.Event | None = None, error: Exception | None = None
    ) -> None:
        self.name, self.gate, self.error = name, gate, error
        self.asked: list[tuple[str, list[HitKey]]] = []
        self.filters: Filters = ()
        self.entered = asyncio.Event()
        self.cancelled = False

    async def _called(self, call: str, keys: Keys) -> None:
        self.asked.append((call, list(keys)))
        self.entered.set()
        if self.error is not None:
            raise self.error
        if self.gate is not None:
            try:
                await self.gate.wait()
            except asyncio.CancelledError:
                self.cancelled = True
                raise

    async def describe(self, keys: Keys, *, principal: Principal, filters: Filters = ()) -> dict[HitKey, Description]:
        del principal
        self.filters = filters
        await self._called("describe", keys)
        return {key: described(kind=self.name) for key in keys}

    async def features(self, keys: Keys, *, principal: Principal) -> Features:
        del principal
        await self._called("features", keys)
        return Features(
            cosines={(a, b): 0.5 for a in keys for b in keys if a < b},
            lexemes={key: frozenset({self.name}) for key in keys},
        )

    async def read(self, keys: Keys, *, principal: Principal) -> dict[HitKey, Chunk]:
        del principal
        await self._called("read", keys)
        return {}

    async def neighbours(
        self, centres: Sequence[tuple[UUID, int]], *, distance: int, principal: Principal
    ) -> dict[tuple[UUID, int], Chunk]:
        del distance, principal
        self.asked.append(("neighbours", []))
        return dict.fromkeys(centres)  # type: ignore[arg-type]


def routed(default: RecordingStore, files: RecordingStore) -> RoutedCandidateStore:
    return RoutedCandidateStore(default=default, by_collection={"files": files})


async def test_each_store_is_asked_for_its_own_and_the_answers_are_one() -> None:
    default, files = RecordingStore("default"), RecordingStore("files")
    filters = where(language="es")
    result = await routed(default, files).describe([FILE, CHUNK, OTHER_FILE, FACT], principal=ANYONE, filters=filters)
    assert {key: item.kind for key, item in result.items()} == {
        CHUNK: "default",
        FACT: "default",
        FILE: "files",
        OTHER_FILE: "files",
    }
    assert default.asked == [("describe", [CHUNK, FACT])]
    assert files.asked == [("describe", [FILE, OTHER_FILE])]
    assert default.filters == files.filters == filters


async def test_a_store_without_keys_is_not_asked() -> None:
    default, files = RecordingStore("default"), RecordingStore("files")
    store = routed(default, files)
    assert await store.describe([], principal=ANYONE) == {}
    await store.read([CHUNK, FACT], principal=ANYONE)
    assert (default.asked, files.asked) == ([("read", [CHUNK, FACT])], [])
    await store.read([FILE], principal=ANYONE)
    assert (len(default.asked), files.asked) == (1, [("read", [FILE])])


async def test_features_of_both_are_joined() -> None:
    result = await routed(RecordingStore("default"), RecordingStore("files")).features(
        [CHUNK, FACT, FILE, OTHER_FILE], principal=ANYONE
    )
    assert result.cosines == {(FACT, CHUNK): 0.5, (FILE, OTHER_FILE): 0.5}
    assert result.lexemes[CHUNK] == {"default"}
    assert result.lexemes[FILE] == {"files"}


async def test_neighbours_are_those_of_documents() -> None:
    default, files = RecordingStore("default"), RecordingStore("files")
    centre = (UUID(int=1), 4)
    assert await routed(default, files).neighbours([centre], distance=1, principal=ANYONE) == {centre: None}
    assert files.asked == []


async def test_the_stores_are_asked_side_by_side() -> None:
    barrier = asyncio.Barrier(2)
    store = routed(RecordingStore("default", gate=barrier), RecordingStore("files", gate=barrier))
    async with asyncio.timeout(20):
        assert len(await store.describe([CHUNK, FILE], principal=ANYONE)) == 2


async def test_where_one_is_out_so_is_the_whole_and_the_other_goes_on_no_longer() -> None:
    out = StorageUnavailableError("out", reason="unreachable")
    waiting = RecordingStore("files", gate=asyncio.Event())
    with pytest.raises(StorageUnavailableError) as caught:
        await routed(RecordingStore("default", error=out), waiting).read([CHUNK, FILE], principal=ANYONE)
    assert caught.value is out
    assert waiting.cancelled


async def test_a_caller_that_goes_takes_both_with_it() -> None:
    default, files = RecordingStore("default", gate=asyncio.Event()), RecordingStore("files", gate=asyncio.Event())
    task = asyncio.create_task(routed(default, files).read([CHUNK, FILE], principal=ANYONE))
    await default.entered.wait()
    await files.entered.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert task.cancelled()
    assert (default.cancelled, files.cancelled) == (True, True)

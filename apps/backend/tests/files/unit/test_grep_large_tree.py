"""A search over 50,000 files of 1 GB, beside an event loop that has other work."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from benchmarks.grep import CODE, make_tree
from ragcorp.domain.files.values import GrepRequest, GrepResult
from ragcorp.domain.principal import Principal
from support.files.grep import LONG, grep_over

pytestmark = [pytest.mark.anyio, pytest.mark.soak, pytest.mark.timeout(600)]

FILES = 50_000


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tree")
    make_tree(folder, files=FILES, megabytes=1_000, seed=1)
    return folder


async def with_ticks(tree: Path, query: str, *, seconds: float) -> tuple[GrepResult, int]:
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0.001)

    ticker = asyncio.create_task(tick())
    result = await grep_over(tree, seconds=seconds).grep(GrepRequest(query=query), principal=Principal())
    ticker.cancel()
    return result, ticks


async def test_finds_what_20_of_the_files_hold(tree: Path) -> None:
    result, ticks = await with_ticks(tree, CODE, seconds=LONG)
    assert (result.files, result.searched, len(result.passages)) == (20, FILES, 20)
    assert not result.timed_out
    assert ticks > 10


async def test_says_that_it_ran_out_of_time(tree: Path) -> None:
    result, ticks = await with_ticks(tree, CODE, seconds=0.05)
    assert result.timed_out
    assert ticks > 1


async def test_says_that_there_is_more_than_it_counts(tree: Path) -> None:
    result, ticks = await with_ticks(tree, "ma", seconds=LONG)
    assert result.cut
    assert 0 < result.files < FILES
    assert len(result.passages) == 50
    assert ticks > 10

"""Each setting of profile memory and of the briefing arrives where its description says."""

from __future__ import annotations

from typing import Any

import pytest

from ragcorp.domain.exceptions import InvalidInputError
from support.retrieval.corpus import OpenRag

pytestmark = pytest.mark.anyio

STEPS = {
    "TEMPORAL_DECAY_HALF_LIFE_DAYS": ("12.5", "temporal_decay", "half_life_days", 12.5),
    "EVERGREEN_FLOOR": ("0.45", "temporal_decay", "evergreen_floor", 0.45),
    "MMR_LAMBDA": ("0.25", "diversification", "trade_off", 0.25),
    "MMR_CANDIDATE_POOL_SIZE": ("7", "diversification", "pool_size", 7),
}
SENTENCE = "Marta prefiere las entregas por la mañana, antes de que abra la tienda y lleguen los primeros clientes"


async def explained(open_rag: OpenRag, profile: str) -> Any:
    rag = await open_rag()
    await rag.memory.add("Marta prefiere las entregas por la mañana", artifact_type="preference")
    await rag.embed_pending()
    return (await rag.search("entregas", profile=profile, explain=True)).explanation


@pytest.mark.parametrize("name", STEPS)
async def test_a_setting_of_a_step(open_rag: OpenRag, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    value, step, parameter, number = STEPS[name]
    monkeypatch.setenv(name, value)
    steps = {line["step"]: line for line in (await explained(open_rag, "memory"))["steps"]}
    assert steps[step]["parameters"][parameter] == number


async def test_the_look_back(open_rag: OpenRag, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEFAULT_LOOKBACK_HOURS", "5.5")
    assert (await explained(open_rag, "memory"))["lookback_hours"] == {"history.full_text": 5.5}


@pytest.mark.parametrize("alias", ["RRF_CONSTANT", "RRF_K"])
async def test_the_rank_constant_under_either_name(
    open_rag: OpenRag, monkeypatch: pytest.MonkeyPatch, alias: str
) -> None:
    monkeypatch.setenv(alias, "37")
    assert (await explained(open_rag, "memory"))["rank_constant"] == 37


async def test_the_pools_of_collections(open_rag: OpenRag, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OVERFETCH_MULTIPLIER", "2.5")
    pools = (await explained(open_rag, "collections"))["pools"]
    assert {"dense", "full_text", "artifacts.dense", "artifacts.full_text"} <= set(pools)
    assert set(pools.values()) == {63}


@pytest.mark.parametrize("alias", ["MAX_HYBRID_SEARCH_RESULTS", "MAX_LIMIT"])
async def test_the_most_results_under_either_name(
    open_rag: OpenRag, monkeypatch: pytest.MonkeyPatch, alias: str
) -> None:
    monkeypatch.setenv(alias, "17")
    rag = await open_rag()
    await rag.search("entregas", limit=17)
    with pytest.raises(InvalidInputError) as caught:
        await rag.search("entregas", limit=18)
    assert (caught.value.field, caught.value.limit) == ("limit", "1 to 17")


async def test_the_briefings_items_and_length(open_rag: OpenRag, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEFAULT_RESULT_LIMIT", "9")
    monkeypatch.setenv("MAX_MEMORY_CHARS", "700")
    rag = await open_rag()
    for number in range(12):
        await rag.memory.add(f"{SENTENCE}, el día {number}.")
    await rag.embed_pending()
    context = await rag.context("entregas")
    assert len(context.items) == 9
    assert 500 < len(context.context) <= 700

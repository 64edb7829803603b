"""The degradation matrix: one source at fault, each kind of fault, over the real service and the real database.

A row says who answers, what `degraded` says, which status comes back, and that nobody waits beyond the deadline.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from functools import cache
from typing import Any

import httpx
import psycopg
import pytest

from ragcorp.application.retrieval.profiles.standard import standard_profiles
from ragcorp.domain.exceptions import SourceUnavailableError
from ragcorp.domain.ports.sources import SourceAnswer, SourceQuery
from ragcorp.domain.retrieval import Hit, RankedList
from ragcorp.main.opening.library import make_rag
from ragcorp.main.service.app import run_service
from ragcorp.main.wiring.base import Parts
from ragcorp.main.wiring.container import Container
from support.models.embedders import BrokenEmbedder, HashingEmbedder
from support.retrieval.corpus import CONTRACTS, fill
from support.retrieval.sources import ScriptedSource

pytestmark = pytest.mark.anyio

SOURCE_SECONDS = 0.5
TOTAL_SECONDS = 1.5
SLACK_SECONDS = 3.0
"""For a machine under load: a guard against waiting for the fault, not a measurement."""

PROFILES = standard_profiles()
MakeContainer = Callable[..., Awaitable[Container]]


async def refused(query: SourceQuery) -> SourceAnswer:
    try:
        await asyncio.open_connection("127.0.0.1", 9)
    except OSError as error:
        raise SourceUnavailableError("The engine refuses connections.", reason="refused") from error
    raise AssertionError("nothing listens on port 9")


async def hanging(query: SourceQuery) -> SourceAnswer:
    await asyncio.Event().wait()
    raise AssertionError


async def stubborn(query: SourceQuery) -> SourceAnswer:
    """Swallow every cancellation for a while."""
    ends = time.monotonic() + 2 * TOTAL_SECONDS
    while time.monotonic() < ends:
        try:
            await asyncio.sleep(ends - time.monotonic())
        except asyncio.CancelledError:
            continue
    return answer()


async def slow(query: SourceQuery) -> SourceAnswer:
    await asyncio.sleep(SOURCE_SECONDS + 0.3)
    return answer()


async def garbage(query: SourceQuery) -> Any:
    return [{"id": 1, "score": "high"}]


async def not_a_number(query: SourceQuery) -> SourceAnswer:
    return answer(Hit(chunk_id="1", score=float("nan")))


async def a_million(query: SourceQuery) -> SourceAnswer:
    return million()


async def foreign(query: SourceQuery) -> SourceAnswer:
    return answer(*(Hit(chunk_id=str(number), score=1.0 / number) for number in range(10**9, 10**9 + 50)))


def answer(*hits: Hit) -> SourceAnswer:
    return SourceAnswer(ranked_list=RankedList(source="engine", score_type="engine", hits=hits))


@cache
def million() -> SourceAnswer:
    return answer(*(Hit(chunk_id=f"n{number}", score=1.0) for number in range(1_000_000)))


@pytest.fixture(scope="module", autouse=True)
def a_million_at_hand() -> Iterator[None]:
    """That a source may take its time to make them is the row of the slow one."""
    million()
    yield
    million.cache_clear()


@asynccontextmanager
async def service(container: Container) -> AsyncIterator[httpx.AsyncClient]:
    async with run_service(container) as app:
        transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            yield client


async def search(client: httpx.AsyncClient, **body: Any) -> tuple[httpx.Response, float]:
    started = time.monotonic()
    response = await client.post("/search", json={"query": "Acme Corporation", "mode": "hybrid", **body})
    return response, time.monotonic() - started


def named(response: httpx.Response) -> dict[str, str]:
    return {item["source"]: item["reason"] for item in response.json()["degraded"]}


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (refused, "refused"),
        (hanging, "timeout"),
        (stubborn, "timeout"),
        (slow, "timeout"),
        (garbage, "error"),
        (not_a_number, "invalid"),
        (a_million, None),
        (foreign, None),
    ],
)
async def test_an_engine_at_fault_never_takes_the_answer_away(
    make_container: MakeContainer, fault: Callable[[SourceQuery], Awaitable[Any]], reason: str | None
) -> None:
    engine = ScriptedSource(name="engine", answer=fault)
    container = await make_container(
        parts=Parts(embedder=HashingEmbedder(), sources={"engine": engine}),
        source_timeout_seconds=SOURCE_SECONDS,
        search_timeout_seconds=TOTAL_SECONDS,
    )
    await fill(make_rag(container), CONTRACTS)
    async with service(container) as client:
        response, seconds = await search(client)
        assert response.status_code == 200
        assert response.json()["results"][0]["external_id"] == "acme.md"
        assert named(response) == ({} if reason is None else {"engine": reason})
        assert seconds < TOTAL_SECONDS + SLACK_SECONDS
        strict, _ = await search(client, require_all=True)
        assert strict.status_code == (200 if reason is None else 503)


async def test_all_sources_out_is_a_503_that_says_when_to_come_back(make_container: MakeContainer) -> None:
    container = await make_container(
        parts=Parts(embedder=BrokenEmbedder(passages=False), sources={"engine": ScriptedSource(answer=refused)})
    )
    rag = make_rag(container)
    await fill(rag, CONTRACTS)
    await container.database.close()
    async with service(container) as client:
        response, _ = await search(client)
    assert response.status_code == 503
    assert response.headers["retry-after"]
    assert "results" not in response.json()


async def test_a_table_that_is_locked_cuts_its_own_sources_only(make_container: MakeContainer, owner_dsn: str) -> None:
    container = await make_container(
        source_timeout_seconds=SOURCE_SECONDS, search_timeout_seconds=TOTAL_SECONDS, database_pool_size=12
    )
    await fill(make_rag(container), CONTRACTS)
    async with service(container) as client, await psycopg.AsyncConnection.connect(owner_dsn) as other:
        await other.execute("LOCK TABLE memory_items IN ACCESS EXCLUSIVE MODE")
        response, seconds = await search(client, include_memory=True)
        assert (response.status_code, named(response)) == (
            200,
            {"memory.dense": "timeout", "memory.full_text": "timeout"},
        )
        assert response.json()["results"][0]["external_id"] == "acme.md"
        assert seconds < TOTAL_SECONDS + SLACK_SECONDS
        await other.rollback()
        response, _ = await search(client, include_memory=True)
        assert named(response) == {}


async def test_a_model_that_is_down_takes_every_dense_source_and_no_other(make_container: MakeContainer) -> None:
    embedder = BrokenEmbedder(queries=False, passages=False)
    container = await make_container(parts=Parts(embedder=embedder))
    await fill(make_rag(container), CONTRACTS)
    embedder.queries_fail = True
    async with service(container) as client:
        response, _ = await search(client, profile="everything")
    dense = {"dense", "artifacts.dense", "memory.dense", "history.dense"}
    assert response.status_code == 200
    assert response.json()["results"][0]["external_id"] == "acme.md"
    assert {source: reason for source, reason in named(response).items() if source != "graph"} == dict.fromkeys(
        dense, "unreachable"
    )


async def test_a_source_that_goes_on_failing_is_skipped_and_probed_again(make_container: MakeContainer) -> None:
    engine = ScriptedSource(name="engine", error=SourceUnavailableError("down", reason="unreachable"))
    container = await make_container(
        parts=Parts(embedder=HashingEmbedder(), sources={"engine": engine}),
        circuit_breaker_failures=2,
        circuit_breaker_cooldown_seconds=0.3,
    )
    await fill(make_rag(container), CONTRACTS)
    async with service(container) as client:
        reasons = [named((await search(client))[0])["engine"] for _ in range(4)]
        assert reasons == ["unreachable", "unreachable", "circuit_open", "circuit_open"]
        assert len(engine.queries) == 2
        engine.error = None
        await asyncio.sleep(0.4)
        assert named((await search(client))[0]) == {}
        assert len(engine.queries) == 3


async def test_a_source_that_another_stands_in_for_is_skipped_as_well(make_container: MakeContainer) -> None:
    """Hybrid search off: dense alone is asked, and full text where dense is out."""

    class HangingEmbedder(HashingEmbedder):
        hangs = False

        async def embed_query(self, text: str) -> tuple[float, ...]:
            if self.hangs:
                await asyncio.Event().wait()
            return await super().embed_query(text)

    embedder = HangingEmbedder()
    container = await make_container(
        parts=Parts(embedder=embedder),
        source_timeout_seconds=SOURCE_SECONDS,
        search_timeout_seconds=TOTAL_SECONDS,
        circuit_breaker_failures=2,
        circuit_breaker_cooldown_seconds=60,
    )
    await fill(make_rag(container), CONTRACTS)
    embedder.hangs = True
    async with service(container) as client:
        matches = [(await search(client, mode="auto", query=f"Acme Corporation {n}"))[0] for n in range(4)]
    assert [named(response)["dense"] for response in matches] == ["timeout", "timeout", "circuit_open", "circuit_open"]
    assert {response.json()["results"][0]["external_id"] for response in matches} == {"acme.md"}


@pytest.mark.parametrize("profile", ["memory", "collections", "everything"])
@pytest.mark.parametrize(
    ("table", "sources"),
    [
        ("memory_items", {"memory.dense", "memory.full_text"}),
        ("history_turns", {"history.dense", "history.full_text"}),
        ("document_embeddings", {"artifacts.dense"}),
        ("document_terms", {"artifacts.dense", "artifacts.full_text"}),
        ("facts", {"graph"}),
    ],
)
async def test_each_table_that_is_locked_takes_its_own_sources_only(
    make_container: MakeContainer, owner_dsn: str, profile: str, table: str, sources: set[str]
) -> None:
    container = await make_container(
        source_timeout_seconds=SOURCE_SECONDS, search_timeout_seconds=TOTAL_SECONDS, database_pool_size=20
    )
    rag = make_rag(container)
    await fill(rag, CONTRACTS)
    await rag.memory.add("Acme Corporation paga tarde")
    await rag.embed_pending()
    async with service(container) as client, await psycopg.AsyncConnection.connect(owner_dsn) as other:
        of_the_profile = PROFILES[profile].sources
        await other.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")  # type: ignore[arg-type]
        response, seconds = await search(client, profile=profile)
        out = {source for source, reason in named(response).items() if reason == "timeout"}
        assert response.status_code == 200
        assert out - {"describe", "diversification"} == sources & set(of_the_profile)
        assert seconds < TOTAL_SECONDS + SLACK_SECONDS
        await other.rollback()

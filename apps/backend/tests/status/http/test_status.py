"""GET /status over fakes: what is said of each part, whatever is out."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import httpx
import pytest

from ragcorp.domain.embeddings import BacklogCounts
from ragcorp.domain.exceptions import ConfigurationError, StorageUnavailableError
from ragcorp.domain.keys import Scope
from ragcorp.domain.status import PartState, PartStatus
from ragcorp.interface.http.app import create_app
from ragcorp.interface.http.protocol.limits import HttpLimits
from support.http.callers import bearer
from support.http.fakes import World
from support.http.keys import KeyWorld

pytestmark = pytest.mark.anyio

COUNTS = {
    "documents": 4, "deleted_documents": 1, "chunks": 9, "memories": 3, "turns": 2, "entities": 6, "facts": 5,
}  # fmt: skip
WELL = {"database": "ok", "dense": "ok", "full_text": "ok", "rerank": "ok", "answerer": "ok"}


async def asked(client: httpx.AsyncClient) -> dict[str, Any]:
    answer = await client.get("/status")
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def states(status: dict[str, Any]) -> dict[str, str]:
    return {part["source"]: part["state"] for part in status["sources"]}


def part(status: dict[str, Any], source: str) -> dict[str, Any]:
    (results,) = [item for item in status["sources"] if item["source"] == source]
    return dict(results)


async def test_all_is_well(client: httpx.AsyncClient) -> None:
    answer = await client.get("/v1/status", headers={"X-Request-ID": "r-1"})
    assert answer.json() == {
        "request_id": "r-1",
        "status": "ok",
        "version": "1.2.3",
        "worker": None,
        "sources": [
            {"source": name, "state": "ok", "reason": None, "says": None, "remedy": None} for name in WELL
        ],
        "counts": COUNTS,
        "embedding": {"model": "test-embedder", "pending": 0, "failed": 0},
        "recognition": {"pages": 3, "done": 2, "failed": 0},
        "flags": [{"name": "RRF_K", "value": "60", "is_default": True, "says": "Rank constant."}],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("waiting", "says", "remedy"),
    [
        (BacklogCounts(pending=1, failed=0), "1 text waits for a vector.", "Wait"),
        (BacklogCounts(pending=1200, failed=0), "1,200 texts wait for a vector.", "Wait"),
        (
            BacklogCounts(pending=3, failed=2),
            "3 texts wait for a vector, 2 of which the model refused.",
            "embed --pending",
        ),
    ],
)
async def test_vectors_that_are_not_made_yet(
    client: httpx.AsyncClient, world: World, waiting: BacklogCounts, says: str, remedy: str
) -> None:
    world.contents.waiting = waiting
    status = await asked(client)
    assert status["status"] == "degraded"
    assert states(status) == WELL | {"dense": "degraded"}
    dense = part(status, "dense")
    assert dense["reason"] == "vectors_pending"
    assert dense["says"].endswith(says)
    assert remedy in dense["remedy"]
    assert status["embedding"] == {
        "model": "test-embedder", "pending": waiting.pending, "failed": waiting.failed,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("circuit", "state", "reason"),
    [("open", "out", "circuit_open"), ("half_open", "degraded", "circuit_half_open"), ("closed", "ok", None)],
)
async def test_a_source_that_goes_on_failing(
    client: httpx.AsyncClient, world: World, circuit: str, state: str, reason: str | None
) -> None:
    world.circuits["full_text"] = circuit
    status = await asked(client)
    assert states(status) == WELL | {"full_text": state}
    assert part(status, "full_text")["reason"] == reason
    assert status["status"] == ("ok" if state == "ok" else "degraded")


async def test_nothing_can_be_found_where_both_ways_to_passages_are_out(
    client: httpx.AsyncClient, world: World
) -> None:
    world.circuits |= {"dense": "open", "full_text": "open"}
    assert (await asked(client))["status"] == "unavailable"


async def test_a_source_of_the_users_own_is_called_by_its_name(client: httpx.AsyncClient, world: World) -> None:
    world.circuits["wiki"] = "open"
    assert part(await asked(client), "wiki")["says"].startswith("The source wiki failed")


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (
            StorageUnavailableError("PostgreSQL cannot be reached.", reason="unreachable", remedy="Start it."),
            "unreachable",
        ),
        (ConfigurationError("PostgreSQL refused the login.", remedy="Start it."), "configuration"),
    ],
)
async def test_the_database_is_out(client: httpx.AsyncClient, world: World, error: Exception, reason: str) -> None:
    world.circuits["wiki"] = "closed"
    world.readiness.error = world.contents.fault.error = error
    status = await asked(client)
    assert status["status"] == "unavailable"
    assert states(status) == WELL | {"database": "out", "dense": "out", "full_text": "out", "wiki": "ok"}
    database, dense = part(status, "database"), part(status, "dense")
    assert (database["reason"], database["remedy"]) == (reason, "Start it.")
    assert (dense["reason"], dense["says"]) == (
        reason, "Search of passages by meaning does not work without the database.",
    )  # fmt: skip
    assert status["counts"] is None
    assert status["embedding"] == {"model": "test-embedder", "pending": None, "failed": None}
    assert status["flags"]


async def test_what_is_out_since_the_last_look_is_out(client: httpx.AsyncClient, world: World) -> None:
    world.contents.fault.error = StorageUnavailableError("It is gone.", reason="connection_lost")
    status = await asked(client)
    assert (status["status"], part(status, "database")["reason"]) == ("unavailable", "connection_lost")


async def test_a_database_that_hangs_keeps_nobody_waiting(client: httpx.AsyncClient, world: World) -> None:
    world.readiness.delay = world.contents.fault.delay = 30.0
    started = time.monotonic()
    status = await asked(client)
    assert time.monotonic() - started < 2.0
    assert (status["status"], part(status, "database")["reason"]) == ("unavailable", "timeout")
    assert status["counts"] is None


@pytest.mark.parametrize("late", [True, False])
async def test_counting_that_takes_too_long_is_no_outage(client: httpx.AsyncClient, world: World, late: bool) -> None:
    if late:
        world.contents.fault.delay = 30.0
    else:
        world.contents.fault.error = StorageUnavailableError("It took too long.", reason="timeout")
    status = await asked(client)
    assert states(status) == WELL | {"database": "degraded"}
    assert (status["status"], status["counts"], status["embedding"]["pending"]) == ("degraded", None, None)


async def test_it_is_told_while_every_place_is_taken(
    world: World, make_client: Callable[[Any], httpx.AsyncClient]
) -> None:
    app = create_app(world.services(), HttpLimits(max_concurrent_requests=1, admission_wait_seconds=0.1))
    async with make_client(app) as client:
        await app.state.admission.try_acquire(None)
        refused = await client.get("/documents")
        assert refused.status_code == 503
        status = await asked(client)
        assert (status["counts"], part(status, "database")["state"]) == (None, "degraded")
        app.state.admission.release(None)
        assert (await asked(client))["counts"] == COUNTS


async def test_many_at_once_do_not_count_at_once(world: World, make_client: Callable[[Any], httpx.AsyncClient]) -> None:
    counting = most = 0

    async def strike() -> None:
        nonlocal counting, most
        counting += 1
        most = max(most, counting)
        await asyncio.sleep(0.01)
        counting -= 1

    world.contents.fault.strike = strike  # type: ignore[method-assign]
    app = create_app(world.services(), HttpLimits(max_concurrent_requests=8))
    async with make_client(app) as client:
        await asyncio.gather(*(client.get("/status") for _ in range(12)))
    assert most == 2  # a quarter of the places


async def test_what_was_found_wrong_is_said_of_who_suffers(client: httpx.AsyncClient, world: World) -> None:
    world.troubles = (PartStatus(source="dense", state=PartState.OUT, reason="vector_width", says="No vectors."),)
    status = await asked(client)
    assert states(status) == WELL | {"dense": "out"}
    assert (status["status"], part(status, "dense")["says"]) == ("degraded", "No vectors.")


async def test_what_is_off_is_no_fault(world: World, make_client: Callable[[Any], httpx.AsyncClient]) -> None:
    world.off = (
        PartStatus(source="dense", state=PartState.OFF, reason="no_embedder", says="It is off."),
        PartStatus(source="grep", state=PartState.OFF, reason="not_configured", says="It is off."),
    )
    async with make_client(create_app(world.services(), HttpLimits())) as client:
        status = await asked(client)
    assert states(status) == WELL | {"dense": "off", "grep": "off"}
    assert status["status"] == "ok"


async def test_a_model_whose_last_call_failed(client: httpx.AsyncClient, world: World) -> None:
    world.failed_calls |= {"answerer": "unauthorized", "rerank": "timeout"}
    status = await asked(client)
    assert states(status) == WELL | {"answerer": "degraded", "rerank": "degraded"}
    assert "the key is not right" in part(status, "answerer")["says"]
    assert part(status, "rerank")["reason"] == "timeout"

    world.failed_calls |= {"dense": "unauthorized"}
    status = await asked(client)
    assert (status["status"], part(status, "dense")["state"]) == ("degraded", "degraded")
    assert "found by their words" in part(status, "dense")["remedy"]
    world.circuits["dense"] = "open"
    assert part(await asked(client), "dense")["reason"] == "circuit_open"


async def test_it_needs_the_scope_of_searching_and_that_of_tools_for_files(
    world: World, make_client: Callable[[Any], httpx.AsyncClient]
) -> None:
    keys = KeyWorld()
    world.circuits["grep"] = "closed"
    app = create_app(replace(world.services(), authenticator=keys.authenticate), HttpLimits())
    async with make_client(app) as client:

        async def status(*scopes: Scope) -> httpx.Response:
            return await client.get("/status", headers=bearer((await keys.key(*scopes)).credential))

        assert (await status(Scope.ASK)).status_code == 403
        assert part((await status(Scope.SEARCH)).json(), "grep")["reason"] == "scope:tools"
        assert part((await status(Scope.SEARCH, Scope.TOOLS)).json(), "grep")["state"] == "ok"
        assert (await client.get("/status")).status_code == 401


async def test_it_takes_no_parameter(client: httpx.AsyncClient) -> None:
    assert (await client.get("/status", params={"workspace": "other"})).status_code == 422

"""GET /readyz over a real database: each thing that can be amiss is told with its remedy."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx
import psycopg
import pytest
from conftest import TestServer

from ragcorp.application.status.readiness import KEPT_SECONDS, Readiness
from ragcorp.domain.diagnosis import SearchFacts
from ragcorp.domain.embeddings import EmbeddingModel
from ragcorp.infrastructure.postgres.administration.migrations import head_revision
from ragcorp.main.service.app import run_service
from ragcorp.main.wiring.container import Container

pytestmark = pytest.mark.anyio

CHECKS = ["schema", "indexes", "vectors", "text_search"]


@asynccontextmanager
async def asked(container: Container) -> AsyncIterator[httpx.AsyncClient]:
    async with (
        run_service(container) as app,
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client,
    ):
        yield client


async def test_a_sound_database_is_ready(make_container: Callable[..., Any]) -> None:
    async with asked(await make_container()) as client:
        answer = await client.get("/readyz")
        metrics = (await client.get("/metrics")).text
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})
    assert "\nready 1.0\n" in metrics
    assert f'schema_info{{revision="{head_revision()}"}} 1.0' in metrics


@pytest.mark.parametrize(
    ("statement", "check", "reason", "remedy"),
    [
        ("UPDATE alembic_version SET version_num = '001'", "schema", "schema", "ragcorp migrate"),
        (
            "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'ix_chunk_embeddings_workspace'::regclass",
            "indexes",
            "invalid_index",
            "ragcorp migrate",
        ),
        ("UPDATE embedding_models SET dimensions = 7 WHERE active", "vectors", "vector_width", "EMBEDDING_DIM"),
        ("UPDATE pg_ts_config SET cfgname = 'gone' WHERE cfgname = 'spanish'", "text_search", "text_search", "snow"),
    ],
)
async def test_what_is_amiss_is_told(
    make_container: Callable[..., Any],
    postgres_server: TestServer,
    database_name: str,
    statement: str,
    check: str,
    reason: str,
    remedy: str,
) -> None:
    container = await make_container()
    with postgres_server.superuser(database_name) as connection:
        connection.execute(statement.encode())
    async with asked(container) as client:
        answer = await client.get("/readyz")
        metrics = (await client.get("/metrics")).text
    assert answer.status_code == 503
    problem = answer.json()
    assert (problem["code"], problem["reason"]) == ("storage_unavailable", reason)
    assert remedy in problem["detail"]
    assert [item["check"] for item in problem["checks"]] == CHECKS
    failed = [item for item in problem["checks"] if item["status"] == "failed"]
    assert [(item["check"], item["reason"]) for item in failed] == [(check, reason)]
    assert remedy in failed[0]["remedy"]
    assert "\nready 0.0\n" in metrics


async def test_a_database_without_a_schema_is_not_ready(make_container: Callable[..., Any], owner_dsn: str) -> None:
    container = await make_container()
    with psycopg.connect(owner_dsn, autocommit=True) as connection:
        connection.execute("DROP TABLE alembic_version")
    async with asked(container) as client:
        answer = await client.get("/readyz")
    assert (answer.status_code, answer.json()["reason"]) == (503, "schema")


async def test_a_service_of_the_model_before_serves_on(make_container: Callable[..., Any], owner_dsn: str) -> None:
    container = await make_container()
    with psycopg.connect(owner_dsn, autocommit=True) as connection:
        connection.execute("UPDATE embedding_models SET active = false")
    async with asked(container) as client:
        assert (await client.get("/readyz")).status_code == 200


async def test_one_look_serves_all_who_ask_within_a_second() -> None:
    looks, clock = 0, 100.0

    async def look() -> SearchFacts:
        nonlocal looks
        looks += 1
        return SearchFacts(revision="002" if looks == 1 else "001", widths=(4,), invalid_indexes=(), has_spanish=True)

    readiness = Readiness(look=look, model=EmbeddingModel(name="m", dimensions=4), head="002", now=lambda: clock)
    assert readiness.seen() is None
    for _ in range(5):
        await readiness()
    assert (looks, readiness.seen()) == (1, (True, "002"))
    clock += KEPT_SECONDS
    for _ in range(2):
        with pytest.raises(Exception, match="migrate") as caught:
            await readiness()
        assert getattr(caught.value, "reason", None) == "schema"
    assert (looks, readiness.seen()) == (2, (False, "001"))

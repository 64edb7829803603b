"""A statement that waits for a lock, or runs on, ends in an error that says why: it does not hang."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import psycopg
import pytest

from ragcorp.domain.exceptions import StorageUnavailableError
from ragcorp.infrastructure.postgres.connections.database import EVERY_WORKSPACE
from ragcorp.main.service.app import run_service

pytestmark = pytest.mark.anyio


async def test_a_write_that_waits_for_a_lock_ends_in_503_and_succeeds_later(
    make_container: Callable[..., Any], dsn: str
) -> None:
    container = await make_container(database_lock_timeout_seconds=0.2, request_timeout_seconds=30)
    async with (
        run_service(container) as app,
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost", timeout=30) as client,
    ):
        assert (await client.put("/documents/a", json={"text": "uno"})).status_code == 201
        async with await psycopg.AsyncConnection.connect(dsn) as other:
            await other.execute("SELECT 1 FROM documents FOR UPDATE")
            answer = await client.put("/documents/a", json={"text": "dos"})
            assert (answer.status_code, answer.json()["code"]) == (503, "storage_unavailable")
            assert answer.json()["reason"] == "timeout"
            assert int(answer.headers["retry-after"]) >= 1
            await other.rollback()
        assert (await client.put("/documents/a", json={"text": "dos"})).status_code == 200


async def test_a_statement_that_runs_on_is_ended(make_container: Callable[..., Any]) -> None:
    container = await make_container(database_statement_timeout_seconds=0.2)
    with pytest.raises(StorageUnavailableError) as ended:
        async with container.database.autocommit(EVERY_WORKSPACE) as connection:
            await connection.execute("SELECT pg_sleep(30)")
    assert ended.value.reason == "timeout"


def test_the_application_role_has_bounds_of_its_own_on_the_embedded_server(dsn: str) -> None:
    """Whatever connects as this role without the pool's options is bounded, too."""
    with psycopg.connect(dsn) as connection:
        result = {
            name: connection.execute("SELECT current_setting(%s)", (name,)).fetchone()
            for name in ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout")
        }
    assert result == {
        "statement_timeout": ("1min",),
        "lock_timeout": ("30s",),
        "idle_in_transaction_session_timeout": ("2min",),
    }

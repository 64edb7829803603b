"""Many do the same at once: parallel writes of one document, and migrators of one database."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from alembic import command

from ragcorp.infrastructure.postgres.administration.migrations import DEFAULT_MODEL, alembic_config, head_revision
from support.faults.service_probes import probed
from support.processes.command_line import Done, run_apart

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(600)]

WRITERS = 20
MIGRATORS = 2
MIGRATORS_IN_SOAK = 4
OLD_REVISION = "014"
ROUNDS = [0, *(pytest.param(number, marks=pytest.mark.soak) for number in range(1, 20))]
SOME_TEXT = "\n\n".join(f"Apartado {part} con su texto. " * 60 for part in range(6))


@pytest.mark.parametrize("again", ROUNDS)
@pytest.mark.parametrize("alike", [True, False], ids=["the same text", "texts of their own"])
async def test_parallel_writes_of_one_document_leave_one(
    make_container: Callable[..., Any], owner_dsn: str, alike: bool, again: int
) -> None:
    del again
    container = await make_container(database_pool_timeout_seconds=20, request_timeout_seconds=60)
    texts = [SOME_TEXT if alike else f"Escritor {number}.\n\n{SOME_TEXT}" for number in range(WRITERS)]
    async with probed(container) as probes:
        answers = await asyncio.gather(
            *(probes.client.put("/documents/uno.txt", json={"text": text}) for text in texts)
        )
    statuses = Counter(answer.status_code for answer in answers)
    assert statuses[201] == 1
    assert set(statuses) <= {200, 201, 409, 503}  # 503: more at once than may wait, with Retry-After
    for answer in answers:
        assert answer.status_code in (200, 201) or answer.headers.get("retry-after") or answer.json()["errors"] == []
    with psycopg.connect(owner_dsn) as connection:
        documents = connection.execute("SELECT id, text FROM documents").fetchall()
        chunks = connection.execute("SELECT document_id, chunk_index, content FROM chunks ORDER BY 2").fetchall()
    assert len(documents) == 1
    assert documents[0][1] in texts
    assert {row[0] for row in chunks} == {documents[0][0]}
    assert [row[1] for row in chunks] == list(range(len(chunks)))
    stored = "".join("".join(row[2] for row in chunks).split())
    assert all("".join(part.split()) in stored for part in documents[0][1].split("\n\n"))
    assert {f"Escritor {number}." for number in range(WRITERS) if f"Escritor{number}." in stored} <= {
        documents[0][1].split("\n\n")[0]
    }


@pytest.mark.parametrize("again", ROUNDS[:5])
@pytest.mark.parametrize("old", [pytest.param(False, id="empty", marks=pytest.mark.soak), pytest.param(True, id="old")])
async def test_migrators_side_by_side(
    postgres_server: Any, make_database: Callable[..., str], old: bool, again: int
) -> None:
    migrators = MIGRATORS_IN_SOAK if again or not old else MIGRATORS
    name = make_database()
    owner = postgres_server.dsn(name, role="ragcorp_owner")
    if old:
        await asyncio.to_thread(command.upgrade, alembic_config(owner, embedding_model=DEFAULT_MODEL), OLD_REVISION)
    environment = {"DATABASE_URL": postgres_server.dsn(name), "DATABASE_OWNER_URL": owner}
    done: list[Done] = await asyncio.gather(
        *(asyncio.to_thread(run_apart, "migrate", env=environment, timeout=300) for _ in range(migrators))
    )
    for one in done:
        assert one.code == 0, one.err
        assert "Traceback" not in one.err
    with psycopg.connect(owner) as connection:
        assert connection.execute("SELECT version_num FROM alembic_version").fetchall() == [(head_revision(),)]
        invalid = connection.execute("SELECT count(*) FROM pg_index WHERE NOT indisvalid").fetchone()
    assert invalid == (0,)

"""The service is killed at random points of an ingestion: what is stored is whole, and the rest follows."""

from __future__ import annotations

import asyncio
import json
import random
import signal
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import httpx
import psycopg
import pytest

from support.models.embedders import TEST_MODEL, HashingEmbedder
from support.models.openai_server import FakeOpenAI, openai_server
from support.processes.serving_apart import Served, served

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(1200)]

DOCUMENTS = 60
PARAGRAPHS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How many sentences a paragraph has, and when after the begin of the storing the latest kill comes."""

    sentences: int
    latest_kill_seconds: float


SMALL = Size(sentences=8, latest_kill_seconds=0.05)
LARGE = Size(sentences=30, latest_kill_seconds=0.15)

ORPHANS = {
    "chunks without a document": "SELECT count(*) FROM chunks WHERE document_id NOT IN (SELECT id FROM documents)",
    "vectors without a chunk": "SELECT count(*) FROM chunk_embeddings WHERE chunk_id NOT IN (SELECT id FROM chunks)",
    "waiting without a chunk": "SELECT count(*) FROM embedding_backlog WHERE chunk_id NOT IN (SELECT id FROM chunks)",
    "names twice": "SELECT count(*) - count(DISTINCT (workspace, external_id)) FROM documents",
    "places twice": "SELECT count(*) - count(DISTINCT (document_id, chunk_index)) FROM chunks",
    "chunks neither embedded nor waiting": """
        SELECT count(*) FROM chunks WHERE id NOT IN (SELECT chunk_id FROM chunk_embeddings)
        AND id NOT IN (SELECT chunk_id FROM embedding_backlog)""",
}


@pytest.fixture
async def provider() -> AsyncIterator[FakeOpenAI]:
    async with openai_server() as fake:
        fake.vectors = {TEST_MODEL.name: HashingEmbedder().vector}
        yield fake


def text_of(number: int, version: int, size: Size) -> str:
    return "\n\n".join(
        f"## Apartado {part}\n\n" + f"Pedido {number} en su versión v{version}, parte {part}. " * size.sentences
        for part in range(PARAGRAPHS)
    )


def lines(version: int, size: Size) -> bytes:
    documents = ({"external_id": f"d{number}", "text": text_of(number, version, size)} for number in range(DOCUMENTS))
    return b"".join(json.dumps(document).encode() + b"\n" for document in documents)


async def ingest(service: Served, version: int, size: Size) -> dict[str, int]:
    """Send everything; return the counts of the last line, or what came before the service was gone."""
    summary: dict[str, int] = {}
    headers = {"Content-Type": "application/x-ndjson"}
    async with (
        service.client() as client,
        client.stream("POST", "/documents/bulk", content=lines(version, size), headers=headers) as response,
    ):
        async for line in response.aiter_lines():
            summary = json.loads(line).get("summary", summary)
    return summary


async def storing(owner_dsn: str, ingesting: asyncio.Task[Any]) -> None:
    """Wait until a transaction writes passages, or the ingestion is over."""
    query = "SELECT count(*) FROM pg_locks WHERE relation = 'chunks'::regclass AND mode = 'RowExclusiveLock'"
    async with asyncio.timeout(60), await psycopg.AsyncConnection.connect(owner_dsn, autocommit=True) as connection:
        while not (await (await connection.execute(query)).fetchone() or (0,))[0] and not ingesting.done():  # noqa: ASYNC110
            await asyncio.sleep(0.001)


async def settled(owner_dsn: str) -> None:
    """Wait until the server has noticed that its client is gone."""
    query = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'ragcorp'"
    async with asyncio.timeout(60), await psycopg.AsyncConnection.connect(owner_dsn, autocommit=True) as connection:
        while (await (await connection.execute(query)).fetchone() or (0,))[0]:  # noqa: ASYNC110
            await asyncio.sleep(0.05)


def whole(connection: psycopg.Connection[Any], size: Size) -> int:
    """Check what is stored, and return how many documents there are."""
    for what, query in ORPHANS.items():
        row = connection.execute(query).fetchone()  # type: ignore[call-overload]
        assert row == (0,), what
    stored = connection.execute(
        "SELECT d.external_id, d.text, array_agg(c.content ORDER BY c.chunk_index) FROM documents d"
        " LEFT JOIN chunks c ON c.document_id = d.id GROUP BY d.id"
    ).fetchall()
    for name, text, chunks in stored:
        number = int(name.removeprefix("d"))
        version = int(text.split("versión v")[1].split(",")[0])
        assert text.strip() == text_of(number, version, size).strip()
        said = " ".join(chunks)
        assert all(f"v{version}, parte {part}." in said for part in range(PARAGRAPHS)), f"{name} is half there"
        assert f"Pedido {number} en su versión v{version - 1}" not in said, f"{name} is of two versions"
        assert f"Pedido {number} en su versión v{version + 1}" not in said, f"{name} is of two versions"
    return len(stored)


@pytest.mark.parametrize(
    ("kills", "size"), [pytest.param(3, SMALL, id="3"), pytest.param(50, LARGE, id="50", marks=pytest.mark.soak)]
)
async def test_no_duplicate_no_orphan_no_half_document(
    dsn: str, owner_dsn: str, provider: FakeOpenAI, kills: int, size: Size
) -> None:
    chance = random.Random(7)
    environment = {
        "EMBEDDING_PROVIDER": "openai",
        "EMBEDDING_MODEL": TEST_MODEL.name,
        "EMBEDDING_DIM": str(TEST_MODEL.dimensions),
        "OPENAI_BASE_URL": provider.base_url,
        "OPENAI_API_KEY": "sk-test",
    }
    version = 1
    cut = while_storing = 0
    for number in range(kills):
        async with served(dsn, **environment) as service:
            ingesting = asyncio.create_task(ingest(service, version, size))
            if number % 3:  # else at any point from the request's begin on
                await storing(owner_dsn, ingesting)
            await asyncio.sleep(chance.uniform(0.0, size.latest_kill_seconds))
            service.running.process.send_signal(signal.SIGKILL)
            try:
                await ingesting
            except httpx.HTTPError:
                cut += 1
                while_storing += number % 3 > 0
        await settled(owner_dsn)
        with psycopg.connect(owner_dsn) as connection:
            stored = whole(connection, size)
        version += 1 if stored == DOCUMENTS or number % 3 == 2 else 0
    assert cut > 0, "every ingestion was over before the kill"
    assert while_storing > 0, "no kill came while passages were stored"
    async with served(dsn, **environment) as service:
        summary = await ingest(service, version, size)
        assert summary["failed"] == 0
        again = await ingest(service, version, size)
        assert again["unchanged"] == DOCUMENTS
    with psycopg.connect(owner_dsn) as connection:
        assert whole(connection, size) == DOCUMENTS
        rows = connection.execute("SELECT count(*) FROM documents WHERE position(%s IN text) > 0", (f"v{version},",))
        assert rows.fetchone() == (DOCUMENTS,)

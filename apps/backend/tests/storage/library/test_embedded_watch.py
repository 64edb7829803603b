"""A library or service over the embedded server survives the death of that server."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import ragcorp
from ragcorp.domain.exceptions import SourceUnavailableError
from ragcorp.infrastructure.embedded_postgres.status import status

pytestmark = pytest.mark.anyio


@pytest.fixture
def data_dir() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="ragcorp-watch-"))
    folder.chmod(0o755)
    yield folder / "data"
    shutil.rmtree(folder, ignore_errors=True)


async def test_a_killed_server_is_started_anew_and_nothing_is_lost(data_dir: Path) -> None:
    async with ragcorp.open(data_dir=data_dir, embedding_provider="none") as rag:
        await rag.ingest_text("a.md", "El plazo de entrega es de 30 días.")
        server = status(data_dir).server_pid
        assert server is not None
        os.kill(server, signal.SIGKILL)
        async with asyncio.timeout(60):
            while True:
                try:
                    result = await rag.search("plazo de entrega")
                    break
                except SourceUnavailableError:
                    await asyncio.sleep(0.2)
        assert [hit.chunk.external_id for hit in result.hits] == ["a.md"]
    assert not status(data_dir).running

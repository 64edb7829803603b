"""A PostgreSQL of its own that is killed under a watch, and comes back."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from ragcorp.application.folders.watch import WatchTimes
from ragcorp.domain.ports.folders import WatchKind
from ragcorp.infrastructure.embedded_postgres.launcher import EmbeddedPostgres
from ragcorp.infrastructure.postgres.administration.migrations import migrate
from ragcorp.main.settings.schema import load_settings
from ragcorp.main.wiring.base import Parts
from ragcorp.main.wiring.container import open_container
from support.files.watched_trees import FolderOf, put
from support.models.embedders import TEST_MODEL, HashingEmbedder

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def own_server() -> AsyncIterator[EmbeddedPostgres]:
    folder = Path(tempfile.mkdtemp(prefix="ragcorp-test-"))
    folder.chmod(0o755)
    server = EmbeddedPostgres(data_dir=folder / "data", settings={"fsync": "off"})
    try:
        yield server
    finally:
        await asyncio.to_thread(server.release)
        shutil.rmtree(folder, ignore_errors=True)


async def test_no_change_is_forgotten_while_the_server_is_dead(folder_of: FolderOf) -> None:
    async with own_server() as postgres:
        server = await asyncio.to_thread(postgres.start)
        model = (TEST_MODEL.name, TEST_MODEL.dimensions)
        await asyncio.to_thread(
            lambda: migrate(server.owner_dsn, embedding_model=model, application_dsn=server.app_dsn)
        )
        settings = load_settings({"embedding_provider": "none", "database_pool_timeout_seconds": 0.5})
        async with open_container(settings, server.app_dsn, parts=Parts(embedder=HashingEmbedder())) as container:
            folder = folder_of(container)
            for name in ("a.md", "b.md"):
                put(folder.root / name, name)
            events = await folder.watch(times=WatchTimes(retry=0.2, first_backoff=0.2, last_backoff=0.5))
            await events.until(WatchKind.IN_STEP)
            os.kill(server.server_pid, signal.SIGKILL)
            put(folder.root / "a.md", "otro texto", old=False)
            put(folder.root / "c.md", "nuevo", old=False)
            (folder.root / "b.md").unlink()
            await events.until(WatchKind.WAITING)
            put(folder.root / "d.md", "mientras espera", old=False)
            await asyncio.to_thread(postgres.start)
            for kind, name in (
                (WatchKind.UPDATED, "a.md"),
                (WatchKind.CREATED, "c.md"),
                (WatchKind.CREATED, "d.md"),
                (WatchKind.DELETED, "b.md"),
            ):
                await events.until(kind, name)
            assert await folder.names() == ["a.md", "c.md", "d.md"]
            await folder.stop()

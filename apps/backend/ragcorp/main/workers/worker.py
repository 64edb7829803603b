"""What a process of a service with several does: answer requests, or the background work."""

import asyncio
import logging
import os
import signal
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from uuid import UUID

from fastapi import FastAPI

from ragcorp.application.embedding.embed_pending import EmbeddingWorker
from ragcorp.application.resilience.source_reports import reason_of
from ragcorp.domain.exceptions import RagcorpError
from ragcorp.domain.ingestion import EmbedProgress
from ragcorp.domain.ports.use_cases import BacklogEmbedding
from ragcorp.infrastructure.process_channel.channel import Channel, ChannelClosedError
from ragcorp.interface.http.call import WorkerLink
from ragcorp.interface.http.monitoring.merging import Snapshot
from ragcorp.interface.http.monitoring.metrics import HttpMetrics, ServiceState
from ragcorp.main.commands.cli import new_event_loop
from ragcorp.main.service.app import run_app
from ragcorp.main.service.background import run_background
from ragcorp.main.service.logs import dropped_lines, service_logs
from ragcorp.main.service.serving import serve_container
from ragcorp.main.service.shutdown import Shutdown
from ragcorp.main.wiring.container import Container, open_container
from ragcorp.main.workers.leases import LeaseBook
from ragcorp.main.workers.roles import BACKGROUND, GRACE_SHARE, Setup, document_of

logger = logging.getLogger(__name__)


def run_worker(connected: socket.socket, listener: socket.socket) -> int:
    """Work as the supervisor at the other end of ``connected`` says, until it stops or ends; return the exit code."""
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(_Worker(listener).run(connected))


class _Worker:
    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._stopped = False
        self._hurry: Callable[[], None] = lambda: None
        self._worker: EmbeddingWorker | None = None
        self._embedding: BacklogEmbedding | None = None
        self._snapshot: Callable[[], Snapshot] = list
        self._work: asyncio.Task[None] | None = None

    async def run(self, connected: socket.socket) -> int:
        channel = await Channel.over(
            connected,
            handlers={"snapshot": self._answer_snapshot, "embed": self._embed},
            listeners={"stop": self._stop, "hurry": self._hurry_up, "wake": self._wake},
        )
        setup = Setup(**await channel.call("setup", os.getpid()))
        self._work = asyncio.create_task(self._worked(setup, channel))
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, self._stop)
        abandoned = asyncio.create_task(self._stop_without(channel))
        try:
            await self._work
        except asyncio.CancelledError:
            return 0
        except RagcorpError as error:
            channel.tell("failed", document_of(error))
            await asyncio.sleep(0)
            return 1
        finally:
            abandoned.cancel()
        return 0

    def _stop(self) -> None:
        if self._stopped:
            self._hurry_up()
        elif self._work is not None:
            self._stopped = True
            self._work.cancel()

    def _hurry_up(self) -> None:
        self._hurry()

    def _wake(self) -> None:
        if self._worker is not None:
            self._worker.wake()

    async def _stop_without(self, channel: Channel) -> None:
        await channel.closed.wait()
        self._stop()

    async def _answer_snapshot(self) -> Snapshot:
        return self._snapshot()

    async def _embed(self, document_id: str) -> tuple[int, int]:
        """Process a batch of a document's backlog; return how many were embedded and how many failed."""
        if self._embedding is None:
            return 0, 0
        try:
            progress = await self._embedding.embed(document_id=UUID(document_id))
        except RagcorpError as error:
            logger.warning("a document waits for its vectors: %s", reason_of(error))
            return 0, 0
        return progress.embedded, progress.failed

    async def _worked(self, setup: Setup, channel: Channel) -> None:
        settings = setup.settings()
        with (
            service_logs(settings, setup.target, worker=setup.name),
            Shutdown(settings.shutdown_grace_seconds * GRACE_SHARE) as ending,
        ):
            self._hurry = ending.hurry
            elsewhere = None if setup.name == BACKGROUND else partial(_embed_in_background, channel)
            async with open_container(settings, setup.dsn, embed_document=elsewhere) as container:
                if setup.name == BACKGROUND:
                    await self._work_in_background(container, channel, ending)
                    return
                await serve_container(
                    container,
                    self._listener,
                    lambda _: channel.tell("ready"),
                    shutdown=ending,
                    run=partial(self._app, channel=channel, name=setup.name),
                )

    async def _work_in_background(self, container: Container, channel: Channel, ending: Shutdown) -> None:
        metrics = HttpMetrics()
        metrics.watch(ServiceState(dropped_lines=dropped_lines))
        container.cache_observers.add(metrics)
        container.token_observers.add(metrics)
        self._snapshot = lambda: metrics.snapshot(pool=container.database.statistics())
        async with run_background(container) as worker:
            self._embedding = container.use_cases.embed_pending
            self._worker = worker
            channel.tell("ready")
            try:
                await asyncio.Event().wait()
            finally:
                ending.begin()

    @asynccontextmanager
    async def _app(self, container: Container, *, channel: Channel, name: str) -> AsyncIterator[FastAPI]:
        link = WorkerLink(name=name, limiters=LeaseBook(channel).limiters, snapshots=partial(_snapshots, channel))
        async with run_app(container, wake_embedding=lambda: channel.tell("wake"), worker=link) as app:
            self._snapshot = lambda: app.state.metrics.snapshot(pool=container.database.statistics())
            yield app


async def _embed_in_background(channel: Channel, document_id: UUID) -> EmbedProgress:
    try:
        embedded, failed = await channel.call("embed", str(document_id))
    except ChannelClosedError:
        embedded = failed = 0
    return EmbedProgress(embedded=embedded, failed=failed)


async def _snapshots(channel: Channel) -> Mapping[str, Snapshot]:
    snapshots: Mapping[str, Snapshot] = await channel.call("snapshots")
    return snapshots

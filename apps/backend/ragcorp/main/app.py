"""The service: the HTTP interface over a container, with the worker that makes vectors."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from fastapi import FastAPI
from starlette.routing import Router
from starlette.types import Receive, Scope, Send

from ragcorp.application.embedding_worker import EmbeddingWorker
from ragcorp.domain.exceptions import StorageUnavailableError
from ragcorp.infrastructure.postgres.migrations import VERSION, head_revision
from ragcorp.interface.http.app import create_app
from ragcorp.interface.http.services import HttpLimits, HttpServices
from ragcorp.main.container import Container, Parts, open_container
from ragcorp.main.settings import AnswerProvider, Settings

ASK_MARGIN_SECONDS = 1.0


@asynccontextmanager
async def open_app(settings: Settings, dsn: str, *, parts: Parts | None = None) -> AsyncIterator[FastAPI]:
    """Open the container at ``dsn`` and yield the application over it; close both at the end.

    Raises ConfigurationError, StorageUnavailableError or IncompatibleEmbeddingsError.
    """
    async with open_container(settings, dsn, parts=parts) as container:
        worker = EmbeddingWorker(embed_pending=container.embed_pending)
        task = asyncio.create_task(worker.run(), name="embedding-worker") if has_embedder(container) else None
        try:
            yield create_app(http_services(container, worker), http_limits(settings))
        finally:
            if task is not None:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task


class Application:
    """The service for an ASGI server that starts applications by itself: the lifespan opens and closes it."""

    def __init__(self, settings: Settings, dsn: str, *, parts: Parts | None = None) -> None:
        self._opened = lambda: open_app(settings, dsn, parts=parts)
        self._lifespan = Router(lifespan=self._run)
        self._app: FastAPI | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._lifespan(scope, receive, send)
            return
        if self._app is None:
            raise RuntimeError("the application has not been started: its lifespan did not run")
        await self._app(scope, receive, send)

    @asynccontextmanager
    async def _run(self, _: object) -> AsyncIterator[None]:
        async with self._opened() as self._app:
            yield
        self._app = None


def has_embedder(container: Container) -> bool:
    return container.embedder.model.dimensions > 0


def http_services(container: Container, worker: EmbeddingWorker) -> HttpServices:
    head = head_revision()

    async def readiness() -> None:
        async with container.database.autocommit() as connection:
            row = await (await connection.execute(VERSION)).fetchone()
        if row is None or row[0] != head:
            raise StorageUnavailableError(
                "The database schema is not the one that this version needs.",
                reason="schema",
                remedy="Run `ragcorp migrate`.",
            )

    return HttpServices(
        search=container.search,
        answer=container.answer,
        ingest=container.ingest,
        delete=container.delete,
        restore=container.restore,
        documents=container.documents,
        embed_pending=container.embed_pending,
        readiness=readiness,
        pool_statistics=container.database.statistics,
        wake_embedding=worker.wake,
        default_language=container.settings.default_language,
    )


def http_limits(settings: Settings) -> HttpLimits:
    """A language model may take longer for an answer than a request takes otherwise."""
    ask_seconds = settings.request_timeout_seconds
    if settings.answer_provider is not AnswerProvider.EXTRACTIVE:
        answer_seconds = settings.search_timeout_seconds + settings.answer_timeout_seconds + ASK_MARGIN_SECONDS
        ask_seconds = max(ask_seconds, answer_seconds)
    return HttpLimits(
        max_body_bytes=settings.max_body_bytes,
        max_file_bytes=settings.max_file_bytes,
        max_query_characters=settings.max_query_characters,
        max_limit=settings.max_limit,
        request_timeout_seconds=settings.request_timeout_seconds,
        ask_timeout_seconds=ask_seconds,
    )

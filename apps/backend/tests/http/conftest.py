"""An application over fakes, asked in process, and one over a real database, asked on a socket where that matters."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from ragcorp.interface.http.app import create_app
from ragcorp.interface.http.protocol.limits import HttpLimits
from ragcorp.main.service.app import run_app
from ragcorp.main.wiring.container import Container, Parts
from support.embedders import HashingEmbedder

from .connection import Connection
from .fakes import World
from .serving import serving

MakeApp = Callable[..., FastAPI]
Serve = Callable[[FastAPI], AbstractAsyncContextManager[str]]

with_each_parser = pytest.mark.parametrize("serve", ["httptools", "h11"], indirect=True)
"""uvicorn has two parsers, which buffer and hang up differently."""


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def make_app(world: World) -> MakeApp:
    def make(**limits: Any) -> FastAPI:
        return create_app(world.services(), HttpLimits(**limits))

    return make


@pytest.fixture
def make_client() -> Callable[[Any], httpx.AsyncClient]:
    def make(app: Any) -> httpx.AsyncClient:
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        return httpx.AsyncClient(transport=transport, base_url="http://localhost")

    return make


@pytest.fixture
async def client(
    make_app: MakeApp, make_client: Callable[[Any], httpx.AsyncClient]
) -> AsyncIterator[httpx.AsyncClient]:
    async with make_client(make_app()) as client:
        yield client


@pytest.fixture
def serve(request: pytest.FixtureRequest) -> Serve:
    """Serve an application on a socket; yields the base URL."""

    @asynccontextmanager
    async def serve(app: FastAPI) -> AsyncIterator[str]:
        async with serving(app, http=getattr(request, "param", "httptools")) as url:
            yield url

    return serve


@pytest.fixture
async def database_client(
    make_container: Callable[..., Any], make_client: Callable[[Any], httpx.AsyncClient]
) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the whole service over an empty PostgreSQL database."""
    container = await make_container(parts=Parts(embedder=HashingEmbedder()), enable_hybrid_search=True)
    async with run_app(container) as app, make_client(app) as client:
        yield client


@pytest.fixture
def one_connection() -> Iterator[Connection]:
    connection = Connection()
    yield connection
    connection.end()


@pytest.fixture
async def container(make_container: Callable[..., Any]) -> Container:
    made: Container = await make_container()
    return made

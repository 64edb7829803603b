"""GET /status of the whole service over a real database: what it counts, what it shows, and a database at fault."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from psycopg import AsyncConnection

from ragcorp.application.keys.create import CreateKey, KeyRequest
from ragcorp.domain.exceptions import AnswererUnavailableError, SourceUnavailableError
from ragcorp.domain.keys import Scope
from ragcorp.domain.principal import Principal, Sensitivity
from ragcorp.infrastructure.postgres.collections.counts import PostgresContentCounts
from ragcorp.infrastructure.postgres.keys.store import PostgresKeyStore
from ragcorp.main.service.app import run_service
from ragcorp.main.service.status import VISIBLE, visible_flags
from ragcorp.main.settings.schema import Settings, load_settings
from ragcorp.main.wiring.base import Parts
from ragcorp.main.wiring.container import Container, open_container
from ragcorp.main.wiring.keys import make_digests, utc_now
from support.faults.proxy import Fault, FaultProxy, fault_proxy
from support.http.callers import bearer
from support.http.fakes import ScriptedAnswerer
from support.models.embedders import HashingEmbedder

from .test_status import asked, part, states

pytestmark = pytest.mark.anyio

MakeContainer = Callable[..., Any]
CANARY = "quetzal"
NOTHING = {
    "documents": 0, "deleted_documents": 0, "chunks": 0, "memories": 0, "turns": 0, "entities": 0, "facts": 0,
}  # fmt: skip
TEXT = "# Plazos\n\nEl plazo de entrega es de treinta días.\n"


@asynccontextmanager
async def service(container: Container) -> AsyncIterator[httpx.AsyncClient]:
    async with run_service(container) as app:
        transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost", timeout=60) as client:
            yield client


async def key(container: Container, **changes: Any) -> Mapping[str, str]:
    store = PostgresKeyStore(database=container.database)
    create = CreateKey(store=store, digests=make_digests(container.settings, store), random=os.urandom, now=utc_now)
    request = KeyRequest(
        **(
            {"scopes": frozenset(Scope), "workspace": "uno", "subject": "ana", "clearance": Sensitivity.RESTRICTED}
            | changes
        )
    )
    return bearer((await create.create(request)).credential)


async def put(client: httpx.AsyncClient, headers: Mapping[str, str], path: str, body: dict[str, Any]) -> None:
    answer = await client.put(path, json=body, headers=headers)
    assert answer.status_code == 201, answer.text


async def fill(client: httpx.AsyncClient, headers: Mapping[str, str]) -> None:
    await put(client, headers, "/documents/plazos.md", {"text": TEXT})
    await put(client, headers, "/documents/masa.md", {"text": TEXT})
    await put(client, headers, "/documents/secreto.md", {"text": TEXT, "sensitivity": "restricted"})
    await put(client, headers, "/documents/mio.md", {"text": TEXT, "visibility_scope": "private", "owner": "ana"})
    assert (await client.delete("/documents/masa.md", headers=headers)).status_code == 204
    await put(client, headers, "/collections/memory/items/m-1", {"text": "Ana prefiere el pasillo."})
    await put(client, headers, "/collections/memory/items/m-2", {"text": "Solo yo.", "visibility_scope": "private"})
    await put(client, headers, "/collections/history/items/t-1", {"text": "Hola.", "session": "s"})
    private = {"text": "Adiós.", "session": "s", "visibility_scope": "private"}
    await put(client, headers, "/collections/history/items/t-2", private)
    fact = {"subject": "Ana", "predicate": "dirige", "object": "Acme"}
    await put(client, headers, "/graph/facts/f-1", fact)
    await put(client, headers, "/graph/facts/f-2", fact | {"predicate": "vende", "sensitivity": "restricted"})


async def filled(container: Container, client: httpx.AsyncClient) -> tuple[Mapping[str, str], ...]:
    """Fill a workspace, all vectors made. Return who wrote it, who may read less of it, and who is of another one."""
    ana, other = await key(container), await key(container, workspace="dos")
    low = await key(container, subject="luis", clearance=Sensitivity.NORMAL)
    await fill(client, ana)
    while not (await container.use_cases.embed_pending.embed()).idle:
        pass
    return ana, low, other


async def counted(client: httpx.AsyncClient, headers: Mapping[str, str]) -> tuple[dict[str, int], dict[str, Any]]:
    status = (await client.get("/status", headers=headers)).json()
    return status["counts"], status["embedding"]


async def test_each_caller_counts_what_it_may_read(make_container: MakeContainer) -> None:
    container = await make_container(embed_wait_seconds=0.0)
    async with service(container) as client:
        ana, low, other = await filled(container, client)
        every = {
            "documents": 3, "deleted_documents": 1, "chunks": 3, "memories": 2, "turns": 2, "entities": 2, "facts": 2,
        }  # fmt: skip
        idle = {"model": "test-embedder", "pending": 0, "failed": 0}
        assert await counted(client, ana) == (every, idle)
        assert await counted(client, low) == (
            every | {"documents": 1, "chunks": 1, "memories": 1, "turns": 1, "facts": 1},
            idle,
        )
        assert await counted(client, other) == (NOTHING, idle)


async def test_vectors_wait_for_those_alone_who_may_read_the_text(make_container: MakeContainer, dsn: str) -> None:
    container = await make_container()
    async with service(container) as client:
        ana, low, other = await filled(container, client)
        async with await AsyncConnection.connect(dsn, autocommit=True) as connection:
            await connection.execute("SELECT set_config('ragcorp.workspace', '*', false)")
            await connection.execute(
                "INSERT INTO embedding_backlog (chunk_id, document_id, workspace, failed, available_at)"
                " SELECT id, document_id, workspace, sensitivity = 1, 'infinity' FROM chunks"
            )
            await connection.execute(
                "INSERT INTO history_backlog (item_id, workspace, available_at)"
                " SELECT id, workspace, 'infinity' FROM history_turns"
            )
        status = (await client.get("/status", headers=ana)).json()
        assert status["embedding"] == {"model": "test-embedder", "pending": 5, "failed": 2}
        waiting = {name for name, state in states(status).items() if state == "degraded"}
        assert waiting == {"dense", "artifacts.dense", "history.dense"}
        assert "2 texts wait" in part(status, "history.dense")["says"]
        assert (await counted(client, low))[1] == {"model": "test-embedder", "pending": 2, "failed": 1}
        assert (await counted(client, other))[1] == {"model": "test-embedder", "pending": 0, "failed": 0}
        assert (await client.get("/status", headers=other)).json()["status"] == "ok"


async def test_it_counts_in_one_round_trip(make_container: MakeContainer) -> None:
    container = await make_container()
    before = container.database.statistics()["requests_num"]
    await PostgresContentCounts(container.database).count(principal=Principal())
    assert container.database.statistics()["requests_num"] == before + 1


async def test_parts_that_are_not_set_up_are_off(make_container: MakeContainer, tmp_path: Path) -> None:
    container = await make_container(parts=Parts())
    async with service(container) as client:
        status = await asked(client)
    off = {name for name, state in states(status).items() if state == "off"}
    assert off == {"dense", "artifacts.dense", "memory.dense", "history.dense", "grep", "rerank"}
    assert (status["status"], status["embedding"]["model"]) == ("ok", None)
    assert "ALLOWED_PATHS" in part(status, "grep")["remedy"]
    container = await make_container(allowed_paths=str(tmp_path))
    async with service(container) as client:
        status = await asked(client)
    assert states(status)["grep"] == "ok"
    assert list(states(status)) == [
        "database", "dense", "full_text", "artifacts.dense", "artifacts.full_text", "memory.dense",
        "memory.full_text", "history.dense", "history.full_text", "graph", "grep", "structure", "answerer", "rerank",
    ]  # fmt: skip


class BrokenReranker:
    name = "broken"

    async def scores(self, query: str, passages: object) -> list[float]:
        raise SourceUnavailableError("out", reason="rate_limited")

    async def aclose(self) -> None:
        return None


async def test_models_whose_last_call_failed_until_one_does_well(make_container: MakeContainer) -> None:
    answerer = ScriptedAnswerer()
    parts = Parts(embedder=HashingEmbedder(), answerer=answerer, reranker=BrokenReranker())
    container = await make_container(parts=parts, enable_hybrid_search=True, embed_wait_seconds=30.0)
    async with service(container) as client:
        await put(client, {}, "/documents/plazos.md", {"text": TEXT})
        assert (await asked(client))["status"] == "ok"
        well, answerer.script = answerer.script, [AnswererUnavailableError("out", reason="unauthorized")]
        assert (await client.post("/ask", json={"query": "¿Qué plazo de entrega hay?"})).status_code == 503
        status = await asked(client)
        assert part(status, "answerer")["reason"] == "unauthorized"
        assert part(status, "rerank")["reason"] == "rate_limited"
        assert status["status"] == "degraded"
        answerer.script = well
        answer = await client.post("/ask", json={"query": "¿Qué plazo de entrega hay?", "stream": True})
        assert "final_answer" in answer.text
        assert states(await asked(client))["answerer"] == "ok"


@pytest.fixture
async def behind_proxy(postgres_server: Any, dsn: str) -> AsyncIterator[tuple[FaultProxy, httpx.AsyncClient]]:
    settings = load_settings({"embedding_provider": "none", "database_pool_timeout_seconds": 0.5})
    async with (
        fault_proxy(str(postgres_server.host), int(postgres_server.port)) as proxy,
        open_container(settings, proxy.dsn(dsn), parts=Parts(embedder=HashingEmbedder())) as container,
        service(container) as client,
    ):
        yield proxy, client


@pytest.mark.parametrize("fault", [Fault.REFUSE, Fault.HANG])
async def test_a_database_at_fault(behind_proxy: tuple[FaultProxy, httpx.AsyncClient], fault: Fault) -> None:
    proxy, client = behind_proxy
    assert (await asked(client))["counts"] == NOTHING
    proxy.switch(fault)
    try:
        for _ in range(2):  # what the last look found is kept for a second
            started = time.monotonic()
            status = await asked(client)
            assert time.monotonic() - started < 3.0
            assert status["counts"] is None
            assert status["embedding"] == {"model": "test-embedder", "pending": None, "failed": None}
        assert status["status"] == "unavailable"
        assert {states(status)[name] for name in ("database", "dense", "full_text", "graph")} == {"out"}
        assert part(status, "database")["remedy"]
    finally:
        proxy.switch(Fault.PASS)


def secretive(folder: Path) -> Settings:
    address = f"https://{CANARY}:{CANARY}@{CANARY}.example/{CANARY}?key={CANARY}"
    return load_settings(
        {
            "ragcorp_data_dir": folder / CANARY,
            "database_url": f"postgresql://{CANARY}:{CANARY}@{CANARY}/{CANARY}",
            "database_owner_url": f"postgresql://{CANARY}:{CANARY}@{CANARY}/{CANARY}",
            "ragcorp_workspace": CANARY,
            "allowed_paths": f"{CANARY}={folder}",
            "files_workspace": CANARY,
            "rerank_provider": "http",
            "rerank_url": address,
            "rerank_api_key": CANARY,
            "embedding_provider": "openai",
            "openai_base_url": address,
            "openai_api_key": CANARY,
            "host": f"{CANARY}.example",
            "allowed_hosts": f"{CANARY}.example",
            "cors_origins": f"https://{CANARY}.example",
            "keys_secret": CANARY * 10,
        }
    )


async def test_no_secret_address_folder_or_workspace_is_shown(dsn: str, tmp_path: Path) -> None:
    settings = secretive(tmp_path)
    hidden = Settings.model_fields.keys() - set(VISIBLE)
    told = {name: str(value) for name, value in settings if value is not None}
    assert CANARY in str(told)
    assert CANARY not in str(visible_flags(settings))
    parts = Parts(embedder=HashingEmbedder(), answerer=ScriptedAnswerer(), reranker=BrokenReranker())
    async with open_container(settings, dsn, parts=parts) as container, service(container) as client:
        answer = await client.get("/status")
    assert answer.status_code == 200, answer.text
    assert CANARY not in answer.text
    assert str(tmp_path) not in answer.text
    for name in hidden:
        assert f'"{name.upper()}"' not in answer.text


def test_a_new_setting_is_shown_or_hidden_on_purpose() -> None:
    assert Settings.model_fields.keys() - set(VISIBLE) == {
        "ragcorp_data_dir", "database_url", "database_owner_url", "database_pool_size",
        "database_pool_timeout_seconds", "database_statement_timeout_seconds", "database_lock_timeout_seconds",
        "ragcorp_workspace", "rrf_constant", "max_hybrid_search_results", "allowed_paths", "files_workspace",
        "files_sensitivity", "files_hard_links", "files_max_read_bytes", "grep_timeout_seconds",
        "hydration_retention_days", "context_load_timeout", "default_result_limit", "max_memory_chars", "rerank_url",
        "rerank_api_key", "embedding_batch_size", "embedding_send_dimensions", "embedding_timeout_seconds",
        "embed_wait_seconds", "query_cache_size", "embedding_cache_ttl", "openai_base_url", "openai_api_key", "host",
        "port", "workers", "parse_timeout_seconds", "parse_memory_mb", "parse_processes", "ocr", "max_body_bytes",
        "max_json_depth", "max_metadata_bytes", "allowed_hosts", "cors_origins",
        "cors_credentials", "shutdown_grace_seconds", "write_timeout_seconds", "max_concurrent_requests",
        "admission_wait_seconds", "max_streams", "keys_secret", "key_cache_seconds",
        "log_level", "log_format", "purge_deleted_after_days",
    }  # fmt: skip


def test_flags_say_what_is_in_force_and_whether_it_was_chosen() -> None:
    flags = {
        flag.name: flag for flag in visible_flags(load_settings({"enable_hybrid_search": True, "rrf_constant": 9}))
    }
    assert (flags["ENABLE_HYBRID_SEARCH"].value, flags["ENABLE_HYBRID_SEARCH"].is_default) == ("true", False)
    assert (flags["RRF_K"].value, flags["RRF_K"].is_default) == ("9", False)
    assert (flags["HYBRID_SHADOW"].value, flags["HYBRID_SHADOW"].is_default) == ("false", True)
    assert (flags["FUSION_METHOD"].value, flags["FUSION_METHOD"].is_default) == ("rrf", True)
    assert (flags["EMBEDDING_MODEL"].value, flags["EMBEDDING_MODEL"].is_default) == ("multilingual-e5-small", True)
    assert (flags["SEMANTIC_THRESHOLD"].value, flags["SEMANTIC_THRESHOLD"].is_default) == (None, True)
    assert "Rank constant" in flags["RRF_K"].says

"""The tools over a database and files, as the service mounts them: real results, filters, and what a caller may see."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp import Client
from mcp_types import CallToolResult
from prometheus_client.parser import text_string_to_metric_families

from ragcorp.domain.documents import DocumentAttributes
from ragcorp.domain.principal import Principal, Sensitivity
from ragcorp.infrastructure.postgres.connections.database import EVERY_WORKSPACE
from ragcorp.interface.mcp.services import McpServices
from ragcorp.main.opening.library import make_rag
from ragcorp.main.service.app import run_service
from ragcorp.main.service.listener import listening_socket
from ragcorp.main.service.serving import serve_container
from ragcorp.main.wiring.container import Container
from support.mcp.fakes import Log, server_over, text_of
from support.mcp.serving import JSON_AND_EVENTS, SESSION, message_of, open_session, serving

pytestmark = pytest.mark.anyio

MARCO = "# Contrato marco\n\nEl plazo de entrega es de 30 días hábiles desde el pedido REQ-2026-014.\n"
IVA = "def calcular_iva(base):\n    return base * 21 / 100\n"
NOMINAS = "# Nóminas\n\nEl salario de la directora es de 91.400 euros, expediente SAL-7788.\n"
SECRET = "91.400"
PUBLIC_READER = Principal(subject="ana", clearance=Sensitivity.NORMAL)
ANY_DISTANCE = {"vector_score_threshold": 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """An open container over a filled database and a tree of files."""

    container: Container
    tree: Path

    def client(self, principal: Principal | None = None, **options: Any) -> Client:
        return Client(server_over(McpServices(use_cases=self.container.use_cases), principal=principal), **options)


@pytest.fixture
async def place(make_container: Callable[..., Any], tmp_path: Path) -> Place:
    tree = tmp_path / "docs"
    (tree / "code").mkdir(parents=True)
    (tmp_path / "docs-secret").mkdir()
    (tmp_path / "docs-secret" / "s.txt").write_text("canario")
    (tree / "marco.md").write_text(MARCO)
    (tree / "nominas.md").write_text(NOMINAS)
    (tree / "code" / "iva.py").write_text(IVA)
    (tree / "enlace").symlink_to("/etc/passwd")
    (tree / "carpeta").symlink_to(tmp_path / "docs-secret")
    (tree / "imagen.bin").write_bytes(b"\x89PNG\x00\x00")
    (tree / "bomba.txt").write_text("a" * 40 + "!")
    container: Container = await make_container(allowed_paths=str(tree), enable_hybrid_search=True)
    rag = make_rag(container)
    await rag.ingest_text(
        "marco.md", MARCO, metadata={"year": 2026},
        attributes=DocumentAttributes(artifact_type="contract", path="docs/marco.md"),
    )  # fmt: skip
    await rag.ingest_text(
        "nominas.md", NOMINAS, attributes=DocumentAttributes(sensitivity=Sensitivity.RESTRICTED, path="docs/nominas.md")
    )
    await rag.memory.add("A Priya le gustan los viajes a Goa.")
    await rag.embed_pending()
    return Place(container=container, tree=tree)


def paths(result: CallToolResult) -> list[str | None]:
    assert not result.is_error, text_of(result)
    return [matches["citation"]["path"] for matches in result.structured_content["results"]]


async def test_each_tool_over_the_mounted_endpoint(place: Place) -> None:
    log = Log()
    async with (
        run_service(place.container) as app,
        serving(app) as url,
        Client(f"{url}/mcp", mode="legacy", logging_callback=log) as client,
    ):
        hybrid = await client.call_tool(
            "hybrid_search", {"semantic_query": "¿Cuál es el plazo de entrega?", "exact_keywords": "REQ-2026-014"}
        )
        vector = await client.call_tool("vector_search", {"query": "plazo de entrega", **ANY_DISTANCE})
        memory = await client.call_tool("memory_search", {"query": "viajes a Goa"})
        grep = await client.call_tool("grep_search", {"query": "calcular_iva"})
        read = await client.call_tool("read_file", {"path": "docs/code/iva.py"})
        line = await client.call_tool("read_file", {"path": "code/iva.py", "line_start": 2, "line_end": 2})
        answer = await client.call_tool("ask", {"query": "¿Cuál es el plazo de entrega?"})
        context = await client.call_tool("context", {"query": "Priya"})
    first = hybrid.structured_content["results"][0]
    assert first["citation"]["path"] == "docs/marco.md"
    assert {source["source"] for source in first["sources"]} >= {"grep"}
    assert text_of(hybrid).startswith("Found ")
    assert "(searched: artifact_chunks, files):" in text_of(hybrid)
    assert "Evidence: docs/marco.md:" in text_of(hybrid)
    assert "docs/marco.md" in paths(vector)
    assert "A Priya le gustan los viajes a Goa." in text_of(memory)
    assert "[1] docs/code/iva.py:1-2 (terms: calcular_iva)\n> 1: def calcular_iva(base):" in text_of(grep)
    assert text_of(read) == IVA.rstrip("\n")
    assert text_of(line) == "    return base * 21 / 100"
    assert "30 días" in text_of(answer)
    assert "\n[1] docs/marco.md:" in text_of(answer)
    assert "viajes a Goa" in text_of(context)
    assert [said["tool"] for said in log.said] == ["hybrid_search", "vector_search", "memory_search", "grep_search"]
    assert log.said[3]["message"].startswith("grep_search: 1 passage in 1 file, ")


async def test_what_the_tools_search_is_counted_like_what_the_routes_do(place: Place) -> None:
    calls = (
        ("hybrid_search", {"semantic_query": "plazo de entrega"}),
        ("grep_search", {"query": "calcular_iva"}),
        ("ask", {"query": "¿Cuál es el plazo de entrega?", "profile": "vectors"}),
        ("context", {"query": "Priya"}),
        ("read_file", {"path": "docs/marco.md"}),
    )
    async with run_service(place.container) as app, serving(app) as url, httpx.AsyncClient() as client:
        async with Client(f"{url}/mcp", mode="legacy") as tools:
            for name, arguments in calls:
                assert not (await tools.call_tool(name, arguments)).is_error
        await client.post(f"{url}/mcp", content=b"{", headers={"Content-Type": "application/json"})
        counted = (await client.get(f"{url}/metrics")).text
    samples = {
        sample.name + "".join(sorted(f"|{value}" for value in sample.labels.values())): sample.value
        for family in text_string_to_metric_families(counted)
        for sample in family.samples
    }
    assert samples["source_requests_total|dense|ok"] == 2
    assert samples["source_requests_total|grep|ok"] == 1
    assert samples["grep_searches_total|ok"] == 1
    asked = [name for name in samples if name.startswith("source_requests_total") and "|graph" in name]
    assert [samples[name] for name in asked] == [1]  # by context
    assert samples["http_requests_total|/mcp|400|POST"] == 1
    assert samples["http_requests_total|/mcp|200|POST"] >= len(calls)
    assert not any(name.startswith("http_requests_total|") and "unmatched" in name for name in samples)


async def test_what_is_asked_beyond_a_file_is_told_how_long_it_is(place: Place) -> None:
    (place.tree / "una.txt").write_text("una línea\n")
    (place.tree / "vacia.txt").write_text("")
    async with place.client() as client:
        for path, first, said in (
            ("code/iva.py", 3, "The file has 2 lines."),
            ("una.txt", 2, "The file has 1 line."),
            ("vacia.txt", 1, "The file has 0 lines."),
            ("code/iva.py", 2, IVA.splitlines()[1]),
        ):
            read = await client.call_tool("read_file", {"path": path, "line_start": first})
            assert (read.is_error, text_of(read)) == (False, said)
        blank = await client.call_tool("hybrid_search", {"semantic_query": " "})
        assert text_of(blank) == "semantic_query is empty. Ask for something. (field: semantic_query)"


async def test_the_service_does_not_wait_for_clients_when_it_stops(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    url: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    with listening_socket("127.0.0.1", 0) as listener:
        service = asyncio.create_task(serve_container(place.container, listener, url.set_result))
        endpoint = f"{await url}/mcp"
        async with httpx.AsyncClient(timeout=60) as client:
            session = (await open_session(client, endpoint)).headers[SESSION]
            headers = {"Accept": "text/event-stream", SESSION: session, "MCP-Protocol-Version": "2025-11-25"}
            async with client.stream("GET", endpoint, headers=headers) as stream:
                assert stream.status_code == 200
                service.cancel()
                await stream.aread()
            await service
    assert "graceful shutdown exceeded" not in caplog.text


@pytest.mark.parametrize("ends", [True, False], ids=["a call that ends in time", "one that does not"])
async def test_a_call_that_runs_when_the_service_stops_has_the_time_of_any_request(place: Place, ends: bool) -> None:
    url: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    params = {"name": "vector_search", "arguments": {"query": "plazo de entrega", **ANY_DISTANCE}}
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}
    settings = place.container.settings.model_copy(update={"shutdown_grace_seconds": 600 if ends else 2})
    with listening_socket("127.0.0.1", 0) as listener:
        container = replace(place.container, settings=settings)
        service = asyncio.create_task(serve_container(container, listener, url.set_result))
        endpoint = f"{await url}/mcp"
        async with httpx.AsyncClient(timeout=60) as client, AsyncExitStack() as stack:
            session = (await open_session(client, endpoint)).headers[SESSION]
            headers = {**JSON_AND_EVENTS, SESSION: session, "MCP-Protocol-Version": "2025-11-25"}
            listening = {**headers, "Accept": "text/event-stream"}
            stream = await stack.enter_async_context(client.stream("GET", endpoint, headers=listening))
            async with place.container.database.transaction(EVERY_WORKSPACE) as connection:
                await connection.execute("LOCK TABLE chunk_embeddings IN ACCESS EXCLUSIVE MODE")
                calling = asyncio.create_task(client.post(endpoint, json=call, headers=headers))
                waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'chunk_embeddings'::regclass"
                while (await (await connection.execute(waiting)).fetchone()) == (0,):  # noqa: ASYNC110 - another process
                    await asyncio.sleep(0.01)
                service.cancel()
                while not await refuses(client, endpoint):  # noqa: ASYNC110 - it tells nobody
                    await asyncio.sleep(0.01)
                answer = None if ends else message_of(await calling)
            if answer is None:
                result = message_of(await calling)["result"]
                assert (result["isError"], "marco" in result["content"][0]["text"]) == (False, True)
            else:
                assert answer["error"]["message"] == "The service is stopping."
            await stream.aread()
        await service


async def refuses(client: httpx.AsyncClient, url: str) -> bool:
    """Tell whether the service lets nobody new in."""
    try:
        return (await client.get(url)).status_code == 503
    except httpx.ConnectError:
        return True


async def test_filters_hold(place: Place) -> None:
    async with place.client() as client:
        of_kind = {"query": "plazo de entrega", **ANY_DISTANCE}
        assert paths(await client.call_tool("vector_search", {**of_kind, "filters": {"artifact_type": "contract"}}))
        none = await client.call_tool("vector_search", {**of_kind, "filters": {"year": {"$lt": 2020}}})
        hybrid = await client.call_tool("hybrid_search", {"query": "REQ-2026-014", "filters": {"year": 2026}})
        other = await client.call_tool(
            "hybrid_search", {"query": "REQ-2026-014", "filters": {"artifact_type": "invoice"}}
        )
    assert text_of(none).splitlines()[0] == "No results found."
    assert paths(hybrid) == ["docs/marco.md"]
    assert paths(other) == []


async def test_nothing_found_and_globs(place: Place) -> None:
    async with place.client() as client:
        grep = await client.call_tool("grep_search", {"query": "xyzzy-no-hay"})
        globbed = await client.call_tool("grep_search", {"query": "a", "globs": ["*.py"]})
        memory = await client.call_tool("memory_search", {"query": "Goa", "filters": {"session": "ninguna"}})
    assert [passage["path"] for passage in globbed.structured_content["passages"]] == ["docs/code/iva.py"]
    assert text_of(grep).splitlines()[0] == "No matches found."
    assert grep.structured_content["passages"] == []
    assert text_of(memory).splitlines()[0] == "No results found."


async def test_keywords_that_are_missing_or_the_question_itself_are_taken_from_it(place: Place) -> None:
    async with place.client() as client:
        for keywords in ({}, {"exact_keywords": ""}, {"exact_keywords": "¿Quién usa calcular_iva?"}):
            result = await client.call_tool("hybrid_search", {"query": "¿Quién usa calcular_iva?", **keywords})
            assert "docs/code/iva.py" in paths(result)


async def test_what_a_caller_may_not_read_is_shown_by_no_tool(place: Place) -> None:
    calls: list[tuple[str, dict[str, Any]]] = [
        ("hybrid_search", {"query": "salario de la directora", "exact_keywords": "SAL-7788"}),
        ("vector_search", {"query": "salario de la directora", **ANY_DISTANCE}),
        ("grep_search", {"query": "SAL-7788"}),
        ("grep_search", {"query": "salario"}),
        ("read_file", {"path": "docs/nominas.md"}),
        ("read_file", {"path": "nominas.md"}),
        ("ask", {"query": "¿Cuál es el salario de la directora?"}),
        ("ask", {"query": "¿Cuál es el salario de la directora?", "profile": "files"}),
        ("context", {"query": "salario de la directora"}),
    ]
    async with place.client() as everyone, place.client(PUBLIC_READER) as reader:
        shown = [str(await everyone.call_tool(name, arguments)) for name, arguments in calls]
        hidden = [str(await reader.call_tool(name, arguments)) for name, arguments in calls]
    assert all(SECRET in text for text in shown[:6])
    assert not any(SECRET in text for text in hidden)
    assert not any("nominas.md:" in text for text in hidden)


async def test_a_caller_of_another_workspace_reaches_no_file(place: Place) -> None:
    async with place.client(Principal(workspace="otra")) as client:
        for name, arguments in (("grep_search", {"query": "plazo"}), ("read_file", {"path": "docs/marco.md"})):
            result = await client.call_tool(name, arguments)
            assert result.is_error
            assert text_of(result).startswith("[ERROR: ACCESS_DENIED]")
        assert paths(await client.call_tool("hybrid_search", {"query": "REQ-2026-014"})) == []


UNREADABLE = [
    ("../docs-secret/s.txt", "ACCESS_DENIED"),
    ("../docs-secret/no-hay.txt", "ACCESS_DENIED"),
    ("docs/../../docs-secret/s.txt", "ACCESS_DENIED"),
    ("enlace", "ACCESS_DENIED"),
    ("carpeta/s.txt", "ACCESS_DENIED"),
    ("/etc/passwd", "ACCESS_DENIED"),
    ("docs/code", "ACCESS_DENIED"),
    ("no-hay.md", "NOT_FOUND"),
    ("imagen.bin", "BINARY"),
]


async def test_a_file_that_cannot_be_read_says_why_and_nothing_else(place: Place) -> None:
    async with place.client() as client:
        for path, kind in UNREADABLE:
            result = await client.call_tool("read_file", {"path": path})
            text = text_of(result)
            assert result.is_error, path
            assert text.startswith(f"[ERROR: {kind}]"), (path, text)
            assert "canario" not in text
            assert str(place.tree.parent) not in text
            assert kind != "ACCESS_DENIED" or text.endswith("Allowed roots: docs."), (path, text)


async def test_a_path_with_half_a_character_or_nul_is_refused(place: Place) -> None:
    async with place.client() as client:
        for path in ("a\ud800", "a\x00b"):
            result = await client.call_tool("read_file", {"path": path})
            assert result.is_error
            assert "Something went wrong" not in text_of(result)
        half = await client.call_tool("vector_search", {"query": "a\ud800"})
        assert half.is_error
        assert "surrogate" in text_of(half)


async def test_a_regular_expression_that_explodes_elsewhere_answers(place: Place) -> None:
    async with place.client() as client:
        bomb = await client.call_tool("grep_search", {"query": "(a+)+$", "mode": "regex", "globs": ["bomba.txt"]})
        bad = await client.call_tool("grep_search", {"query": "(canario", "mode": "regex"})
    assert not bomb.is_error
    assert text_of(bomb).splitlines()[0] == "No matches found."
    assert bad.is_error
    assert "canario" not in text_of(bad)

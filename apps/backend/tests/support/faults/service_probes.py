"""Asks every kind of endpoint once, and says in a word what each answered."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx

from ragcorp.main.service.app import run_service
from ragcorp.main.wiring.container import Container

MCP_HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
INITIALIZE = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
TOOL = {"name": "hybrid_search", "arguments": {"query": "plazo de entrega"}}
QUERY = {"query": "plazo de entrega"}


class Probes:
    """A client of a service; what it says of an answer is ``status``, and after it what the answer owns up to."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self.client = client
        self._written = 0
        self._session = ""

    async def open_session(self) -> None:
        answer = await self._rpc("initialize", INITIALIZE)
        self._session = answer.headers["mcp-session-id"]
        await self.client.post(
            "/mcp", json={"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=self._mcp_headers()
        )

    async def all(self) -> dict[str, str]:
        """Return what each said. All are asked at once, as by different people."""
        asked = {
            "/search": self.client.post("/search", json=QUERY | {"mode": "hybrid"}),
            "/ask": self.client.post("/ask", json=QUERY),
            "/grep": self.client.post("/grep", json={"query": "plazo"}),
            "GET /documents": self.client.get("/documents"),
            "PUT /documents": self.write(),
            "/healthz": self.client.get("/healthz"),
            "/readyz": self.client.get("/readyz"),
            "/metrics": self.client.get("/metrics"),
        }
        answers = await asyncio.gather(*asked.values(), self.tool())
        said = {name: _word(answer) for name, answer in zip(asked, answers[:-1], strict=True)}
        return said | {"/mcp": answers[-1]}

    async def ready(self) -> str:
        return _word(await self.client.get("/readyz"))

    async def write(self, *, words: int = 20) -> httpx.Response:
        self._written += 1
        text = f"Pedido {self._written} con su plazo. " + " ".join(f"relleno{number}" for number in range(words))
        return await self.client.put(f"/documents/w{self._written}.txt", json={"text": text})

    async def tool(self) -> str:
        answer = await self._rpc("tools/call", TOOL)
        if answer.status_code != httpx.codes.OK:
            return _word(answer)
        message = _message(answer)
        result = message.get("result") or {}
        if result.get("isError"):
            return "tool error"
        return "ok" + _degraded(result.get("structuredContent") or {})

    async def _rpc(self, method: str, parameters: Mapping[str, Any]) -> httpx.Response:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": dict(parameters)}
        return await self.client.post("/mcp", json=body, headers=self._mcp_headers())

    def _mcp_headers(self) -> dict[str, str]:
        return MCP_HEADERS | ({"Mcp-Session-Id": self._session} if self._session else {})


def _word(answer: httpx.Response) -> str:
    if answer.headers.get("content-type", "").startswith("application/problem+json"):
        problem = answer.json()
        assert problem["request_id"]
        return f"{answer.status_code} {problem.get('reason', problem['code'])}"
    if not answer.headers.get("content-type", "").startswith("application/json"):
        return str(answer.status_code)
    return f"{answer.status_code}{_degraded(answer.json())}"


def _degraded(body: Any) -> str:
    reports = body.get("degraded", ()) if isinstance(body, dict) else ()
    return " without " + ",".join(sorted({f"{item['source']}" for item in reports})) if reports else ""


def _message(answer: httpx.Response) -> Any:
    if answer.headers["content-type"].startswith("text/event-stream"):
        data = [line.removeprefix("data: ") for line in answer.text.splitlines() if line.startswith("data: {")]
        return json.loads(data[-1])
    return answer.json()


@asynccontextmanager
async def probed(container: Container) -> AsyncIterator[Probes]:
    """Serve the container inside this process, with a document in it and an open session of MCP."""
    async with run_service(container) as app:
        transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost", timeout=60) as client:
            probes = Probes(client)
            await probes.open_session()
            yield probes
            if app.state.mcp is not None:
                await app.state.mcp.end_sessions()


WELL = {
    "/search": "200",
    "/ask": "200",
    "/grep": "200",
    "GET /documents": "200",
    "PUT /documents": "201",
    "/healthz": "200",
    "/readyz": "200",
    "/metrics": "200",
    "/mcp": "ok",
}
"""What a service in full order says."""

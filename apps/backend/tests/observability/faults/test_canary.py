"""Secrets and users' text: through every fault, neither is in a log line, a metric, a trace or a report."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import httpx
import pytest
from psycopg.conninfo import conninfo_to_dict

from support.faults.proxy import Fault, fault_proxy
from support.models.embedders import TEST_MODEL
from support.models.openai_server import openai_server
from support.models.rerank_server import rerank_server
from support.processes.command_line import run_apart, run_here
from support.processes.otlp_collector import otlp_collector
from support.processes.serving_apart import served

pytestmark = pytest.mark.anyio

SECRETS = {
    "OPENAI_API_KEY": "canary-openai-key",
    "RERANK_API_KEY": "canary-rerank-key",
    "KEYS_SECRET": "canary-keys-secret-of-32-characters",
}
IN_URLS = ("canary-password", "canary-token")
SAID_BY_THE_MODEL = "SECRET-IN-BODY"
TEXT = "zarigüeyacanaria"
"""A word that only users write."""


def with_secrets(url: str) -> str:
    return url.replace("http://", "http://user:canary-password@") + "?token=canary-token"


def settings(dsn: str, owner_dsn: str, model: str, reranker: str, collector: str) -> dict[str, str]:
    return {
        **SECRETS,
        "DATABASE_URL": dsn,
        "DATABASE_OWNER_URL": owner_dsn,
        "DATABASE_POOL_TIMEOUT_SECONDS": "0.2",
        "EMBEDDING_PROVIDER": "openai",
        "EMBEDDING_MODEL": TEST_MODEL.name,
        "EMBEDDING_DIM": str(TEST_MODEL.dimensions),
        "EMBEDDING_TIMEOUT_SECONDS": "0.5",
        "SOURCE_TIMEOUT_SECONDS": "0.5",
        "EMBED_WAIT_SECONDS": "0",
        "ANSWER_PROVIDER": "openai",
        "ANSWER_TIMEOUT_SECONDS": "0.5",
        "OPENAI_BASE_URL": with_secrets(model),
        "RERANK_PROVIDER": "http",
        "RERANK_URL": with_secrets(reranker),
        "ENABLE_HYBRID_SEARCH": "true",
        "CIRCUIT_BREAKER_FAILURES": "0",
        "LOG_LEVEL": "debug",
        "LOG_FORMAT": "json",
        "ENABLE_TRACING": "true",
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector,
        "NO_PROXY": "*",
    }


async def use(client: httpx.AsyncClient) -> list[httpx.Response]:
    """Send what users send, and what attackers do; return what the service said."""
    headers = {"X-Canary": TEXT, "User-Agent": TEXT, "X-Request-ID": f"{TEXT} forged"}
    calls: list[tuple[str, str, dict[str, Any]]] = [
        ("PUT", f"/documents/{TEXT}", {"json": {"text": f"El plazo {TEXT}.", "title": TEXT, "metadata": {TEXT: TEXT}}}),
        ("POST", "/search", {"json": {"query": f"plazo {TEXT}", "episode_id": TEXT}}),
        ("POST", "/search", {"json": {"query": TEXT, "profile": TEXT}}),
        ("POST", "/search", {"json": {"query": TEXT, "filters": {TEXT: TEXT}}}),
        ("POST", "/ask", {"json": {"query": f"¿Qué plazo {TEXT}?"}}),
        ("POST", "/ask", {"json": {"query": f"¿Qué plazo {TEXT}?", "stream": True}}),
        ("GET", f"/documents/{TEXT}-none?{TEXT}={TEXT}", {}),
        ("GET", f"/{TEXT}", {}),
        (
            "POST",
            "/search",
            {"content": f'{{"query": "{TEXT}'.encode(), "headers": {"Content-Type": "application/json"}},
        ),
        ("POST", "/search", {"content": TEXT.encode("utf-16"), "headers": {"Content-Type": f"text/{TEXT}".encode()}}),
        ("POST", "/grep", {"json": {"query": TEXT}}),
        ("POST", "/mcp", {"content": f'{{"jsonrpc": "2.0", "id": 1, "method": "{TEXT}"}}'.encode()}),
        ("POST", "/search", {"json": {"query": TEXT}, "headers": {"Authorization": f"Bearer {TEXT}".encode()}}),
        ("GET", "/readyz", {}),
    ]
    encoded = {name: value.encode() for name, value in headers.items()}
    answers = []
    for method, path, options in calls:
        given = {**encoded, **options.pop("headers", {})}
        answers.append(await client.request(method, path, headers=given, **options))
    return answers


@pytest.mark.parametrize(
    ("faults", "commands"),
    [
        pytest.param(("500",), [], id="briefly"),
        pytest.param(
            ("401", "500", "html", "reset", "no_json", "error_event", "hang", "redirect", "cut"),
            [("config",), ("config", "--json"), ("doctor",), ("doctor", "--json")],
            id="every fault",
            marks=pytest.mark.soak,
        ),
    ],
)
async def test_no_secret_and_no_text_of_a_user_is_told(
    dsn: str, owner_dsn: str, faults: tuple[str, ...], commands: list[tuple[str, ...]]
) -> None:
    place = conninfo_to_dict(dsn)
    passwords = [str(conninfo_to_dict(item)["password"]) for item in (dsn, owner_dsn)]
    secrets = [*SECRETS.values(), *IN_URLS, *passwords, SAID_BY_THE_MODEL]
    async with (
        openai_server() as model,
        rerank_server() as reranker,
        otlp_collector() as collector,
        fault_proxy(str(place["host"]), int(str(place["port"]))) as proxy,
    ):
        model.vector = lambda _: [1.0] * TEST_MODEL.dimensions
        env = settings(proxy.dsn(dsn), owner_dsn, model.base_url, reranker.url, collector.url)
        async with served(**env_of(env)) as service, service.client() as client:
            answers = await use(client)
            assert answers[0].status_code == 201, answers[0].text
            assert answers[1].status_code == 200, answers[1].text
            for fault in faults:
                model.always = fault
                answers += await use(client)
            model.always = "ok"
            proxy.switch(Fault.REFUSE)
            answers += await use(client)
            proxy.switch(Fault.PASS)
            metrics = (await client.get("/metrics")).text
            done = await asyncio.to_thread(service.running.stop)
        reports = [await asyncio.to_thread(run_apart, *command, env=env, timeout=120) for command in commands]
        model.always = "401"
        proxy.switch(Fault.REFUSE)
        reports.append(await asyncio.to_thread(run_apart, "doctor", "--json", "--verbose", env=env, timeout=120))
    told = {
        "log": done.err,
        "stdout": done.out,
        "metrics": metrics,
        "traces": collector.raw.decode("latin-1"),
        **{f"report {number}": report.out + report.err for number, report in enumerate(reports)},
    }
    said = "\n".join(f"{answer.headers} {answer.text}" for answer in answers)
    for secret in secrets:
        assert secret not in said
        for where, text in told.items():
            assert secret not in text, where
    for where, text in told.items():
        for form in (TEXT, json.dumps(TEXT)[1:-1], TEXT.encode().decode("latin-1"), "canaria"):
            assert form not in text, where
    lines = [json.loads(line) for line in done.err.splitlines() if line.startswith("{")]
    outcomes = {line.get("outcome") for line in lines}
    assert {"ok", "refused", "failed"} <= outcomes  # the faults did come through
    assert {"dense", "rerank"} & {line.get("source") for line in lines}
    assert all({"ts", "level", "logger", "message"} <= line.keys() for line in lines)
    assert len(collector.spans) > 50


def test_the_settings_show_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    given = settings(
        "postgresql://app:canary-db@127.0.0.1/x",
        "host=127.0.0.1 user=owner password=canary-owner",
        "http://127.0.0.1:1/v1",
        "http://127.0.0.1:2/rerank",
        "http://127.0.0.1:3",
    )
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    for form in ((), ("--json",)):
        shown = run_here("config", *form)
        assert shown.code == 0, shown.err
        assert "127.0.0.1" in shown.out
        assert "canary" not in shown.out + shown.err


def env_of(env: Mapping[str, str]) -> dict[str, str]:
    """Return the arguments of ``served``, which names the database's address itself."""
    return {"dsn": env["DATABASE_URL"], **{name: value for name, value in env.items() if name != "DATABASE_URL"}}

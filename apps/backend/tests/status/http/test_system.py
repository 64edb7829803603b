"""Health, readiness, metrics, the description and the boundary around all routes."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from ragcorp.domain import exceptions as domain
from ragcorp.domain import keys
from ragcorp.interface.http.protocol.problems import STATUS_BY_ERROR, problem_of
from support.fixtures.http import MakeApp
from support.http.fakes import World

pytestmark = pytest.mark.anyio

PROBLEM_FIELDS = {"type", "title", "status", "detail", "code", "errors", "request_id"}


def samples(text: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


async def test_liveness_needs_no_database(client: httpx.AsyncClient, world: World) -> None:
    world.repository.fault.error = world.readiness.error = domain.StorageUnavailableError("out")
    answer = await client.get("/healthz")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


async def test_readiness_follows_the_check(client: httpx.AsyncClient, world: World) -> None:
    assert (await client.get("/readyz")).json() == {"status": "ok"}
    world.readiness.error = domain.StorageUnavailableError(
        "The database schema is not the one that this version needs.", reason="schema", remedy="Run `ragcorp migrate`."
    )
    answer = await client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["reason"] == "schema"
    assert "ragcorp migrate" in answer.json()["detail"]
    world.readiness.error, world.readiness.delay = None, 30.0
    answer = await client.get("/readyz")
    assert (answer.status_code, answer.json()["reason"]) == (503, "timeout")


async def test_metrics_count_requests_and_sources(client: httpx.AsyncClient, world: World) -> None:
    await client.put("/documents/a", json={"text": "El plazo es largo."})
    await client.post("/search", json={"query": "plazo", "mode": "hybrid"})
    await client.get("/documents/canary-name")
    await client.get("/canary-path")
    await client.request("CANARY", "/search")

    async def out(*_: Any, **__: Any) -> Any:
        raise domain.StorageUnavailableError("out", reason="unreachable")

    world.repository.find_similar_chunks = out
    await client.post("/ask", json={"query": "plazo"})
    answer = await client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    results = samples(answer.text)

    def value(name: str, **labels: str) -> float:
        return results[(name, tuple(sorted(labels.items())))]

    assert value("http_requests_total", route="/documents/{external_id}", method="PUT", status="201") == 1
    assert value("http_requests_total", route="/documents/{external_id}", method="GET", status="404") == 1
    assert value("http_requests_total", route="unmatched", method="GET", status="404") == 1
    assert value("http_requests_total", route="/search", method="other", status="405") == 1
    assert value("http_request_seconds_count", route="/search", method="POST") == 1
    assert value("source_requests_total", source="dense", outcome="ok") == 1
    assert value("source_requests_total", source="dense", outcome="failed") == 1
    assert value("source_requests_total", source="full_text", outcome="ok") == 2
    assert value("source_seconds_count", source="full_text") == 2
    assert value("degraded_total", source="dense", reason="unreachable") == 1
    assert value("pending_embeddings") == 3
    assert value("failed_embeddings") == 1
    assert value("database_pool", statistic="pool_size") == 4
    assert "canary" not in answer.text.lower()


async def test_metrics_answer_without_a_database(client: httpx.AsyncClient, world: World) -> None:
    world.backlog.fault.error = domain.StorageUnavailableError("out")
    answer = await client.get("/metrics")
    assert answer.status_code == 200
    assert "pending_embeddings NaN" in answer.text


async def test_two_applications_do_not_share_metrics(
    make_app: MakeApp, make_client: Callable[[Any], httpx.AsyncClient]
) -> None:
    async with make_client(make_app()) as first, make_client(make_app()) as second:
        await first.get("/healthz")
        assert 'route="/healthz"' not in (await second.get("/metrics")).text


async def test_the_interactive_page_loads_nothing_from_elsewhere(client: httpx.AsyncClient) -> None:
    page = await client.get("/docs")
    assert page.status_code == 200
    assert "http://" not in page.text
    assert "https://" not in page.text
    assets = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert len(assets) == 3
    for asset in assets:
        assert (await client.get(asset)).status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "status", "allow"),
    [
        ("GET", "/none", 404, None),
        ("GET", "/search/", 404, None),
        ("GET", "/v1/v1/search", 404, None),
        ("GET", "/v11/search", 404, None),
        ("GET", "/search", 405, "POST"),
        ("DELETE", "/v1/ask", 405, "POST"),
        ("POST", "/documents", 405, "DELETE, GET, HEAD"),
        ("POST", "/documents/a", 405, "DELETE, GET, HEAD, PUT"),
        ("POST", "/healthz", 405, "GET, HEAD"),
        ("POST", "/", 405, "GET, HEAD"),
        ("PUT", "/assets/index.js", 405, "GET, HEAD"),
        ("OPTIONS", "/search", 405, "POST"),
    ],
)
async def test_paths_and_methods_that_there_are_not(
    client: httpx.AsyncClient, method: str, path: str, status: int, allow: str | None
) -> None:
    answer = await client.request(method, path)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert set(answer.json()) == PROBLEM_FIELDS
    assert answer.headers.get("allow") == allow


@pytest.mark.parametrize("given", ["abc", "A.b_c-9", "x" * 64])
async def test_a_sane_request_id_is_taken_over(client: httpx.AsyncClient, given: str) -> None:
    answer = await client.post("/search", json={"query": "a"}, headers={"X-Request-ID": given})
    assert answer.headers["x-request-id"] == given == answer.json()["request_id"]
    answer = await client.get("/none", headers={"X-Request-ID": given})
    assert answer.headers["x-request-id"] == given == answer.json()["request_id"]


@pytest.mark.parametrize("given", ["", "x" * 65, "a b", "a/b", "{}", "ñ", "<script>"])
async def test_any_other_request_id_is_replaced(client: httpx.AsyncClient, given: str) -> None:
    answer = await client.get("/none", headers={b"X-Request-ID": given.encode()})
    assert answer.json()["request_id"] == answer.headers["x-request-id"] != given
    assert re.fullmatch(r"[0-9a-f]{32}", answer.headers["x-request-id"])


async def test_a_bug_is_logged_and_not_shown(
    client: httpx.AsyncClient, world: World, caplog: pytest.LogCaptureFixture
) -> None:
    world.repository.fault.error = RuntimeError("a secret")
    with caplog.at_level(logging.ERROR):
        answer = await client.get("/documents/a")
    assert answer.status_code == 500
    assert set(answer.json()) == PROBLEM_FIELDS
    assert answer.json()["code"] == "internal"
    assert "secret" not in answer.text
    assert answer.headers["x-request-id"] in caplog.text
    assert "RuntimeError: a secret" in caplog.text


async def test_no_request_takes_longer_than_it_may(
    world: World, make_app: MakeApp, make_client: Callable[[Any], httpx.AsyncClient]
) -> None:
    world.repository.fault.delay = 30.0
    async with (
        make_client(make_app(request_timeout_seconds=0.1, ask_timeout_seconds=0.1)) as client,
        asyncio.timeout(10),
    ):
        for method, path, body in (
            ("POST", "/search", {"query": "a"}),
            ("POST", "/ask", {"query": "a"}),
            ("PUT", "/documents/a", {"text": "a"}),
            ("GET", "/documents/a", None),
            ("GET", "/documents", None),
            ("DELETE", "/documents/a", None),
        ):
            answer = await client.request(method, path, json=body)
            assert answer.status_code == 503, path
            assert answer.json()["code"] == "request_timeout"
            assert answer.headers["retry-after"].isdigit()
        streamed = await client.post("/ask", json={"query": "a", "stream": True})
        assert streamed.status_code == 200  # it has begun by then, and says so in its last event
        assert "event: error" in streamed.text
        assert '"code":"request_timeout"' in streamed.text


def leaves(kind: type[domain.RagcorpError]) -> list[type[domain.RagcorpError]]:
    """All of the tree that is ours: other tests subclass it too."""
    children = [child for child in kind.__subclasses__() if child.__module__.startswith("ragcorp.")]
    return [kind, *(leaf for child in children for leaf in leaves(child))]


def test_every_domain_error_has_a_status() -> None:
    statuses = {kind: problem_of(raised(kind)).status for kind in leaves(domain.RagcorpError)}
    assert {kind.__name__: status for kind, status in statuses.items() if kind.__module__ == domain.__name__} == {
        "RagcorpError": 500,
        "InvalidInputError": 422,
        "InvalidRankingError": 500,
        "PayloadTooLargeError": 413,
        "UnsupportedMediaTypeError": 415,
        "UnreadableDocumentError": 422,
        "NotFoundError": 404,
        "MissingFileError": 404,
        "ConflictError": 409,
        "ConfigurationError": 503,
        "MissingExtraError": 503,
        "IncompatibleEmbeddingsError": 503,
        "NotConfiguredError": 409,
        "BusyError": 503,
        "SourceUnavailableError": 503,
        "StorageUnavailableError": 503,
        "EmbedderUnavailableError": 503,
        "AnswererUnavailableError": 503,
        "AllSourcesFailedError": 503,
        "FileAccessError": 500,
        "FileNotFoundInRootsError": 404,
        "FileAccessDeniedError": 403,
        "FileTooLargeError": 413,
        "FileIsBinaryError": 415,
        "FileUndecodableError": 422,
    }
    assert all(kind in statuses for kind in STATUS_BY_ERROR)


def raised(kind: type[domain.RagcorpError]) -> domain.RagcorpError:
    if kind is domain.MissingExtraError:
        return domain.MissingExtraError(feature="x", extra="y")
    if kind is keys.ForbiddenError:
        return keys.ForbiddenError(keys.Scope.ASK)
    if kind is keys.TooManyRequestsError:
        return keys.TooManyRequestsError("x", reason="rate", retry_after_seconds=1, limit="y", remedy="z")
    if kind in (domain.BusyError, keys.UnauthenticatedError):
        return kind()  # type: ignore[call-arg]  # they say always the same
    return kind("It is out.")

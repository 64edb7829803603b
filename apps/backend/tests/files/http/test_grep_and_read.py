"""POST /grep and POST /files/read: the contract over ports that do as they are told; the service over real files."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from pydantic import TypeAdapter

from ragcorp.domain import exceptions as domain
from ragcorp.domain.files.values import (
    ChunkPlace,
    FileText,
    GrepCase,
    GrepMode,
    GrepPassage,
    GrepRequest,
    GrepResult,
    Mark,
    SkippedFiles,
)
from ragcorp.domain.filters import Filters
from ragcorp.domain.principal import Principal
from ragcorp.interface.http.app import create_app
from ragcorp.interface.http.protocol.limits import HttpLimits
from ragcorp.interface.shapes.files import FileContent, GrepResults
from support.fixtures.http import Serve
from support.http.fakes import World
from support.storage.stored import ANYONE

pytestmark = pytest.mark.anyio

PASSAGE = GrepPassage(
    path="docs/marco.md",
    line_start=4,
    line_end=6,
    text="## Entrega\n\nEl plazo de entrega es de 30 días.",
    marks=(Mark(6, 3, 8, 0), Mark(6, 12, 19, 1)),
    terms=("plazo", "entrega"),
    score=2.25,
    chunk=ChunkPlace("4711", "0199a1c2-7d3e-7a55-9c1b-2f6f0d1e8a10", 3),
)
RESULT = GrepResult(
    passages=(PASSAGE,),
    terms=("plazo", "entrega"),
    files=3,
    matched_lines=8,
    searched=120,
    skipped=SkippedFiles(binary=2, too_large=1, refused=4),
    relaxed=True,
)
FILE = FileText(path="docs/marco.md", text="El plazo.\nFin.", line_start=2, line_end=3, total_lines=9)


class ScriptedFiles:
    """Answers for both ports; raises ``error`` if there is one, at once or, with ``hold``, when it is set."""

    def __init__(self) -> None:
        self.error: Exception | None = None
        self.hold: asyncio.Event | None = None
        self.begun = asyncio.Event()
        self.cancelled = asyncio.Event()
        self.asked: list[Any] = []
        self.grep = self.Grep(self)
        self.read_file = self.Reading(self)

    async def act(self, *asked: Any) -> None:
        self.asked.append(asked)
        self.begun.set()
        try:
            if self.hold is not None:
                await self.hold.wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        if self.error is not None:
            raise self.error

    class Grep:
        def __init__(self, files: ScriptedFiles) -> None:
            self._files = files

        async def grep(self, request: GrepRequest, *, principal: Principal, filters: Filters = ()) -> GrepResult:
            await self._files.act(request, principal, filters)
            return RESULT

    class Reading:
        def __init__(self, files: ScriptedFiles) -> None:
            self._files = files

        async def read(
            self, path: str, *, principal: Principal, line_start: int | None = None, line_end: int | None = None
        ) -> FileText:
            await self._files.act(path, principal, line_start, line_end)
            return FILE


@pytest.fixture
def files() -> ScriptedFiles:
    return ScriptedFiles()


@pytest.fixture
def make_file_app(world: World, files: ScriptedFiles) -> Callable[..., FastAPI]:
    def make(**limits: Any) -> FastAPI:
        return create_app(world.services(grep=files.grep, read_file=files.read_file), HttpLimits(**limits))

    return make


@pytest.fixture
async def client(
    make_file_app: Callable[..., FastAPI], make_client: Callable[[Any], httpx.AsyncClient]
) -> AsyncIterator[httpx.AsyncClient]:
    async with make_client(make_file_app()) as client:
        yield client


@pytest.mark.parametrize("path", ["/grep", "/v1/grep"])
async def test_grep_answers_passages_with_their_marks(client: httpx.AsyncClient, path: str) -> None:
    answer = await client.post(path, json={"query": "plazo de entrega"})
    assert answer.status_code == 200
    result = answer.json()
    TypeAdapter(GrepResults).validate_json(answer.content)
    assert result.pop("request_id") == answer.headers["x-request-id"]
    assert result == {
        "passages": [
            {
                "path": "docs/marco.md",
                "line_start": 4,
                "line_end": 6,
                "text": "## Entrega\n\nEl plazo de entrega es de 30 días.",
                "marks": [{"line": 6, "start": 3, "end": 8, "term": 0}, {"line": 6, "start": 12, "end": 19, "term": 1}],
                "matched_lines": [6],
                "terms": ["plazo", "entrega"],
                "score": 2.25,
                "rank": 1,
                "document_id": "0199a1c2-7d3e-7a55-9c1b-2f6f0d1e8a10",
                "chunk_id": "4711",
            }
        ],
        "terms": ["plazo", "entrega"],
        "files": 3,
        "matched_lines": 8,
        "searched": 120,
        "skipped": {"binary": 2, "too_large": 1, "refused": 4},
        "relaxed": True,
        "cut": False,
        "timed_out": False,
        "unavailable": [],
        "left_out": [],
        "status": {
            "tool": "grep_search",
            "characters": 46,
            "passages": 1,
            "files": 3,
            "message": "grep_search: 1 passage in 3 files, 46 characters",
        },
    }


async def test_grep_passes_on_what_is_asked(client: httpx.AsyncClient, files: ScriptedFiles) -> None:
    await client.post("/grep", json={"query": "plazo"})
    body = {"query": "a+", "mode": "regex", "case": "sensitive", "globs": ["*.md", "!x/"], "max": 7, "gitignore": False}
    await client.post("/grep", json=body)
    assert files.asked == [
        (GrepRequest(query="plazo"), ANYONE, ()),
        (
            GrepRequest(
                query="a+",
                mode=GrepMode.REGEX,
                case=GrepCase.SENSITIVE,
                globs=("*.md", "!x/"),
                max_passages=7,
                gitignore=False,
            ),
            ANYONE,
            (),
        ),
    ]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "query"),
        ({"query": ""}, "query"),
        ({"query": " \u200b"}, "query"),
        ({"query": "a\nb"}, "query"),
        ({"query": "a\u0000"}, "query"),
        ({"query": "x" * 1001}, "query"),
        ({"query": 7}, "query"),
        ({"query": "a", "mode": "glob"}, "mode"),
        ({"query": "a", "case": "upper"}, "case"),
        ({"query": "a", "max": 0}, "max"),
        ({"query": "a", "max": 201}, "max"),
        ({"query": "a", "max": "5"}, "max"),
        ({"query": "a", "globs": "*.md"}, "globs"),
        ({"query": "a", "globs": ["x"] * 21}, "globs"),
        ({"query": "a", "globs": [""]}, "globs.0"),
        ({"query": "a", "globs": ["x" * 201]}, "globs.0"),
        ({"query": "a", "globs": ["a\nb"]}, "globs"),
        ({"query": "a", "root": "/"}, "body"),
    ],
)
async def test_grep_bounds_what_it_takes(
    client: httpx.AsyncClient, files: ScriptedFiles, body: dict[str, Any], field: str
) -> None:
    answer = await client.post("/grep", json=body)
    assert answer.status_code == 422
    assert [error["field"] for error in answer.json()["errors"]] == [field]
    assert files.asked == []


async def test_read_answers_lines_of_a_file(client: httpx.AsyncClient, files: ScriptedFiles) -> None:
    answer = await client.post("/files/read", json={"path": "docs/marco.md", "line_start": 2, "line_end": 3})
    assert answer.status_code == 200
    TypeAdapter(FileContent).validate_json(answer.content)
    assert answer.json() == {
        "path": "docs/marco.md",
        "text": "El plazo.\nFin.",
        "line_start": 2,
        "line_end": 3,
        "total_lines": 9,
        "encoding": "utf-8",
    }
    await client.post("/v1/files/read", json={"path": "marco.md"})
    assert files.asked == [("docs/marco.md", ANYONE, 2, 3), ("marco.md", ANYONE, None, None)]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "path"),
        ({"path": None}, "path"),
        ({"path": "x" * 1001}, "path"),
        ({"path": "a", "line_start": 0}, "line_start"),
        ({"path": "a", "line_end": 2**31}, "line_end"),
        ({"path": "a", "line_start": 1.5}, "line_start"),
        ({"path": "a", "encoding": "utf-8"}, "body"),
    ],
)
async def test_read_bounds_what_it_takes(
    client: httpx.AsyncClient, files: ScriptedFiles, body: dict[str, Any], field: str
) -> None:
    answer = await client.post("/files/read", json=body)
    assert answer.status_code == 422
    assert [error["field"] for error in answer.json()["errors"]] == [field]
    assert files.asked == []


@pytest.mark.parametrize(
    ("error", "status", "kind", "code"),
    [
        (domain.FileNotFoundInRootsError, 404, "NOT_FOUND", "not_found"),
        (domain.FileAccessDeniedError, 403, "ACCESS_DENIED", "access_denied"),
        (domain.FileTooLargeError, 413, "TOO_LARGE", "too_large"),
        (domain.FileIsBinaryError, 415, "BINARY", "binary"),
        (domain.FileUndecodableError, 422, "DECODE", "undecodable"),
    ],
)
@pytest.mark.parametrize(("path", "body"), [("/files/read", {"path": "a"}), ("/grep", {"query": "a"})])
async def test_a_file_that_cannot_be_read_is_a_problem_with_its_kind(
    client: httpx.AsyncClient,
    files: ScriptedFiles,
    error: type[domain.FileAccessError],
    status: int,
    kind: str,
    code: str,
    path: str,
    body: dict[str, Any],
) -> None:
    files.error = error("It is so. Allowed roots: docs, code.")
    answer = await client.post(path, json=body)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert problem["detail"] == f"[ERROR: {kind}] It is so. Allowed roots: docs, code."
    assert (problem["code"], problem["errors"][0]["field"]) == (code, "path")


@pytest.mark.parametrize(("path", "body"), [("/files/read", {"path": "a"}), ("/grep", {"query": "a"})])
async def test_an_outage_is_retried_later(
    client: httpx.AsyncClient, files: ScriptedFiles, path: str, body: dict[str, Any]
) -> None:
    files.error = domain.StorageUnavailableError("out", reason="unreachable")
    answer = await client.post(path, json=body)
    assert answer.status_code == 503
    assert answer.headers["retry-after"].isdigit()
    assert answer.json()["reason"] == "unreachable"


async def test_without_roots_nothing_is_allowed(make_app: Callable[..., FastAPI], make_client: Any) -> None:
    async with make_client(make_app()) as client:
        for path, body in (("/files/read", {"path": "etc/passwd"}), ("/grep", {"query": "root"})):
            answer = await client.post(path, json=body)
            assert answer.status_code == 403
            assert answer.json()["detail"] == "[ERROR: ACCESS_DENIED] No roots are allowed: set ALLOWED_PATHS."


@pytest.mark.parametrize(
    ("path", "body"),
    [("/files/read", {"path": "a"}), ("/grep", {"query": "a"}), ("/grep", {"query": "a", "stream": True})],
)
async def test_a_client_that_leaves_ends_the_work(
    make_file_app: Callable[..., FastAPI], serve: Serve, files: ScriptedFiles, path: str, body: dict[str, Any]
) -> None:
    files.hold = asyncio.Event()
    async with serve(make_file_app()) as url, httpx.AsyncClient(base_url=url) as client:
        asking = asyncio.create_task(client.post(path, json=body))
        async with asyncio.timeout(10):
            await files.begun.wait()
            asking.cancel()
            await files.cancelled.wait()


async def test_a_grep_that_never_ends_is_given_up(
    make_file_app: Callable[..., FastAPI], make_client: Any, files: ScriptedFiles
) -> None:
    files.hold = asyncio.Event()
    async with make_client(make_file_app(grep_timeout_seconds=0.05)) as client:
        answer = await client.post("/grep", json={"query": "a"})
    assert answer.status_code == 503
    assert answer.json()["code"] == "request_timeout"
    async with asyncio.timeout(10):
        await files.cancelled.wait()


async def test_metrics_count_searches_and_what_they_passed_over(client: httpx.AsyncClient) -> None:
    for _ in range(2):
        await client.post("/grep", json={"query": "a"})
    await client.post("/files/read", json={"path": "a"})
    text = (await client.get("/metrics")).text
    for line in (
        'grep_searches_total{outcome="ok"} 2.0',
        'grep_skipped_files_total{reason="binary"} 4.0',
        'grep_skipped_files_total{reason="too_large"} 2.0',
        'grep_skipped_files_total{reason="refused"} 8.0',
        'http_requests_total{method="POST",route="/grep",status="200"} 2.0',
        'http_requests_total{method="POST",route="/files/read",status="200"} 1.0',
    ):
        assert line in text

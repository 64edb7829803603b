"""POST /grep and POST /files/read: the contract over ports that do as they are told; the service over real files."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from ragcorp.domain import exceptions as domain
from ragcorp.domain.documents import DocumentAttributes, SourceFile, VisibilityScope
from ragcorp.domain.files import (
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
from ragcorp.domain.ingestion import IngestRequest
from ragcorp.domain.principal import Principal
from ragcorp.interface.http.app import create_app
from ragcorp.interface.http.file_schema import FileContent, GrepResults
from ragcorp.interface.http.services import HttpLimits
from ragcorp.main.app import run_app
from support.stored import ANYONE

from .conftest import Serve
from .fakes import World

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

        async def execute(self, request: GrepRequest, *, principal: Principal, filters: Filters = ()) -> GrepResult:
            await self._files.act(request, principal, filters)
            return RESULT

    class Reading:
        def __init__(self, files: ScriptedFiles) -> None:
            self._files = files

        async def execute(
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
    found = answer.json()
    GrepResults.model_validate_json(answer.content)
    assert found.pop("request_id") == answer.headers["x-request-id"]
    assert found == {
        "passages": [
            {
                "path": "docs/marco.md",
                "line_start": 4,
                "line_end": 6,
                "text": "## Entrega\n\nEl plazo de entrega es de 30 días.",
                "marks": [
                    {"line": 6, "start": 3, "end": 8, "term": 0},
                    {"line": 6, "start": 12, "end": 19, "term": 1},
                ],
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
    FileContent.model_validate_json(answer.content)
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


SECRET = "contenido-del-secreto"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Two roots, and a secret beside them."""
    for folder in ("docs/contratos", "code", "docs-secret"):
        (tmp_path / folder).mkdir(parents=True)
    lines = [f"Línea {number} de relleno." for number in range(1, 61)]
    lines[29] = "El plazo de entrega es de 30 días."
    (tmp_path / "docs/contratos/marco.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "code/iva.py").write_text("def calcular_total(base):\n    return base * 1.21\n", encoding="utf-8")
    (tmp_path / "docs-secret/s.txt").write_text(SECRET, encoding="utf-8")
    (tmp_path / "docs/foto.bin").write_bytes(b"\x00\x01\x02" * 100)
    return tmp_path


@pytest.fixture
async def service(
    tree: Path, make_container: Callable[..., Any], make_client: Callable[[Any], httpx.AsyncClient]
) -> AsyncIterator[httpx.AsyncClient]:
    """The whole service over two roots and an empty database."""
    container = await make_container(allowed_paths=f"{tree / 'docs'}:codigo={tree / 'code'}")
    async with run_app(container) as app, make_client(app) as client:
        yield client


async def test_a_match_comes_with_ten_lines_before_and_behind(service: httpx.AsyncClient) -> None:
    found = (await service.post("/grep", json={"query": "plazo de entrega"})).json()
    (passage,) = found["passages"]
    assert passage["path"] == "docs/contratos/marco.md"
    assert (passage["line_start"], passage["line_end"], passage["matched_lines"]) == (20, 40, [30])
    assert passage["text"].split("\n")[10] == "El plazo de entrega es de 30 días."
    assert passage["marks"] == [{"line": 30, "start": 3, "end": 19, "term": 0}]
    assert (found["files"], found["matched_lines"], found["timed_out"]) == (1, 1, False)
    assert found["status"]["message"].startswith("grep_search: 1 passage in 1 file, ")


async def test_a_root_that_vanishes_while_serving_is_said(service: httpx.AsyncClient, tree: Path) -> None:
    (tree / "code").rename(tree / "moved")
    found = (await service.post("/grep", json={"query": "plazo de entrega"})).json()
    assert (found["files"], found["unavailable"]) == (1, ["codigo"])
    assert found["status"]["message"].endswith(" (unavailable: codigo)")
    body = {"query": "plazo de entrega", "profile": "grep"}
    answer = (await service.post("/search", json=body)).json()
    assert [(each["source"], each["reason"]) for each in answer["degraded"]] == [("grep", "root_unavailable")]
    assert len(answer["results"]) == 1
    (tree / "docs").rename(tree / "moved too")
    refused = await service.post("/grep", json={"query": "plazo"})
    assert (refused.status_code, refused.json()["reason"]) == (503, "root_unavailable")
    assert str(tree) not in refused.text


async def test_what_was_found_can_be_read_by_its_path(service: httpx.AsyncClient) -> None:
    (passage,) = (await service.post("/grep", json={"query": "calcular_total"})).json()["passages"]
    assert passage["path"] == "codigo/iva.py"
    answer = await service.post("/files/read", json={"path": passage["path"], "line_start": 1, "line_end": 1})
    assert answer.json() == {
        "path": "codigo/iva.py",
        "text": "def calcular_total(base):",
        "line_start": 1,
        "line_end": 1,
        "total_lines": 2,
        "encoding": "utf-8",
    }
    assert (await service.post("/files/read", json={"path": "iva.py"})).json()["path"] == "codigo/iva.py"


async def test_what_cannot_be_read_says_why(service: httpx.AsyncClient, tree: Path) -> None:
    for path, status, kind in (
        ("docs/no.md", 404, "NOT_FOUND"),
        ("../docs-secret/s.txt", 403, "ACCESS_DENIED"),
        ("../docs-secret/no.txt", 403, "ACCESS_DENIED"),
        ("/etc/passwd", 403, "ACCESS_DENIED"),
        ("docs/foto.bin", 415, "BINARY"),
    ):
        answer = await service.post("/files/read", json={"path": path})
        assert answer.status_code == status, path
        detail = answer.json()["detail"]
        assert detail.startswith(f"[ERROR: {kind}] ")
        assert ("Allowed roots: docs, codigo." in detail) == (kind == "ACCESS_DENIED")
        assert SECRET not in answer.text
        assert str(tree) not in answer.text
        assert re.search(r"docs-secret|passwd", answer.text) is None


async def test_a_search_cites_lines_of_a_file(service: httpx.AsyncClient) -> None:
    body = {"query": "¿Cuándo se entrega?", "exact_keywords": "plazo de entrega", "profile": "files"}
    answer = await service.post("/search", json=body)
    assert answer.status_code == 200
    (result,) = answer.json()["results"]
    assert (result["collection"], result["document_id"], result["matched_lines"]) == ("files", None, [30])
    citation = result["citation"]
    assert citation["path"] == "docs/contratos/marco.md"
    assert citation["line_start"] <= 30 <= citation["line_end"]
    assert [source["source"] for source in result["sources"]] == ["grep"]


async def test_keywords_alone_mean_the_profile_of_files(service: httpx.AsyncClient) -> None:
    body = {"query": "¿Cuándo se entrega?", "exact_keywords": "plazo de entrega"}
    answer = await service.post("/search", json=body)
    assert [result["citation"]["path"] for result in answer.json()["results"]] == ["docs/contratos/marco.md"]
    refused = await service.post("/search", json={**body, "mode": "hybrid"})
    (error,) = refused.json()["errors"]
    assert (refused.status_code, error["field"], error["limit"]) == (422, "exact_keywords", "profiles files and grep")
    assert "profile" in refused.json()["detail"]
    assert "search_arms_total{" not in (await service.get("/metrics")).text


async def test_an_answer_cites_lines_of_a_file(service: httpx.AsyncClient) -> None:
    body = {"query": "¿Cuál es el plazo de entrega?", "profile": "files"}
    answer = (await service.post("/ask", json=body)).json()
    assert "30 días" in answer["answer"]
    (citation,) = answer["citations"]
    assert (citation["path"], citation["line_start"], citation["line_end"]) == ("docs/contratos/marco.md", 30, 30)


async def test_a_file_whose_document_is_anothers_is_withheld(
    tree: Path, make_container: Callable[..., Any], make_client: Callable[[Any], httpx.AsyncClient]
) -> None:
    container = await make_container(allowed_paths=str(tree / "docs"))
    async with run_app(container) as app, make_client(app) as client:
        assert (await client.post("/grep", json={"query": "plazo"})).json()["files"] == 1
        private = DocumentAttributes(path="docs/contratos/marco.md", visibility_scope=VisibilityScope.PRIVATE)
        await container.use_cases.ingest.execute(
            IngestRequest(
                external_id="suyo",
                file=SourceFile(content=b"Suyo.", media_type="text/plain", filename=""),
                attributes=private,
            ),
            principal=Principal(subject="otra"),
        )
        found = (await client.post("/grep", json={"query": "plazo"})).json()
        assert (found["passages"], found["files"], found["matched_lines"]) == ([], 0, 0)
        for path in ("docs/contratos/marco.md", "contratos/marco.md"):
            answer = await client.post("/files/read", json={"path": path})
            assert answer.status_code == 403
            assert answer.json()["detail"].startswith("[ERROR: ACCESS_DENIED] ")

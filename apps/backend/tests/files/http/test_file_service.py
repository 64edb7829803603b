"""POST /grep, POST /files/read and what cites files: the whole service over real files."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from ragcorp.domain.documents import DocumentAttributes, SourceFile, VisibilityScope
from ragcorp.domain.ingestion import IngestRequest
from ragcorp.domain.principal import Principal
from ragcorp.main.service.app import run_service

pytestmark = pytest.mark.anyio

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
    async with run_service(container) as app, make_client(app) as client:
        yield client


async def test_a_match_comes_with_ten_lines_before_and_behind(service: httpx.AsyncClient) -> None:
    results = (await service.post("/grep", json={"query": "plazo de entrega"})).json()
    (passage,) = results["passages"]
    assert passage["path"] == "docs/contratos/marco.md"
    assert (passage["line_start"], passage["line_end"], passage["matched_lines"]) == (20, 40, [30])
    assert passage["text"].split("\n")[10] == "El plazo de entrega es de 30 días."
    assert passage["marks"] == [{"line": 30, "start": 3, "end": 19, "term": 0}]
    assert (results["files"], results["matched_lines"], results["timed_out"]) == (1, 1, False)
    assert results["status"]["message"].startswith("grep_search: 1 passage in 1 file, ")


async def test_a_root_that_vanishes_while_serving_is_said(service: httpx.AsyncClient, tree: Path) -> None:
    (tree / "code").rename(tree / "moved")
    matches = (await service.post("/grep", json={"query": "plazo de entrega"})).json()
    assert (matches["files"], matches["unavailable"]) == (1, ["codigo"])
    assert matches["status"]["message"].endswith(" (unavailable: codigo)")
    body = {"query": "plazo de entrega", "profile": "grep"}
    answer = (await service.post("/search", json=body)).json()
    assert [(item["source"], item["reason"]) for item in answer["degraded"]] == [("grep", "root_unavailable")]
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
    async with run_service(container) as app, make_client(app) as client:
        assert (await client.post("/grep", json={"query": "plazo"})).json()["files"] == 1
        private = DocumentAttributes(path="docs/contratos/marco.md", visibility_scope=VisibilityScope.PRIVATE)
        await container.use_cases.ingest.ingest(
            IngestRequest(
                external_id="suyo",
                file=SourceFile(content=b"Suyo.", media_type="text/plain", filename=""),
                attributes=private,
            ),
            principal=Principal(subject="otra"),
        )
        results = (await client.post("/grep", json={"query": "plazo"})).json()
        assert (results["passages"], results["files"], results["matched_lines"]) == ([], 0, 0)
        for path in ("docs/contratos/marco.md", "contratos/marco.md"):
            answer = await client.post("/files/read", json={"path": path})
            assert answer.status_code == 403
            assert answer.json()["detail"].startswith("[ERROR: ACCESS_DENIED] ")

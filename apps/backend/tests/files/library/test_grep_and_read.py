"""`rag.grep`, `rag.read_file` and `rag.hybrid_search`, and the paths that answers cite."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

import ragcorp
from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.files.values import GrepMode
from ragcorp.domain.search.requests import SearchRequest
from ragcorp.interface.library.rag import Rag
from ragcorp.interface.library.requests import grep_request, search_request
from ragcorp.interface.request_values import parse_filters
from ragcorp.main.opening.library import open_rag

pytestmark = pytest.mark.anyio

OpenRag = Callable[..., Awaitable[Rag]]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "docs"
    root.mkdir()
    (root / "marco.md").write_text("# Marco\n\nEl plazo de entrega es de 30 días: REQ-2026-014.\n", encoding="utf-8")
    (root / "menu.md").write_text("# Menú\n\nLos lunes hay lentejas.\n", encoding="utf-8")
    return root


async def test_grep_and_read_give_values(open_rag: OpenRag, root: Path) -> None:
    rag = await open_rag(allowed_paths=str(root))
    result = await rag.grep("REQ-2026-014")
    assert isinstance(result, ragcorp.GrepResult)
    (passage,) = result.passages
    assert (passage.path, passage.line_start, passage.line_end) == ("docs/marco.md", 1, 3)
    assert [mark.line for mark in passage.marks] == [3]
    file = await rag.read_file(passage.path, passage.line_start, 1)
    assert isinstance(file, ragcorp.FileText)
    assert (file.text, file.total_lines) == ("# Marco", 3)
    assert [outcome.path for outcome in (await rag.grep(r"l\w+s", mode="regex", globs=["menu.*"], max=5)).passages] == [
        "docs/menu.md"
    ]
    with pytest.raises(ragcorp.FileAccessError, match=r"^\[ERROR: NOT_FOUND\] "):
        await rag.read_file("docs/no.md")
    with pytest.raises(ragcorp.FileAccessError, match=r"^\[ERROR: ACCESS_DENIED\] .*Allowed roots: docs\."):
        await rag.read_file("../fuera.md")


async def test_without_roots_nothing_is_allowed(open_rag: OpenRag) -> None:
    rag = await open_rag()
    with pytest.raises(ragcorp.FileAccessError, match=r"^\[ERROR: ACCESS_DENIED\] .*set ALLOWED_PATHS"):
        await rag.grep("plazo")


async def test_hybrid_search_finds_documents_and_files(open_rag: OpenRag, root: Path) -> None:
    rag = await open_rag(allowed_paths=str(root))
    await rag.ingest_text("nota", "La nota de compras habla de otra cosa.", metadata={"file_path": "notas/compras.md"})
    await rag.embed_pending()
    result = await rag.hybrid_search("¿cuándo se entrega?", "REQ-2026-014")
    by_path = {hit.chunk.source_path: hit for hit in result.hits}
    grepped = by_path["docs/marco.md"]
    assert grepped.matched_lines == (3,)
    assert [source.source for source in grepped.sources] == ["grep"]
    assert (await rag.hybrid_search("¿cuándo?", exact_keywords="lentejas", limit=1)).hits[0].chunk.path is not None


def test_what_is_written_becomes_a_request() -> None:
    assert search_request("plazo", {"profile": "files", "limit": 10}) == SearchRequest(
        query="plazo", profile="files", limit=10
    )
    assert search_request(
        "plazo",
        {
            "profile": "files",
            "exact_keywords": "REQ",
            "limit": 3,
            "filters": {"language": "es"},
            "include_memory": True,
            "expand_neighbors": True,
            "vector_score_threshold": 0.4,
        },
    ) == SearchRequest(
        query="plazo",
        exact_keywords="REQ",
        profile="files",
        limit=3,
        filters=parse_filters({"language": "es"}),
        include_memory=True,
        expand_neighbors=1,
        vector_score_threshold=0.4,
    )
    assert grep_request("a+", mode="regex", globs=["*.md"]).mode is GrepMode.REGEX


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"mode": "glob"}, "mode"),
        ({"case": "upper"}, "case"),
        ({"globs": "*.md"}, "globs"),
        ({"globs": [7]}, "globs"),
        ({"max_passages": 0}, "max"),
        ({"max_passages": "7"}, "max"),
    ],
)
def test_what_fits_no_request_names_the_argument(given: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        grep_request("plazo", **given)  # type: ignore[arg-type]
    assert caught.value.field == field


def test_a_query_is_text() -> None:
    with pytest.raises(InvalidInputError):
        grep_request(7)  # type: ignore[arg-type]


def test_the_blocking_library_has_them_too(dsn: str, root: Path) -> None:
    with open_rag(database_url=dsn, allowed_paths=str(root), embedding_provider="none") as rag:
        assert [passage.path for passage in rag.grep("lentejas").passages] == ["docs/menu.md"]
        assert rag.read_file("menu.md", 1, 1).text == "# Menú"
        hits = rag.hybrid_search("comida de los lunes", exact_keywords="lentejas").hits
        assert [hit.chunk.source_path for hit in hits] == ["docs/menu.md"]


async def test_an_answer_cites_the_real_path(open_rag: OpenRag) -> None:
    rag = await open_rag()
    text = "El plazo de entrega del contrato con Acme es de 30 días hábiles."
    await rag.ingest_text("local_file", text, metadata={"path": "local_file", "file_path": "contratos/acme.md"})
    await rag.embed_pending()
    answer = await rag.ask("¿Cuál es el plazo de entrega del contrato con Acme?")
    (citation,) = answer.citations
    assert (citation.path, citation.line_start, citation.line_end) == ("contratos/acme.md", 1, 1)


async def test_an_extractive_answer_reads_the_real_path(open_rag: OpenRag) -> None:
    rag = await open_rag()
    for number, (name, days) in enumerate({"zenit": 45, "acme": 30}.items()):
        text = f"El plazo de entrega es de {days} días hábiles."
        await rag.ingest_text(f"local_file:{number}", text, metadata={"file_path": f"contratos/{name}.md"})
    await rag.embed_pending()
    for name, days in {"Zenit": "45", "Acme": "30"}.items():
        answer = await rag.ask(f"¿Cuál es el plazo de entrega de {name}?")
        assert [citation.path for citation in answer.citations] == [f"contratos/{name.lower()}.md"]
        assert days in answer.text

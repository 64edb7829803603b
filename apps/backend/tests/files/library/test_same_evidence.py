"""A file that is both ingested and grepped is one result; one that may not be read is none, and is not counted."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ragcorp.application.retrieval.profiles.standard import standard_profiles
from ragcorp.application.retrieval.search.routed_candidates import RoutedCandidateStore
from ragcorp.application.retrieval.sources.chunks import DenseChunkSource
from ragcorp.domain.documents import DocumentAttributes, VisibilityScope
from ragcorp.domain.files.values import FILES, GrepRequest
from ragcorp.domain.principal import Principal, Sensitivity
from ragcorp.domain.search.requests import SearchHit, SearchRequest, SearchResponse
from ragcorp.infrastructure.postgres.connections.database import Database
from ragcorp.interface.library.rag import Rag
from ragcorp.main.opening.library import make_rag
from ragcorp.main.wiring.base import Parts
from support.files.roots import roots_of, write
from support.files.sources import candidates_of, grep_over, source_of
from support.memory.collections import store_over
from support.retrieval.corpus import GivenVectors
from support.retrieval.searches import search_over as chunk_search
from support.storage.postgres import open_database, repository_over
from support.storage.stored import where

pytestmark = pytest.mark.anyio

OWNER = Principal()
BETO = Principal(subject="beto", clearance=Sensitivity.NORMAL)

FILLER = "\n".join(f"Relleno del manual, línea {number}." for number in range(1, 61))
MANUAL = f"# Manual\n\n{FILLER}\n\n# Errores\n\nEl código ERR-4711 pide reiniciar el servicio.\n"
NOTES = "Notas sin documento.\nEl código ERR-4711 salió ayer.\n"

Search = Callable[..., Awaitable[SearchResponse]]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write(tmp_path / "docs", {"manual.md": MANUAL, "notas.txt": NOTES, "vacio.md": "Nada que ver.\n"})


@pytest.fixture
async def rag(make_container: Callable[..., Any]) -> Rag:
    return make_rag(await make_container(parts=Parts(embedder=GivenVectors({}))))


def search_over(database: Database, *folders: Path) -> Search:
    """Return the search of the profile ``files`` with the real parts."""

    async def search(query: str, *, principal: Principal = OWNER, **options: Any) -> SearchResponse:
        roots = roots_of(*folders)
        repository = await repository_over(database)
        store = RoutedCandidateStore(
            default=await store_over(database), by_collection={FILES: candidates_of(roots, database)}
        )
        dense = DenseChunkSource(embedder=GivenVectors({}), repository=repository, scoring=repository)
        grep = source_of(grep_over(roots, database), database)
        chunks = chunk_search(
            {"dense": dense, "grep": grep},
            store=store,
            repository=repository,
            profiles=standard_profiles(),
            source_seconds=20.0,
            seconds=30.0,
        )
        request = SearchRequest(**({"query": query, "profile": "files"} | options))
        return await chunks.search(request, principal=principal)

    return search


@pytest.fixture
async def search(root: Path, dsn: str) -> Any:
    async with open_database(dsn) as database:
        yield search_over(database, root)


def sources(hit: SearchHit) -> list[str]:
    return sorted(part.source for part in hit.sources)


def with_the_code(response: SearchResponse) -> list[SearchHit]:
    return [hit for hit in response.hits if "ERR-4711" in hit.chunk.content]


@pytest.mark.parametrize(
    ("external_id", "path"), [("manual.md", None), ("doc-17", "docs/manual.md"), ("doc-17", "manual.md")]
)
async def test_a_file_that_is_ingested_and_grepped_is_one_result(
    rag: Rag, search: Search, external_id: str, path: str | None
) -> None:
    await rag.ingest_text(external_id, MANUAL, media_type="text/markdown", attributes=DocumentAttributes(path=path))
    response = await search("¿Qué hago con el código ERR-4711?")
    first, second = with_the_code(response)
    assert sources(first) == ["dense", "grep"]
    assert (first.chunk.external_id, first.chunk.collection) == (external_id, "artifact_chunks")
    line = MANUAL.split("\n").index("El código ERR-4711 pide reiniciar el servicio.") + 1
    assert first.matched_lines == (line,)
    assert first.chunk.line_start <= line <= first.chunk.line_end
    ranks = {part.source: part.rank for part in first.sources}
    assert first.score == pytest.approx(1 / (60 + ranks["dense"]) + 1 / (60 + ranks["grep"]))
    assert (second.chunk.path, sources(second), second.matched_lines) == ("docs/notas.txt", ["grep"], (2,))
    assert second.score == pytest.approx(1 / (60 + 2))


async def test_without_a_document_the_passage_of_the_file_is_the_result(search: Search) -> None:
    response = await search("¿Qué hago con el código ERR-4711?")
    assert {hit.chunk.path for hit in response.hits} == {"docs/manual.md", "docs/notas.txt"}
    for hit in response.hits:
        assert (hit.chunk.collection, sources(hit)) == ("files", ["grep"])
        assert "ERR-4711" in hit.chunk.content
        assert hit.chunk.line_start <= hit.matched_lines[0] <= hit.chunk.line_end
    manual = next(hit.chunk for hit in response.hits if hit.chunk.path == "docs/manual.md")
    assert (manual.title, manual.line_end) == ("manual.md", MANUAL.count("\n"))


async def test_a_file_that_changed_since_it_was_ingested_is_evidence_of_its_own(
    rag: Rag, search: Search, root: Path
) -> None:
    await rag.ingest_text("manual.md", MANUAL)
    write(root, {"manual.md": MANUAL.replace("ERR-4711", "ERR-9000")})
    (changed,) = [hit for hit in (await search("ERR-9000")).hits if "ERR-9000" in hit.chunk.content]
    assert (changed.chunk.collection, sources(changed)) == ("files", ["grep"])


async def test_a_line_that_moved_since_is_one_result(rag: Rag, search: Search, root: Path) -> None:
    await rag.ingest_text("manual.md", MANUAL, media_type="text/markdown")
    write(root, {"manual.md": "Antes.\n" * 30 + MANUAL})
    (moved,) = [hit for hit in with_the_code(await search("ERR-4711")) if hit.chunk.path != "docs/notas.txt"]
    assert (moved.chunk.external_id, sources(moved)) == ("manual.md", ["dense", "grep"])


async def test_a_document_of_another_roots_file_is_not_taken_for_the_file(rag: Rag, dsn: str, tmp_path: Path) -> None:
    write(tmp_path / "r1", {"acta.md": "# Acta\n\nK-1: la entrega es el LUNES en Madrid.\n"})
    other = "# Acta\n\nK-1: la entrega es el MARTES en Vigo.\n"
    write(tmp_path / "r2", {"acta.md": other})
    await rag.ingest_text("acta.md", other, media_type="text/markdown")
    async with open_database(dsn) as database:
        response = await search_over(database, tmp_path / "r1", tmp_path / "r2")("K-1")
        own = {hit.chunk.path: hit for hit in response.hits}
        assert set(own) == {"r1/acta.md", "acta.md", "r2/acta.md"}
        assert "LUNES" in own["r1/acta.md"].chunk.content
        assert (own["r1/acta.md"].chunk.collection, sources(own["r1/acta.md"])) == ("files", ["grep"])
        # the only root that the bare path leads to is r1: nobody knows that the document is r2's
        assert sources(own["acta.md"]) == ["dense"]

        one_root = await search_over(database, tmp_path / "r2")("K-1")
    (hit,) = one_root.hits
    assert (hit.chunk.path, sources(hit)) == ("acta.md", ["dense", "grep"]), "it holds the line"


CSV = "cliente;factura;importe\n" + "".join(f"Cliente {n};F-{n:04};{n} EUR\n" for n in range(1, 121))
HTML = "".join(f"<h2>Apartado {n}</h2>\n<p>{'Largo. ' * 120} El <b>HM-{n}00</b>.</p>\n" for n in range(1, 5))


@pytest.mark.parametrize("path", [None, "docs/{}"])
@pytest.mark.parametrize(
    ("name", "text", "media_type", "codes"),
    [
        pytest.param("facturas.csv", CSV, "text/csv", ("F-0005", "F-0019"), id="csv"),
        pytest.param("multi.html", HTML, "text/html", ("HM-200", "HM-300"), id="html"),
    ],
)
async def test_matches_in_two_passages_of_a_converted_document_are_one_result(
    rag: Rag,
    search: Search,
    root: Path,
    name: str,
    text: str,
    media_type: str,
    codes: tuple[str, str],
    path: str | None,
) -> None:
    write(root, {name: text})
    attributes = DocumentAttributes(path=path and path.format(name))
    await rag.ingest_text(name, text, media_type=media_type, attributes=attributes)
    response = await search(" ".join(codes), limit=50)
    assert {hit.chunk.external_id for hit in response.hits} == {name}
    assert len(response.hits) > 2
    (result,) = [hit for hit in response.hits if "grep" in sources(hit)]
    assert sources(result) == ["dense", "grep"]
    assert codes[0] in result.chunk.content


async def test_a_text_of_lone_carriage_returns_is_one_result(rag: Rag, search: Search, root: Path) -> None:
    text = "".join(f"Línea {n} de un texto antiguo.\r" for n in range(30)) + "El código CR-30.\r"
    (root / "cr.txt").write_bytes(text.encode())
    await rag.ingest_text("cr.txt", text)
    (hit,) = [hit for hit in (await search("CR-30")).hits if "CR-30" in hit.chunk.content]
    assert (hit.chunk.external_id, sources(hit)) == ("cr.txt", ["dense", "grep"])


async def test_one_side_without_hits_leaves_the_order_of_the_other(rag: Rag, search: Search) -> None:
    await rag.ingest_text("manual.md", MANUAL)
    dense_only = await search("zapirote")
    assert dense_only.hits
    assert all(sources(hit) == ["dense"] for hit in dense_only.hits)
    assert dense_only.degraded == ()
    assert [hit.sources[0].rank for hit in dense_only.hits] == list(range(1, len(dense_only.hits) + 1))


async def test_a_question_without_terms_is_answered_by_vectors(rag: Rag, search: Search) -> None:
    await rag.ingest_text("manual.md", MANUAL)
    response = await search("¿qué es esto?")
    assert response.hits
    assert response.degraded == ()


SECRETS = (
    DocumentAttributes(visibility_scope=VisibilityScope.PRIVATE),
    DocumentAttributes(sensitivity=Sensitivity.RESTRICTED),
)


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize(
    ("external_id", "path"), [("manual.md", None), ("doc-17", "docs/manual.md"), ("doc-17", "manual.md")]
)
async def test_a_file_of_a_document_that_may_not_be_read_is_nowhere(
    rag: Rag, search: Search, root: Path, dsn: str, secret: DocumentAttributes, external_id: str, path: str | None
) -> None:
    await rag.ingest_text(external_id, MANUAL, media_type="text/markdown", attributes=replace(secret, path=path))
    owner = await search("¿Qué hago con el código ERR-4711?", principal=OWNER)
    assert external_id in {hit.chunk.external_id for hit in owner.hits}
    response = await search("¿Qué hago con el código ERR-4711?", principal=BETO, explain=True)
    assert [hit.chunk.path for hit in response.hits] == ["docs/notas.txt"]
    assert {report.source: report.hits for report in response.reports} == {"dense": 0, "grep": 1}
    assert "manual" not in repr(response)

    async with open_database(dsn) as database:
        grep = grep_over(roots_of(root), database)
        with_it = await grep.grep(GrepRequest(query="ERR-4711"), principal=BETO)
        (root / "manual.md").unlink()
        without_it = await grep.grep(GrepRequest(query="ERR-4711"), principal=BETO)
    assert (with_it.passages, with_it.files, with_it.matched_lines) == (without_it.passages, 1, 1)
    assert without_it.files == 1


async def test_filters_hold_for_documents_and_files_alike(rag: Rag, search: Search) -> None:
    await rag.ingest_text("manual.md", MANUAL, metadata={"area": "soporte"})
    chosen = await search("ERR-4711", filters=where(area="soporte"))
    assert [hit.chunk.external_id for hit in with_the_code(chosen)] == ["manual.md"]
    assert [hit.chunk.path for hit in (await search("ERR-4711", filters=where(area="ventas"))).hits] == []
    files = await search("ERR-4711", filters=where(artifact_type="file"))
    assert [hit.chunk.path for hit in files.hits] == ["docs/notas.txt"]


async def test_pages_follow_one_another(root: Path, search: Search) -> None:
    write(root, {f"n{number:02}.txt": "El código ERR-4711.\n" for number in range(7)})
    shown: list[str | None] = []
    cursor = None
    for _ in range(3):
        page = await search("ERR-4711", limit=3, cursor=cursor)
        shown += [hit.chunk.path for hit in page.hits]
        cursor = page.next_cursor
    assert cursor is None
    assert len(shown) == len(set(shown)) == 9

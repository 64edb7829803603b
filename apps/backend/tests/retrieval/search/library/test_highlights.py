"""The marks of results: what the index takes for the query's words, in each passage's own language."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import psycopg
import pytest

from benchmarks.wire import traced
from ragcorp.domain.documents import DocumentAttributes
from ragcorp.domain.exceptions import StorageUnavailableError
from ragcorp.domain.search.requests import SearchHit, SearchResponse
from ragcorp.infrastructure.postgres.lexical.text_analysis import PostgresTextAnalyzer
from support.retrieval.corpus import OpenRag, degraded, fill

pytestmark = pytest.mark.anyio

TEXTS = {
    "plazos.md": "La gestión de los plazos: el Plazo vence. Gestiones aparte, expediente REQ-2024-001.",
    "otro.md": "Expediente REQ 2024 001, o REQ-2024-002; teléfono 912 345 678.",
    "menu.md": "El menú del restaurante cambia los lunes.",
}


def marked(hit: SearchHit) -> list[str]:
    assert hit.highlights is not None
    return [hit.chunk.content[mark.start : mark.end] for mark in hit.highlights]


def of(response: SearchResponse, name: str) -> list[str]:
    (hit,) = [hit for hit in response.hits if hit.chunk.external_id == name]
    return marked(hit)


@pytest.mark.parametrize("mode", ["dense", "sparse", "hybrid"])
async def test_accents_endings_and_case_mark_what_matches(open_rag: OpenRag, mode: str) -> None:
    rag = await open_rag()
    await fill(rag, TEXTS)
    response = await rag.search("la gestion del plazo", mode=mode, highlight=True)
    assert of(response, "plazos.md") == ["gestión", "plazos", "Plazo", "Gestiones"]
    assert degraded(response) == {}


async def test_a_passage_found_by_its_meaning_marks_the_words_it_holds_or_none(open_rag: OpenRag) -> None:
    rag = await open_rag()
    await fill(rag, TEXTS)
    response = await rag.search("plazo de los lunes", mode="dense", highlight=True)
    assert of(response, "menu.md") == ["lunes"]
    assert of(response, "otro.md") == []


@pytest.mark.parametrize(
    ("query", "name", "marks"),
    [
        ("REQ-2024-001", "plazos.md", ["REQ-2024-001"]),
        ("REQ 2024 001", "plazos.md", ["REQ-2024-001"]),
        ("REQ2024001", "plazos.md", ["REQ-2024-001"]),
        ("REQ-2024-001", "otro.md", ["REQ", "2024", "001", "REQ", "2024"]),
        ("912345678", "otro.md", ["912 345 678"]),
    ],
)
async def test_codes_mark_what_is_the_same_code_however_it_is_written(
    open_rag: OpenRag, query: str, name: str, marks: list[str]
) -> None:
    rag = await open_rag()
    await fill(rag, TEXTS)
    assert of(await rag.search(query, mode="hybrid", highlight=True), name) == marks


async def test_a_misspelt_word_marks_what_was_found_in_its_place(open_rag: OpenRag, dsn: str) -> None:
    rag = await open_rag()
    await fill(rag, {"contrato.md": "El contrato marco, y otros contratos.", "menu.md": "El menú cambia."})
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("SELECT refresh_lexicon('default', true)")
    assert of(await rag.search("contarto", mode="sparse", highlight=True), "contrato.md") == ["contrato", "contratos"]


async def test_each_passage_is_read_in_its_own_language(open_rag: OpenRag) -> None:
    rag = await open_rag()
    await rag.ingest_text("en.md", "The deliveries were delivered late.", attributes=DocumentAttributes(language="en"))
    await rag.ingest_text("es.md", "Una delivery tardía.", attributes=DocumentAttributes(language="es"))
    response = await rag.search("delivery", mode="hybrid", highlight=True)
    assert of(response, "en.md") == ["deliveries"]
    assert of(response, "es.md") == ["delivery"]


async def test_neighbours_are_marked_with_their_passage(open_rag: OpenRag) -> None:
    rag = await open_rag(chunk_max_tokens=64, chunk_overlap_tokens=0)
    await rag.ingest_text("largo.md", "\n\n".join(f"Párrafo {n} sobre el plazo. " + "Relleno. " * 30 for n in range(4)))
    response = await rag.search("plazo", mode="sparse", limit=1, expand_neighbors=1, highlight=True)
    assert len(marked(response.hits[0])) >= 2
    assert set(marked(response.hits[0])) == {"plazo"}


async def test_nothing_is_told_or_asked_of_the_database_unless_it_is_wanted(open_rag: OpenRag) -> None:
    with traced() as trace:
        rag = await open_rag()
        await fill(rag, TEXTS)
        trace.take()
        plain = await rag.search("plazo", mode="sparse")
        assert not [statement for statement in trace.take().statements if "text_lexemes" in statement]
        assert {hit.highlights for hit in plain.hits} == {None}
        wanted = await rag.search("plazo", mode="sparse", highlight=True)
        assert len([statement for statement in trace.take().statements if "text_lexemes" in statement]) == 1
    assert [hit.chunk.id for hit in wanted.hits] == [hit.chunk.id for hit in plain.hits]


async def broken(analyzer: PostgresTextAnalyzer, texts: Sequence[str], *, language: str) -> list[frozenset[str]]:
    raise StorageUnavailableError("out", reason="unreachable")


async def hanging(analyzer: PostgresTextAnalyzer, texts: Sequence[str], *, language: str) -> list[frozenset[str]]:
    await asyncio.sleep(60)
    return []


@pytest.mark.parametrize(("fault", "reason"), [(broken, "unreachable"), (hanging, "timeout")])
async def test_a_search_whose_marks_cannot_be_made_answers_without_and_says_so(
    open_rag: OpenRag, monkeypatch: pytest.MonkeyPatch, fault: object, reason: str
) -> None:
    rag = await open_rag(search_timeout_seconds=1.0, source_timeout_seconds=0.5)
    await fill(rag, TEXTS)
    monkeypatch.setattr(PostgresTextAnalyzer, "lexemes", fault)
    response = await rag.search("plazo", mode="sparse", highlight=True)
    assert [hit.chunk.external_id for hit in response.hits] == ["plazos.md"]
    assert [hit.highlights for hit in response.hits] == [None]
    assert degraded(response) == {"highlight": reason}

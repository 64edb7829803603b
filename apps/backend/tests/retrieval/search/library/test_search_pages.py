"""The ranking of a search, what it refuses, and its pages."""

from __future__ import annotations

import asyncio
import base64
import dataclasses
from collections.abc import Sequence
from typing import Any

import psycopg
import pytest

from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.ports.sources import SourceAnswer, SourceQuery
from ragcorp.domain.retrieval import RankedList
from ragcorp.interface.library.rag import Rag
from ragcorp.main.wiring.base import Parts
from support.models.embedders import HashingEmbedder
from support.retrieval.corpus import CONTRACTS, GivenVectors, OpenRag, fill, shown
from support.retrieval.sources import ScriptedSource
from support.storage.postgres import open_database, repository_over
from support.storage.stored import ANYONE, embed_all, towards, written

pytestmark = pytest.mark.anyio


async def test_weights_rank_constant_and_window(open_rag: OpenRag) -> None:
    embedder = GivenVectors({"Acme": towards(-0.5), "Beta": towards(0.9), "comedor": towards(0.99)})
    rag = await open_rag(enable_hybrid_search=True, parts=Parts(embedder=embedder))
    await fill(rag, CONTRACTS)
    dense_only = await rag.search("Acme", weights={"full_text": 0.0, "all_words": 0.0})
    assert shown(dense_only) == ["menu.md", "otra.md", "acme.md"]
    heavy = await rag.search("Acme", weights={"full_text": 3.0, "dense": 0.5}, rank_constant=9)
    assert heavy.hits[0].chunk.external_id == "acme.md"
    assert heavy.hits[0].score == pytest.approx(0.5 / 12 + 3 / 10 + 1 / 10)
    assert [item.value for item in heavy.hits[0].sources] == pytest.approx([0.5 / 12, 3 / 10, 1 / 10])
    narrow = await rag.search("Acme", rank_window_size=1, limit=1)
    assert (len(narrow.hits), narrow.next_cursor) == (1, None)
    assert [report.hits for report in narrow.reports] == [1, 1]
    assert (await rag.search("Acme", mode="dense")).hits[0].score == pytest.approx(0.99, abs=1e-6)


async def test_a_window_below_the_limit_is_the_page(open_rag: OpenRag) -> None:
    rag = await open_rag(enable_hybrid_search=True, rank_window_size=5)
    await fill(rag, {f"{n}.md": "aguja comun" for n in range(8)})
    whole = await rag.search("aguja")
    assert (len(whole.hits), whole.next_cursor) == (5, None)
    one = await rag.search("aguja", rank_window_size=1)
    assert (len(one.hits), one.next_cursor) == (1, None)
    first = await rag.search("aguja", limit=3)
    rest = await rag.search("aguja", limit=50, cursor=first.next_cursor)
    assert shown(first) + shown(rest) == shown(whole)
    assert rest.next_cursor is None


OUT_OF_RANGE: Sequence[dict[str, Any]] = (
    {"weights": {"nadie": 1.0}},
    {"weights": {"dense": -1.0}},
    {"weights": {"dense": float("nan")}},
    {"weights": {"dense": float("inf")}},
    {"rank_constant": 0},
    {"rank_constant": 10_001},
    {"rank_window_size": 0},
    {"rank_window_size": 1001},
    {"limit": 0},
    {"limit": 51},
    {"limit": -1},
    {"filters": {"document_id": "x"}},
    {"filters": {"sensitivity": "x"}},
    {"filters": {"visibility_scope": "x"}},
    {"filters": {"occurred_at": "2025-01-01"}},
    {"filters": {"language": []}},
    {"filters": {"language": None}},
    {"filters": {"language": {"gte": "2025-01-01"}}},
    {"filters": {"occurred_at": {"gte": "ayer"}}},
    {"filters": {"": "x"}},
    {"filters": {"k": float("nan")}},
    {"filters": {"k": "\x00"}},
    {"filters": {"k\ud800": "x"}},
    {"filters": {f"k{n}": n for n in range(21)}},
    {"filters": {"k": list(range(101))}},
)


async def test_what_is_out_of_range_is_refused_before_anything_is_asked(open_rag: OpenRag) -> None:
    embedder = HashingEmbedder()
    rag = await open_rag(enable_hybrid_search=True, parts=Parts(embedder=embedder))
    for options in OUT_OF_RANGE:
        with pytest.raises(InvalidInputError) as caught:
            await rag.search("Acme", **options)
        assert caught.value.field, options


async def test_a_query_that_cannot_be_asked_is_refused(open_rag: OpenRag) -> None:
    embedder = HashingEmbedder()
    rag = await open_rag(enable_hybrid_search=True, parts=Parts(embedder=embedder))
    for query in ("", "  \n", "\u200b", "a\x00b", "a\ud800", "palabra " * 100_000, "x" * 2001):
        for call in (rag.search, rag.ask):
            with pytest.raises(InvalidInputError) as caught:
                await call(query)
            assert caught.value.field == "query"
            assert len(str(caught.value)) < 300
    assert embedder.queries == []


async def test_five_pages_of_identical_chunks(dsn: str, owner_dsn: str, open_rag: OpenRag) -> None:
    """N43: 5,000 chunks that tie in both lists; pages neither repeat nor skip, twice the same."""
    async with open_database(dsn) as database:
        from ragcorp.infrastructure.postgres.embeddings.backlog import PostgresEmbeddingBacklog

        repository = await repository_over(database)
        await repository.save_many([written("mil.txt", *["aguja comun"] * 5000)], principal=ANYONE)
        await embed_all(PostgresEmbeddingBacklog(database=database))
    with psycopg.connect(owner_dsn, autocommit=True) as connection:
        connection.execute("ANALYZE")  # else the server's own may come between two runs, and the index take over
    rag = await open_rag(
        enable_hybrid_search=True,
        source_timeout_seconds=60.0,  # a source that is late on a busy machine would be left out of one run
        search_timeout_seconds=60.0,
        parts=Parts(embedder=GivenVectors({})),
    )
    linear = {"mode": "hybrid", "method": "linear"}
    for options in ({"mode": "dense"}, {"mode": "sparse"}, {"mode": "hybrid"}, linear):
        runs = []
        for _ in range(2):
            pages: list[str] = []
            cursor = None
            for number in range(5):
                page = await rag.search("aguja comun", limit=20, cursor=cursor, **options)
                assert [hit.rank for hit in page.hits] == list(range(number * 20 + 1, number * 20 + 21))
                pages += [hit.chunk.id for hit in page.hits]
                cursor = page.next_cursor
                assert (cursor is None) == (number == 4)
            runs.append(pages)
        assert runs[0] == runs[1]
        assert len(set(runs[0])) == 100


async def test_the_head_depends_neither_on_the_limit_nor_on_the_turn(open_rag: OpenRag) -> None:
    rag = await open_rag(enable_hybrid_search=True, max_limit=100)
    await fill(rag, {f"{n:02}.md": f"El contrato número {n} de la serie {n % 5} vence pronto." for n in range(30)})
    every = await rag.search("contrato serie 3", limit=100)
    for limit in (1, 2, 7, 29):
        page = await rag.search("contrato serie 3", limit=limit)
        assert [(hit.chunk.id, hit.score) for hit in page.hits] == [
            (hit.chunk.id, hit.score) for hit in every.hits[:limit]
        ]
    first = repr([dataclasses.astuple(hit) for hit in every.hits])
    for _ in range(20):
        assert (
            repr([dataclasses.astuple(hit) for hit in (await rag.search("contrato serie 3", limit=100)).hits]) == first
        )


async def test_cursors_belong_to_their_search(open_rag: OpenRag) -> None:
    rag = await open_rag(enable_hybrid_search=True)
    await fill(rag, {f"{n}.md": f"contrato {n}" for n in range(6)})
    first = await rag.search("contrato", limit=2)
    cursor = first.next_cursor
    assert cursor
    # another limit and explain are the same search
    rest = await rag.search("contrato", limit=50, cursor=cursor, explain=True)
    assert rest.hits[0].rank == 3
    assert rest.next_cursor is None
    changed: Sequence[dict[str, Any]] = (
        {"query": "otro"},
        {"mode": "dense"},
        {"filters": {"language": "es"}},
        {"rank_constant": 7},
        {"weights": {"dense": 2.0}},
        {"rank_window_size": 50},
    )
    for options in changed:
        with pytest.raises(InvalidInputError) as caught:
            await rag.search(**({"query": "contrato", "cursor": cursor} | options))
        assert caught.value.field == "cursor"
    offset, _, mark = base64.urlsafe_b64decode(cursor + "==").decode().partition(":")
    assert offset == "2"
    for forged in (
        "",
        " ",
        "x",
        "ñ",
        "a" * 5000,
        "0",
        "\x00",
        "=",
        *(f"{n}:{mark}" for n in ("0", "-1", "100", "1e3", "٣", "")),
    ):
        value = forged if ":" not in forged else base64.urlsafe_b64encode(forged.encode()).decode().rstrip("=")
        if forged == f"٣:{mark}":
            continue  # a digit is a digit: offset 3
        with pytest.raises(InvalidInputError):
            await rag.search("contrato", cursor=value)


async def test_a_chunk_that_goes_between_ranking_and_reading_is_passed_over(open_rag: OpenRag) -> None:
    rags: list[Rag] = []

    async def delete_meanwhile(_: SourceQuery) -> SourceAnswer:
        await asyncio.sleep(0.3)
        await rags[0].delete("0.md")
        return SourceAnswer(ranked_list=RankedList(source="lento", score_type="x"))

    source = ScriptedSource(name="lento", answer=delete_meanwhile)
    parts = Parts(embedder=HashingEmbedder(), sources={"lento": source})
    rags.append(await open_rag(enable_hybrid_search=True, parts=parts))
    (rag,) = rags
    await fill(rag, {f"{n}.md": "contrato marco" for n in range(6)})
    response = await rag.search("contrato marco", limit=3)
    assert shown(response) == ["1.md", "2.md", "3.md"]
    assert response.next_cursor is not None
    source.answer = None
    rest = await rag.search("contrato marco", limit=3, cursor=response.next_cursor)
    assert "3.md" not in shown(rest)

"""Searching through the library: flags, overrides, degradation, paging."""

from __future__ import annotations

import asyncio
import base64
import dataclasses
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import UUID

import psycopg
import pytest

from ragcorp.domain.exceptions import (
    AllSourcesFailedError,
    ConfigurationError,
    InvalidInputError,
    SourceUnavailableError,
    StorageUnavailableError,
)
from ragcorp.domain.ports.models import Vector
from ragcorp.domain.ports.sources import SourceAnswer, SourceQuery
from ragcorp.domain.retrieval import Hit, RankedList
from ragcorp.domain.search import SearchResponse
from ragcorp.interface.library.rag import Rag
from ragcorp.main.container import Parts
from support.embedders import BrokenEmbedder, HashingEmbedder
from support.postgres import open_database, repository_over
from support.sources import ScriptedSource
from support.stored import ANYONE, embed_all, towards, written

pytestmark = pytest.mark.anyio

OpenRag = Callable[..., Any]


class GivenVectors(HashingEmbedder):
    """Gives the vectors that it is told for texts that hold a word; EAST for all others, queries among them."""

    def __init__(self, by_word: Mapping[str, Vector]) -> None:
        super().__init__()
        self._by_word = by_word

    def vector(self, text: str) -> Vector:
        return next((vector for word, vector in self._by_word.items() if word in text), towards(1.0))

    async def embed_query(self, text: str) -> Vector:
        return towards(1.0)


class SlowQueries(HashingEmbedder):
    async def embed_query(self, text: str) -> Vector:
        await asyncio.sleep(60)
        raise AssertionError


def shown(response: SearchResponse) -> list[str]:
    return [hit.chunk.external_id for hit in response.hits]


def asked(response: SearchResponse) -> list[str]:
    return [report.source for report in response.reports]


def degraded(response: SearchResponse) -> dict[str, str | None]:
    return {report.source: report.reason for report in response.degraded}


async def fill(rag: Rag, texts: Mapping[str, str]) -> None:
    for name, text in texts.items():
        await rag.ingest_text(name, text)


CONTRACTS = {
    "acme.md": "Contrato con Acme Corporation, expediente REQ-2024-001.",
    "otra.md": "Contrato con Beta Limitada, expediente REQ-2024-002.",
    "menu.md": "El menú del comedor cambia los lunes.",
}


async def break_full_text(owner_dsn: str) -> None:
    async with await psycopg.AsyncConnection.connect(owner_dsn, autocommit=True) as connection:
        await connection.execute("ALTER TABLE chunks DROP COLUMN tsv")


# flags


async def test_off_asks_the_dense_source_alone_and_on_asks_both(open_rag: OpenRag) -> None:
    off, on = await open_rag(), await open_rag(enable_hybrid_search=True)
    await fill(off, CONTRACTS)
    plain, fused = await off.search("contrato Acme"), await on.search("contrato Acme")
    assert (plain.mode_used, asked(plain)) == ("dense", ["dense"])
    assert (fused.mode_used, asked(fused)) == ("hybrid", ["dense", "full_text"])
    assert plain.hits[0].score_type == "cosine_similarity"
    assert plain.hits[0].score == plain.hits[0].sources[0].score
    assert fused.hits[0].score_type == "rrf"
    assert fused.hits[0].score == pytest.approx(1 / 61 + 1 / 61)
    assert not plain.degraded
    assert not fused.degraded
    # the schema is the same in every mode
    assert [field.name for field in dataclasses.fields(plain)] == [field.name for field in dataclasses.fields(fused)]


@pytest.mark.parametrize("flag", [False, True])
async def test_a_request_overrides_the_flag(open_rag: OpenRag, flag: bool) -> None:
    rag = await open_rag(enable_hybrid_search=flag)
    await fill(rag, CONTRACTS)
    for mode, sources in (("dense", ["dense"]), ("sparse", ["full_text"]), ("hybrid", ["dense", "full_text"])):
        response = await rag.search("Acme", mode=mode)
        assert (response.mode_used, asked(response)) == (mode, sources)
        assert shown(response)[0] == "acme.md"
    assert (await rag.search("Acme")).mode_used == ("hybrid" if flag else "dense")
    with pytest.raises(InvalidInputError):
        await rag.search("Acme", mode="both")


async def test_without_a_fusion_service_dense_answers_and_one_warning_says_so(
    open_rag: OpenRag, caplog: pytest.LogCaptureFixture
) -> None:
    rag = await open_rag(enable_hybrid_search=True, parts=Parts(embedder=HashingEmbedder(), fusion=None))
    await fill(rag, CONTRACTS)
    with caplog.at_level(logging.WARNING, logger="ragcorp"):
        for _ in range(3):
            response = await rag.search("contrato Acme")
            assert (response.mode_used, asked(response)) == ("dense", ["dense"])
    assert len([record for record in caplog.records if "no fusion service" in record.message]) == 1


async def test_acme_corporation_ranks_first_with_hybrid_on(open_rag: OpenRag) -> None:
    """ADR-012: the name is far from the question in the vector space, and stands in the text."""
    embedder = GivenVectors({"Acme": towards(-0.5), "Beta": towards(0.9), "comedor": towards(0.99)})
    rag = await open_rag(enable_hybrid_search=True, parts=Parts(embedder=embedder))
    await fill(rag, CONTRACTS)
    assert shown(await rag.search("Acme Corporation", mode="dense")) == ["menu.md", "otra.md", "acme.md"]
    fused = await rag.search("Acme Corporation")
    assert shown(fused)[0] == "acme.md"
    assert fused.hits[0].score == pytest.approx(1 / 63 + 1 / 61)


# degradation


async def test_a_full_text_that_fails_leaves_dense_and_is_named(open_rag: OpenRag, owner_dsn: str) -> None:
    rag = await open_rag(enable_hybrid_search=True)
    await fill(rag, CONTRACTS)
    await break_full_text(owner_dsn)
    response = await rag.search("contrato Acme")
    assert (response.mode_used, degraded(response)) == ("dense", {"full_text": "schema"})
    assert shown(response)[0] == "acme.md"
    assert response.hits[0].score_type == "cosine_similarity"
    with pytest.raises(AllSourcesFailedError):
        await rag.search("contrato Acme", mode="sparse")


@pytest.mark.parametrize("flag", [False, True])
@pytest.mark.parametrize(
    ("embedder", "reason"),
    [(None, "no_embedder"), (BrokenEmbedder(passages=False), "unreachable"), (SlowQueries(), "timeout")],
    ids=["none", "down", "hangs"],
)
async def test_where_dense_cannot_answer_full_text_does_whatever_the_flag(
    open_rag: OpenRag, embedder: HashingEmbedder | None, reason: str, flag: bool
) -> None:
    rag = await open_rag(enable_hybrid_search=flag, source_timeout_seconds=0.5, parts=Parts(embedder=embedder))
    await fill(rag, CONTRACTS)
    response = await rag.search("Acme")
    assert (response.mode_used, degraded(response)) == ("sparse", {"dense": reason})
    assert shown(response) == ["acme.md"]
    assert response.hits[0].score_type == "ts_rank_cd"
    assert not (await rag.search("Acme", mode="sparse")).degraded


@pytest.mark.parametrize("flag", [False, True])
async def test_chunks_that_wait_for_vectors_are_found_by_text(open_rag: OpenRag, flag: bool) -> None:
    embedder = BrokenEmbedder(queries=False)
    rag = await open_rag(enable_hybrid_search=flag, parts=Parts(embedder=embedder))
    await fill(rag, CONTRACTS)
    waiting = await rag.search("Acme")
    assert (waiting.mode_used, degraded(waiting)) == ("sparse", {"dense": "vectors_pending"})
    assert shown(waiting) == ["acme.md"]
    embedder.passages_fail = False
    await rag.embed_pending()
    whole = await rag.search("Acme")
    assert (whole.mode_used, degraded(whole)) == ("hybrid" if flag else "dense", {})
    assert len(whole.hits) == 3
    embedder.passages_fail = True
    await rag.ingest_text("nuevo.md", "Acme Corporation vuelve.")
    half = await rag.search("Acme")
    assert (half.mode_used, degraded(half)) == ("hybrid", {"dense": "vectors_pending"})
    assert set(shown(half)) == {*CONTRACTS, "nuevo.md"}


async def test_no_source_left_is_an_error_and_never_an_empty_answer(open_rag: OpenRag, owner_dsn: str) -> None:
    rag = await open_rag(parts=Parts(embedder=BrokenEmbedder(passages=False)))
    await fill(rag, CONTRACTS)
    await break_full_text(owner_dsn)
    for mode in ("dense", "sparse", "hybrid"):
        with pytest.raises(AllSourcesFailedError) as caught:
            await rag.search("Acme", mode=mode)
        assert "full_text:schema" in caught.value.reason
    with pytest.raises(AllSourcesFailedError):
        await rag.ask("¿Quién firma con Acme?")


async def test_stop_words_alone_are_no_failure_of_full_text(open_rag: OpenRag) -> None:
    rag = await open_rag(enable_hybrid_search=True)
    await fill(rag, CONTRACTS)
    response = await rag.search("de la que el")
    assert not response.degraded
    assert len(response.hits) == 3
    assert {(report.source, report.outcome) for report in response.reports} == {("dense", "ok"), ("full_text", "empty")}


# sources of the user's own


async def chunk_ids(rag: Rag) -> dict[str, Any]:
    found = await rag.search("contrato comedor", limit=50)
    return {hit.chunk.external_id: hit.chunk for hit in found.hits}


async def test_a_source_of_the_users_own_is_fused_beside_ours(open_rag: OpenRag) -> None:
    mine = ScriptedSource(name="grafo")
    rag = await open_rag(enable_hybrid_search=True, parts=Parts(embedder=HashingEmbedder(), sources={"grafo": mine}))
    await fill(rag, CONTRACTS)
    chunks = await chunk_ids(rag)
    menu, acme = chunks["menu.md"], chunks["acme.md"]
    mine.hits = (
        # by position: the same chunk under its other name
        Hit(document_id=menu.document_id, chunk_index=0, score=9.0),
        Hit(chunk_id=menu.id, score=8.0),
        Hit(chunk_id="de-otro-sitio", score=7.0),
        Hit(document_id=menu.document_id, chunk_index=77, score=6.0),
        Hit(chunk_id=acme.id, score=5.0),
    )
    response = await rag.search("Acme Corporation", weights={"grafo": 100.0})
    assert asked(response) == ["dense", "full_text", "grafo"]
    assert shown(response)[:2] == ["menu.md", "acme.md"]
    by_source = {item.source: item for item in response.hits[0].sources}
    assert (by_source["grafo"].rank, by_source["grafo"].weight) == (1, 100.0)
    assert {item.source for item in response.hits[1].sources} == {"dense", "full_text", "grafo"}
    query = mine.queries[-1]
    assert (query.text, query.limit, query.principal) == ("Acme Corporation", 100, ANYONE)
    assert asked(await rag.search("Acme", mode="dense")) == ["dense"]


async def test_a_source_that_is_alone_keeps_its_own_score(open_rag: OpenRag, owner_dsn: str) -> None:
    mine = ScriptedSource(name="grafo")
    parts = Parts(embedder=BrokenEmbedder(passages=False), sources={"grafo": mine})
    rag = await open_rag(enable_hybrid_search=True, parts=parts)
    await fill(rag, CONTRACTS)
    mine.hits = (Hit(chunk_id=(await chunk_ids(rag))["menu.md"].id, score=0.5),)
    await break_full_text(owner_dsn)
    response = await rag.search("lo que sea")
    assert shown(response) == ["menu.md"]
    assert (response.hits[0].score, response.hits[0].score_type) == (0.5, "scripted")


async def nothing(_: SourceQuery) -> Any:
    return None


async def signed_by_another(_: SourceQuery) -> SourceAnswer:
    return SourceAnswer(ranked_list=RankedList(source="dense", score_type="x"))


async def twice_the_same(_: SourceQuery) -> SourceAnswer:
    hit = Hit(chunk_id="1", score=1.0)
    return SourceAnswer(ranked_list=RankedList(source="grafo", score_type="x", hits=(hit, hit)))


def one_hit(**fields: Any) -> Callable[[SourceQuery], Any]:
    """Make the hit when asked, as a source does: what is wrong with it shows there."""

    async def answer(_: SourceQuery) -> SourceAnswer:
        hit = Hit(**({"score": 1.0} | fields))
        return SourceAnswer(ranked_list=RankedList(source="grafo", score_type="x", hits=(hit,)))

    return answer


def having_seen(seen: Any) -> Callable[[SourceQuery], Any]:
    async def answer(_: SourceQuery) -> SourceAnswer:
        return SourceAnswer(ranked_list=RankedList(source="grafo", score_type="x"), seen=seen)

    return answer


async def cancels_itself(_: SourceQuery) -> Any:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    await asyncio.sleep(0)


class NoReasonError(SourceUnavailableError):
    def __init__(self) -> None:
        """Leave the fields of the base unset."""


BAD_HITS: Sequence[dict[str, Any]] = (
    {"chunk_id": 1},
    {"chunk_id": "1", "metadata": None},
    {"document_id": "zzz", "chunk_index": 0},
    {"document_id": UUID(int=1), "chunk_index": "a"},
    {"document_id": UUID(int=1), "chunk_index": 10**20},
)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        *((one_hit(**fields), "invalid") for fields in BAD_HITS),
        *((having_seen(seen), "invalid") for seen in (None, float("nan"), -1)),
        (cancels_itself, "error"),
    ],
)
async def test_what_is_wrong_with_an_answer_is_its_sources_failure_alone(
    open_rag: OpenRag, answer: Callable[[SourceQuery], Any], reason: str
) -> None:
    source = ScriptedSource(name="grafo", answer=answer)
    rag = await open_rag(enable_hybrid_search=True, parts=Parts(embedder=HashingEmbedder(), sources={"grafo": source}))
    await fill(rag, CONTRACTS)
    response = await rag.search("Acme")
    assert shown(response)[0] == "acme.md"
    assert degraded(response) == {"grafo": reason}


async def test_positions_that_cannot_be_looked_up_are_their_sources_failure_alone(
    open_rag: OpenRag, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def out(*_: Any, **__: Any) -> Any:
        raise StorageUnavailableError("out", reason="timeout")

    source = ScriptedSource(Hit(document_id=UUID(int=1), chunk_index=0, score=1.0), name="grafo")
    rag = await open_rag(enable_hybrid_search=True, parts=Parts(embedder=HashingEmbedder(), sources={"grafo": source}))
    await fill(rag, CONTRACTS)
    monkeypatch.setattr("ragcorp.infrastructure.postgres.channels.ChunkChannels.chunk_ids", out)
    response = await rag.search("Acme")
    assert shown(response)[0] == "acme.md"
    assert degraded(response) == {"grafo": "timeout"}


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (ScriptedSource(name="grafo", error=KeyError("su fallo")), "error"),
        (ScriptedSource(name="grafo", error=ConnectionResetError()), "error"),
        (ScriptedSource(name="grafo", error=asyncio.CancelledError()), "error"),
        (ScriptedSource(name="grafo", error=BaseException("ni siquiera Exception")), "error"),
        (ScriptedSource(name="grafo", error=SystemExit(1)), "error"),
        (ScriptedSource(name="grafo", error=InvalidInputError("su secreto", field="query")), "error"),
        (ScriptedSource(name="grafo", error=NoReasonError()), "unavailable"),
        (ScriptedSource(name="grafo", delay=60), "timeout"),
        (ScriptedSource(name="grafo", answer=nothing), "error"),
        (ScriptedSource(name="grafo", answer=twice_the_same), "invalid"),
        (ScriptedSource(name="grafo", answer=signed_by_another), None),
    ],
    ids=["bug", "connection", "cancelled", "base", "exit", "input", "no reason", "slow", "none", "twice", "signature"],
)
async def test_a_source_of_the_users_own_that_fails_disturbs_no_other(
    open_rag: OpenRag, source: ScriptedSource, reason: str | None
) -> None:
    rag = await open_rag(
        enable_hybrid_search=True,
        source_timeout_seconds=1.0,
        parts=Parts(embedder=HashingEmbedder(), sources={"grafo": source}),
    )
    await fill(rag, CONTRACTS)
    response = await rag.search("Acme")
    assert shown(response)[0] == "acme.md"
    assert degraded(response) == ({"grafo": reason} if reason else {})


async def test_a_source_that_swallows_its_cancellation_holds_no_search(
    open_rag: OpenRag, caplog: pytest.LogCaptureFixture
) -> None:
    cancelled, released = asyncio.Event(), asyncio.Event()

    async def stays(_: SourceQuery) -> Any:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.set()
        await released.wait()
        return SourceAnswer(ranked_list=RankedList(source="grafo", score_type="x"))

    source = ScriptedSource(name="grafo", answer=stays)
    rag = await open_rag(
        enable_hybrid_search=True,
        source_timeout_seconds=1.0,
        parts=Parts(embedder=HashingEmbedder(), sources={"grafo": source}),
    )
    await fill(rag, CONTRACTS)
    # its end waits for ours: a search that waited for it would never return
    response = await rag.search("Acme")
    assert shown(response)[0] == "acme.md"
    assert degraded(response) == {"grafo": "timeout"}
    await cancelled.wait()
    with caplog.at_level(logging.WARNING, logger="ragcorp"):
        released.set()
        await asyncio.sleep(0.05)
    assert "source grafo ended after it was cancelled" in caplog.text


async def test_a_search_that_is_cancelled_cancels_its_sources(open_rag: OpenRag) -> None:
    asked_, cancelled = asyncio.Event(), asyncio.Event()

    async def waits(_: SourceQuery) -> Any:
        asked_.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    source = ScriptedSource(name="grafo", answer=waits)
    rag = await open_rag(enable_hybrid_search=True, parts=Parts(embedder=HashingEmbedder(), sources={"grafo": source}))
    search = asyncio.ensure_future(rag.search("Acme"))
    await asked_.wait()
    search.cancel()
    with pytest.raises(asyncio.CancelledError):
        await search
    await asyncio.wait_for(cancelled.wait(), 1.0)


async def test_a_source_may_not_take_the_name_of_ours(open_rag: OpenRag) -> None:
    with pytest.raises(ConfigurationError):
        await open_rag(parts=Parts(embedder=HashingEmbedder(), sources={"dense": ScriptedSource()}))


# the ranking and its pages


async def test_weights_rank_constant_and_window(open_rag: OpenRag) -> None:
    embedder = GivenVectors({"Acme": towards(-0.5), "Beta": towards(0.9), "comedor": towards(0.99)})
    rag = await open_rag(enable_hybrid_search=True, parts=Parts(embedder=embedder))
    await fill(rag, CONTRACTS)
    dense_only = await rag.search("Acme", weights={"full_text": 0.0})
    assert shown(dense_only) == ["menu.md", "otra.md", "acme.md"]
    heavy = await rag.search("Acme", weights={"full_text": 3.0, "dense": 0.5}, rank_constant=9)
    assert heavy.hits[0].chunk.external_id == "acme.md"
    assert heavy.hits[0].score == pytest.approx(3 / 10 + 0.5 / 12)
    assert [item.value for item in heavy.hits[0].sources] == pytest.approx([0.5 / 12, 3 / 10])
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


async def test_five_pages_of_identical_chunks(dsn: str, open_rag: OpenRag) -> None:
    """N43: 5,000 chunks that tie in both lists; pages neither repeat nor skip, twice the same."""
    async with open_database(dsn) as database:
        from ragcorp.infrastructure.postgres.embedding_backlog import PostgresEmbeddingBacklog

        repository = await repository_over(database)
        await repository.save_many([written("mil.txt", *["aguja comun"] * 5000)], principal=ANYONE)
        await embed_all(PostgresEmbeddingBacklog(database=database))
    rag = await open_rag(enable_hybrid_search=True, parts=Parts(embedder=GivenVectors({})))
    for mode in ("dense", "sparse", "hybrid"):
        runs = []
        for _ in range(2):
            pages: list[str] = []
            cursor = None
            for number in range(5):
                page = await rag.search("aguja comun", limit=20, mode=mode, cursor=cursor)
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


async def test_explain_shows_the_formula_and_what_each_source_did(open_rag: OpenRag) -> None:
    rag = await open_rag(enable_hybrid_search=True, rrf_k=30)
    await fill(rag, CONTRACTS)
    assert (await rag.search("Acme")).explanation is None
    explanation = (await rag.search("Acme", explain=True, weights={"dense": 2.0})).explanation
    assert explanation is not None
    assert explanation["rank_constant"] == 30
    assert explanation["weights"] == {"dense": 2.0, "full_text": 1.0}
    assert "rank_constant + rank" in str(explanation["formula"])
    assert [(item["source"], item["outcome"], item["hits"]) for item in explanation["sources"]] == [  # type: ignore[index,attr-defined]
        ("dense", "ok", 3),
        ("full_text", "ok", 1),
    ]
    assert explanation["thresholds"] == []
    alone = (await rag.search("Acme", explain=True, mode="dense")).explanation
    assert alone is not None
    assert (alone["rank_constant"], alone["profile"]) == (None, "dense")
    assert (alone["weights"], alone["thresholds"]) == ({}, [])


async def test_explain_shows_only_weights_and_thresholds_that_were_applied(open_rag: OpenRag) -> None:
    embedder = BrokenEmbedder(queries=False, passages=False)
    grafo = ScriptedSource(name="grafo", error=KeyError())
    rag = await open_rag(enable_hybrid_search=True, parts=Parts(embedder=embedder, sources={"grafo": grafo}))
    await fill(rag, CONTRACTS)
    # some of its words stand nowhere: full text falls back to the share of words
    question = "contrato Acme zanahoria"
    two = (await rag.search(question, explain=True, weights={"grafo": 3.0})).explanation
    assert two is not None
    assert (two["weights"], two["thresholds"]) == ({"dense": 1.0, "full_text": 1.0}, [])
    grafo.error = None
    three = (await rag.search(question, explain=True, weights={"grafo": 3.0})).explanation
    assert three is not None
    assert three["weights"] == {"dense": 1.0, "full_text": 1.0, "grafo": 3.0}
    assert three["thresholds"] == [{"source": "full_text", "score_type": "lexeme_coverage", "minimum": 0.5}]
    embedder.queries_fail = True
    # another question: the vector of the first is cached
    out = (await rag.search(f"{question} naranja", explain=True, weights={"grafo": 3.0})).explanation
    assert out is not None
    assert (out["weights"], out["thresholds"]) == ({"full_text": 1.0, "grafo": 3.0}, [])

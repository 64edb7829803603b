"""Sources of the user's own beside ours: fused, and never in the way of the others."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

import pytest

from ragcorp.domain.exceptions import (
    ConfigurationError,
    InvalidInputError,
    SourceUnavailableError,
    StorageUnavailableError,
)
from ragcorp.domain.ports.sources import SourceAnswer, SourceQuery
from ragcorp.domain.retrieval import Hit, RankedList
from ragcorp.infrastructure.postgres.documents.repository import PostgresDocumentRepository
from ragcorp.interface.library.rag import Rag
from ragcorp.main.wiring.base import Parts
from support.models.embedders import BrokenEmbedder, HashingEmbedder
from support.retrieval.corpus import CONTRACTS, OpenRag, asked, break_full_text, degraded, fill, shown
from support.retrieval.sources import ScriptedSource
from support.storage.stored import ANYONE

pytestmark = pytest.mark.anyio


async def chunk_ids(rag: Rag) -> dict[str, Any]:
    result = await rag.search("contrato comedor", limit=50)
    return {hit.chunk.external_id: hit.chunk for hit in result.hits}


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
    response = await rag.search("Acme Corporation", weights={"grafo": 1000.0})
    assert asked(response) == ["dense", "full_text", "grafo"]
    assert shown(response)[:2] == ["menu.md", "acme.md"]
    by_source = {item.source: item for item in response.hits[0].sources}
    assert (by_source["grafo"].rank, by_source["grafo"].weight) == (1, 1000.0)
    assert {item.source for item in response.hits[1].sources} == {"dense", "full_text", "all_words", "grafo"}
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
    response = await rag.search("el comedor")
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
    monkeypatch.setattr(PostgresDocumentRepository, "find_chunk_ids", out)
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


async def test_filters_hold_for_what_a_source_of_the_users_own_gives(open_rag: OpenRag) -> None:
    mine = ScriptedSource(name="wiki")
    rag = await open_rag(enable_hybrid_search=True, parts=Parts(embedder=HashingEmbedder(), sources={"wiki": mine}))
    await fill(rag, CONTRACTS)
    chunks = await chunk_ids(rag)
    mine.hits = tuple(Hit(chunk_id=chunk.id, score=1.0) for chunk in chunks.values())
    for filters, expected in (
        ({"external_id": "acme.md"}, {"acme.md"}),
        ({"$not": {"external_id": "acme.md"}}, {"otra.md", "menu.md"}),
        ({"collection": "artifact_chunks"}, set(CONTRACTS)),
    ):
        response = await rag.search("contrato", filters=filters)
        assert set(shown(response)) == expected
        (report,) = [report for report in response.reports if report.source == "wiki"]
        assert report.hits == len(expected)
